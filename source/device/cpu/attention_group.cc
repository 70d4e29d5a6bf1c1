// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/attention_group.h"

#include <fmt/core.h>

#include <algorithm>

#include "op/binary.h"
#include "op/core/strided.h"
#include "op/softmax.h"

namespace plumb::cpu {
namespace {

Result<MatMulShape> ProductOf(const Layer& layer, const BlobTable& blobs) {
  if (layer.kind != OpKind::kMatMul || layer.inputs.size() != 2)
    return Status::NotSupported(fmt::format("'{}' is no product of two blobs", layer.type));
  const BlobInfo &first = blobs.at(layer.inputs[0]), &second = blobs.at(layer.inputs[1]);
  if (first.dtype != DType::kF32 || second.dtype != DType::kF32) return Status::NotSupported("only f32 is fused");
  if (first.shape.rank() < 2 || second.shape.rank() < 2) return Status::NotSupported("a vector is no matrix");
  return ResolveMatMul(first.shape, second.shape);
}

// The operand beside `data`, which keeps its shape, and the other's.
Result<SumOperand> OperandBeside(const std::string& data, const Layer& layer, int member, const BlobTable& blobs,
                                 Shape* shape) {
  SumOperand operand;
  operand.member = member;
  const Shape& kept = blobs.at(data).shape;
  if (layer.inputs.size() == 2) {
    operand.slot = layer.inputs[0] == data ? 1 : 0;
    const BlobInfo& other = blobs.at(layer.inputs[static_cast<size_t>(operand.slot)]);
    if (other.dtype != DType::kF32) return Status::NotSupported("only f32 is fused");
    *shape = other.shape;
  } else {
    const Tensor* element = layer.Resource("element");
    if (element == nullptr) return Status::NotSupported("the operand is not known");
    operand.slot = ParamOf<BinaryParam>(layer).weight_input_index;
    PLUMB_ASSIGN_OR_RETURN(*shape, ConstantOperandShape(*element, kept));
    PLUMB_ASSIGN_OR_RETURN(operand.element, element->ConvertedTo(DType::kF32));
  }
  if (blobs.at(layer.outputs[0]).shape != kept)
    return Status::NotSupported(fmt::format("an operand {} changes the scores' shape", shape->ToString()));
  return operand;
}

// Where each matrix begins that the map walks, one dim after the other.
std::vector<int64_t> MatrixOffsets(const StridedMap& map) {
  std::vector<int64_t> offsets = {map.offset};
  for (size_t axis = 0; axis + 2 < map.dims.size(); ++axis) {
    std::vector<int64_t> inner;
    for (const int64_t outer : offsets) {
      for (int64_t i = 0; i < map.dims[axis]; ++i) inner.push_back(outer + i * map.strides[axis]);
    }
    offsets = std::move(inner);
  }
  return offsets;
}

// The keys as they lie in front of the Permute, each one's values together; or turned, where there is none.
Status ReadKeys(const Layer* permute, const Layer& product, const BlobTable& blobs, AttentionGroup* group) {
  const MatMulShape& shape = group->scores;
  for (const int64_t matrix : shape.second_matrix) group->key_offset.push_back(matrix * shape.k * shape.n);
  if (permute == nullptr) return Status::Ok();
  if (product.inputs[1] != permute->outputs[0]) return Status::NotSupported("not the keys are turned");
  PLUMB_ASSIGN_OR_RETURN(const StridedMap map,
                         GetOp(OpKind::kPermute).map(*permute, {blobs.at(permute->inputs[0])}, 0));
  const size_t rank = map.dims.size();
  if (map.strides[rank - 2] != 1) return Status::NotSupported("the values of a key do not lie together");
  group->key_step = map.strides[rank - 1];
  const std::vector<int64_t> offsets = MatrixOffsets(map);
  for (size_t i = 0; i < shape.second_matrix.size(); ++i)
    group->key_offset[i] = offsets[static_cast<size_t>(shape.second_matrix[i])];
  return Status::Ok();
}

void ReadMask(const Shape& scores, const Shape& shape, AttentionGroup* group) {
  const StridedMap map = BroadcastMap(shape, scores);
  group->mask.step = map.strides.back();
  group->mask.row_step = map.strides[map.strides.size() - 2];
  group->mask_offset = MatrixOffsets(map);
}

}  // namespace

Result<AttentionGroup> ReadAttention(const std::vector<const Layer*>& members, const BlobTable& blobs) {
  AttentionGroup group;
  const Layer* permute = members[0]->kind == OpKind::kPermute ? members[0] : nullptr;
  size_t next = permute == nullptr ? 0 : 1;
  if (next == members.size()) return Status::NotSupported("a Permute alone is no attention");
  const Layer& product = *members[next];
  group.product = static_cast<int>(next++);
  PLUMB_ASSIGN_OR_RETURN(group.scores, ProductOf(product, blobs));
  PLUMB_RETURN_IF_ERROR(ReadKeys(permute, product, blobs, &group));
  const Shape& scores = blobs.at(product.outputs[0]).shape;
  Shape other;
  const auto kind = [&] { return next < members.size() ? members[next]->kind : OpKind::kMatMul; };
  const auto beside = [&] {
    return OperandBeside(members[next - 1]->outputs[0], *members[next], static_cast<int>(next), blobs, &other);
  };
  if (kind() == OpKind::kMul || kind() == OpKind::kDiv) {
    PLUMB_ASSIGN_OR_RETURN(group.scale, beside());
    group.divides = kind() == OpKind::kDiv;
    if (other.NumElements() != 1 || (group.divides && group.scale.slot != 1))
      return Status::NotSupported("the scores are not multiplied or divided by one value");
    ++next;
  }
  if (kind() == OpKind::kAdd) {
    PLUMB_ASSIGN_OR_RETURN(group.mask, beside());
    ReadMask(scores, other, &group);
    ++next;
  }
  if (next + 2 != members.size() || kind() != OpKind::kSoftmax)
    return Status::NotSupported("a product is not followed by a scale, a mask, Softmax and a product");
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<SoftmaxParam>(*members[next]).axis, scores.rank()));
  if (axis != scores.rank() - 1) return Status::NotSupported("Softmax is not over the keys");
  const Layer& last = *members[next + 1];
  PLUMB_ASSIGN_OR_RETURN(group.values, ProductOf(last, blobs));
  if (last.inputs[0] != members[next]->outputs[0])
    return Status::NotSupported("the weights of the values are not the first operand");
  if (group.values.first_matrix.size() != group.scores.first_matrix.size())
    return Status::NotSupported("the values have more heads than the scores");
  if (scores.NumElements() == 0 || group.scores.k == 0 || group.values.n == 0)
    return Status::NotSupported("nothing is to be computed");
  return group;
}

size_t AttentionAhead(const std::vector<const Layer*>& chain, const BlobTable& blobs) {
  for (size_t count = 3; count <= std::min<size_t>(chain.size(), 6); ++count) {
    if (ReadAttention({chain.begin(), chain.begin() + static_cast<ptrdiff_t>(count)}, blobs).ok()) return count;
  }
  return 0;
}

}  // namespace plumb::cpu
