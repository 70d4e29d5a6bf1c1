// SPDX-License-Identifier: Apache-2.0
// Which of a model's layers a device can run, and with which kernel; and what their parameters are.
#ifndef PLUMB_TOOL_SUPPORT_H_
#define PLUMB_TOOL_SUPPORT_H_

#include <string>
#include <utility>
#include <vector>

#include "plumb/graph.h"

namespace plumb {

class Device;

struct LayerSupport {
  std::string kernel;                 // "x86/convolution_onednn"; empty: none
  std::vector<std::string> refusals;  // the kernels that were asked before, with their reasons
};

// One entry per layer of the graph, each taken alone (not fused). `blobs` is InferShapes' table.
std::vector<LayerSupport> FindSupport(const Graph& graph, const BlobTable& blobs, Device& device);

struct LackingKernel {
  int index = 0;
  std::string layer, type;
  std::string reason;  // "no kernel for this operator", or what the kernels said that were asked
};

// The layers for which this device has no kernel, each taken alone. When CreateNetwork refused with NotSupported, a
// list that is not empty says that this was the reason, and not a failure; empty: the device can run every layer.
std::vector<LackingKernel> LackingKernels(const Graph& graph, const BlobTable& blobs, Device& device);
// "X86 has no kernel for 3 of 120 layers: 00007 'mul' (PlumbMod): no kernel for this operator; ... and 1 more".
std::string DescribeLacking(const std::string& device, const Graph& graph, const std::vector<LackingKernel>& lacking);

// A layer's parameters as (name, value as text), in the order that the tnnproto has them: ("kernel_h", "3"), ...
std::vector<std::pair<std::string, std::string>> ListParams(const Layer& layer);
// Additions, multiplications and the like that the layer takes; 0 where it only moves data.
double CountOperations(const Layer& layer, const BlobTable& blobs);

}  // namespace plumb

#endif  // PLUMB_TOOL_SUPPORT_H_
