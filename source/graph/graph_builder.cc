// SPDX-License-Identifier: Apache-2.0
#include "plumb/graph.h"

#include <fmt/core.h>

#include <utility>

#include "graph/random_weights.h"
#include "graph/resources.h"
#include "op/core/named_params.h"
#include "op/core/op.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

Status UnknownOperator(const std::string& type) {
  std::vector<std::string> names;
  for (const OpDef& op : AllOps()) names.emplace_back(op.name);
  return Status::InvalidArgument(
      fmt::format("no operator is called '{}'{}; doc/op_support.md lists all", type, DidYouMean(type, names)));
}

}  // namespace

GraphBuilder::GraphBuilder(std::string name) { graph_.source = std::move(name); }

GraphBuilder& GraphBuilder::Input(const std::string& blob, Shape shape, DType dtype) {
  graph_.inputs.push_back({blob, dtype, std::move(shape)});
  return *this;
}

GraphBuilder& GraphBuilder::Constant(const std::string& blob, Tensor value) {
  graph_.constants[blob] = std::move(value);
  return *this;
}

GraphBuilder& GraphBuilder::Add(const std::string& type, std::vector<std::string> inputs,
                                std::vector<std::string> outputs, const std::string& params,
                                std::map<std::string, Tensor> weights) {
  Layer layer;
  layer.type = type;
  layer.index = static_cast<int>(graph_.layers.size());
  layer.name = outputs.empty() ? type : outputs[0];
  layer.inputs = std::move(inputs);
  layer.outputs = std::move(outputs);
  layer.resources = std::move(weights);
  const OpDef* op = FindOp(type);
  Status status = op == nullptr ? UnknownOperator(type) : Status::Ok();
  if (op != nullptr) {
    layer.kind = op->kind;
    layer.param = op->make_param();
    status = SetParams(params, &layer);
  }
  if (status_.ok()) status_ = status.AddContext(LayerFrame(graph_, layer));
  graph_.layers.push_back(std::move(layer));
  return *this;
}

GraphBuilder& GraphBuilder::Output(const std::string& blob) {
  graph_.outputs.push_back(blob);
  return *this;
}

Result<Graph> GraphBuilder::Build(uint64_t seed) const {
  PLUMB_RETURN_IF_ERROR(status_);
  Graph graph = graph_;
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(graph));
  PLUMB_RETURN_IF_ERROR(GenerateWeights(blobs, seed, &graph));
  PLUMB_RETURN_IF_ERROR(CheckResources(blobs, &graph));
  return graph;
}

}  // namespace plumb
