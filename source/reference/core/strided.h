// SPDX-License-Identifier: Apache-2.0
// The reference of every operator that has a StridedMap (op/core/strided.h): elements copied as they are, bit-exact for
// every dtype, NaN payloads included; tau follows its element.
#ifndef PLUMB_REFERENCE_CORE_STRIDED_H_
#define PLUMB_REFERENCE_CORE_STRIDED_H_

#include "reference/core/reference_op.h"

namespace plumb {

ReferenceOp StridedOp();

}  // namespace plumb

#endif  // PLUMB_REFERENCE_CORE_STRIDED_H_
