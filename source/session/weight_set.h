// SPDX-License-Identifier: Apache-2.0
// WeightSet: the constants of a model file, whatever its format, in one form: convolutions as [out][in][h][w], products
// as [out][in], real numbers in f32, each with the names by which another file may know it.
#ifndef PLUMB_SESSION_WEIGHT_SET_H_
#define PLUMB_SESSION_WEIGHT_SET_H_

#include <optional>
#include <string>
#include <vector>

#include "format/onnx/ir.h"
#include "plumb/graph.h"
#include "plumb/tensor.h"

namespace plumb {

struct WeightTensor {
  std::string name;               // the file's
  std::string layer;              // its weight and its bias have the same
  std::vector<std::string> keys;  // names by which it may be paired, best first
  bool is_weight = false, is_bias = false;
  Tensor value;              // f32
  std::string stored;        // "f32", "i8": what the file has
  std::vector<float> steps;  // of integers: one, or one for each element of the first axis
  int out_axis = 0;          // along which a batch norm behind it scales it
};

// A batch norm with its own four tensors, by their places in the set; -1: it has none (ones and zeros).
struct WeightNorm {
  std::string name;
  int gamma = -1, beta = -1, mean = -1, variance = -1;
  std::optional<double> epsilon;
};

struct WeightSet {
  std::string description;  // "'net.pt', 161 tensors of a state dict"
  bool has_graph = false;   // its operators say what each axis is
  std::vector<WeightTensor> tensors;
  std::vector<WeightNorm> norms;
};

Result<WeightSet> ReadWeightSet(const std::string& path);

// weight_nodes.cc: of ONNX nodes, and those that a .tflite becomes.
Result<WeightSet> WeightsOfNodes(const onnx::ModelIr& model);

// "weight" for kernel, w and scale, "bias" for beta and offset, in lower case; letters and digits alone.
std::string WeightKey(const std::string& name);
// The module of the node that PyTorch's exporter named: "layer1.0.conv1" of "/layer1/layer1.0/conv1/Conv"; else "".
std::string ModuleOfNode(const std::string& node);

}  // namespace plumb

#endif  // PLUMB_SESSION_WEIGHT_SET_H_
