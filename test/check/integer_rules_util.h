// SPDX-License-Identifier: Apache-2.0
// Steps made by hand, and what a rule gives of them.
#ifndef PLUMB_TEST_CHECK_INTEGER_RULES_UTIL_H_
#define PLUMB_TEST_CHECK_INTEGER_RULES_UTIL_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "check/integer/integer_rules.h"

namespace plumb {

using Integers = std::vector<int64_t>;

inline Tensor Doubles(const std::vector<double>& values) {
  Tensor tensor = Tensor::Create(DType::kF64, {static_cast<int64_t>(values.size())}).value();
  std::copy(values.begin(), values.end(), tensor.data<double>());
  return tensor;
}

inline IntegerStep Result8(IntegerForm form, int64_t count, float scale, int64_t zero) {
  IntegerStep step;
  step.form = form;
  step.shape = {count};
  step.scale = scale;
  step.zero = zero;
  step.low = -128;
  step.high = 127;
  return step;
}

inline IntegerStep Product(const std::vector<double>& sums, float factor, float scale, int64_t zero = 0) {
  IntegerStep step = Result8(IntegerForm::kProduct, static_cast<int64_t>(sums.size()), scale, zero);
  step.sums = Doubles(sums);
  step.scales = {factor};
  step.exact_scales = {static_cast<double>(factor)};
  return step;
}

// whole: without the zero point.
inline IntegerStep Pair(IntegerForm form, const IntegerOperand& a, const IntegerOperand& b, float scale, int64_t zero) {
  IntegerStep step = Result8(form, a.whole.NumElements(), scale, zero);
  step.operands = {a, b};
  return step;
}

// What the first rule of the form whose words hold `words` gives; empty: it says nothing.
inline Integers By(const char* words, const IntegerStep& step) {
  const auto begins = [&](const char* runtime) { return std::string(words).rfind(runtime, 0) == 0; };
  const MadeFor of = begins("TNN")                           ? MadeFor::kTnn
                     : begins("ncnn")                        ? MadeFor::kNcnn
                     : begins("MNN")                         ? MadeFor::kMnn
                     : begins("TFLite") || begins("XNNPACK") ? MadeFor::kLiteRt
                                                             : MadeFor::kOnnxRuntime;
  for (const IntegerRule& rule : AllIntegerRules(of)) {
    if (rule.form != step.form || std::string(rule.words).find(words) == std::string::npos) continue;
    Integers integers(static_cast<size_t>(step.shape.NumElements()));
    return rule.replay(step, &integers) ? integers : Integers();
  }
  ADD_FAILURE() << "no rule '" << words << "'";
  return {};
}

}  // namespace plumb

#endif  // PLUMB_TEST_CHECK_INTEGER_RULES_UTIL_H_
