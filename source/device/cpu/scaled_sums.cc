// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/scaled_sums.h"

#include <fmt/core.h>

#include "op/binary.h"
#include "op/cast.h"

namespace plumb::cpu {
namespace {

// Of [outer, channels, ...]: one value per channel.
bool IsPerChannel(const Shape& operand, const Shape& data) {
  const int missing = data.rank() - operand.rank();
  for (int i = 0; i < operand.rank(); ++i) {
    if (operand[i] != 1 && (missing < 0 || i + missing != 1)) return false;
  }
  return missing >= 0 && data.rank() >= 2 && operand.NumElements() == data[1];
}

Result<SumOperand> OtherOperand(const std::vector<const Layer*>& members, int member, bool channels,
                                const BlobTable& blobs) {
  const Layer& layer = *members[static_cast<size_t>(member)];
  const std::string& sums = members[static_cast<size_t>(member) - 1]->outputs[0];
  const Shape& data = blobs.at(sums).shape;
  SumOperand operand;
  operand.member = member;
  Shape shape;
  if (layer.inputs.size() == 2) {
    operand.slot = layer.inputs[0] == sums ? 1 : 0;
    const BlobInfo& other = blobs.at(layer.inputs[static_cast<size_t>(operand.slot)]);
    if (other.dtype != DType::kF32 || layer.inputs[0] == layer.inputs[1])
      return Status::NotSupported("the other operand is not a second blob of f32");
    shape = other.shape;
  } else {
    const Tensor* element = layer.Resource("element");
    if (element == nullptr) return Status::NotSupported("the operand is not known");
    PLUMB_ASSIGN_OR_RETURN(shape, ConstantOperandShape(*element, data));
    PLUMB_ASSIGN_OR_RETURN(operand.element, element->ConvertedTo(DType::kF32));
  }
  const int64_t last = data[data.rank() - 1];
  const bool columns = shape.rank() > 0 && shape[shape.rank() - 1] == last && shape.NumElements() == last;
  const bool fits = shape.NumElements() == 1 || (channels ? IsPerChannel(shape, data) : columns);
  if (!fits || blobs.at(layer.outputs[0]).shape != data)
    return Status::NotSupported(
        fmt::format("an operand {} is not one number per {}", shape.ToString(), channels ? "channel" : "column"));
  const int64_t step = shape.NumElements() == 1 ? 0 : 1;
  (channels ? operand.row_step : operand.step) = step;
  return operand;
}

// A Reshape of sums [batch, group, filters, windows] to [batch, group * filters, ...]: their channels.
Result<int64_t> ChannelsOf(const Shape& sums, const Shape& reshaped) {
  const bool fits = sums.rank() == 4 && reshaped.rank() >= 3 && reshaped[0] == sums[0] &&
                    reshaped[1] == sums[1] * sums[2] && reshaped.CountFrom(2) == sums[3];
  if (fits) return reshaped[1];
  return Status::NotSupported(fmt::format("a reshape of {} to {} is not fused", sums.ToString(), reshaped.ToString()));
}

}  // namespace

const float* SumOperand::Find(const LayerGroup& group, const std::vector<DeviceTensor>& inputs) const {
  if (!element.empty()) return element.data<float>();
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    if (group.inputs[i].member == member && group.inputs[i].slot == slot) return inputs[i].host<float>();
  }
  return nullptr;
}

simd::SumFactor SumOperand::FactorAt(const LayerGroup& group, const std::vector<DeviceTensor>& inputs,
                                     int64_t row) const {
  const float* values = present() ? Find(group, inputs) : nullptr;
  return {values == nullptr ? nullptr : values + row * row_step, step, row_step};
}

Result<ScaledSums> ReadScaledSums(const std::vector<const Layer*>& members, const BlobTable& blobs) {
  const Layer& product = *members.front();
  if (product.kind != OpKind::kPlumbMatMulInteger || members.size() > 5)
    return Status::NotSupported(fmt::format("'{}' is not a product of integers", product.type));
  ScaledSums sums;
  const Shape& shape = blobs.at(product.outputs[0]).shape;
  size_t next = 1;
  const bool channels = members.size() > next && members[next]->kind == OpKind::kReshape;
  if (channels) {
    PLUMB_ASSIGN_OR_RETURN(sums.channels, ChannelsOf(shape, blobs.at(members[next++]->outputs[0]).shape));
  }
  for (size_t i = next; i < members.size(); ++i) {
    const Layer& layer = *members[i];
    const int member = static_cast<int>(i);
    if (i == next && (layer.kind == OpKind::kCast || layer.kind == OpKind::kPlumbCast)) {
      PLUMB_ASSIGN_OR_RETURN(const DType to, CastTarget(layer));
      sums.real = to == DType::kF32 && shape.rank() >= 2;
      if (!sums.real) return Status::NotSupported("only matrices that become f32 are fused");
    } else if (layer.kind == OpKind::kMul && i == next + 1) {
      PLUMB_ASSIGN_OR_RETURN(sums.scale, OtherOperand(members, member, channels, blobs));
    } else if (layer.kind == OpKind::kAdd && i > next && !sums.shift.present()) {
      PLUMB_ASSIGN_OR_RETURN(sums.shift, OtherOperand(members, member, channels, blobs));
    } else {
      return Status::NotSupported(fmt::format("'{}' is not fused", layer.type));
    }
  }
  return sums;
}

}  // namespace plumb::cpu
