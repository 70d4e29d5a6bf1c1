// SPDX-License-Identifier: Apache-2.0
#include "op/scatter.h"

#include <fmt/core.h>

#include <cstring>

#include "op/core/strided.h"
#include "op/gather_elements.h"

namespace plumb {
namespace {

Result<Reduction> ReductionOf(const Layer& layer) {
  if (layer.kind == OpKind::kScatterND) return Reduction::kNone;
  if (layer.kind == OpKind::kScatterElements) {
    const int op = ParamOf<ScatterElementsParam>(layer).op;
    if (op == 0 || op == 1) return op == 0 ? Reduction::kNone : Reduction::kAdd;
    return Status::InvalidArgument(fmt::format("op {} is not 0 (assign) or 1 (add)", op));
  }
  const std::string& name = layer.kind == OpKind::kPlumbScatterND ? ParamOf<PlumbScatterNDParam>(layer).reduction
                                                                  : ParamOf<PlumbScatterElementsParam>(layer).reduction;
  const std::pair<const char*, Reduction> names[] = {{"none", Reduction::kNone},
                                                     {"add", Reduction::kAdd},
                                                     {"mul", Reduction::kMul},
                                                     {"min", Reduction::kMin},
                                                     {"max", Reduction::kMax}};
  for (const auto& [known, reduction] : names) {
    if (name == known) return reduction;
  }
  return Status::InvalidArgument(fmt::format("reduction '{}' is none of none, add, mul, min, max", name));
}

Result<ScatterShape> AlongAxis(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  ScatterShape s;
  const int axis = layer.kind == OpKind::kScatterElements ? ParamOf<ScatterElementsParam>(layer).axis
                                                          : ParamOf<PlumbScatterElementsParam>(layer).axis;
  PLUMB_ASSIGN_OR_RETURN(s.axis, NormalizeAxis(axis, inputs[0].shape.rank()));
  PLUMB_RETURN_IF_ERROR(CheckElementIndices(inputs[0].shape, inputs[1], s.axis));
  if (inputs[2].shape == inputs[1].shape) return s;
  return Status::InvalidArgument(fmt::format("updates {} must have the shape of the indices {}",
                                             inputs[2].shape.ToString(), inputs[1].shape.ToString()));
}

Result<ScatterShape> BySlices(const std::vector<BlobInfo>& inputs) {
  const Shape &data = inputs[0].shape, &indices = inputs[1].shape;
  if (IsFloat(inputs[1].dtype) || inputs[1].dtype == DType::kBool) {
    return Status::InvalidArgument(std::string("indices must be integers, found ") + DTypeName(inputs[1].dtype));
  }
  const int rank = indices.rank();
  const int64_t width = rank == 0 ? -1 : indices[rank - 1];
  if (width < 0 || width > data.rank()) {
    return Status::InvalidArgument(
        fmt::format("indices {} do not fit the data {}", indices.ToString(), data.ToString()));
  }
  std::vector<int64_t> expected(indices.dims().begin(), indices.dims().end() - 1);
  expected.insert(expected.end(), data.dims().begin() + width, data.dims().end());
  if (inputs[2].shape.dims() != expected) {
    return Status::InvalidArgument(fmt::format("updates must be {} for data {} and indices {}, found {}",
                                               Shape(expected).ToString(), data.ToString(), indices.ToString(),
                                               inputs[2].shape.ToString()));
  }
  ScatterShape s;
  s.slice = data.CountFrom(static_cast<int>(width));
  return s;
}

template <class T>
T Combined(Reduction reduction, T old, T update) {
  using U = std::make_unsigned_t<T>;
  switch (reduction) {
    case Reduction::kAdd: return static_cast<T>(static_cast<U>(old) + static_cast<U>(update));
    case Reduction::kMul: return static_cast<T>(static_cast<U>(old) * static_cast<U>(update));
    case Reduction::kMin: return update < old ? update : old;
    case Reduction::kMax: return update > old ? update : old;
    default: return update;
  }
}

Result<Tensor> EvaluateScatter(const ScatterShape& s, const std::vector<BlobInfo>& inputs) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> targets, ScatterTargets(s, inputs[0].shape, inputs[1].value));
  PLUMB_ASSIGN_OR_RETURN(Tensor out, inputs[0].value.Clone());
  const Tensor& updates = inputs[2].value;
  for (int64_t i = 0; i < updates.NumElements(); ++i) {
    const int64_t at = targets[static_cast<size_t>(i / s.slice)] + i % s.slice;
    if (out.dtype() == DType::kI64) {
      int64_t& y = out.data<int64_t>()[at];
      y = Combined(s.reduction, y, updates.data<int64_t>()[i]);
    } else {
      int32_t& y = out.data<int32_t>()[at];
      y = Combined(s.reduction, y, updates.data<int32_t>()[i]);
    }
  }
  return out;
}

