// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "util/op_dtypes.h"

namespace plumb {
namespace {

constexpr double kBinaryLow = std::numeric_limits<int32_t>::min();
constexpr double kBinaryHigh = std::numeric_limits<int32_t>::max();

OpCase Pair(const char* op, const char* name, std::vector<double> a, std::vector<double> b, DType dtype = DType::kF32) {
  const auto n = static_cast<int64_t>(a.size());
  return OpCase(op, name).In({n}, std::move(a), dtype).In({n}, std::move(b), dtype);
}

void AddBinaryValues(std::vector<OpCase>* cases) {
  const double inf = INFINITY;
  cases->push_back(Pair("Add", "values", {1, 2, inf, inf}, {10, -2, 1, -inf}).Out({11, 0, inf, NAN}));
  cases->push_back(Pair("Sub", "values", {1, 2, inf, inf}, {10, -2, 1, inf}).Out({-9, 4, inf, NAN}));
  cases->push_back(Pair("Mul", "values", {3, -2, inf, inf}, {0.5, -2, -1, 0}).Out({1.5, 4, -inf, NAN}));
  cases->push_back(Pair("Div", "values", {3, -2, 1, 0, 1}, {2, 4, 0, 0, inf}).Out({1.5, -0.5, inf, NAN, 0}));
  cases->push_back(Pair("Maximum", "values", {3, -2, NAN, 1}, {2, 4, 0, NAN}).Out({3, 4, NAN, NAN}));
  cases->push_back(Pair("Minimum", "values", {3, -2, NAN, 1}, {2, 4, 0, NAN}).Out({2, -2, NAN, NAN}));
  cases->push_back(Pair("SquaredDifference", "values", {3, -2, inf}, {2, 4, 0}).Out({1, 36, inf}));
  cases->push_back(Pair("PlumbPow", "values", {2, 9, -2, -8, 0, 0, NAN}, {10, 0.5, 3, 1.0 / 3, 0, -1, 0})
                       .Out({1024, 3, -8, NAN, 1, inf, 1}));
}

void AddBinaryWholeNumbers(std::vector<OpCase>* cases) {
  const DType i32 = DType::kI32;
  cases->push_back(
      Pair("Add", "i32_wraps", {kBinaryHigh, kBinaryLow, 5}, {1, -1, 6}, i32).Out({kBinaryLow, kBinaryHigh, 11}, 0));
  cases->push_back(
      Pair("Sub", "i32_wraps", {kBinaryLow, kBinaryHigh, 5}, {1, -1, 6}, i32).Out({kBinaryHigh, kBinaryLow, -1}, 0));
  cases->push_back(Pair("Mul", "i32_wraps", {kBinaryLow, 65536, -7}, {-1, 65536, 6}, i32).Out({kBinaryLow, 0, -42}, 0));
  cases->push_back(
      Pair("Div", "i32_truncates", {-7, 7, 5, kBinaryLow}, {2, -2, 0, -1}, i32).Out({-3, -3, 0, kBinaryLow}, 0));
  cases->push_back(Pair("Maximum", "i32", {kBinaryLow, 3}, {kBinaryHigh, -4}, i32).Out({kBinaryHigh, 3}, 0));
  cases->push_back(Pair("Minimum", "i32", {kBinaryLow, 3}, {kBinaryHigh, -4}, i32).Out({kBinaryLow, -4}, 0));
  cases->push_back(Pair("SquaredDifference", "i32_wraps", {kBinaryLow, 3}, {kBinaryHigh, -4}, i32).Out({1, 49}, 0));
  cases->push_back(
      Pair("PlumbPow", "i32", {3, 2, -1, 5, 2}, {4, 31, -3, -1, 0}, i32).Out({81, kBinaryLow, -1, 0, 1}, 0));
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Maximum", "Minimum", "SquaredDifference"}) {
    cases->push_back(OpCase(op, "i64_extremes")
                         .In({5, 7}, Regime::kExtremes, DType::kI64)
                         .In({5, 7}, Regime::kExtremes, DType::kI64)
                         .Seed(2));
    cases->push_back(OpCase(op, "i32_extremes_broadcast")
                         .In({3, 1, 7}, Regime::kExtremes, DType::kI32)
                         .In({5, 1}, Regime::kExtremes, DType::kI32)
                         .Seed(3));
  }
  cases->push_back(OpCase("Mul", "i64_constant").In({2, 3}, Regime::kInts, DType::kI64).Weight("element", {1}, {-3}));
}

void AddConstants(std::vector<OpCase>* cases) {
  const std::vector<double> x = {1, 2, 3, 4};
  cases->push_back(
      OpCase("Add", "constant_scalar").In({1, 2, 1, 2}, x).Weight("element", {1}, {0.5}).Out({1.5, 2.5, 3.5, 4.5}));
  cases->push_back(OpCase("Mul", "constant_per_channel")
                       .In({1, 2, 1, 2}, x)
                       .Weight("element", {2}, {10, 100})
                       .Out({10, 20, 300, 400}));
  cases->push_back(OpCase("Sub", "constant_first", "weight_input_index=0")
                       .In({1, 2, 1, 2}, x)
                       .Weight("element", {2}, {10, 100})
                       .Out({9, 8, 97, 96}));
  cases->push_back(OpCase("Div", "constant_first", "weight_input_index=0")
                       .In({1, 2, 1, 2}, x)
                       .Weight("element", {1}, {12})
                       .Out({12, 6, 4, 3}));
  cases->push_back(
      OpCase("Maximum", "constant_full").In({1, 2, 1, 2}, x).Weight("element", {4}, {2, 1, 9, 0}).Out({2, 2, 9, 4}));
  cases->push_back(OpCase("Sub", "constant_per_column")
                       .In({1, 2, 1, 3}, {1, 2, 3, 4, 5, 6})
                       .Weight("element", {3}, {1, 2, 3})
                       .Out({0, 0, 0, 3, 3, 3}));
  cases->push_back(OpCase("Add", "constant_with_dims").In({2, 3, 4}).Weight("element", {3, 1}).OutShape({2, 3, 4}));
  cases->push_back(
      OpCase("Add", "constant_of_higher_rank").In({3, 4}).Weight("element", {2, 1, 4}).OutShape({2, 3, 4}));
  cases->push_back(OpCase("Mul", "constant_drawn").In({2, 5, 3, 7}));
  cases->push_back(
      Pair("PlumbMod", "values", {5, -5, 5, -5, 5.5, -0.5}, {3, 3, -3, -3, 2, 2}).Out({2, 1, -1, -2, 1.5, 1.5}));
  cases->push_back(
      Pair("PlumbFmod", "values", {5, -5, 5, -5, 5.5, -0.5}, {3, 3, -3, -3, 2, 2}).Out({2, -2, 2, -2, 1.5, -0.5}, 0));
  cases->push_back(Pair("PlumbFmod", "wide", {1e30, -1e30, 3e38, 16777216, 5, INFINITY, 5, 7.5},
                        {3, 7, 2e-38, 0.1, INFINITY, 2, 0, -2.5})
                       .Out({0, -1, 1.978315056615547e-38, 0.05000000447034836, 5, NAN, NAN, 0}, 0));
  cases->push_back(Pair("PlumbMod", "i64", {-4, 7, 5, 4, -7, 8, 3}, {2, -3, 8, -2, 3, 5, 0}, DType::kI64)
                       .Out({0, -2, 5, 0, 2, 3, 0}, 0));
  cases->push_back(Pair("PlumbFmod", "i32", {-4, 7, 5, 4, -7, 8, 3}, {2, -3, 8, -2, 3, 5, 0}, DType::kI32)
                       .Out({0, 1, 5, 0, -1, 3, 0}, 0));
  cases->push_back(OpCase("PlumbMod", "known_value")
                       .Const({2}, {7, -7}, DType::kI64)
                       .Const({}, std::vector<double>{4}, DType::kI64)
                       .Out({3, 1}, 0));
  cases->push_back(OpCase("PlumbFmod", "broadcast").In({2, 5, 3}).In({5, 1}, Regime::kPositive));
  cases->push_back(OpCase("PlumbPow", "constant_exponent").In({2, 5, 3}, Regime::kPositive).Const({1}, {2.5}));
  cases->push_back(OpCase("Add", "known_i32")
                       .Const({2}, {1, 2147483647}, DType::kI32)
                       .Const({2, 1}, {1, -1}, DType::kI32)
                       .Out({2, -2147483648.0, 0, 2147483646}, 0));
  cases->push_back(
      OpCase("Sub", "known_i64").Const({3}, {2, 3, 4}, DType::kI64).Const({}, {-5}, DType::kI64).Out({7, 8, 9}, 0));
  cases->push_back(OpCase("Mul", "known_i64")
                       .Const({3}, {2, 3, 4}, DType::kI64)
                       .Const({}, {-5}, DType::kI64)
                       .Out({-10, -15, -20}, 0));
  cases->push_back(OpCase("Div", "known_i64")
                       .Const({4}, {7, -7, 7, 6}, DType::kI64)
                       .Const({4}, {2, 2, 0, -1}, DType::kI64)
                       .Out({3, -3, 0, -6}, 0));
  cases->push_back(
      OpCase("Maximum", "known_i32").Const({2}, {-7, 4}, DType::kI32).Const({1}, {3}, DType::kI32).Out({3, 4}, 0));
  cases->push_back(
      OpCase("Minimum", "known_i32").Const({2}, {-7, 4}, DType::kI32).Const({1}, {3}, DType::kI32).Out({-7, 3}, 0));
  cases->push_back(OpCase("Add", "graph_constant").In({2, 3}).Const({3}, {1, 2, 3}).OutShape({2, 3}));
  cases->push_back(
      OpCase("Add", "constant_does_not_fit").In({2, 3, 4}).Weight("element", {5}).Refused("does not broadcast"));
  cases->push_back(OpCase("Add", "index_outside", "weight_input_index=2")
                       .In({2, 3})
                       .Weight("element", {1}, {1})
                       .Refused("weight_input_index 2"));
}

// Shapes of every kind; `positive` where the operator's domain asks for it.
void AddBinaryShapes(const char* op, bool positive, std::vector<OpCase>* cases) {
  const Regime r = positive ? Regime::kPositive : Regime::kGauss;
  cases->push_back(OpCase(op, "same_4d").In({2, 5, 7, 9}, r).In({2, 5, 7, 9}, r));
  cases->push_back(OpCase(op, "rank_1").In({17}, r).In({17}, r));
  cases->push_back(OpCase(op, "scalar_blob").In({3, 7}, r).In({}, r).OutShape({3, 7}));
  cases->push_back(OpCase(op, "per_channel").In({2, 5, 3, 7}, r).In({1, 5, 1, 1}, r));
  cases->push_back(OpCase(op, "per_batch").In({3, 5, 4}, r).In({3, 1, 1}, r));
  cases->push_back(OpCase(op, "inner").In({2, 3, 5, 7}, r).In({5, 7}, r));
  cases->push_back(OpCase(op, "first_is_smaller").In({7}, r).In({2, 3, 7}, r).OutShape({2, 3, 7}));
  cases->push_back(OpCase(op, "both_ways").In({3, 1, 5}, r).In({4, 1}, r).OutShape({3, 4, 5}));
  cases->push_back(OpCase(op, "rank_5").In({2, 3, 1, 5, 1}, r).In({4, 1, 3}, r).OutShape({2, 3, 4, 5, 3}));
  cases->push_back(OpCase(op, "empty").In({2, 0, 3}, r).In({3}, r).OutShape({2, 0, 3}));
  cases->push_back(
      OpCase(op, "offset").In({3, 37}, Regime::kOffset).In({3, 37}, positive ? r : Regime::kOffset).Seed(5));
}

}  // namespace

