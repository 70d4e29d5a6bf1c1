// SPDX-License-Identifier: Apache-2.0
#include "format/tnn/expand_quantized.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "format/tnn/expand_weights.h"
#include "graph/resources.h"
#include "op/core/op.h"
#include "op/quantize_linear.h"

namespace plumb::tnn {
namespace {

class Expander {
 public:
  Expander(const BlobTable& blobs, ImportRecord* record, Graph* graph)
      : blobs_(blobs), record_(record), graph_(*graph), scales_(std::move(graph->blob_scales)) {
    for (const auto& entry : blobs) names_.insert(entry.first);
    for (const Layer& layer : graph->layers) names_.insert(layer.name);
  }

  Status Run() {
    std::vector<Layer> before = std::move(graph_.layers);
    graph_.layers.clear();
    for (Layer& layer : before) {
      if (layer.dynamic_range_quantized) PLUMB_RETURN_IF_ERROR(Framed(layer, ExpandDynamicRange(&layer)));
      if (layer.quantized) {
        PLUMB_RETURN_IF_ERROR(Framed(layer, Expand(layer)));
      } else {
        Add(std::move(layer));
      }
    }
    return Status::Ok();
  }

 private:
  struct Step {
    std::string scale, zero;  // constants
    const Tensor* values = nullptr;
  };

  Status Framed(const Layer& layer, Status status) const { return status.AddContext(LayerFrame(graph_, layer)); }

  std::string Unique(const std::string& stem) {
    std::string name = stem;
    for (int i = 2; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", stem, i);
    return name;
  }

  void Add(Layer layer) {
    layer.index = static_cast<int>(graph_.layers.size());
    graph_.layers.push_back(std::move(layer));
  }

  // The scale and zero point of a blob as constants.
  Result<Step> StepOf(const std::string& blob) {
    const auto known = steps_.find(blob);
    if (known != steps_.end()) return known->second;
    const auto record = scales_.find(blob);
    if (record == scales_.end()) {
      return Status::CorruptModel(fmt::format(
          "it is quantised, but blob '{}' has no BlobScale record; take the tnnmodel that belongs to this tnnproto",
          blob));
    }
    const Tensor& scale = record->second.scale;
    const int64_t count = scale.NumElements();
    const Shape& shape = blobs_.at(blob).shape;
    if (count != 1 && (shape.rank() < 2 || shape[1] != count))
      return Status::CorruptModel(
          fmt::format("blob '{}' {} has {} scales, expected 1 or one per channel", blob, shape.ToString(), count));
    for (int64_t i = 0; i < count; ++i) {
      const float value = scale.data<float>()[i];
      if (!(std::isnormal(value) && value > 0))
        return Status::CorruptModel(fmt::format("scale {} of blob '{}' is {}, expected more than 0", i, blob, value));
    }
    const Shape form = count == 1 ? Shape{} : Shape{count};
    Step step{Unique(blob + "_scale"), Unique(blob + "_zero_point"), &scale};
    PLUMB_ASSIGN_OR_RETURN(graph_.constants[step.scale], scale.Reshaped(form));
    PLUMB_ASSIGN_OR_RETURN(Tensor zero, Tensor::Zeros(DType::kI8, form));
    if (!record->second.zero_point.empty()) {
      PLUMB_ASSIGN_OR_RETURN(zero, record->second.zero_point.Reshaped(form));
    }
    PLUMB_ASSIGN_OR_RETURN(graph_.constants[step.zero], zero.ConvertedTo(DType::kI64));
    return steps_.emplace(blob, std::move(step)).first->second;
  }

  void AddCast(OpKind kind, const Layer& of, const Step& step, const std::string& from, const std::string& to) {
    Layer layer;
    layer.kind = kind;
    layer.type = GetOp(kind).name;
    layer.param = GetOp(kind).make_param();
    if (kind == OpKind::kPlumbQuantizeLinear) static_cast<QuantizeLinearParam&>(*layer.param).dtype = "i8";
    layer.name = Unique(fmt::format("{}_{}", to, kind == OpKind::kPlumbQuantizeLinear ? "quantize" : "dequantize"));
    layer.nodes = {of.name};
    layer.inputs = {from, step.scale, step.zero};
    layer.outputs = {to};
    Add(std::move(layer));
  }

  // The name of what the integers of an input stand for; they are made here where a layer of floats wrote it.
  Result<std::string> Dequantized(const std::string& blob, const Layer& reader) {
    const auto known = reals_.find(blob);
    if (known != reals_.end()) return known->second;
    if (graph_.constants.count(blob) > 0) return blob;
    PLUMB_ASSIGN_OR_RETURN(const Step step, StepOf(blob));
    const std::string integers = Unique(blob + "_int8"), real = Unique(blob + "_dequantized");
    AddCast(OpKind::kPlumbQuantizeLinear, reader, step, blob, integers);
    AddCast(OpKind::kPlumbDequantizeLinear, reader, step, integers, real);
    graph_.model_dtypes[integers] = DType::kI8;
    return reals_[blob] = real;
  }

  Status Expand(Layer layer) {
    for (size_t i = 0; i < layer.inputs.size(); ++i) {
      const std::string blob = layer.inputs[i];
      PLUMB_ASSIGN_OR_RETURN(layer.inputs[i], Dequantized(blob, layer));
      if (i == 0 && layer.Resource("weight") != nullptr) PLUMB_RETURN_IF_ERROR(ExpandWeights(blob, &layer));
    }
    layer.quantized = false;
    PLUMB_RETURN_IF_ERROR(CheckFloats(layer));
    std::vector<std::pair<std::string, std::string>> written;  // what the file calls it, what the operator writes
    for (std::string& output : layer.outputs) {
      written.emplace_back(output, Unique(output + "_real"));
      output = written.back().second;
    }
    const Layer of = layer;
    Add(std::move(layer));
    for (const auto& [blob, real] : written) {
      PLUMB_ASSIGN_OR_RETURN(const Step step, StepOf(blob));
      const std::string integers = Unique(blob + "_int8");
      AddCast(OpKind::kPlumbQuantizeLinear, of, step, real, integers);
      AddCast(OpKind::kPlumbDequantizeLinear, of, step, integers, blob);
      graph_.model_dtypes[integers] = DType::kI8;
      reals_[blob] = blob;
    }
    return Status::Ok();
  }

  Status ExpandWeights(const std::string& input, Layer* layer) {
    const auto scale = scales_.find(input);  // a constant input has none
    if (scale == scales_.end()) return Status::CorruptModel("its input has no scale, and its weights need one");
    return ExpandStatic(scale->second.scale, blobs_.at(input).shape, record_, layer);
  }

  const BlobTable& blobs_;
  ImportRecord* record_;
  Graph& graph_;
  const std::map<std::string, BlobScale> scales_;
  std::map<std::string, Step> steps_;
  std::map<std::string, std::string> reals_;  // by the file's name of a quantised blob
  std::set<std::string> names_;
};

}  // namespace

Status ExpandQuantized(const BlobTable& blobs, ImportRecord* record, Graph* graph) {
  const bool any = std::any_of(graph->layers.begin(), graph->layers.end(),
                               [](const Layer& layer) { return layer.quantized || layer.dynamic_range_quantized; });
  if (record != nullptr) *record = {};  // shapes may have been tried before
  PLUMB_RETURN_IF_ERROR(ExpandConstants(graph));
  return any ? Expander(blobs, record, graph).Run() : Status::Ok();
}

}  // namespace plumb::tnn
