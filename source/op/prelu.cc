// SPDX-License-Identifier: Apache-2.0
#include "op/prelu.h"

namespace plumb {
namespace {

void ResourcesPrelu(ResourceVisitor& v, const Layer& layer) {
  v.Name();
  v.Raw("slope");
}

Status SpecsPrelu(const Layer& layer, const std::vector<BlobInfo>& inputs, std::vector<ResourceSpec>* specs) {
  const Tensor* slope = layer.Resource("slope");
  const bool shared = slope != nullptr ? slope->NumElements() == 1 : ParamOf<PReLUParam>(layer).channel_shared == 1;
  specs->push_back({"slope", {shared ? 1 : inputs[0].shape.DimOrOne(1)}, ResourceSpec::kSlope});
  return Status::Ok();
}

}  // namespace

OpDef DefinePReLU() {
  OpDef op;
  op.make_param = MakeParam<PReLUParam>;
  op.infer = InferFloatSameAsInput;
  op.visit_resources = ResourcesPrelu;
  op.resource_specs = SpecsPrelu;
  op.spread = Spread::kHalved;
  return op;
}

}  // namespace plumb
