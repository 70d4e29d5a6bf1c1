// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "util/op_dtypes.h"

namespace plumb {
namespace {

// The row 1, 2, 3, 4: mean 2.5, variance 1.25; with eps 0.3125 s = 1.25 and z = -1.2, -0.4, 0.4, 1.2.
void AddNormValues(std::vector<OpCase>* cases) {
  const std::vector<double> x = {1, 2, 3, 4};
  cases->push_back(OpCase("InstBatchNormCxx", "values", "channels=1 eps=0.3125")
                       .In({1, 1, 2, 2}, x)
                       .Weight("scale", {1}, {10})
                       .Weight("bias", {1}, {1})
                       .Out({-11, -3, 5, 13}));
  cases->push_back(OpCase("InstBatchNormCxx", "no_bias", "channels=2 eps=0.3125")
                       .In({1, 2, 4}, {1, 2, 3, 4, 4, 3, 2, 1})
                       .Weight("scale", {2}, {1, 10})
                       .Out({-1.2, -0.4, 0.4, 1.2, 12, 4, -4, -12}));
  cases->push_back(OpCase("GroupNorm", "values", "group=1 eps=0.3125")
                       .In({1, 2, 2}, x)
                       .Const({2}, {10, 1})
                       .Const({2}, {0, 7})
                       .Out({-12, -4, 7.4, 8.2}));
  cases->push_back(
      OpCase("GroupNorm", "without_coefficients", "group=1 eps=0.3125").In({1, 4}, x).Out({-1.2, -0.4, 0.4, 1.2}));
  cases->push_back(OpCase("LayerNorm", "values", "reduce_dims_size=1 eps=0.3125")
                       .In({1, 4}, x)
                       .Const({4}, {1, 1, 10, 10})
                       .Const({4}, {0, 1, 0, 1})
                       .Out({-1.2, 0.6, 4, 13}));
  cases->push_back(OpCase("LayerNorm", "two_dims", "reduce_dims_size=2 eps=0.3125")
                       .In({1, 2, 2}, x)
                       .Const({2, 2}, {1, 1, 10, 10})
                       .Out({-1.2, -0.4, 4, 12}));
  cases->push_back(
      OpCase("LayerNorm", "nan_spoils_its_row", "reduce_dims_size=1").In({2, 2}, {NAN, 1, 3, 3}).Out({NAN, NAN, 0, 0}));
}

void AddRefusals(std::vector<OpCase>* cases) {
  cases->push_back(
      OpCase("GroupNorm", "group_does_not_divide", "group=3").In({1, 4, 2}).Refused("does not divide the 4 channels"));
  cases->push_back(
      OpCase("GroupNorm", "wrong_count", "group=2").In({1, 4, 2}).Const({3}, {1, 1, 1}).Refused("expects 4 values"));
  cases->push_back(OpCase("LayerNorm", "too_many_dims", "reduce_dims_size=3").In({4, 2}).Refused("reduce_dims_size 3"));
  cases->push_back(OpCase("LayerNorm", "missing_size").In({4, 2}).Refused("reduce_dims_size 0"));
  cases->push_back(OpCase("InstBatchNormCxx", "channels_differ", "channels=3").In({1, 4, 2}).Refused("channels is 3"));
}

void AddNormRegimes(const char* op, const char* params, Regime r, const char* suffix, std::vector<OpCase>* cases) {
  const auto name = [&](const char* base) { return std::string(base) + suffix; };
  const bool layer = std::string(op) == "LayerNorm";
  const auto with_coefficients = [&](OpCase c, const Shape& shape) {
    if (std::string(op) == "InstBatchNormCxx") return c;
    return c.Const(shape, Regime::kPositive).Const(shape, Regime::kGauss);
  };
  cases->push_back(
      with_coefficients(OpCase(op, name("rank_4"), params).In({2, 6, 7, 9}, r), layer ? Shape{9} : Shape{6}));
  cases->push_back(
      with_coefficients(OpCase(op, name("rank_3"), params).In({3, 4, 37}, r), layer ? Shape{37} : Shape{4}));
  cases->push_back(
      with_coefficients(OpCase(op, name("long"), params).In({1, 2, 5000}, r), layer ? Shape{5000} : Shape{2}));
}

}  // namespace

std::vector<OpCase> norm_cases() {
  std::vector<OpCase> cases;
  AddNormValues(&cases);
  AddRefusals(&cases);
  const std::pair<Regime, const char*> regimes[] = {{Regime::kGauss, ""},         {Regime::kRelu, "_relu"},
                                                    {Regime::kOffset, "_offset"}, {Regime::kConstant, "_constant"},
                                                    {Regime::kZeros, "_zeros"},   {Regime::kTail, "_tail"}};
  for (const auto& [regime, suffix] : regimes) {
    AddNormRegimes("InstBatchNormCxx", "", regime, suffix, &cases);
    AddNormRegimes("GroupNorm", "group=2", regime, suffix, &cases);
    AddNormRegimes("LayerNorm", "reduce_dims_size=1", regime, suffix, &cases);
  }
  cases.push_back(OpCase("LayerNorm", "rank_5_three_dims", "reduce_dims_size=3 eps=0.001")
                      .In({2, 3, 2, 5, 3})
                      .Const({2, 5, 3}, Regime::kPositive));
  cases.push_back(OpCase("LayerNorm", "all_dims", "reduce_dims_size=2").In({5, 7}));
  // Longer than 65,535: what lavapipe's loops turn in one invocation (device/vulkan/loop_rounds.h).
  cases.push_back(OpCase("LayerNorm", "beyond_65535", "reduce_dims_size=2").In({2, 2, 35000}));
  cases.push_back(OpCase("InstBatchNormCxx", "beyond_65535").In({1, 2, 200, 351}));
  cases.push_back(OpCase("LayerNorm", "rows_of_one", "reduce_dims_size=1").In({5, 1}));
  cases.push_back(OpCase("LayerNorm", "empty", "reduce_dims_size=1").In({0, 7}).OutShape({0, 7}));
  cases.push_back(OpCase("GroupNorm", "channel_is_a_group", "group=5")
                      .In({2, 5, 3, 3})
                      .Const({5}, Regime::kPositive)
                      .Const({5}, Regime::kGauss));
  cases.push_back(OpCase("GroupNorm", "rank_5", "group=3").In({1, 6, 2, 3, 5}));
  cases.push_back(OpCase("InstBatchNormCxx", "rank_5", "channels=3").In({2, 3, 2, 5, 3}));
  cases.push_back(OpCase("InstBatchNormCxx", "one_pixel", "channels=3").In({2, 3, 1, 1}));
  return WithDoubles(std::move(cases));
}

}  // namespace plumb
