// SPDX-License-Identifier: Apache-2.0
#include "op/gather.h"

#include <fmt/core.h>

#include <cstring>

#include "op/core/strided.h"

namespace plumb {
namespace {

Status TakeOperands(const Layer& layer, const std::vector<BlobInfo>& inputs, GatherShape* g) {
  const auto& p = ParamOf<GatherParam>(layer);
  const size_t expected = (p.data_in_resource ? 0u : 1u) + (p.indices_in_resource ? 0u : 1u);
  if (inputs.size() != expected) {
    return Status::InvalidArgument(
        fmt::format("data_in_resource {} and indices_in_resource {} leave {} inputs, found {}", p.data_in_resource,
                    p.indices_in_resource, expected, inputs.size()));
  }
  const auto take = [&](const char* slot, bool in_resource, const BlobInfo& input, BlobInfo* operand) {
    if (!in_resource) {
      *operand = input;
      return Status::Ok();
    }
    const Tensor* resource = layer.Resource(slot);
    if (resource == nullptr) {
      return Status::NotSupported(
          fmt::format("the {} are a resource, whose shape only a tnnmodel says; give the model's tnnmodel", slot));
    }
    *operand = {resource->dtype(), resource->shape(), *resource};
    return Status::Ok();
  };
  PLUMB_RETURN_IF_ERROR(take("data", p.data_in_resource, inputs.front(), &g->data));
  return take("indices", p.indices_in_resource, inputs.back(), &g->indices);
}

Status ResolveAlongAxis(const Layer& layer, GatherShape* g) {
  const Shape& data = g->data.shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<GatherParam>(layer).axis, data.rank()));
  g->batch = data.Count(0, axis);
  g->count = g->indices.shape.NumElements();
  g->slice = data.CountFrom(axis + 1);
  g->batch_step = data.CountFrom(axis);
  g->dims = {data[axis]};
  g->steps = {g->slice};
  std::vector<int64_t> out(data.dims().begin(), data.dims().begin() + axis);
  out.insert(out.end(), g->indices.shape.dims().begin(), g->indices.shape.dims().end());
  out.insert(out.end(), data.dims().begin() + axis + 1, data.dims().end());
  g->out = Shape(std::move(out));
  return Status::Ok();
}

Status ResolveVectors(const Layer& layer, GatherShape* g) {
  const Shape& data = g->data.shape;
  const Shape& indices = g->indices.shape;
  const int batch_dims = ParamOf<GatherNDParam>(layer).batch_dims;
  const std::string found = fmt::format("data {} and indices {}", data.ToString(), indices.ToString());
  if (batch_dims < 0 || batch_dims >= indices.rank() || batch_dims > data.rank()) {
    return Status::InvalidArgument(fmt::format("batch_dims {} does not fit {}", batch_dims, found));
  }
  const int64_t width = indices[indices.rank() - 1];
  if (width < 0 || width > data.rank() - batch_dims) {
    return Status::InvalidArgument(
        fmt::format("{} do not fit: index vectors of length {} with batch_dims {}", found, width, batch_dims));
  }
  for (int i = 0; i < batch_dims; ++i) {
    if (data[i] != indices[i]) return Status::InvalidArgument(fmt::format("{} differ in batch dim {}", found, i));
  }
  const int inner = batch_dims + static_cast<int>(width);
  g->batch = data.Count(0, batch_dims);
  g->batched_indices = true;
  g->count = indices.Count(batch_dims, indices.rank() - 1);
  g->slice = data.CountFrom(inner);
  g->batch_step = data.CountFrom(batch_dims);
  for (int i = batch_dims; i < inner; ++i) {
    g->dims.push_back(data[i]);
    g->steps.push_back(data.CountFrom(i + 1));
  }
  std::vector<int64_t> out(indices.dims().begin(), indices.dims().end() - 1);
  out.insert(out.end(), data.dims().begin() + inner, data.dims().end());
  g->out = Shape(std::move(out));
  return Status::Ok();
}

