// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "util/op_dtypes.h"

namespace plumb {
namespace {

const char* const kOps[] = {"ReduceSum", "ReduceMean", "ReduceMax",       "ReduceMin",    "ReduceProd",
                            "ReduceL1",  "ReduceL2",   "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"};
constexpr double kReduceLow = std::numeric_limits<int32_t>::min();
constexpr double kReduceHigh = std::numeric_limits<int32_t>::max();

// [[1, -2, 3], [4, 5, -6]] along the last axis (logarithms of [[1, 2, 3], [4, 5, 6]]).
void AddReduceValues(std::vector<OpCase>* cases) {
  const std::vector<double> x = {1, -2, 3, 4, 5, -6};
  const auto add = [&](const char* op, std::vector<double> y) {
    cases->push_back(OpCase(op, "values", "axes=[1]").In({2, 3}, x).Out(std::move(y)).OutShape({2}));
  };
  add("ReduceSum", {2, 3});
  add("ReduceMean", {2.0 / 3, 1});
  add("ReduceMax", {3, 5});
  add("ReduceMin", {-2, -6});
  add("ReduceProd", {-6, -120});
  add("ReduceL1", {6, 15});
  add("ReduceL2", {std::sqrt(14.0), std::sqrt(77.0)});
  add("ReduceSumSquare", {14, 77});
  cases->push_back(
      OpCase("ReduceLogSum", "values", "axes=[1]").In({2, 3}, {1, 2, 3, 4, 5, 6}).Out({std::log(6.0), std::log(15.0)}));
  cases->push_back(OpCase("ReduceLogSumExp", "values", "keep_dims axes=[-1]")
                       .In({1, 3}, {0, std::log(2.0), std::log(5.0)})
                       .Out({std::log(8.0)})
                       .OutShape({1, 1}));
  cases->push_back(OpCase("ReduceLogSumExp", "shifted_by_maximum", "axes=[0]")
                       .In({2}, {1000, 1000})
                       .Out({1000 + std::log(2.0)})
                       .OutShape({}));
}

void AddSpecials(std::vector<OpCase>* cases) {
  const double inf = INFINITY;
  cases->push_back(OpCase("ReduceMax", "nan", "axes=[1]").In({2, 3}, {1, NAN, 3, -inf, -inf, -inf}).Out({NAN, -inf}));
  cases->push_back(OpCase("ReduceMin", "nan", "axes=[1]").In({2, 3}, {NAN, 1, 3, inf, inf, inf}).Out({NAN, inf}));
  cases->push_back(OpCase("ReduceSum", "infinities", "axes=[1]").In({2, 2}, {inf, 1, inf, -inf}).Out({inf, NAN}));
  cases->push_back(OpCase("ReduceLogSumExp", "infinities", "axes=[1]")
                       .In({3, 2}, {-inf, -inf, inf, 1, NAN, 1})
                       .Out({-inf, inf, NAN}));
  cases->push_back(OpCase("ReduceLogSum", "zero", "axes=[1]").In({1, 2}, {0, 0}).Out({-inf}));
  // Of nothing.
  cases->push_back(OpCase("ReduceSum", "of_nothing", "axes=[1]").In({2, 0}).Out({0, 0}));
  cases->push_back(OpCase("ReduceProd", "of_nothing", "axes=[1]").In({2, 0}).Out({1, 1}));
  cases->push_back(OpCase("ReduceMean", "of_nothing", "axes=[1]").In({2, 0}).Out({NAN, NAN}));
  cases->push_back(OpCase("ReduceMax", "of_nothing", "axes=[1]").In({2, 0}).Out({-inf, -inf}));
  cases->push_back(OpCase("ReduceMin", "of_nothing", "axes=[1]").In({2, 0}).Out({inf, inf}));
  cases->push_back(OpCase("ReduceL2", "of_nothing", "axes=[1]").In({2, 0}).Out({0, 0}));
}

void AddReduceWholeNumbers(std::vector<OpCase>* cases) {
  const auto add = [&](const char* op, std::vector<double> y) {
    cases->push_back(OpCase(op, "i32_wraps", "axes=[1]")
                         .In({2, 2}, {kReduceHigh, 1, kReduceLow, 3}, DType::kI32)
                         .Out(std::move(y), 0));
  };
  add("ReduceSum", {kReduceLow, kReduceLow + 3});
  add("ReduceMax", {kReduceHigh, 3});
  add("ReduceMin", {1, kReduceLow});
  add("ReduceProd", {kReduceHigh, kReduceLow});
  add("ReduceL1", {kReduceLow, kReduceLow + 3});
  add("ReduceSumSquare", {2, 9});
  for (const char* op : {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceSumSquare"}) {
    cases->push_back(OpCase(op, "i64_extremes", "keep_dims axes=[1]").In({3, 5, 2}, Regime::kExtremes, DType::kI64));
  }
  cases->push_back(
      OpCase("ReduceMean", "i32", "axes=[1]").In({2, 2}, Regime::kInts, DType::kI32).Refused("expects a float blob"));
}

void AddReduceShapes(const char* op, bool positive, std::vector<OpCase>* cases) {
  const Regime r = positive ? Regime::kPositive : Regime::kGauss;
  cases->push_back(OpCase(op, "last_axis", "keep_dims axes=[-1]").In({2, 5, 7}, r).OutShape({2, 5, 1}));
  cases->push_back(OpCase(op, "channels", "keep_dims axes=[1]").In({2, 19, 3, 5}, r).OutShape({2, 1, 3, 5}));
  cases->push_back(OpCase(op, "spatial", "keep_dims axes=[2,3]").In({2, 5, 7, 9}, r).OutShape({2, 5, 1, 1}));
  cases->push_back(OpCase(op, "spatial_dropped", "axes=[2,3]").In({2, 5, 7, 9}, r).OutShape({2, 5}));
  cases->push_back(OpCase(op, "first_and_last", "axes=[0,2]").In({3, 5, 7}, r).OutShape({5}));
  cases->push_back(OpCase(op, "all", "").In({3, 5, 7}, r).OutShape({}));
  cases->push_back(OpCase(op, "all_kept", "keep_dims").In({3, 5, 7}, r).OutShape({1, 1, 1}));
  cases->push_back(OpCase(op, "rank_1", "axes=[0]").In({17}, r).OutShape({}));
  cases->push_back(OpCase(op, "rank_5", "keep_dims axes=[1,3,-1]").In({2, 3, 2, 5, 3}, r).OutShape({2, 1, 2, 1, 1}));
  cases->push_back(OpCase(op, "axis_of_one", "axes=[1]").In({5, 1, 3}, r).OutShape({5, 3}));
  cases->push_back(OpCase(op, "one_element", "").In({1, 1}, r).OutShape({}));
  cases->push_back(OpCase(op, "no_output", "axes=[1]").In({0, 3}, r).OutShape({0}));
  cases->push_back(OpCase(op, "twice_the_same_axis", "axes=[1,-1]").In({2, 3}, r).OutShape({2}));
  cases->push_back(OpCase(op, "long", "axes=[1]").In({3, 5000}, r));
  if (std::string(op) != "ReduceProd")
    cases->push_back(OpCase(op, "offset_long", "axes=[1]").In({3, 2000}, Regime::kOffset));
  cases->push_back(OpCase(op, "constant", "axes=[1,2]").In({2, 56, 56}, Regime::kConstant));
  cases->push_back(OpCase(op, "axis_outside", "keep_dims axes=[3]").In({2, 3}).Refused("axis 3"));
}

}  // namespace

std::vector<OpCase> reduce_cases() {
  std::vector<OpCase> cases;
  AddReduceValues(&cases);
  AddSpecials(&cases);
  AddReduceWholeNumbers(&cases);
  // Longer than 65,535: what lavapipe's loops turn in one invocation (device/vulkan/loop_rounds.h).
  for (const char* op : kOps) {
    const Regime regime = std::string(op) == "ReduceLogSum" ? Regime::kPositive : Regime::kGauss;
    cases.push_back(OpCase(op, "beyond_65535", "axes=[1]").In({2, 70000}, regime));
    cases.push_back(OpCase(op, "beyond_65535_apart", "axes=[0,2]").In({300, 2, 250}, regime));
  }
  for (const char* op : kOps) AddReduceShapes(op, std::string(op) == "ReduceLogSum", &cases);
  for (const char* op :
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare"}) {
    cases.push_back(OpCase(op, "zeros", "axes=[1]").In({3, 37}, Regime::kZeros));
    cases.push_back(OpCase(op, "wide", "axes=[1]").In({3, 37}, Regime::kWide));
  }
  cases.push_back(OpCase("ReduceLogSumExp", "tail", "axes=[1]").In({3, 37}, Regime::kTail));
  return WithDoubles(std::move(cases));
}

}  // namespace plumb
