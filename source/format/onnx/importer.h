// SPDX-License-Identifier: Apache-2.0
// Importer: walks the nodes of a model. import.cc has inputs and outputs, control.cc and branches.cc what contains
// other graphs.
#ifndef PLUMB_FORMAT_ONNX_IMPORTER_H_
#define PLUMB_FORMAT_ONNX_IMPORTER_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/memory_budget.h"
#include "format/onnx/arity.h"
#include "format/onnx/budget.h"
#include "format/onnx/import_result.h"
#include "format/onnx/node_context.h"

namespace plumb::onnx {

// The names that are visible to a node: its own graph's, and the ones around it.
struct Scope {
  const Scope* outer = nullptr;
  std::string prefix;  // of names in this graph: "" on top, "if1/" inside the node if1
  const std::map<std::string, int>* opsets = nullptr;
  const AttributeMap* function_attributes = nullptr;  // what `reference` attributes stand for
  int depth = 0;
  std::map<std::string, Value> values;

  // Null when the name is not defined.
  const Value* Find(const std::string& name) const;
  // The node's outputs fail until something better is known.
  void FailOutputs(const NodeIr& node);
};

// A row of onnx_list.def.
struct MapperRow {
  const char* op_type;
  Arity arity;
  Mapper mapper;
  const char* domain;
};
const std::vector<MapperRow>& AllMappers();
const MapperRow* FindMapper(const std::string& domain, const std::string& op_type);
// ONNX's own operator whose name is nearest, for messages; null when none is near.
const MapperRow* NearestMapper(const std::string& op_type);

// Of a node of the file: whether layers were added for it, it has outputs, and all of them are constants.
struct FileNodeTraces {
  bool added = false, gives = false, known = true;
};

class Importer {
 public:
  Importer(const ModelIr& model, const LoadOptions& options, ImportBudget* budget)
      : model_(model),
        options_(options),
        budget_(budget),
        builder_(options.evaluator, options.max_bytes == 0 ? MemoryBudget() : options.max_bytes, budget,
                 options.record) {}

  ImportResult Run();

 private:
  Status CheckOpset(const std::map<std::string, int>& opsets, const std::string& who);
  // import_inputs.cc
  Status AddInputs(Scope* top);
  Status AddInput(const ValueInfoIr& input, const DeclaredInput& filled, Scope* top);
  std::vector<DeclaredInput> FilledInputs();
  Result<Tensor> BoundValue(const ValueInfoIr& input, int type, const Tensor& given) const;
  Status CheckIsInput(const std::string& what, const std::string& name) const;
  Status AddOutputs(const Scope& top);
  Status AddConstants(const GraphIr& graph, Scope* scope);
  // The nodes of one graph in an order in which every input comes first.
  Result<std::vector<const NodeIr*>> Sorted(const std::vector<NodeIr>& nodes, const Scope& scope) const;

  // Failures of single nodes are collected (Fail); a Status is what makes going on pointless.
  Status RunNodes(const std::vector<NodeIr>& nodes, Scope* scope);
  // What becomes of a node of the file, which had so many layers before it.
  void NoteTraces(const NodeIr& node, size_t before, const Scope& scope);
  // LoadOptions::file_nodes, of a graph that is finished.
  void FillFileNodes(FileNodes* filled) const;
  void FillInnerInputs(FileNodes* filled) const;
  // Of a node, or of a step of one: NotSupported beyond the budget.
  Status Count(const NodeIr& node, const Scope& scope);
  Status RunNode(const NodeIr& node, Scope* scope);
  Status RunMapped(const NodeIr& node, const std::vector<Value>& inputs, Scope* scope);
  // Fills inputs; false when one of them failed earlier.
  Result<bool> TakeInputs(const NodeIr& node, const Scope& scope, std::vector<Value>* inputs) const;
  // Counts what a node that added the layers from `before` on became.
  void CountLayers(const NodeIr& node, size_t before);
  void SetOutput(const NodeIr& node, size_t i, const Value& value, Scope* scope);
  std::string NodeName(const NodeIr& node, const Scope& scope) const;
  std::string Frame(const NodeIr& node, const Scope& scope) const;
  void Fail(const NodeIr& node, const Scope& scope, const Status& status);

  // branches.cc
  Status RunIf(const NodeIr& node, Scope* scope);
  // An If whose condition is known only when the network runs: both branches, and a Where for each output.
  Status RunBoth(const NodeIr& node, const Value& condition, Scope* scope);
  // control.cc
  Status RunLoop(const NodeIr& node, Scope* scope);
  Status RunScan(const NodeIr& node, Scope* scope);
  Status RunFunction(const NodeIr& node, const FunctionIr& function, Scope* scope);
  const FunctionIr* FindFunction(const NodeIr& node) const;
  // Runs a graph inside another; `inputs` for its inputs, returns its outputs.
  Result<std::vector<Value>> RunGraph(const GraphIr& graph, const std::vector<Value>& inputs, const std::string& prefix,
                                      const Scope& outer);
  Result<Value> Stack(const std::vector<Value>& slices, int64_t axis, bool reversed);
  Result<Value> SliceOf(const Value& value, int64_t axis, int64_t at);
  Result<int64_t> KnownInt(const Value& value, const char* what);

  const ModelIr& model_;
  const LoadOptions& options_;
  ImportBudget* budget_;
  Builder builder_;
  std::vector<std::string> errors_;
  StatusCode worst_ = StatusCode::kNotSupported;
  NeededValues needed_;
  std::set<std::string> input_names_;
  std::vector<DeclaredInput> inputs_, open_;
  std::vector<std::string> notes_, unknown_attributes_;
  std::vector<std::string> calls_;  // functions being inlined, to find recursion
  std::map<std::pair<std::string, std::string>, const FunctionIr*> functions_;  // by domain and name
  std::map<const void*, std::vector<const NodeIr*>> orders_;                    // Sorted, of each list of nodes
  std::map<int, FileNodeTraces> traces_;                                        // by NodeIr::file_node
  int folded_ = 0, decomposed_ = 0, nodes_ = 0;
  std::map<std::string, int> changes_;  // "decomposed: Conv -> PadV2 + Convolution" and how often
};

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_IMPORTER_H_
