// SPDX-License-Identifier: Apache-2.0
#include "format/tnn/expand_weights.h"

#include <fmt/core.h>

#include <string>
#include <string_view>

#include "graph/resources.h"
#include "op/core/op.h"
#include "op/quantize_linear.h"

namespace plumb::tnn {
namespace {

// Integers with one scale, or one for each entry of the first axis.
struct StoredWeight {
  Tensor integers, scale, zero;  // zero: i64, or empty
  int64_t rows = 1, row = 0;     // row: elements

  float ScaleOf(int64_t r) const { return scale.data<float>()[scale.NumElements() == 1 ? 0 : r]; }
  float At(int64_t i) const {
    const int64_t at = zero.empty() || zero.NumElements() == 1 ? 0 : i / row;
    const int64_t zero_point = zero.empty() ? 0 : zero.data<int64_t>()[at];
    return static_cast<float>(integers.data<int8_t>()[i] - zero_point);
  }
};

bool FitsRows(const Tensor& tensor, int64_t rows) { return tensor.NumElements() == 1 || tensor.NumElements() == rows; }

// Takes scale and zero point out of the layer.
Result<StoredWeight> TakeWeight(const std::string& slot, Layer* layer) {
  StoredWeight stored;
  stored.integers = layer->resources[slot];
  stored.rows = stored.integers.shape().rank() == 0 ? 1 : stored.integers.shape()[0];
  stored.row = stored.integers.NumElements() / stored.rows;
  const Tensor* scale = layer->Resource(slot + "_scale");
  if (scale == nullptr || scale->dtype() != DType::kF32 || !FitsRows(*scale, stored.rows))
    return Status::CorruptModel(fmt::format("{} {} has {} scales, expected 1 or {}", slot,
                                            stored.integers.shape().ToString(),
                                            scale == nullptr ? 0 : scale->NumElements(), stored.rows));
  stored.scale = *scale;
  if (const Tensor* zero = layer->Resource(slot + "_zero_point")) {
    if (!FitsRows(*zero, stored.rows))
      return Status::CorruptModel(
          fmt::format("{} has {} zero points, expected 1 or {}", slot, zero->NumElements(), stored.rows));
    PLUMB_ASSIGN_OR_RETURN(stored.zero, zero->ConvertedTo(DType::kI64));
  }
  layer->resources.erase(slot + "_scale");
  layer->resources.erase(slot + "_zero_point");
  return stored;
}

bool IsInt8(const Tensor* tensor) { return tensor != nullptr && tensor->dtype() == DType::kI8 && tensor->bytes() > 0; }

Result<Tensor> Floats(const StoredWeight& stored) {
  PLUMB_ASSIGN_OR_RETURN(Tensor made, Tensor::Create(DType::kF32, stored.integers.shape()));
  for (int64_t i = 0; i < made.NumElements(); ++i)
    made.data<float>()[i] = stored.At(i) * stored.ScaleOf(i / stored.row);
  return made;
}

// The input channel that each weight is multiplied with.
class InputChannels {
 public:
  static Result<InputChannels> Of(const Shape& weight, int64_t channels) {
    InputChannels c;
    c.in_row_ = weight.rank() > 2 ? weight[1] : channels;
    c.row_ = weight.CountFrom(1);
    if (c.in_row_ <= 0 || channels % c.in_row_ != 0 || c.row_ % c.in_row_ != 0 ||
        weight[0] % (channels / c.in_row_) != 0) {
      return Status::CorruptModel(
          fmt::format("weights {} do not fit an input with {} scales", weight.ToString(), channels));
    }
    c.rows_of_group_ = weight[0] / (channels / c.in_row_);
    return c;
  }
  int64_t At(int64_t i) const { return i / row_ / rows_of_group_ * in_row_ + i % row_ / (row_ / in_row_); }

