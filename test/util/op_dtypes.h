// Cases for every dtype from one: operators that move elements carry all of them.
#ifndef PLUMB_TEST_UTIL_OP_DTYPES_H_
#define PLUMB_TEST_UTIL_OP_DTYPES_H_

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

}  // namespace plumb

#endif  // PLUMB_TEST_UTIL_OP_DTYPES_H_
