// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "util/op_dtypes.h"

namespace plumb {
namespace {

void AddActivationValues(std::vector<OpCase>* cases) {
  const double inf = INFINITY;
  cases->push_back(
      OpCase("LeakyRelu", "values", "slope=0.5").In({5}, {-2, 0, 3, NAN, -inf}).Out({-1, 0, 3, NAN, -inf}));
  cases->push_back(OpCase("LeakyRelu", "default_slope").In({2}, {-2, 3}).Out({-0.02, 3}));
  cases->push_back(OpCase("Elu", "values", "alpha=2").In({4}, {std::log(0.25), 0, 3, -inf}).Out({-1.5, 0, 3, -2}));
  cases->push_back(
      OpCase("Selu", "values", "alpha=2 gamma=0.5").In({4}, {std::log(0.25), 0, 3, NAN}).Out({-0.75, 0, 1.5, NAN}));
  cases->push_back(OpCase("Selu", "default_constants").In({2}, {1, -inf}).Out({1.05070102, -1.75809933}));
  cases->push_back(
      OpCase("HardSigmoid", "values", "alpha=0.25 beta=0.5").In({5}, {-3, -1, 0, 1, 3}).Out({0, 0.25, 0.5, 0.75, 1}));
  cases->push_back(
      OpCase("HardSwish", "values", "alpha=0.25 beta=0.5").In({5}, {-3, -1, 0, 1, 3}).Out({0, -0.25, 0, 0.75, 3}));
  cases->push_back(OpCase("HardSwish", "gate", "alpha=0.25 beta=0.5")
                       .In({1, 2, 2}, {1, 2, 3, 4})
                       .In({1, 2, 1}, {1, 7})
                       .Out({0.75, 1.5, 3, 4}));
  cases->push_back(OpCase("Clip", "values", "min=-1 max=2").In({5}, {-3, -1, 0.5, 7, NAN}).Out({-1, -1, 0.5, 2, NAN}));
  cases->push_back(OpCase("Clip", "empty_limits_are_zero").In({3}, {-3, 0, 7}).Out({0, 0, 0}));
  cases->push_back(OpCase("Clip", "minimum_above_maximum", "min=5 max=2").In({3}, {0, 3, 9}).Out({2, 2, 2}));
  cases->push_back(OpCase("Clip", "i64", "min=-2 max=3.4e+38").In({3}, {-9, 0, 9}, DType::kI64).Out({-2, 0, 9}, 0));
  cases->push_back(
      OpCase("Clip", "i32", "min=-1.5 max=2.5").In({4}, {-9, -1, 2, 9}, DType::kI32).Out({-1, -1, 2, 2}, 0));
  cases->push_back(OpCase("Power", "square", "exponent=2").In({3}, {-3, 0, 0.5}).Out({9, 0, 0.25}));
  cases->push_back(
      OpCase("Power", "scale_and_shift", "exponent=0.5 scale=4 shift=1").In({3}, {0, 2, -1}).Out({1, 3, NAN}));
  cases->push_back(OpCase("Power", "exponent_zero", "exponent=0").In({3}, {0, 5, NAN}).Out({1, 1, 1}));
  cases->push_back(OpCase("Power", "reciprocal", "exponent=-1").In({3}, {4, -2, 0}).Out({0.25, -0.5, inf}));
  cases->push_back(OpCase("HardSwish", "gate_differs").In({2, 3}).In({2, 4}).Refused("do not broadcast"));
  cases->push_back(OpCase("Elu", "i32").In({3}, Regime::kInts, DType::kI32).Refused("expects a float blob"));
}

void AddActivationRegimes(const char* op, const char* params, std::vector<OpCase>* cases) {
  cases->push_back(OpCase(op, "scalar", params).In({}).OutShape({}));
  cases->push_back(OpCase(op, "rank_2", params).In({3, 37}));
  cases->push_back(OpCase(op, "rank_4", params).In({2, 5, 7, 9}));
  cases->push_back(OpCase(op, "rank_5", params).In({1, 3, 2, 5, 3}));
  cases->push_back(OpCase(op, "empty", params).In({2, 0, 3}).OutShape({2, 0, 3}));
  cases->push_back(OpCase(op, "zeros", params).In({3, 11}, Regime::kZeros));
  cases->push_back(OpCase(op, "relu_data", params).In({3, 37}, Regime::kRelu));
  cases->push_back(OpCase(op, "offset", params).In({3, 37}, Regime::kOffset));
  cases->push_back(OpCase(op, "tail", params).In({3, 37}, Regime::kTail));
  cases->push_back(OpCase(op, "wide", params).In({3, 37}, Regime::kWide));
}

}  // namespace

std::vector<OpCase> activation_cases() {
  std::vector<OpCase> cases;
  AddActivationValues(&cases);
  AddActivationRegimes("LeakyRelu", "slope=0.1", &cases);
  AddActivationRegimes("Elu", "", &cases);
  AddActivationRegimes("Selu", "", &cases);
  AddActivationRegimes("HardSigmoid", "alpha=0.2 beta=0.5", &cases);
  AddActivationRegimes("HardSwish", "alpha=0.16666667 beta=0.5", &cases);
  AddActivationRegimes("Clip", "min=-0.5 max=1.25", &cases);
  AddActivationRegimes("Power", "exponent=2", &cases);
  cases.push_back(
      OpCase("HardSwish", "gate_per_channel", "alpha=0.16666667 beta=0.5").In({2, 5, 3, 7}).In({2, 5, 1, 1}));
  cases.push_back(
      OpCase("HardSwish", "gate_both_ways", "alpha=0.2 beta=0.5").In({3, 1, 5}).In({4, 1}).OutShape({3, 4, 5}));
  cases.push_back(OpCase("Clip", "specials", "min=-0.5 max=1.25").In({3, 37}, Regime::kSpecials));
  cases.push_back(OpCase("Clip", "i64_extremes", "min=-100 max=100").In({3, 9}, Regime::kExtremes, DType::kI64));
  cases.push_back(OpCase("PlumbCelu", "values", "alpha=2").In({3}, {-2, 0, 3}).Out({-1.264241118, 0, 3}));
  cases.push_back(
      OpCase("PlumbThresholdedRelu", "values", "alpha=2").In({5}, {-2, 1, 2, 2.5, NAN}).Out({0, 0, 0, 2.5, NAN}, 0));
  cases.push_back(OpCase("PlumbShrink", "hard", "lambda=1.5").In({5}, {-2, -1, 0, 1, 2}).Out({-2, 0, 0, 0, 2}));
  cases.push_back(
      OpCase("PlumbShrink", "soft", "lambda=1.5 bias=1.5").In({5}, {-2, -1, 0, 1, 2}).Out({-0.5, 0, 0, 0, 0.5}));
  AddActivationRegimes("PlumbCelu", "alpha=1.5", &cases);
  AddActivationRegimes("PlumbThresholdedRelu", "alpha=0.5", &cases);
  AddActivationRegimes("PlumbShrink", "bias=0.25", &cases);
  for (const char* exponent :
       {"exponent=0.5", "exponent=-0.5", "exponent=3", "exponent=2.5 scale=0.5 shift=1", "exponent=-1 shift=0.25"}) {
    OpCase c("Power", std::string("positive_") + std::to_string(cases.size()), exponent);
    cases.push_back(c.In({3, 37}, Regime::kPositive));
  }
  return WithDoubles(std::move(cases));
}

}  // namespace plumb
