// SPDX-License-Identifier: Apache-2.0
#include "device/shared/fused_tail.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "op/activation.h"
#include "op/affine.h"
#include "op/binary.h"
#include "op/deconvolution.h"
#include "op/inner_product.h"

namespace plumb {
namespace {

using Kind = Epilogue::Kind;

struct Reader {
  const BlobTable& blobs;
  FusedGroup group;
  std::vector<double> scale, shift;  // of the affine part so far
  bool closed = false;               // an activation was read: only another clamp may follow

  Status Head(const Layer& layer);
  Status Follow(const Layer& layer, const std::string& data_blob, int member);
  Status Activation(const Layer& layer);
  Status FromCoefficients(const Layer& layer);
  Status Affine(const std::vector<float>& by, const std::vector<float>& plus);
  Result<std::vector<float>> ConstantPerChannel(const Layer& layer, int data_slot);
  int64_t Channels(const std::string& blob) const { return blobs.at(blob).shape.DimOrOne(1); }
};

// One value per channel, or nothing when `constant` varies along another axis.
Result<std::vector<float>> PerChannel(const Tensor& constant, const Shape& shape, const Shape& data) {
  const int64_t channels = data.DimOrOne(1);
  const int missing = data.rank() - shape.rank();
  for (int i = 0; i < data.rank(); ++i) {
    const int64_t dim = i < missing ? 1 : shape[i - missing];
    if (dim != 1 && i != 1)
      return Status::NotSupported(fmt::format("a constant {} is not one value per channel", shape.ToString()));
  }
  if (missing < 0)
    return Status::NotSupported(fmt::format("a constant {} has a higher rank than its operand", shape.ToString()));
  PLUMB_ASSIGN_OR_RETURN(const Tensor f32, constant.ConvertedTo(DType::kF32));
  std::vector<float> values(static_cast<size_t>(channels));
  for (int64_t c = 0; c < channels; ++c)
    values[static_cast<size_t>(c)] = f32.data<float>()[f32.NumElements() == 1 ? 0 : c];
  return values;
}

Status Reader::Head(const Layer& layer) {
  const bool transposed = layer.kind == OpKind::kDeconvolution;
  if (layer.kind == OpKind::kConvolution || layer.kind == OpKind::kConvolution1D || transposed) {
    const Shape& input = blobs.at(layer.inputs[0]).shape;
    PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape,
                           transposed ? ResolveDeconvolution(layer, input) : ResolveConvolution(layer, input));
    group.head = &layer;
    closed = shape.activation != kActivationNone;
    if (shape.activation == kActivationReLU) group.epilogue.kind = Kind::kRelu;
    if (shape.activation == kActivationReLU6) group.epilogue = {Kind::kClip, 0.0f, 6.0f, false};
    if (shape.activation == kActivationSwish) group.epilogue.kind = Kind::kSwish;
  } else if (layer.kind == OpKind::kInnerProduct) {
    group.head = &layer;
  }
  return Status::Ok();
}

// The layer as an epilogue, or NotSupported.
Result<Epilogue> ActivationOf(const Layer& layer) {
  if (layer.kind == OpKind::kReLU) return Epilogue{Kind::kRelu};
  if (layer.kind == OpKind::kReLU6) return Epilogue{Kind::kClip, 0.0f, 6.0f};
  if (layer.kind == OpKind::kLeakyRelu) return Epilogue{Kind::kLeakyRelu, ParamOf<LeakyReluParam>(layer).slope};
  if (layer.kind == OpKind::kSwish) return Epilogue{Kind::kSwish};
  if (layer.kind != OpKind::kClip)
    return Status::NotSupported(fmt::format("'{}' is not a fused activation", layer.type));
  const auto& p = ParamOf<ClipParam>(layer);
  if (!(p.min <= p.max)) return Status::NotSupported("a Clip whose min exceeds its max is not fused");
  return Epilogue{Kind::kClip, p.min, p.max};
}

bool IsClamp(const Epilogue& e) { return e.kind == Kind::kRelu || e.kind == Kind::kClip; }
float LowOf(const Epilogue& e) { return e.kind == Kind::kRelu ? 0.0f : e.alpha; }
float HighOf(const Epilogue& e) { return e.kind == Kind::kRelu ? INFINITY : e.beta; }

// The first activation, or one more clamp: clamps in a row are one clamp (TNN's files have a ReLU layer behind a
// convolution that does ReLU itself).
Status Reader::Activation(const Layer& layer) {
  PLUMB_ASSIGN_OR_RETURN(Epilogue next, ActivationOf(layer));
  const Epilogue& now = group.epilogue;
  if (closed) {
    if (!IsClamp(now) || !IsClamp(next)) {
      return Status::NotSupported(fmt::format("'{}' is not fused behind another activation", layer.type));
    }
    const auto clamp = [&](float v) { return std::min(std::max(v, LowOf(next)), HighOf(next)); };
    const float low = clamp(LowOf(now)), high = clamp(HighOf(now));
    next = low == 0 && high == INFINITY ? Epilogue{Kind::kRelu} : Epilogue{Kind::kClip, low, high};
  }
  next.sum = now.sum;
  group.epilogue = next;
  closed = true;
  return Status::Ok();
}

Status Reader::Affine(const std::vector<float>& by, const std::vector<float>& plus) {
  if (group.addend_member >= 0) return Status::NotSupported("a scale or shift behind an addition is not fused");
  const bool rows = group.head != nullptr && group.head->kind == OpKind::kInnerProduct;
  if (rows && ParamOf<InnerProductParam>(*group.head).axis != 1) {
    return Status::NotSupported("the outputs of an inner product over another axis are not its channels");
  }
  if (scale.empty()) {
    scale.assign(by.size(), 1.0);
    shift.assign(by.size(), 0.0);
  }
  for (size_t c = 0; c < by.size(); ++c) {
    scale[c] *= by[c];
    shift[c] = shift[c] * by[c] + plus[c];
  }
  return Status::Ok();
}

// BatchNormCxx, Scale, BiasAdd over the channels.
Status Reader::FromCoefficients(const Layer& layer) {
  const Shape& data = blobs.at(layer.inputs[0]).shape;
  const int64_t channels = data.DimOrOne(1);
  auto affine = ResolveAffine(layer, data);
  if (!affine.ok()) return Status::NotSupported(affine.status().message());
  const bool scalar = (affine->scale == nullptr || affine->scale->NumElements() == 1) &&
                      (affine->bias == nullptr || affine->bias->NumElements() == 1);
  if (!scalar && (affine->count != channels || affine->inner != data.CountFrom(2))) {
    return Status::NotSupported("its coefficients are not one per channel");
  }
  const auto expand = [&](const Tensor* tensor, float absent) -> Result<std::vector<float>> {
    std::vector<float> values(static_cast<size_t>(channels), absent);
    if (tensor == nullptr) return values;
    PLUMB_ASSIGN_OR_RETURN(const Tensor f32, tensor->ConvertedTo(DType::kF32));
    for (size_t c = 0; c < values.size(); ++c) values[c] = f32.data<float>()[f32.NumElements() == 1 ? 0 : c];
    return values;
  };
  PLUMB_ASSIGN_OR_RETURN(const auto by, expand(affine->scale, 1));
  PLUMB_ASSIGN_OR_RETURN(const auto plus, expand(affine->bias, 0));
  return Affine(by, plus);
}

Result<std::vector<float>> Reader::ConstantPerChannel(const Layer& layer, int data_slot) {
  const Shape& data = blobs.at(layer.inputs[static_cast<size_t>(data_slot)]).shape;
  if (layer.inputs.size() == 1) {
    const Tensor* element = layer.Resource("element");
    if (element == nullptr) return std::vector<float>(static_cast<size_t>(data.DimOrOne(1)), 1.0f);  // not drawn yet
    PLUMB_ASSIGN_OR_RETURN(const Shape shape, ConstantOperandShape(*element, data));
    return PerChannel(*element, shape, data);
  }
  const BlobInfo& other = blobs.at(layer.inputs[static_cast<size_t>(1 - data_slot)]);
  if (other.value.empty()) return Status::NotSupported("the operand is not a constant");
  return PerChannel(other.value, other.shape, data);
}

Status Reader::Follow(const Layer& layer, const std::string& data_blob, int member) {
  const BlobInfo& data = blobs.at(data_blob);
  if (data.dtype != DType::kF32) return Status::NotSupported("only f32 is fused");
  if (layer.outputs.size() == 1 && layer.inputs.size() == 1 && ActivationOf(layer).ok()) return Activation(layer);
  if (closed) return Status::NotSupported("nothing is fused behind an activation");
  if (layer.kind == OpKind::kBatchNormCxx || layer.kind == OpKind::kScale || layer.kind == OpKind::kBiasAdd)
    return FromCoefficients(layer);
  if (layer.kind != OpKind::kAdd && layer.kind != OpKind::kSub && layer.kind != OpKind::kMul)
    return Status::NotSupported(fmt::format("'{}' is not fused", layer.type));
  const int slot = layer.inputs.size() == 2 && layer.inputs[1] == data_blob ? 1 : 0;
  if (blobs.at(layer.outputs[0]).shape != data.shape) return Status::NotSupported("the operand changes the shape");
  const size_t channels = static_cast<size_t>(data.shape.DimOrOne(1));
  auto constant = ConstantPerChannel(layer, slot);
  if (constant.ok()) {
    if (layer.kind == OpKind::kMul) return Affine(*constant, std::vector<float>(channels, 0.0f));
    if (layer.kind == OpKind::kAdd) return Affine(std::vector<float>(channels, 1.0f), *constant);
    const bool from_data = layer.inputs.size() == 2 ? slot == 0 : ParamOf<BinaryParam>(layer).weight_input_index == 1;
    for (float& value : *constant) value = from_data ? -value : value;  // x - c, or c - x
    return Affine(std::vector<float>(channels, from_data ? 1.0f : -1.0f), *constant);
  }
  if (layer.kind != OpKind::kAdd || layer.inputs.size() != 2) return constant.status();
  if (group.head != nullptr && group.head->kind == OpKind::kInnerProduct) {
    return Status::NotSupported("an addition behind an inner product is not fused");
  }
  const BlobInfo& other = blobs.at(layer.inputs[static_cast<size_t>(1 - slot)]);
  if (group.addend_member >= 0) return Status::NotSupported("a second addition is not fused");
  if (layer.inputs[0] == layer.inputs[1]) return Status::NotSupported("a blob added to itself is not fused");
  if (other.shape != data.shape || !other.value.empty()) return Status::NotSupported("the addend has another shape");
  group.addend_member = member;
  group.addend_slot = 1 - slot;
  group.epilogue.sum = true;
  return Status::Ok();
}

}  // namespace