std::vector<OpCase> binary_cases() {
  std::vector<OpCase> cases;
  AddBinaryValues(&cases);
  AddBinaryWholeNumbers(&cases);
  AddConstants(&cases);
  for (const char* op : {"Add", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference"}) {
    AddBinaryShapes(op, false, &cases);
    cases.push_back(OpCase(op, "wide").In({3, 37}, Regime::kWide).In({3, 37}, Regime::kWide).Seed(4));
    cases.push_back(OpCase(op, "specials").In({40}, Regime::kSpecials).In({40}, Regime::kSpecials).Seed(3));
  }
  for (const char* op : {"Div", "PlumbPow"}) AddBinaryShapes(op, true, &cases);
  cases.push_back(OpCase("Div", "wide").In({3, 37}, Regime::kWide).In({3, 37}, Regime::kWide).Seed(4));
  cases.push_back(OpCase("Add", "shapes_differ").In({2, 3}).In({2, 4}).Refused("do not broadcast"));
  cases.push_back(
      OpCase("Add", "dtypes_differ").In({2}).In({2}, Regime::kInts, DType::kI32).Refused("different dtypes"));
  cases.push_back(OpCase("Mul", "bool")
                      .In({2}, Regime::kBools, DType::kBool)
                      .In({2}, Regime::kBools, DType::kBool)
                      .Refused("found bool"));
  return WithDoubles(std::move(cases));
}

}  // namespace plumb
