// SPDX-License-Identifier: Apache-2.0
// Graph: a model in memory, the same for every device.
//
// Layers stand in execution order; a layer's index is its zero-based place among the layer lines of the tnnproto that
// model_convert would write, and never changes (fusing does not renumber). Blobs are named values: a network input, a
// layer's output, or a constant. Weights that a layer owns (filter, bias, slope ...) are its resources; constants that
// are ordinary blobs (folded subgraphs, Reshape shapes ...) are Graph::constants. Ownership: a Graph owns everything;
// Tensors share memory when copied. Threading: immutable once loaded, then shareable.
#ifndef PLUMB_GRAPH_H_
#define PLUMB_GRAPH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plumb/status.h"
#include "plumb/tensor.h"

namespace plumb {

struct OpParam;           // source/op/core/op.h: the parameters of one operator
enum class OpKind : int;  // source/op/core/op_kind.h: one value per row of op_list.def

struct Layer {
  OpKind kind{};
  std::string type;  // the canonical tnnproto string: "Convolution"
  std::string name;
  int index = 0;
  std::vector<std::string> inputs;          // blob names
  std::vector<std::string> outputs;         // blob names
  std::shared_ptr<OpParam> param;           // never null after loading; treated as immutable
  std::map<std::string, Tensor> resources;  // by slot: "weight", "bias", "scale", "slope", ...
  std::vector<std::string> nodes;           // names of the source model's nodes; empty: the layer's own name
  // Where the exporter says that the node was written, "net.py:6 in forward: y = self.conv(x)"; "": it does not.
  std::string source_line;
  bool quantized = false;  // TNN's Quantized / DynamicRangeQuantized prefixes
  bool dynamic_range_quantized = false;

  // The resource in that slot, or null when the layer has none.
  const Tensor* Resource(const std::string& slot) const {
    const auto it = resources.find(slot);
    return it == resources.end() || it->second.empty() ? nullptr : &it->second;
  }
};

struct GraphInput {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
};

// int8 quantisation of a blob: real = scale * (q - zero_point), one entry or one per channel.
struct BlobScale {
  Tensor scale;       // f32
  Tensor zero_point;  // i8
  Tensor bias;        // i32, unused
};

struct Graph {
  std::string source;          // the file it came from, for messages
  std::string weights_source;  // the file that the weights came from; empty: none was read
  std::vector<GraphInput> inputs;
  std::vector<std::string> outputs;
  std::vector<Layer> layers;
  std::map<std::string, Tensor> constants;
  std::map<std::string, BlobScale> blob_scales;
  bool weights_generated = false;  // some resource came from the seeded generator
  uint64_t weight_seed = 0;
  // Blobs that the source model says in another dtype than the one that carries them (u8 as i64, f16 as f32): network
  // outputs and dumped integers are converted to it, reports name it. A tnnproto does not hold it.
  std::map<std::string, DType> model_dtypes;
  // Blobs whose axes stand in another order than the source model says (a .tflite file's channels come last, ours
  // first): axis i of the model's tensor is axis file_axes[i] of the blob. Dumps, reports and other runtimes' tensors
  // have the model's order. A tnnproto does not hold it.
  std::map<std::string, std::vector<int>> file_axes;
  // Inputs of the source model whose values had to be known and were chosen (LoadOptions::open_dims): constants here.
  std::map<std::string, Tensor> chosen_values;
  std::vector<std::string> notes;  // sentences about the file that a reader should see; nothing here is an error

  // The blob's dtype in the source model, or else the one that carries it.
  DType ModelDType(const std::string& blob, DType carried) const {
    const auto it = model_dtypes.find(blob);
    return it == model_dtypes.end() ? carried : it->second;
  }

  Graph() = default;
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;
  Graph(const Graph&) = default;  // shares tensors and parameters
  Graph& operator=(const Graph&) = default;
};

// What is known of a blob before anything runs.
struct BlobInfo {
  DType dtype = DType::kF32;
  Shape shape;
  Tensor value;  // a constant's value, or an integer value known from the shapes alone; empty() otherwise
};

using BlobTable = std::map<std::string, BlobInfo>;

// Checks the graph (every input defined before it is read, no blob written twice, arity, outputs that exist) and
// derives every blob's dtype and shape. `input_shapes` overrides the declared ones by name; an unknown name is an
// error.
Result<BlobTable> InferShapes(const Graph& graph, const std::map<std::string, Shape>& input_shapes = {});

// GraphBuilder: a small graph in code, layer by layer in execution order.
//
// Example:
//   plumb::GraphBuilder builder;
//   builder.Input("image", {1, 3, 32, 32});
//   builder.Add("Convolution", {"image"}, {"features"},
//               "in_channels_per_group=3 out_channels=8 kernel=3x3 stride=2 pad=1");
//   builder.Add("ReLU", {"features"}, {"positive"});
//   builder.Output("positive");
//   PLUMB_ASSIGN_OR_RETURN(plumb::Graph graph, builder.Build());
//
// Operators are those of doc/op_support.md. Parameters are text, as ListParams (plumb/tool/support.h) gives them:
// name=value with a blank between two; a boolean's name alone is true; lists are [1,2]; "kernel=1x7" sets kernel_h and
// kernel_w, "stride=2" stride_h and stride_w. What is not named keeps its default; a name that the operator lacks is an
// error that lists those that it has. Errors: Build returns the first of all mistakes. Ownership: tensors are shared.
// Threading: one thread at a time.

class GraphBuilder {
 public:
  // `name` stands in messages and reports where a file's name stands otherwise.
  explicit GraphBuilder(std::string name = "in code");

  // A network input.
  GraphBuilder& Input(const std::string& blob, Shape shape, DType dtype = DType::kF32);
  // A blob with a value that is part of the graph.
  GraphBuilder& Constant(const std::string& blob, Tensor value);
  // A layer, named after its first output. `weights` by slot, as in Layer::resources.
  GraphBuilder& Add(const std::string& type, std::vector<std::string> inputs, std::vector<std::string> outputs,
                    const std::string& params = "", std::map<std::string, Tensor> weights = {});
  // A network output.
  GraphBuilder& Output(const std::string& blob);

  // The graph, with every shape and weight checked. Weights that were not given are drawn from the seed as for a model
  // without a tnnmodel (plumb/model.h). InvalidArgument for an operator or parameter that there is not; CorruptModel
  // for a blob that is read before it is defined and for shapes and weights that do not fit. The builder keeps its
  // layers.
  Result<Graph> Build(uint64_t seed = 1) const;

 private:
  Graph graph_;
  Status status_;  // of the first call that failed
};

}  // namespace plumb

#endif  // PLUMB_GRAPH_H_
