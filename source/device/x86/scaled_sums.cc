#include "device/x86/scaled_sums.h"

#include <fmt/core.h>

#include "op/binary.h"
#include "op/cast.h"

namespace plumb::x86 {
namespace {

Result<ColumnOperand> OtherOperand(const std::vector<const Layer*>& members, int member, const BlobTable& blobs) {
  const Layer& layer = *members[static_cast<size_t>(member)];
  const std::string& sums = members[static_cast<size_t>(member) - 1]->outputs[0];
  const Shape& data = blobs.at(sums).shape;
  ColumnOperand operand;
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
  const bool columns = shape.rank() > 0 && shape[shape.rank() - 1] == data[data.rank() - 1];
  const bool fits = shape.NumElements() == 1 || (columns && shape.NumElements() == data[data.rank() - 1]);
  if (!fits || blobs.at(layer.outputs[0]).shape != data)
    return Status::NotSupported(fmt::format("an operand {} is not one number per column", shape.ToString()));
  operand.step = shape.NumElements() == 1 ? 0 : 1;
  return operand;
}

}  // namespace

const float* ColumnOperand::Find(const LayerGroup& group, const std::vector<DeviceTensor>& inputs) const {
  if (!element.empty()) return element.data<float>();
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    if (group.inputs[i].member == member && group.inputs[i].slot == slot) return inputs[i].host<float>();
  }
  return nullptr;
}

Result<ScaledSums> ReadScaledSums(const std::vector<const Layer*>& members, const BlobTable& blobs) {
  const Layer& product = *members.front();
  if (product.kind != OpKind::kPlumbMatMulInteger || members.size() > 4)
    return Status::NotSupported(fmt::format("'{}' is not a product of integers", product.type));
  ScaledSums sums;
  for (size_t i = 1; i < members.size(); ++i) {
    const Layer& layer = *members[i];
    const int member = static_cast<int>(i);
    if (i == 1 && (layer.kind == OpKind::kCast || layer.kind == OpKind::kPlumbCast)) {
      PLUMB_ASSIGN_OR_RETURN(const DType to, CastTarget(layer));
      sums.real = to == DType::kF32 && blobs.at(product.outputs[0]).shape.rank() >= 2;
      if (!sums.real) return Status::NotSupported("only matrices that become f32 are fused");
    } else if (layer.kind == OpKind::kMul && i == 2) {
      PLUMB_ASSIGN_OR_RETURN(sums.scale, OtherOperand(members, member, blobs));
    } else if (layer.kind == OpKind::kAdd && i >= 2 && !sums.shift.present()) {
      PLUMB_ASSIGN_OR_RETURN(sums.shift, OtherOperand(members, member, blobs));
    } else {
      return Status::NotSupported(fmt::format("'{}' is not fused", layer.type));
    }
  }
  return sums;
}

}  // namespace plumb::x86
