// Every device but NAIVE against the reference, in the operator test.
#ifndef PLUMB_TEST_OP_DEVICE_TEST_H_
#define PLUMB_TEST_OP_DEVICE_TEST_H_

#include <string>

#include "util/op_case.h"

namespace plumb {

// The case as a network of one layer on `device`, judged by the reference's own bound: tau = 0 means bit-exact,
// otherwise |error| <= tau everywhere and rms(8 error / tau) <= 2; NaN and infinities where the rounded reference has
// them. Skips with the kernels' reasons where the device refuses the layer.
void TestOnDevice(const OpCase& op_case, const std::string& device);

}  // namespace plumb

#endif  // PLUMB_TEST_OP_DEVICE_TEST_H_
