// SPDX-License-Identifier: Apache-2.0
#include "op/affine.h"

#include <fmt/core.h>

namespace plumb {
namespace {

struct Range {
  int64_t count, inner;
};

// The coefficients that the parameters ask for, when they are not one for all.
Result<Range> Coefficients(const Layer& layer, const Shape& input) {
  if (layer.kind != OpKind::kScale) return Range{input.DimOrOne(1), input.rank() < 2 ? 1 : input.CountFrom(2)};
  const auto& p = ParamOf<ScaleParam>(layer);
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, input.rank()));
  const int end = p.num_axes < 0 ? input.rank() : axis + p.num_axes;
  if (end > input.rank()) {
    return Status::InvalidArgument(
        fmt::format("axis {} with {} axes is outside the input {}", p.axis, p.num_axes, input.ToString()));
  }
  return Range{input.Count(axis, end), input.CountFrom(end)};
}

Status InferAffine(ShapeContext& context) {
  PLUMB_RETURN_IF_ERROR(Coefficients(context.layer, context.shape(0)).status());
  return InferFloatSameAsInput(context);
}

Status CheckCount(const char* slot, const Tensor& tensor, const Range& range, const Shape& input) {
  if (tensor.NumElements() == 1 || tensor.NumElements() == range.count) return Status::Ok();
  return Status::CorruptModel(fmt::format("{} expects 1 or {} values for the input {}, found {}", slot, range.count,
                                          input.ToString(), tensor.NumElements()));
}

void AddSpec(const Layer& layer, const char* slot, int64_t count, ResourceSpec::Fill fill, bool required,
             std::vector<ResourceSpec>* specs) {
  const Tensor* given = layer.Resource(slot);
  const bool one = given != nullptr && given->NumElements() == 1;
  specs->push_back({slot, {one ? 1 : count}, fill, 1, required});
}

Status SpecsAffine(const Layer& layer, const std::vector<BlobInfo>& inputs, std::vector<ResourceSpec>* specs) {
  PLUMB_ASSIGN_OR_RETURN(const Range range, Coefficients(layer, inputs[0].shape));
  if (layer.kind != OpKind::kBiasAdd) {
    AddSpec(layer, "scale", range.count, ResourceSpec::kNearOne, true, specs);
  }
  // Given coefficients without a bias mean no bias; it is drawn together with the scale or not at all.
  const bool drawn = layer.Resource("scale") == nullptr;
  if (layer.kind == OpKind::kScale && !ParamOf<ScaleParam>(layer).bias_term && layer.Resource("bias") == nullptr)
    return Status::Ok();
  AddSpec(layer, "bias", range.count, ResourceSpec::kSmall, drawn, specs);
  return Status::Ok();
}

void BatchNormResources(ResourceVisitor& v, const Layer& layer) {
  v.Raw("scale");
  v.Raw("bias");
}

void ScaleResources(ResourceVisitor& v, const Layer& layer) {
  v.Name();
  const bool bias = v.Flag("bias");
  v.Raw("scale");
  if (bias) v.Raw("bias");
}

void BiasResources(ResourceVisitor& v, const Layer& layer) { v.Raw("bias"); }

double FlopsAffine(const Layer& layer, const std::vector<BlobInfo>& inputs, const std::vector<BlobInfo>& outputs) {
  return 2.0 * static_cast<double>(outputs[0].shape.NumElements());
}

OpDef DefineAffine(void (*resources)(ResourceVisitor&, const Layer&)) {
  OpDef op;
  op.infer = InferAffine;
  op.visit_resources = resources;
  op.resource_specs = SpecsAffine;
  op.flops = FlopsAffine;
  return op;
}

}  // namespace

Result<AffineShape> ResolveAffine(const Layer& layer, const Shape& input) {
  PLUMB_ASSIGN_OR_RETURN(const Range range, Coefficients(layer, input));
  AffineShape shape;
  shape.scale = layer.Resource("scale");
  shape.bias = layer.Resource("bias");
  if (shape.scale == nullptr && layer.kind != OpKind::kBiasAdd) return Status::CorruptModel("the scale is missing");
  if (shape.bias == nullptr && layer.kind == OpKind::kBiasAdd) return Status::CorruptModel("the bias is missing");
  if (shape.scale != nullptr) PLUMB_RETURN_IF_ERROR(CheckCount("scale", *shape.scale, range, input));
  if (shape.bias != nullptr) PLUMB_RETURN_IF_ERROR(CheckCount("bias", *shape.bias, range, input));
  shape.count = range.count;
  shape.inner = range.inner;
  return shape;
}

OpDef DefineBatchNormCxx() { return DefineAffine(BatchNormResources); }
OpDef DefineBiasAdd() { return DefineAffine(BiasResources); }

OpDef DefineScale() {
  OpDef op = DefineAffine(ScaleResources);
  op.make_param = MakeParam<ScaleParam>;
  return op;
}

}  // namespace plumb
