// SPDX-License-Identifier: Apache-2.0
// Planted faults: a kernel put in front of a device's list that computes one layer wrongly, in one of many ways.
//
// An output fault lets the device's own kernel run and then spoils what it wrote. A layer fault computes the step from
// a changed copy of the layer (other weights or parameters) in float64, rounded to f32. A wrong kernel computes in
// place of the device's own, which declares itself as ever; or is the device's own, prepared without the group's last
// member.
#ifndef PLUMB_TEST_CHECK_PLANTED_FAULT_H_
#define PLUMB_TEST_CHECK_PLANTED_FAULT_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "plumb/network.h"

namespace plumb {

struct PlantedFault {
  std::string name;   // "times 1.001"
  std::string layer;  // the member that is spoiled
  // One of these. `before` is the memory that the output had before the kernel ran.
  std::function<void(Tensor* output, const Tensor& before)> spoil_output;
  std::function<void(Layer* layer)> spoil_layer;
  std::function<void(const Tensor& input, Tensor* output)> compute = nullptr;
  bool without_tail = false;
};

// Puts a row per operator of `graph` in front of the device's kernels, which takes exactly the step that contains
// fault.layer. The fault and the device must outlive the network; one fault at a time per process.
void Plant(const PlantedFault& fault, const Graph& graph, Device* device);

}  // namespace plumb

#endif  // PLUMB_TEST_CHECK_PLANTED_FAULT_H_
