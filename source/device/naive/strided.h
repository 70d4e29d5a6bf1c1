// The reference of every operator that has a StridedMap (op/strided.h): elements copied as they are, bit-exact for
// every dtype, NaN payloads included; tau follows its element.
#ifndef PLUMB_DEVICE_NAIVE_STRIDED_H_
#define PLUMB_DEVICE_NAIVE_STRIDED_H_

#include "device/naive/naive_op.h"

namespace plumb {

NaiveOp StridedOp();

}  // namespace plumb

#endif  // PLUMB_DEVICE_NAIVE_STRIDED_H_