int FusedGroup::AddendInput(const LayerGroup& layers) const {
  for (size_t i = 0; i < layers.inputs.size(); ++i) {
    if (layers.inputs[i].member == addend_member && layers.inputs[i].slot == addend_slot) return static_cast<int>(i);
  }
  return -1;
}

Result<FusedGroup> ReadGroup(const std::vector<const Layer*>& members, const BlobTable& blobs) {
  Reader reader{blobs, {}, {}, {}, false};
  const Layer& first = *members.front();
  PLUMB_RETURN_IF_ERROR(reader.Head(first));
  for (size_t i = reader.group.head == nullptr ? 0 : 1; i < members.size(); ++i) {
    const std::string& data = i == 0 ? members[i]->inputs[0] : members[i - 1]->outputs[0];
    PLUMB_RETURN_IF_ERROR(reader.Follow(*members[i], data, static_cast<int>(i)));
  }
  FusedGroup group = std::move(reader.group);
  group.affine.scale.assign(reader.scale.begin(), reader.scale.end());
  group.affine.shift.assign(reader.shift.begin(), reader.shift.end());
  if (group.head == nullptr && members.size() > 1) {
    if (group.affine.empty() == (group.addend_member < 0)) {
      return Status::NotSupported("an element-wise group is either scaled or added to");
    }
    if (group.epilogue.kind == Kind::kLeakyRelu || group.epilogue.kind == Kind::kSwish) {
      return Status::NotSupported("an element-wise group ends in a clamp or in nothing");
    }
  }
  return group;
}

Result<Tensor> F32Resource(const Layer& layer, const std::string& slot) {
  const Tensor* tensor = layer.Resource(slot);
  if (tensor == nullptr) {
    return Status::NotFound(
        fmt::format("layer '{}' ({}) has no {}; give the model's weights", layer.name, layer.type, slot));
  }
  return tensor->ConvertedTo(DType::kF32);
}

}  // namespace plumb
