// SPDX-License-Identifier: Apache-2.0
// Models in and out: LoadModel makes a Graph of a model file, SaveModel writes one.
//
// An ONNX file (x.onnx, with its external data beside it) or a TFLite file (x.tflite) is imported: its operators become
// ours, shapes are made fixed, constants are folded; what cannot be expressed is named, all of it at once
// (doc/formats.md, doc/tflite.md). The native format
// is TNN's: x.tnnproto (text: the layers) and x.tnnmodel (binary: the weights). A tnnproto alone takes the x.tnnmodel
// beside it when there is one; otherwise the weights are drawn by a seeded generator (Graph::weights_generated,
// Graph::weight_seed), the same bits on every machine. A tnnmodel that is named must exist. Errors name file, line or
// byte offset, layer and field. What the reader accepted but a user should know is in Graph::notes. Threading: free
// functions without shared state.
#ifndef PLUMB_MODEL_H_
#define PLUMB_MODEL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plumb/graph.h"
#include "plumb/status.h"
#include "plumb/tensor.h"

namespace plumb {

// Which files are a model. The format follows from the suffix of `structure`.
struct ModelFiles {
  std::string structure;  // x.tnnproto, x.onnx or x.tflite
  std::string weights;    // x.tnnmodel; empty: the one beside the structure, else generated weights
};

constexpr uint64_t kDefaultSeed = 1;

// Computes a layer on the host; importers fold constants with it. Outputs are allocated. plumb.h: ReferenceEvaluator.
using Evaluator = std::function<Status(const Layer& layer, const std::vector<const Tensor*>& inputs,
                                       const std::vector<Tensor*>& outputs)>;

// What becomes of network inputs whose dims the file leaves open and no option gives. A batch (named so, or the first
// of several dims) is 1, with a note, in any case.
enum class OpenDims {
  kRefuse,    // InvalidArgument, which names shapes that run (found by trying: this takes up to ten seconds)
  kSmallest,  // small shapes that run, with a note
  kUsual      // usual shapes that run, with a note
};

// What importing a file did away with and a judge of another runtime's tensors needs (CheckOptions::record).
// Layers beside the graph's own; `constants`: what they read that the graph's layers do not make.
struct ImportRecord {
  struct Part {
    std::vector<Layer> layers;
    std::map<std::string, Tensor> constants;
  };
  // Nodes that became several layers although one operator says what they are: another runtime's kernel need not add up
  // in the order of those layers. Between the same blobs; index and name are those of the node's last layer.
  Part wholes;
  // Layers whose floats were known while loading; index -1. `constants` holds their outputs, too.
  Part folded;
  // f32, by the output of the layer of `folded` that made a product's weights: the scales of its sums, where the file
  // has these and not the weights' own.
  std::map<std::string, Tensor> product_scales;
};

// The operators of an imported file as they stand in it, and what became of each: for who shows the file beside the
// graph (LoadOptions::file_nodes).
struct FileNodes {
  enum class Fate {
    kLayers,    // layers of the graph are its
    kFolded,    // its outputs were known while loading: constants
    kHandedOn,  // it gives what it reads
    kUnread     // no network output needs it
  };
  struct Node {
    std::string name, type;                    // name: as in Layer::nodes
    std::vector<std::string> inputs, outputs;  // the file's names of tensors; "": left out
    std::string source_line;                   // as Layer::source_line
    Fate fate = Fate::kUnread;
    std::vector<std::string> inner_inputs;  // of this graph, read by the graphs inside the node (If, Loop, Scan)
  };
  std::string format;          // "ONNX"
  std::vector<Node> nodes;     // in the file's order; those of inner graphs and functions are not listed
  std::vector<int> of_layers;  // the place of each layer's node; -1: it has none
};

struct LoadOptions {
  uint64_t seed = kDefaultSeed;  // of generated weights
  bool random_weights = false;   // generate them even when there is a tnnmodel
  bool keep_half = false;        // leave f16 and bf16 weights as they are stored; otherwise they become f32
  // tnnproto only: TNN's quantised layers stay as the file says them, for who writes or lists them; no device runs
  // these. Otherwise each becomes DequantizeLinear, the operator of floats and QuantizeLinear.
  bool keep_quantized = false;
  // TFLite only: the signature whose subgraph is the network; empty: the first subgraph. A note says when there are
  // more.
  std::string signature;
  // Large weights of floats are not read: zeros that take no memory stand for them. For who asks for shapes and costs.
  bool skip_weights = false;
  std::map<std::string, Shape> input_shapes;  // replace the declared shapes of network inputs, by name
  // Shapes of inputs with open dims that input_shapes does not name; names that are no such inputs are ignored. The
  // name "" stands for the only input.
  std::map<std::string, Shape> open_shapes;
  OpenDims open_dims = OpenDims::kRefuse;
  // ONNX only: network inputs that become constants, of the declared dtype; a list takes the declared shape, too.
  std::map<std::string, Tensor> input_values;
  bool source_lines = true;         // ONNX only: Layer::source_line; they hold paths of whoever exported the file
  Evaluator evaluator;              // ONNX only: folds constant floats; without it they stay layers
  ImportRecord* record = nullptr;   // filled when given; holds all constants that were folded in memory
  FileNodes* file_nodes = nullptr;  // ONNX and TFLite only: filled when given
  uint64_t max_bytes =
      0;  // ONNX only: of one blob, and of all constants that importing makes; 0: MaxMemory() (plumb.h)
};

// A tensor as the file itself numbers and names it.
struct ModelTensor {
  int graph = 0;  // the subgraph that it belongs to
  int index = 0;
  std::string name, type;      // type: the format's own word
  std::vector<int64_t> shape;  // -1: open
  // real = scale * (q - zero_point): none, one or one for each element along the axis.
  std::vector<float> scale;
  std::vector<int64_t> zero_point;
  int axis = 0;
  int64_t buffer = 0;
  uint64_t bytes = 0;  // of the buffer; 0: computed or given
};

// A way to run a file: one of its subgraphs, under a name.
struct ModelSignature {
  std::string name;
  int graph = 0;
  // What the signature calls a tensor, and the tensor's own name.
  std::vector<std::pair<std::string, std::string>> inputs, outputs;
};

// One row for each format that models come in.
struct ModelFormat {
  enum Holds { kStructure, kWeights, kBoth };
  const char* suffix;  // ".onnx"
  const char* type;    // "ONNX": the word of the tools' --model-type
  Holds holds;
  // Of an imported format, which holds both: makes a graph of the file, and says which inputs' dims are open.
  Result<Graph> (*load)(const std::string& path, const LoadOptions& options);
  Result<std::map<std::string, std::string>> (*open_inputs)(const std::string& path, const std::string& signature);
  // Null: its tensors have no numbers, and it has no signatures.
  Result<std::vector<ModelTensor>> (*tensors)(const std::string& path);
  Result<std::vector<ModelSignature>> (*signatures)(const std::string& path);
};
const std::vector<ModelFormat>& ModelFormats();
// The row of the file's suffix; null: no model's.
const ModelFormat* FindModelFormat(const std::string& path);
// The tensors of a file in its own order. NotSupported: the format does not number them.
Result<std::vector<ModelTensor>> ModelTensors(const std::string& path);
// In the file's order. NotSupported: the format has none.
Result<std::vector<ModelSignature>> ModelSignatures(const std::string& path);
// The suffixes of what can be named as a model's structure: ".tnnproto, .onnx or .tflite".
std::string ModelSuffixes();

// NotFound, IoError, CorruptModel, NotSupported (operators or formats that Plumb lacks; all such layers are named at
// once) or InvalidArgument (options). The graph's shapes are inferred once and its weights are checked against them.
Result<Graph> LoadModel(const ModelFiles& files, const LoadOptions& options = {});
Result<Graph> LoadModel(const std::string& path, const LoadOptions& options = {});

// By name, the network inputs whose dims the file leaves open, as it declares them: "[N,3,?,?]". `signature`: as in
// LoadOptions.
Result<std::map<std::string, std::string>> OpenInputs(const ModelFiles& files, const std::string& signature = {});

struct SaveOptions {
  int tnnmodel_version = 2;  // 1 or 2: the tnnmodel's magic. The tnnproto is always v2, which alone says dtypes.
};

// Writes PREFIX.tnnmodel and PREFIX.tnnproto; each is complete or not there. REQUIRES: the graph has all its weights.
Status SaveModel(const Graph& graph, const std::string& prefix, const SaveOptions& options = {});

// The version of the generator that drew the weights, for reports: "philox4x32-10 v1".
const char* WeightGeneratorVersion();

}  // namespace plumb

#endif  // PLUMB_MODEL_H_
