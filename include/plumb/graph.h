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

#include "plumb/dtype.h"
#include "plumb/shape.h"
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
  bool quantized = false;                   // TNN's Quantized / DynamicRangeQuantized prefixes
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

}  // namespace plumb

#endif  // PLUMB_GRAPH_H_
