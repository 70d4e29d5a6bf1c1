// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "util/op_dtypes.h"

namespace plumb {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Values computed by hand or taken from tables.
void AddUnaryValues(std::vector<OpCase>* cases) {
  const double inf = INFINITY;
  cases->push_back(OpCase("ReLU", "values").In({7}, {-2, -0.0, 0, 3, NAN, inf, -inf}).Out({0, 0, 0, 3, NAN, inf, 0}));
  cases->push_back(OpCase("ReLU6", "values").In({7}, {-2, 0, 3, 6, 7, NAN, inf}).Out({0, 0, 3, 6, 6, NAN, 6}));
  cases->push_back(
      OpCase("Sigmoid", "values").In({5}, {0, std::log(3.0), -std::log(3.0), -inf, inf}).Out({0.5, 0.75, 0.25, 0, 1}));
  cases->push_back(OpCase("LogSigmoid", "values").In({4}, {0, -200, 200, -inf}).Out({-std::log(2.0), -200, 0, -inf}));
  cases->push_back(
      OpCase("Swish", "values").In({4}, {0, std::log(3.0), inf, -inf}).Out({0, 0.75 * std::log(3.0), inf, NAN}));
  cases->push_back(OpCase("Tanh", "values").In({4}, {0, std::log(2.0), inf, -inf}).Out({0, 0.6, 1, -1}));
  cases->push_back(OpCase("GELU", "values").In({4}, {0, 1, -1, 2}).Out({0, 0.841344746, -0.158655254, 1.954499736}));
  cases->push_back(OpCase("Erf", "values").In({4}, {0, 1, -1, 0.5}).Out({0, 0.842700793, -0.842700793, 0.520499878}));
  cases->push_back(OpCase("Softplus", "values").In({4}, {0, 100, -inf, inf}).Out({std::log(2.0), 100, 0, inf}));
  cases->push_back(OpCase("Softsign", "values").In({3}, {1, -3, 0}).Out({0.5, -0.75, 0}));
  cases->push_back(OpCase("Exp", "values").In({4}, {0, 1, -inf, inf}).Out({1, 2.718281828, 0, inf}));
  cases->push_back(OpCase("Log", "values").In({5}, {1, 8, 0, -1, inf}).Out({0, 3 * std::log(2.0), -inf, NAN, inf}));
  cases->push_back(OpCase("Sqrt", "values").In({4}, {9, 2, 0, -1}).Out({3, 1.414213562, 0, NAN}));
  cases->push_back(OpCase("Rsqrt", "values").In({4}, {4, 0.25, 0, -1}).Out({0.5, 2, inf, NAN}));
  cases->push_back(OpCase("Reciprocal", "values").In({4}, {4, -0.5, 0, inf}).Out({0.25, -2, inf, 0}));
  cases->push_back(OpCase("Abs", "values").In({4}, {-3, 3, -inf, NAN}).Out({3, 3, inf, NAN}));
  cases->push_back(OpCase("Neg", "values").In({3}, {-3, 3, inf}).Out({3, -3, -inf}));
  cases->push_back(OpCase("Floor", "values").In({5}, {-1.5, 1.5, 2, -inf, 1e10}).Out({-2, 1, 2, -inf, 1e10}));
  cases->push_back(OpCase("Ceil", "values").In({5}, {-1.5, 1.5, 2, -0.25, inf}).Out({-1, 2, 2, 0, inf}));
  cases->push_back(OpCase("Sign", "values").In({5}, {-3, 0, 7, NAN, -inf}).Out({-1, 0, 1, NAN, -1}));
  cases->push_back(OpCase("Sin", "values").In({4}, {0, kPi / 6, -kPi / 2, inf}).Out({0, 0.5, -1, NAN}));
  cases->push_back(OpCase("Cos", "values").In({4}, {0, kPi / 3, kPi, inf}).Out({1, 0.5, -1, NAN}));
  cases->push_back(OpCase("Tan", "values").In({3}, {0, kPi / 4, -kPi / 3}).Out({0, 1, -std::sqrt(3.0)}));
  cases->push_back(OpCase("Asin", "values").In({3}, {1, -0.5, 2}).Out({kPi / 2, -kPi / 6, NAN}));
  cases->push_back(OpCase("Acos", "values").In({3}, {1, -0.5, -2}).Out({0, 2 * kPi / 3, NAN}));
  cases->push_back(OpCase("Atan", "values").In({3}, {1, inf, -inf}).Out({kPi / 4, kPi / 2, -kPi / 2}));
}

void AddUnaryWholeNumbers(std::vector<OpCase>* cases) {
  const double low = std::numeric_limits<int32_t>::min();
  cases->push_back(OpCase("ReLU", "i32").In({3}, {-5, 0, 7}, DType::kI32).Out({0, 0, 7}, 0));
  cases->push_back(OpCase("Abs", "i32").In({3}, {-5, low, 7}, DType::kI32).Out({5, low, 7}, 0));
  cases->push_back(OpCase("Neg", "i32").In({3}, {-5, low, 7}, DType::kI32).Out({5, low, -7}, 0));
  cases->push_back(OpCase("Sign", "i64").In({3}, {-5, 0, 7e15}, DType::kI64).Out({-1, 0, 1}, 0));
  for (const char* op : {"ReLU", "Abs", "Neg", "Sign"}) {
    cases->push_back(OpCase(op, "i64_extremes").In({3, 9}, Regime::kExtremes, DType::kI64));
  }
  cases->push_back(OpCase("Exp", "i32").In({3}, Regime::kInts, DType::kI32).Refused("expects a float blob, found i32"));
  cases->push_back(
      OpCase("Floor", "bool").In({3}, Regime::kBools, DType::kBool).Refused("expects a float blob, found bool"));
}

// Shapes and data of every kind for one operator. `positive`: its domain is x > 0; `unit`: it is [-1, 1].
void AddUnaryRegimes(const char* op, bool positive, bool unit, std::vector<OpCase>* cases) {
  const Regime main = positive ? Regime::kPositive : (unit ? Regime::kUnit : Regime::kGauss);
  cases->push_back(OpCase(op, "scalar").In({}, main).OutShape({}));
  cases->push_back(OpCase(op, "rank_1").In({1}, main));
  cases->push_back(OpCase(op, "rank_2").In({3, 37}, main));
  cases->push_back(OpCase(op, "rank_4").In({2, 5, 7, 9}, main));
  cases->push_back(OpCase(op, "rank_5").In({1, 3, 2, 5, 3}, main));
  cases->push_back(OpCase(op, "empty").In({2, 0, 3}, main).OutShape({2, 0, 3}));
  cases->push_back(OpCase(op, "zeros").In({3, 11}, Regime::kZeros));
  if (unit) return;
  cases->push_back(OpCase(op, "relu_data").In({3, 37}, positive ? Regime::kPositive : Regime::kRelu));
  cases->push_back(OpCase(op, "offset").In({3, 37}, Regime::kOffset));
  const bool has_poles = std::string(op) == "Tan";  // the tau of an uncertain input is first order
  if (!positive && !has_poles) cases->push_back(OpCase(op, "tail").In({3, 37}, Regime::kTail));
}

}  // namespace