Result<Tensor> EvaluateGather(const GatherShape& g) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, KnownInts(g.indices, "the indices"));
  PLUMB_ASSIGN_OR_RETURN(Tensor out, Tensor::Create(g.data.dtype, g.out));
  const size_t size = DTypeSize(g.data.dtype);
  const size_t bytes = static_cast<size_t>(g.slice) * size;
  for (int64_t s = 0; s < g.batch * g.count && bytes > 0; ++s) {
    PLUMB_ASSIGN_OR_RETURN(const int64_t start, SliceStart(g, indices.data(), s));
    std::memcpy(static_cast<char*>(out.raw()) + static_cast<size_t>(s) * bytes,
                static_cast<const char*>(g.data.value.raw()) + static_cast<size_t>(start) * size, bytes);
  }
  return out;
}

Status InferGather(ShapeContext& context) {
  PLUMB_ASSIGN_OR_RETURN(const GatherShape g, ResolveGather(context.layer, context.inputs));
  context.SetAll(g.data.dtype, g.out);
  const bool known = HasHostValue(g.data) && HasHostValue(g.indices) && g.out.NumElements() <= kMaxHostValues;
  if (known) {
    PLUMB_ASSIGN_OR_RETURN(context.outputs[0].value, EvaluateGather(g));
  }
  return Status::Ok();
}

void ResourcesGather(ResourceVisitor& v, const Layer& layer) {
  if (v.Flag("data")) v.Raw("data");
  if (v.Flag("indices")) v.Raw("indices");
  v.QuantTail("data");
}

Status SpecsGather(const Layer& layer, const std::vector<BlobInfo>&, std::vector<ResourceSpec>* specs) {
  const auto& p = ParamOf<GatherParam>(layer);
  for (const auto& [slot, wanted] :
       {std::pair{"data", p.data_in_resource}, std::pair{"indices", p.indices_in_resource}}) {
    if (!wanted) continue;
    const Tensor* resource = layer.Resource(slot);
    if (resource == nullptr) {
      return Status::NotSupported(
          fmt::format("the {} cannot be generated: only a tnnmodel says their shape; give the model's tnnmodel", slot));
    }
    specs->push_back({slot, resource->shape(), ResourceSpec::kSmall});
  }
  return Status::Ok();
}

}  // namespace

Result<GatherShape> ResolveGather(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  GatherShape g;
  if (layer.kind == OpKind::kGather) {
    PLUMB_RETURN_IF_ERROR(TakeOperands(layer, inputs, &g));
    PLUMB_RETURN_IF_ERROR(ResolveAlongAxis(layer, &g));
  } else {
    g.data = inputs[0];
    g.indices = inputs[1];
    PLUMB_RETURN_IF_ERROR(ResolveVectors(layer, &g));
  }
  if (IsFloat(g.indices.dtype) || g.indices.dtype == DType::kBool) {
    return Status::InvalidArgument(std::string("indices must be integers, found ") + DTypeName(g.indices.dtype));
  }
  PLUMB_RETURN_IF_ERROR(g.out.Validate());
  return g;
}

Result<int64_t> SliceStart(const GatherShape& g, const int64_t* indices, int64_t s) {
  const auto width = static_cast<int64_t>(g.dims.size());
  const int64_t vector = g.batched_indices ? s : s % g.count;
  int64_t start = s / g.count * g.batch_step;
  for (int64_t j = 0; j < width; ++j) {
    const int64_t dim = g.dims[static_cast<size_t>(j)];
    const int64_t index = indices[vector * width + j];
    if (index < -dim || index >= dim) {
      return Status::InvalidArgument(fmt::format("index {} at position {} is outside a dim of {} of the data {}", index,
                                                 vector * width + j, dim, g.data.shape.ToString()));
    }
    start += (index < 0 ? index + dim : index) * g.steps[static_cast<size_t>(j)];
  }
  return start;
}

OpDef DefineGather() {
  OpDef op;
  op.make_param = MakeParam<GatherParam>;
  op.infer = InferGather;
  op.visit_resources = ResourcesGather;
  op.resource_specs = SpecsGather;
  op.moves_data_only = true;
  return op;
}

OpDef DefineGatherND() {
  OpDef op;
  op.make_param = MakeParam<GatherNDParam>;
  op.infer = InferGather;
  op.moves_data_only = true;
  return op;
}

}  // namespace plumb