 private:
  int64_t in_row_ = 1, row_ = 1, rows_of_group_ = 1;
};

// Notes that `made` is what a DequantizeLinear gives.
void Record(const Layer& layer, const char* slot, const StoredWeight& stored, const Tensor& made,
            ImportRecord* record) {
  if (record == nullptr) return;
  const std::string stem = layer.name + "/" + slot;
  Layer folded;
  folded.kind = OpKind::kPlumbDequantizeLinear;
  folded.type = GetOp(folded.kind).name;
  folded.param = GetOp(folded.kind).make_param();
  static_cast<DequantizeLinearParam&>(*folded.param).axis = 0;
  folded.index = -1;
  folded.name = stem;
  folded.inputs = {stem + "_integers", stem + "_scale"};
  folded.outputs = {stem};
  std::map<std::string, Tensor>& constants = record->folded.constants;
  constants[folded.inputs[0]] = stored.integers;
  constants[folded.inputs[1]] = stored.scale;
  if (!stored.zero.empty()) {
    folded.inputs.push_back(stem + "_zero_point");
    constants[folded.inputs[2]] = stored.zero;
  }
  constants[stem] = made;
  record->folded.layers.push_back(std::move(folded));
}

// In units of the weights' scales as the file has them.
Status ExpandBias(const StoredWeight& weight, ImportRecord* record, Layer* layer) {
  const Tensor* bias = layer->Resource("bias");
  if (bias == nullptr || bias->dtype() != DType::kI32) return Status::Ok();
  StoredWeight stored = weight;
  stored.integers = *bias;
  stored.zero = Tensor();
  PLUMB_ASSIGN_OR_RETURN(Tensor made, Tensor::Create(DType::kF32, bias->shape()));
  for (int64_t i = 0; i < made.NumElements(); ++i)
    made.data<float>()[i] = static_cast<float>(bias->data<int32_t>()[i]) * stored.ScaleOf(i);
  Record(*layer, "bias", stored, made, record);
  layer->resources["bias"] = std::move(made);
  return Status::Ok();
}

// Each input channel has a scale of its own: the DequantizeLinear on record gives the weights times that.
Status DivideByChannel(const Tensor& input_scale, const Shape& input, Tensor* weight) {
  if (input.rank() < 2 || input[1] != input_scale.NumElements())
    return Status::CorruptModel(fmt::format("its input {} has {} scales", input.ToString(), input_scale.NumElements()));
  PLUMB_ASSIGN_OR_RETURN(const InputChannels channels, InputChannels::Of(weight->shape(), input[1]));
  for (int64_t i = 0; i < weight->NumElements(); ++i)
    weight->data<float>()[i] /= input_scale.data<float>()[channels.At(i)];
  return Status::Ok();
}

}  // namespace

Status ExpandStatic(const Tensor& input_scale, const Shape& input, ImportRecord* record, Layer* layer) {
  if (!IsInt8(layer->Resource("weight"))) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(StoredWeight stored, TakeWeight("weight", layer));
  PLUMB_RETURN_IF_ERROR(ExpandBias(stored, record, layer));
  const bool one = input_scale.NumElements() == 1;
  const Tensor product_scale = stored.scale;
  if (one) {
    PLUMB_ASSIGN_OR_RETURN(Tensor own, Tensor::Create(DType::kF32, stored.scale.shape()));
    for (int64_t i = 0; i < own.NumElements(); ++i)
      own.data<float>()[i] = stored.scale.data<float>()[i] / input_scale.data<float>()[0];
    stored.scale = std::move(own);
  }
  PLUMB_ASSIGN_OR_RETURN(Tensor made, Floats(stored));
  if (!one) PLUMB_RETURN_IF_ERROR(DivideByChannel(input_scale, input, &made));
  Record(*layer, "weight", stored, made, record);
  if (record != nullptr) record->product_scales[layer->name + "/weight"] = product_scale;
  layer->resources["weight"] = std::move(made);
  return Status::Ok();
}

Status ExpandDynamicRange(Layer* layer) {
  for (const char* slot : {"weight", "data"}) {
    if (!IsInt8(layer->Resource(slot))) continue;
    PLUMB_ASSIGN_OR_RETURN(const StoredWeight stored, TakeWeight(slot, layer));
    PLUMB_ASSIGN_OR_RETURN(layer->resources[slot], Floats(stored));
  }
  layer->dynamic_range_quantized = false;
  return CheckFloats(*layer);
}

Status ExpandConstants(Graph* graph) {
  constexpr std::string_view kSuffix = "_dynamic_range_quant_scale";
  for (auto it = graph->constants.begin(); it != graph->constants.end();) {
    const std::string& name = it->first;
    const bool is_scale = name.size() > kSuffix.size() && name.substr(name.size() - kSuffix.size()) == kSuffix;
    const auto of =
        is_scale ? graph->constants.find(name.substr(0, name.size() - kSuffix.size())) : graph->constants.end();
    const bool fits = of != graph->constants.end() && of->second.dtype() == DType::kI8 &&
                      it->second.dtype() == DType::kF32 && it->second.NumElements() == 1;
    if (!fits) {
      ++it;
      continue;
    }
    PLUMB_ASSIGN_OR_RETURN(Tensor made, of->second.ConvertedTo(DType::kF32));
    for (int64_t i = 0; i < made.NumElements(); ++i) made.data<float>()[i] *= it->second.data<float>()[0];
    of->second = std::move(made);
    it = graph->constants.erase(it);
  }
  return Status::Ok();
}

}  // namespace plumb::tnn
