// SPDX-License-Identifier: Apache-2.0
// Cases for other dtypes from one: operators that move elements carry all of them, those that compute floats f64, too.
#ifndef PLUMB_TEST_UTIL_OP_DTYPES_H_
#define PLUMB_TEST_UTIL_OP_DTYPES_H_

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "util/op_case.h"

namespace plumb {

// Appends copies of `base`, named <name>_<dtype>, whose first input has that dtype and whole or special values.
inline void AddForEveryDType(const OpCase& base, std::vector<OpCase>* cases) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8, DType::kU8, DType::kI16,
                            DType::kU16, DType::kI32, DType::kU32, DType::kI64, DType::kBool}) {
    OpCase c = base;
    c.name += std::string("_") + DTypeName(dtype);
    c.inputs[0].dtype = dtype;
    c.inputs[0].regime = Regime::kExtremes;
    cases->push_back(c);
  }
}

// With f64 twins, named <name>_f64, of each operator's first three small cases whose floats are all f32, the first
// input among them ("wide" ones expect what f32 makes of their values).
inline std::vector<OpCase> WithDoubles(std::vector<OpCase> cases) {
  constexpr int kTwins = 3;
  constexpr int64_t kSmall = 5000;
  std::map<std::string, int> twins;
  std::vector<OpCase> more;
  for (const OpCase& c : cases) {
    const bool fits = std::all_of(c.inputs.begin(), c.inputs.end(), [](const OpCase::Data& in) {
      return (in.dtype == DType::kF32 || !IsFloat(in.dtype)) && in.shape.NumElements() <= kSmall;
    });
    const bool floats = !c.inputs.empty() && c.inputs[0].dtype == DType::kF32;
    if (!fits || !floats || c.name == "wide" || !c.refused.empty() || twins[c.op]++ >= kTwins) continue;
    more.push_back(c);
    more.back().name += "_f64";
    for (OpCase::Data& in : more.back().inputs) {
      if (IsFloat(in.dtype)) in.dtype = DType::kF64;
    }
  }
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

}  // namespace plumb

#endif  // PLUMB_TEST_UTIL_OP_DTYPES_H_
