// Which of a model's layers a device can run, and with which kernel.
#ifndef PLUMB_SUPPORT_H_
#define PLUMB_SUPPORT_H_

#include <string>
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

}  // namespace plumb

#endif  // PLUMB_SUPPORT_H_