Status InferScatter(ShapeContext& context) {
  PLUMB_ASSIGN_OR_RETURN(const ScatterShape s, ResolveScatter(context.layer, context.inputs));
  const DType dtype = context.inputs[0].dtype;
  context.SetAll(dtype, context.shape(0));
  bool known = dtype == DType::kI32 || dtype == DType::kI64;
  for (const BlobInfo& in : context.inputs) known = known && HasHostValue(in);
  if (known) {
    PLUMB_ASSIGN_OR_RETURN(context.outputs[0].value, EvaluateScatter(s, context.inputs));
  }
  return Status::Ok();
}

template <class P>
OpDef DefineOfScatter() {
  OpDef op;
  op.make_param = MakeParam<P>;
  op.infer = InferScatter;
  return op;
}

}  // namespace

Result<ScatterShape> ResolveScatter(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  const bool slices = layer.kind == OpKind::kScatterND || layer.kind == OpKind::kPlumbScatterND;
  if (inputs[2].dtype != inputs[0].dtype) {
    return Status::InvalidArgument(fmt::format("expects data and updates of one dtype, found {} and {}",
                                               DTypeName(inputs[0].dtype), DTypeName(inputs[2].dtype)));
  }
  PLUMB_ASSIGN_OR_RETURN(ScatterShape s, slices ? BySlices(inputs) : AlongAxis(layer, inputs));
  PLUMB_ASSIGN_OR_RETURN(s.reduction, ReductionOf(layer));
  const DType dtype = inputs[0].dtype;
  const bool computes = dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kI32 || dtype == DType::kI64;
  if (s.reduction == Reduction::kNone || computes) return s;
  return Status::NotSupported(
      fmt::format("a reduction of {} is not supported: only f32, f64, i32 and i64", DTypeName(dtype)));
}

Result<std::vector<int64_t>> ScatterTargets(const ScatterShape& s, const Shape& data, const Tensor& indices) {
  if (s.axis >= 0) return ElementsAlong(data, s.axis, indices);
  PLUMB_ASSIGN_OR_RETURN(const Tensor wide, indices.ConvertedTo(DType::kI64));
  const std::vector<int64_t> strides = DenseStrides(data);
  const auto width = static_cast<size_t>(wide.shape()[wide.shape().rank() - 1]);
  const auto count = static_cast<size_t>(wide.shape().Count(0, wide.shape().rank() - 1));
  std::vector<int64_t> targets(count, 0);
  for (size_t i = 0; i < count * width; ++i) {
    const int64_t index = wide.data<int64_t>()[i], size = data[static_cast<int>(i % width)];
    if (index < -size || index >= size) {
      return Status::InvalidArgument(fmt::format("index {} at position {} is outside a dim of {} of the data {}", index,
                                                 i, size, data.ToString()));
    }
    targets[i / width] += (index < 0 ? index + size : index) * strides[i % width];
  }
  return targets;
}

OpDef DefineScatterElements() { return DefineOfScatter<ScatterElementsParam>(); }
OpDef DefinePlumbScatterElements() { return DefineOfScatter<PlumbScatterElementsParam>(); }
OpDef DefineScatterND() {
  OpDef op;
  op.infer = InferScatter;
  return op;
}
OpDef DefinePlumbScatterND() { return DefineOfScatter<PlumbScatterNDParam>(); }

}  // namespace plumb