std::vector<OpCase> unary_cases() {
  std::vector<OpCase> cases;
  AddUnaryValues(&cases);
  AddUnaryWholeNumbers(&cases);
  for (const char* op :
       {"ReLU",       "ReLU6", "Sigmoid", "LogSigmoid", "Swish", "Tanh", "GELU", "Erf", "Softplus", "Softsign", "Exp",
        "Reciprocal", "Abs",   "Neg",     "Floor",      "Ceil",  "Sign", "Sin",  "Cos", "Tan",      "Atan"}) {
    AddUnaryRegimes(op, false, false, &cases);
  }
  for (const char* op : {"Log", "Sqrt", "Rsqrt"}) AddUnaryRegimes(op, true, false, &cases);
  for (const char* op : {"Asin", "Acos"}) AddUnaryRegimes(op, false, true, &cases);
  const double e = 2.718281828459045;
  cases.push_back(OpCase("PlumbSinh", "values").In({3}, {-1, 0, 1}).Out({(1 / e - e) / 2, 0, (e - 1 / e) / 2}));
  cases.push_back(OpCase("PlumbCosh", "values").In({3}, {-1, 0, 1}).Out({(e + 1 / e) / 2, 1, (e + 1 / e) / 2}));
  cases.push_back(OpCase("PlumbAsinh", "values").In({3}, {-1, 0, 1}).Out({-0.881373587, 0, 0.881373587}));
  cases.push_back(OpCase("PlumbAcosh", "values").In({4}, {1, 2, 10, 0.5}).Out({0, 1.316957897, 2.993222846, NAN}));
  cases.push_back(OpCase("PlumbAtanh", "values").In({4}, {-0.5, 0, 1, 2}).Out({-0.549306144, 0, INFINITY, NAN}));
  cases.push_back(OpCase("PlumbMish", "values").In({3}, {-1, 0, 1}).Out({-0.303401461, 0, 0.865098388}));
  cases.push_back(OpCase("PlumbRound", "ties_to_even")
                      .In({9}, {0.1, 0.5, 0.9, 1.2, 1.5, 1.8, 2.5, -2.5, -0.5})
                      .Out({0, 0, 1, 1, 2, 2, 2, -2, 0}, 0));
  for (const char* op : {"PlumbSinh", "PlumbCosh", "PlumbAsinh", "PlumbMish", "PlumbRound"})
    AddUnaryRegimes(op, false, false, &cases);
  cases.push_back(OpCase("PlumbAcosh", "positive").In({3, 37}, Regime::kPositive));
  cases.push_back(OpCase("PlumbAtanh", "unit").In({3, 37}, Regime::kUnit));
  cases.push_back(OpCase("PlumbRound", "specials").In({3, 37}, Regime::kSpecials));
  // Exact operators keep subnormals and specials; the others may flush subnormals.
  for (const char* op : {"ReLU", "ReLU6", "Abs", "Neg", "Floor", "Ceil", "Sign"}) {
    cases.push_back(OpCase(op, "wide").In({3, 37}, Regime::kWide));
    cases.push_back(OpCase(op, "specials").In({3, 37}, Regime::kSpecials));
  }
  for (const char* op : {"ReLU", "ReLU6", "Abs", "Neg"})
    cases.push_back(OpCase(op, "subnormal").In({3, 37}, Regime::kSubnormal));
  for (const char* op : {"Sigmoid", "LogSigmoid", "Swish", "Tanh", "GELU", "Erf", "Softplus", "Softsign", "Atan"}) {
    cases.push_back(OpCase(op, "wide").In({3, 37}, Regime::kWide));
  }
  return WithDoubles(std::move(cases));
}

}  // namespace plumb
