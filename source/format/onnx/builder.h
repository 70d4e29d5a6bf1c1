// SPDX-License-Identifier: Apache-2.0
// Builder: the Plumb graph under construction while ONNX nodes are mapped one after the other.
//
// All shapes are known (network inputs are), so every layer's dtypes, shapes and integer values are inferred the moment
// it is added. A layer whose outputs are known needs no layer: its outputs become constants; floats are folded by the
// caller's evaluator. Blobs are numbers until Finish names them, so that the last layer of a node can still take the
// node's tensor name.
#ifndef PLUMB_FORMAT_ONNX_BUILDER_H_
#define PLUMB_FORMAT_ONNX_BUILDER_H_

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "format/onnx/budget.h"
#include "format/onnx/ir.h"
#include "op/core/op.h"
#include "plumb/model.h"

namespace plumb::onnx {

// A tensor of the ONNX graph at import time: a blob, or a sequence of them.
struct Value {
  int blob = -1;                                       // -1: absent (an optional input that is left out)
  int type = kTypeUnknown;                             // ONNX's element type
  std::shared_ptr<const std::vector<Value>> sequence;  // a sequence of tensors whose length is known

  bool present() const { return blob >= 0 || sequence != nullptr; }
  bool failed() const { return type < 0; }  // its node could not be mapped, or it cannot be read
  static Value Failed() { return {-1, -1, nullptr}; }
};

// What to add: the operator with its parameters, inputs and weights.
struct LayerSpec {
  OpKind kind{};
  std::shared_ptr<OpParam> param;  // null: the operator's defaults
  std::vector<Value> inputs;
  std::map<std::string, Tensor> resources;
  size_t num_outputs = 1;
};

// "depends on the network input 'n': LoadOptions::input_values n=VALUES makes it a constant", for refusals.
std::string DependsOn(const std::vector<std::string>& inputs);

class Builder {
 public:
  Builder(Evaluator evaluator, uint64_t max_bytes, ImportBudget* budget, ImportRecord* record)
      : evaluator_(std::move(evaluator)), max_bytes_(max_bytes), budget_(budget), record_(record) {}

  // The layers of one node lie between two marks.
  void BeginNode(const std::string& node_name, const std::string& source_line = "") {
    node_name_ = node_name;
    source_line_ = source_line;
  }
  // All that is added from here on is of that node of the file.
  void BeginFileNode(int file_node) { file_node_ = file_node; }
  const std::string& node_name() const { return node_name_; }
  size_t NumLayers() const { return layers_.size(); }
  const std::string& TypeAt(size_t layer) const { return layers_[layer].layer.type; }
  const std::string& NodeAt(size_t layer) const { return layers_[layer].layer.nodes[0]; }
  // Whether layers were left that could have been folded, because folding took too long.
  bool ended_folding() const { return ended_folding_; }
  // Whether the layer fails when it runs on indices that do not fit, and they are not known now.
  bool MayFail(size_t layer) const;

  Value AddInput(const std::string& name, DType dtype, const Shape& shape, int type);
  // Whether a blob has that name already.
  bool IsNamed(const std::string& name) const { return blob_names_.count(name) > 0; }
  Value AddConstant(const Tensor& value, int type, const std::string& name = "");
  // NotSupported when unrolling has made more layers and blobs than the same limit allows, at a kibibyte each.
  Status CheckCount() const;
  // NotSupported for a blob beyond the limit of the load options.
  Status CheckSize(DType dtype, const Shape& shape) const;
  // Asks before a constant of that size is made: NotSupported beyond the limits of the load options.
  Status Reserve(DType dtype, const Shape& shape);
  // The layer's outputs, with ONNX types that follow from their dtypes.
  Result<std::vector<Value>> Add(LayerSpec spec);

  // A constant that no folded layer of the node made (Constant, Reshape to the same shape): for a record the node's
  // own, by an Identity that is folded; any other value as it is.
  Value HandOn(const Value& value);
  // What the node is as one operator, between the same blobs: ImportRecord::wholes.
  void AddWhole(LayerSpec spec, const std::vector<Value>& outputs);

  const BlobInfo& Info(const Value& value) const { return blobs_[static_cast<size_t>(value.blob)].info; }
  // The blob is a tensor of the model, of the value's type.
  void NoteType(const Value& value);
  // Gives the blob its name unless it has one already. Returns whether it took it.
  bool Name(const Value& value, const std::string& name);
  // The same for a blob of an inner graph that leaves it: the outer name replaces the one that begins with the prefix.
  bool Rename(const Value& value, const std::string& inner_prefix, const std::string& name);
  // The network input that the blob is; "": it is none.
  std::string InputName(const Value& value) const;
  // Whether it is a constant, or a sequence of them.
  bool IsKnown(const Value& value) const;
  // The network inputs that the blob is computed from.
  std::vector<std::string> Ancestors(const Value& value) const;
  // Declares a network output; a blob of another name, a constant or an input gets an Identity layer.
  Status AddOutput(const std::string& name, const Value& value);
  // What makes the value stays, though nobody reads it.
  void Keep(const Value& value) {
    if (value.blob >= 0) kept_.push_back(value.blob);
  }

  // Drops what no output needs and names the rest.
  Graph Finish();
  // Of each layer of the graph that was finished.
  const std::vector<int>& FileNodesOfLayers() const { return file_nodes_; }

 private:
  struct Blob {
    std::string name;  // empty until known
    std::string stem;  // what an unnamed one is called: "conv1/PadV2"
    BlobInfo info;
    int layer = -1;           // the layer that writes it; -1: input or constant
    int type = kTypeUnknown;  // ONNX's, of a tensor of the model
    bool input = false;
  };
  struct PendingLayer {
    Layer layer;
    std::vector<int> inputs, outputs;
    int file_node = -1;
  };

  int AddBlob(Blob blob);
  std::string UniqueBlobName(const std::string& stem);
  Result<bool> Fold(const PendingLayer& pending, std::vector<BlobInfo>* outputs);
  PendingLayer Pending(LayerSpec spec) const;
  void NameLayers(const std::vector<bool>& used);
  const std::string& NameOf(int id);
  void NamePorts(PendingLayer* pending, std::map<std::string, Tensor>* constants);
  void RecordWholes(const std::vector<bool>& used);
  void RecordFolded();
  void RecordTypes(Graph* graph) const;

  Evaluator evaluator_;
  uint64_t max_bytes_;
  ImportBudget* budget_;
  ImportRecord* record_;
  bool ended_folding_ = false;
  uint64_t reserved_ = 0;
  std::string node_name_, source_line_;
  int file_node_ = -1;
  std::vector<int> file_nodes_;
  std::deque<Blob> blobs_;  // references stay valid while layers are added
  std::vector<PendingLayer> layers_, wholes_, folded_;
  std::vector<GraphInput> inputs_;
  std::vector<int> outputs_, kept_;
  std::set<std::string> blob_names_;
};

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_BUILDER_H_
