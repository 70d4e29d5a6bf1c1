// SPDX-License-Identifier: Apache-2.0
// A call of an operator as a graph of one node, whose network inputs are the call's.
#ifndef PLUMB_SESSION_CALL_GRAPH_H_
#define PLUMB_SESSION_CALL_GRAPH_H_

#include <map>
#include <string>
#include <vector>

#include "format/onnx/ir.h"
#include "plumb/judge.h"
#include "plumb/model.h"

namespace plumb {

struct CallGraph {
  Graph graph;
  ImportRecord record;
  std::map<std::string, Tensor> inputs;  // of the graph, in the dtypes that it carries
};

// The first `num_outputs` outputs are the graph's.
Result<CallGraph> MakeCallGraph(const OperatorCall& call, size_t num_outputs);

// call_names.cc: the nodes that a NumPy-like name stands for, from x0, x1 ... to y0; none where it is no such name.
// Constants that it adds go to `graph`.
Result<bool> AddNamedNodes(const OperatorCall& call, size_t num_outputs, onnx::GraphIr* graph);

// The name of input or output `i`.
std::string CallBlob(char kind, size_t i);
onnx::AttributeIr ToAttribute(const AttributeValue& value);
// A node that reads the call's inputs and writes its outputs, with attributes.
onnx::NodeIr NodeOf(const OperatorCall& call, const std::string& op_type, size_t num_outputs);

}  // namespace plumb

#endif  // PLUMB_SESSION_CALL_GRAPH_H_
