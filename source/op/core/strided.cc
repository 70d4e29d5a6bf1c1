// SPDX-License-Identifier: Apache-2.0
#include "op/core/strided.h"

#include <fmt/core.h>

#include <cstring>

namespace plumb {

void JoinDims(std::vector<int64_t>* dims, std::vector<std::vector<int64_t>>* strides) {
  std::vector<int64_t> joined_dims;
  std::vector<std::vector<int64_t>> joined(strides->size());
  for (size_t d = 0; d < dims->size(); ++d) {
    const int64_t dim = (*dims)[d];
    if (dim == 1) continue;
    bool joins = !joined_dims.empty();
    for (size_t i = 0; i < joined.size() && joins; ++i) joins = joined[i].back() == (*strides)[i][d] * dim;
    if (joins) {
      joined_dims.back() *= dim;
    } else {
      joined_dims.push_back(dim);
    }
    for (size_t i = 0; i < joined.size(); ++i) {
      if (joins) joined[i].pop_back();
      joined[i].push_back((*strides)[i][d]);
    }
  }
  *dims = std::move(joined_dims);
  *strides = std::move(joined);
}

void StridedMap::Simplify() {
  std::vector<std::vector<int64_t>> of_input = {std::move(strides)};
  JoinDims(&dims, &of_input);
  strides = std::move(of_input[0]);
  if (!dims.empty()) return;
  dims.push_back(1);
  strides.push_back(1);
}

std::vector<int64_t> DenseStrides(const Shape& shape) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank()), 1);
  for (int i = shape.rank() - 2; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = strides[static_cast<size_t>(i) + 1] * shape[i + 1];
  }
  return strides;
}

StridedMap SameOrder(Shape out) {
  StridedMap map;
  map.dims = {out.NumElements()};
  map.strides = {1};
  map.out = std::move(out);
  return map;
}

StridedMap Transposed(const std::vector<int64_t>& dims, const std::vector<int>& order, Shape out) {
  const std::vector<int64_t> strides = DenseStrides(Shape(dims));
  StridedMap map;
  map.out = std::move(out);
  for (const int source : order) {
    map.dims.push_back(dims[static_cast<size_t>(source)]);
    map.strides.push_back(strides[static_cast<size_t>(source)]);
  }
  return map;
}

StridedMap BroadcastMap(const Shape& in, Shape out) {
  StridedMap map;
  map.dims = out.dims();
  map.strides.assign(map.dims.size(), 0);
  const std::vector<int64_t> dense = DenseStrides(in);
  const size_t missing = map.dims.size() - dense.size();
  for (size_t i = 0; i < dense.size(); ++i) {
    if (in.dims()[i] != 1) map.strides[missing + i] = dense[i];
  }
  map.out = std::move(out);
  return map;
}

Status InferByMap(ShapeContext& context) {
  const OpDef& op = GetOp(context.layer.kind);
  for (size_t i = 0; i < context.outputs.size(); ++i) {
    PLUMB_ASSIGN_OR_RETURN(const StridedMap map, op.map(context.layer, context.inputs, static_cast<int>(i)));
    PLUMB_RETURN_IF_ERROR(map.out.Validate());
    BlobInfo& out = context.outputs[i];
    out.dtype = context.inputs[0].dtype;
    out.shape = map.out;
    if (HasHostValue(context.inputs[0]) && map.out.NumElements() <= kMaxHostValues) {
      PLUMB_ASSIGN_OR_RETURN(out.value, ApplyMap(map, context.inputs[0].value));
    }
  }
  return Status::Ok();
}

OpDef DefineByMap(std::shared_ptr<OpParam> (*make_param)(), decltype(OpDef::map) map) {
  OpDef op;
  op.make_param = make_param;
  op.infer = InferByMap;
  op.map = map;
  op.moves_data_only = true;
  return op;
}

Result<Tensor> ApplyMap(StridedMap map, const Tensor& in) {
  PLUMB_ASSIGN_OR_RETURN(Tensor out, Tensor::Create(in.dtype(), map.out));
  const size_t size = DTypeSize(in.dtype());
  const char* src = static_cast<const char*>(in.raw());
  char* dst = static_cast<char*>(out.raw());
  for (int64_t i = 0; i < out.NumElements(); ++i) {
    int64_t at = map.offset, rest = i;
    for (size_t d = map.dims.size(); d-- > 0; rest /= map.dims[d]) at += rest % map.dims[d] * map.strides[d];
    std::memcpy(dst + static_cast<size_t>(i) * size, src + static_cast<size_t>(at) * size, size);
  }
  return out;
}

bool HasHostValue(const BlobInfo& blob) {
  return !blob.value.empty() && !IsFloat(blob.dtype) && blob.value.NumElements() <= kMaxHostValues;
}

Result<std::vector<int64_t>> KnownInts(const BlobInfo& blob, const char* what) {
  if (blob.value.empty()) {
    return Status::NotSupported(fmt::format("{} comes from a blob {} whose value is not known before the network runs",
                                            what, blob.shape.ToString()));
  }
  if (IsFloat(blob.dtype)) {
    return Status::InvalidArgument(fmt::format("{} must be integers, found {}", what, DTypeName(blob.dtype)));
  }
  if (blob.value.NumElements() > kMaxHostValues) {
    return Status::InvalidArgument(
        fmt::format("{} has {} values, at most {} are read", what, blob.value.NumElements(), kMaxHostValues));
  }
  PLUMB_ASSIGN_OR_RETURN(const Tensor value, blob.value.ConvertedTo(DType::kI64));
  return std::vector<int64_t>(value.data<int64_t>(), value.data<int64_t>() + value.NumElements());
}

}  // namespace plumb
