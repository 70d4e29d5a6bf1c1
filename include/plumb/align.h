// SPDX-License-Identifier: Apache-2.0
// Proving a conversion: the original model in its own framework and the converted one on our devices, on the same
// inputs; output by output, and where one differs layer by layer, up to the first operator that differs.
//
// Example:
//   PLUMB_ASSIGN_OR_RETURN(plumb::Graph loaded, plumb::LoadModel("net.tnnproto"));
//   const auto graph = std::make_shared<const plumb::Graph>(std::move(loaded));
//   PLUMB_ASSIGN_OR_RETURN(const plumb::Golden golden, plumb::ReadGolden("golden"));
//   PLUMB_ASSIGN_OR_RETURN(const auto x86, plumb::AlignDevice(graph, "X86", {{"input", image}}, golden));
//   if (!x86.equal) std::printf("it differs, first at place %d of its layers\n", x86.first_different);
//
// Equal is what differs by at most a share (AlignOptions::tolerance) of the tensor's largest value: this knows no
// rounding error to be expected, as a check does (plumb/check.h), and finds other weights, layouts and operators.
// Runtimes round integers in their own ways. Where these, or floats behind integer weights, differ by more, Align
// judges each step of the original on the original's own inputs, as a check does: equal is what is aligned there.
// Threading: free functions; each call prepares its own networks.
#ifndef PLUMB_ALIGN_H_
#define PLUMB_ALIGN_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plumb/check.h"
#include "plumb/golden.h"
#include "plumb/graph.h"

namespace plumb {

struct AlignOptions {
  bool every_layer = false;  // layer by layer also where the outputs are equal
  double tolerance = 1e-4;   // of the largest value of a tensor
};

// One tensor on both sides; in DiffMetrics a is ours and b the original's.
struct AlignedTensor {
  std::string name;
  Shape shape;  // ours
  bool equal = true;
  std::string problem;  // another shape, in words; then nothing below is set
  DiffMetrics difference;
  double relative = 0;  // difference.max_abs over the original's largest value
};

struct AlignedLayer {
  int index = 0;
  std::string name, type, kernel;
  std::vector<std::string> nodes;  // in the original model
  AlignedTensor tensor;
};

struct AlignedDevice {
  std::string device;
  bool equal = true;  // all outputs, and all layers that were compared
  std::vector<AlignedTensor> outputs;
  // In execution order, unfused; none where the outputs are equal, unless every_layer.
  std::vector<AlignedLayer> layers;
  int unpaired = 0;          // tensors of layers that have no tensor of their name in the original
  int first_different = -1;  // position in layers
};

// Runs the graph on the device (NAIVE runs what it has no kernel for). `inputs`: one per network input.
// InvalidArgument: the golden lacks a network output. Otherwise the errors of preparing and running the network.
Result<AlignedDevice> AlignDevice(const std::shared_ptr<const Graph>& graph, const std::string& device,
                                  const std::map<std::string, Tensor>& inputs, const Golden& golden,
                                  const AlignOptions& options = {});

struct AlignReport {
  std::string original;   // Golden::description
  std::string framework;  // GoldenRun::framework()
  std::vector<AlignedDevice> devices;
  bool equal = true;
  // Where a device is not equal and the network has integers, or the original rounded its inputs to some: the
  // original's steps, as the graph says them, and each device but NAIVE. `equal` is whether all are aligned.
  std::vector<RunReport> steps;
};

// Runs the original, an .onnx in ONNX Runtime or a .tflite in LiteRT (GoldenRun::Of, whose errors it has), and the
// graph on each device.
Result<AlignReport> Align(const std::string& original, const std::shared_ptr<const Graph>& graph,
                          const std::vector<std::string>& devices, const std::map<std::string, Tensor>& inputs,
                          const AlignOptions& options = {}, const GoldenOptions& golden = {});

// Values in the weights and constants that other runtimes are known to compute otherwise (doc/alignment.md): one
// sentence per hazard and tensor, beginning with its id: "AL09: layer 3 'conv' (Convolution): weight ...".
std::vector<std::string> WeightHazards(const Graph& graph);

}  // namespace plumb

#endif  // PLUMB_ALIGN_H_
