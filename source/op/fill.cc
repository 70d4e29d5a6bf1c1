// SPDX-License-Identifier: Apache-2.0
#include "op/fill.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "op/core/strided.h"

namespace plumb {
namespace {

Status InferConstant(ShapeContext& context) {
  PLUMB_ASSIGN_OR_RETURN(std::vector<int64_t> dims, KnownInts(context.inputs[0], "the shape of ConstantOfShape"));
  const Tensor* value = context.layer.Resource("value");
  if (value != nullptr && value->NumElements() != 1) {
    return Status::InvalidArgument("the value of ConstantOfShape needs one element, found " +
                                   value->shape().ToString());
  }
  const Shape out(std::move(dims));
  PLUMB_RETURN_IF_ERROR(out.Validate());
  context.SetAll(value == nullptr ? DType::kF32 : value->dtype(), out);
  if (value == nullptr || IsFloat(value->dtype()) || out.NumElements() > kMaxHostValues) return Status::Ok();
  StridedMap map;
  map.out = out;
  map.dims = out.dims();
  map.strides.assign(map.dims.size(), 0);
  PLUMB_ASSIGN_OR_RETURN(context.outputs[0].value, ApplyMap(map, *value));
  return Status::Ok();
}

void ResourcesFill(ResourceVisitor& v, const Layer&) { v.Raw("value"); }

Status SpecsFill(const Layer& layer, const std::vector<BlobInfo>&, std::vector<ResourceSpec>* specs) {
  specs->push_back({"value", {1}, ResourceSpec::kSmall});
  return Status::Ok();
}

Status InferRange(ShapeContext& context) {
  const DType dtype = context.inputs[0].dtype;
  for (const BlobInfo& in : context.inputs) {
    if (in.dtype != dtype || (dtype != DType::kF32 && dtype != DType::kI32 && dtype != DType::kI64)) {
      return Status::InvalidArgument(
          fmt::format("expects f32, i32 or i64 of one dtype, found {} and {}", DTypeName(dtype), DTypeName(in.dtype)));
    }
    if (in.value.empty() || in.value.NumElements() != 1) {
      return Status::NotSupported("start, limit and delta must be single values known before the network runs, found " +
                                  in.shape.ToString());
    }
  }
  const Tensor& start = context.inputs[0].value;
  const Tensor& delta = context.inputs[2].value;
  PLUMB_ASSIGN_OR_RETURN(const int64_t count, RangeCount(start, context.inputs[1].value, delta));
  context.SetAll(dtype, Shape{count});
  if (IsFloat(dtype) || count > kMaxHostValues) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const Tensor first, start.ConvertedTo(DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(const Tensor step, delta.ConvertedTo(DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(Tensor wide, Tensor::Create(DType::kI64, Shape{count}));
  for (int64_t i = 0; i < count; ++i) wide.data<int64_t>()[i] = *first.data<int64_t>() + i * *step.data<int64_t>();
  PLUMB_ASSIGN_OR_RETURN(context.outputs[0].value, wide.ConvertedTo(dtype));
  return Status::Ok();
}

}  // namespace

Result<int64_t> RangeCount(const Tensor& start, const Tensor& limit, const Tensor& delta) {
  const double step = delta.ValueAt(0);
  const double steps = (limit.ValueAt(0) - start.ValueAt(0)) / step;
  if (step == 0 || !(std::fabs(steps) <= static_cast<double>(kMaxRange))) {
    return Status::InvalidArgument(fmt::format("a range from {} to {} by {} does not end within 2^31 elements",
                                               start.ValueAt(0), limit.ValueAt(0), step));
  }
  return std::max<int64_t>(0, static_cast<int64_t>(std::ceil(steps)));
}

OpDef DefineConstantOfShape() {
  OpDef op;
  op.infer = InferConstant;
  op.visit_resources = ResourcesFill;
  op.resource_specs = SpecsFill;
  return op;
}

OpDef DefineRange() {
  OpDef op;
  op.infer = InferRange;
  return op;
}

}  // namespace plumb
