// SPDX-License-Identifier: Apache-2.0
#include "op/gather_elements.h"

#include <fmt/core.h>

#include <cstring>

#include "op/core/strided.h"

namespace plumb {
namespace {

Result<Tensor> EvaluateGatherElements(const BlobInfo& data, const BlobInfo& indices, int axis) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> from, ElementsAlong(data.shape, axis, indices.value));
  PLUMB_ASSIGN_OR_RETURN(Tensor out, Tensor::Create(data.dtype, indices.shape));
  const size_t size = DTypeSize(data.dtype);
  for (size_t i = 0; i < from.size(); ++i) {
    std::memcpy(static_cast<char*>(out.raw()) + i * size,
                static_cast<const char*>(data.value.raw()) + static_cast<size_t>(from[i]) * size, size);
  }
  return out;
}

Status InferGatherElements(ShapeContext& context) {
  const BlobInfo &data = context.inputs[0], &indices = context.inputs[1];
  PLUMB_ASSIGN_OR_RETURN(const int axis,
                         NormalizeAxis(ParamOf<GatherElementsParam>(context.layer).axis, data.shape.rank()));
  PLUMB_RETURN_IF_ERROR(CheckElementIndices(data.shape, indices, axis));
  context.SetAll(data.dtype, indices.shape);
  if (HasHostValue(data) && HasHostValue(indices)) {
    PLUMB_ASSIGN_OR_RETURN(context.outputs[0].value, EvaluateGatherElements(data, indices, axis));
  }
  return Status::Ok();
}

}  // namespace

Status CheckElementIndices(const Shape& data, const BlobInfo& indices, int axis) {
  if (IsFloat(indices.dtype) || indices.dtype == DType::kBool) {
    return Status::InvalidArgument(std::string("indices must be integers, found ") + DTypeName(indices.dtype));
  }
  bool fits = data.rank() == indices.shape.rank();
  for (int i = 0; fits && i < data.rank(); ++i) fits = i == axis || indices.shape[i] <= data[i];
  if (fits) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("indices {} do not fit the data {} along axis {}", indices.shape.ToString(), data.ToString(), axis));
}

Result<std::vector<int64_t>> ElementsAlong(const Shape& data, int axis, const Tensor& indices) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor wide, indices.ConvertedTo(DType::kI64));
  const std::vector<int64_t> strides = DenseStrides(data);
  const Shape& dims = wide.shape();
  const int64_t size = data[axis];
  std::vector<int64_t> elements(static_cast<size_t>(wide.NumElements()));
  for (int64_t i = 0; i < wide.NumElements(); ++i) {
    int64_t at = 0, rest = i;
    for (int d = dims.rank() - 1; d >= 0; rest /= dims[d], --d) {
      if (d != axis) at += rest % dims[d] * strides[static_cast<size_t>(d)];
    }
    const int64_t index = wide.data<int64_t>()[i];
    if (index < -size || index >= size) {
      return Status::InvalidArgument(fmt::format("index {} at position {} is outside a dim of {} of the data {}", index,
                                                 i, size, data.ToString()));
    }
    elements[static_cast<size_t>(i)] = at + (index < 0 ? index + size : index) * strides[static_cast<size_t>(axis)];
  }
  return elements;
}

OpDef DefinePlumbGatherElements() {
  OpDef op;
  op.make_param = MakeParam<GatherElementsParam>;
  op.infer = InferGatherElements;
  op.moves_data_only = true;
  return op;
}

}  // namespace plumb
