// SPDX-License-Identifier: Apache-2.0
#include "op/norm.h"

#include <fmt/core.h>

namespace plumb {
namespace {

Status InferNorm(ShapeContext& context) {
  PLUMB_ASSIGN_OR_RETURN(const NormShape shape, ResolveNorm(context.layer, context.shape(0)));
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    const BlobInfo& coefficients = context.inputs[i];
    if (coefficients.dtype != context.inputs[0].dtype) {
      return Status::InvalidArgument(fmt::format("input {} is {}, expected {} like the blob to normalise", i,
                                                 DTypeName(coefficients.dtype), DTypeName(context.inputs[0].dtype)));
    }
    if (coefficients.shape.NumElements() != shape.gammas()) {
      return Status::InvalidArgument(fmt::format("input {} expects {} values for the input {}, found {}", i,
                                                 shape.gammas(), context.shape(0).ToString(),
                                                 coefficients.shape.ToString()));
    }
  }
  return InferFloatSameAsInput(context);
}

void InstanceResources(ResourceVisitor& v, const Layer& layer) {
  v.Raw("scale");
  v.Raw("bias");
}

Status InstanceSpecs(const Layer& layer, const std::vector<BlobInfo>& inputs, std::vector<ResourceSpec>* specs) {
  PLUMB_ASSIGN_OR_RETURN(const NormShape shape, ResolveNorm(layer, inputs[0].shape));
  const bool drawn = layer.Resource("scale") == nullptr;  // a given scale without a bias means no bias
  specs->push_back({"scale", {shape.gammas()}, ResourceSpec::kNearOne});
  specs->push_back({"bias", {shape.gammas()}, ResourceSpec::kSmall, 1, drawn});
  return Status::Ok();
}

double FlopsNorm(const Layer& layer, const std::vector<BlobInfo>& inputs, const std::vector<BlobInfo>& outputs) {
  return 6.0 * static_cast<double>(outputs[0].shape.NumElements());
}

template <class P>
OpDef DefineNorm() {
  OpDef op;
  op.make_param = MakeParam<P>;
  op.infer = InferNorm;
  op.flops = FlopsNorm;
  op.sums = Sums::kSquares;
  op.spread = Spread::kNormalised;
  return op;
}

Result<NormShape> ResolveChannels(const Shape& input, int64_t group, double eps) {
  if (input.rank() < 2) return Status::InvalidArgument("expects an input of rank 2 or more, found " + input.ToString());
  if (group <= 0 || input[1] % group != 0) {
    return Status::InvalidArgument(
        fmt::format("group {} does not divide the {} channels of {}", group, input[1], input.ToString()));
  }
  NormShape shape;
  shape.groups = group;
  shape.per_row = input[1] / group;
  shape.inner = input.CountFrom(2);
  shape.rows = input[0] * group;
  shape.n = shape.per_row * shape.inner;
  shape.eps = eps;
  return shape;
}

}  // namespace

Result<NormShape> ResolveNorm(const Layer& layer, const Shape& input) {
  if (layer.kind == OpKind::kInstBatchNormCxx) {
    const auto& p = ParamOf<InstBatchNormParam>(layer);
    if (p.channels != 0 && p.channels != input.DimOrOne(1)) {
      return Status::InvalidArgument(fmt::format("channels is {}, but the input is {}", p.channels, input.ToString()));
    }
    if (input.DimOrOne(1) == 0)
      return Status::InvalidArgument("an input without channels cannot be normalised: " + input.ToString());
    return ResolveChannels(input, input.DimOrOne(1), static_cast<double>(p.eps));
  }
  if (layer.kind == OpKind::kGroupNorm) {
    const auto& p = ParamOf<GroupNormParam>(layer);
    return ResolveChannels(input, p.group, static_cast<double>(p.eps));
  }
  const auto& p = ParamOf<LayerNormParam>(layer);
  if (p.reduce_dims_size <= 0 || p.reduce_dims_size > input.rank()) {
    return Status::InvalidArgument(fmt::format("reduce_dims_size {} is outside 1 to {}, the rank of the input {}",
                                               p.reduce_dims_size, input.rank(), input.ToString()));
  }
  NormShape shape;
  shape.rows = input.Count(0, input.rank() - p.reduce_dims_size);
  shape.n = shape.per_row = input.CountFrom(input.rank() - p.reduce_dims_size);
  shape.eps = static_cast<double>(p.eps);
  return shape;
}

OpDef DefineGroupNorm() { return DefineNorm<GroupNormParam>(); }
OpDef DefineLayerNorm() { return DefineNorm<LayerNormParam>(); }

OpDef DefineInstBatchNormCxx() {
  OpDef op = DefineNorm<InstBatchNormParam>();
  op.visit_resources = InstanceResources;
  op.resource_specs = InstanceSpecs;
  return op;
}

}  // namespace plumb
