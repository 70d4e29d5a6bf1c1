// SPDX-License-Identifier: Apache-2.0
#include "op/inner_product.h"

#include <fmt/core.h>

namespace plumb {
namespace {

Result<int> Axis(const Layer& layer, const Shape& input) {
  const auto& p = ParamOf<InnerProductParam>(layer);
  if (p.num_output <= 0) return Status::InvalidArgument(fmt::format("num_output {} must be positive", p.num_output));
  return NormalizeAxis(p.axis, input.rank());
}

// TNN keeps the rank: [n, c, h, w] with axis 1 gives [n, num_output, 1, 1].
Status InferInnerProduct(ShapeContext& context) {
  PLUMB_ASSIGN_OR_RETURN(const int axis, Axis(context.layer, context.shape(0)));
  Shape out = context.shape(0);
  out[axis] = ParamOf<InnerProductParam>(context.layer).num_output;
  for (int i = axis + 1; i < out.rank(); ++i) out[i] = 1;
  context.SetAll(context.inputs[0].dtype, out);
  return Status::Ok();
}

void ResourcesInnerProduct(ResourceVisitor& v, const Layer&) {
  v.Name();
  v.Raw("weight");
  v.Raw("bias");  // always present, empty when there is none
  v.QuantTail("weight");
}

Status SpecsInnerProduct(const Layer& layer, const std::vector<BlobInfo>& inputs, std::vector<ResourceSpec>* specs) {
  const auto& p = ParamOf<InnerProductParam>(layer);
  PLUMB_ASSIGN_OR_RETURN(const int axis, Axis(layer, inputs[0].shape));
  const int64_t k = inputs[0].shape.CountFrom(axis);
  specs->push_back({"weight", {p.num_output, k}, ResourceSpec::kHe, k});
  if (p.has_bias) specs->push_back({"bias", {p.num_output}, ResourceSpec::kSmall});
  return Status::Ok();
}

double FlopsInnerProduct(const Layer& layer, const std::vector<BlobInfo>& inputs, const std::vector<BlobInfo>&) {
  return 2.0 * ParamOf<InnerProductParam>(layer).num_output * static_cast<double>(inputs[0].shape.NumElements());
}

}  // namespace

OpDef DefineInnerProduct() {
  OpDef op;
  op.make_param = MakeParam<InnerProductParam>;
  op.infer = InferInnerProduct;
  op.visit_resources = ResourcesInnerProduct;
  op.resource_specs = SpecsInnerProduct;
  op.flops = FlopsInnerProduct;
  op.sums = Sums::kProducts;
  return op;
}

}  // namespace plumb
