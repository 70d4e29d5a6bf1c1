// SPDX-License-Identifier: Apache-2.0
// Every device but NAIVE against the reference, in the operator test.
#ifndef PLUMB_TEST_OP_DEVICE_TEST_H_
#define PLUMB_TEST_OP_DEVICE_TEST_H_

#include <memory>
#include <string>
#include <vector>

#include "device/kernel.h"
#include "plumb/network.h"
#include "util/op_case.h"
#include "util/op_graph.h"

namespace plumb {

// The case as a network of one layer on `device`, judged by the reference's own bound: tau = 0 means bit-exact,
// otherwise |error| <= tau everywhere and rms(8 error / tau) <= 2; NaN and infinities where the rounded reference has
// them. Skips with the kernels' reasons where the device refuses the layer. NORMAL and LOW: the device stores f16,
// inputs are rounded to f16, and the reference is judged as source/check/numbers/stored_half.h says.
void TestOnDevice(const OpCase& op_case, const std::string& device, Precision precision = Precision::kHigh);

// The largest E and R that each device reached in this run, and where.
void PrintWorstCases();

// What the verdict must know of the kernel.
struct DeviceFacts {
  std::vector<bool> halves;  // which outputs the device stored as f16
  Numerics numerics;         // how it says that it computed
};

// The outputs of the instance as a network on `device`.
Result<std::vector<Tensor>> RunOnDevice(const OpInstance& instance, const std::string& device,
                                        const std::vector<KernelRow>& kernels_in_front = {},
                                        Precision precision = Precision::kHigh, DeviceFacts* facts = nullptr);

}  // namespace plumb

#endif  // PLUMB_TEST_OP_DEVICE_TEST_H_
