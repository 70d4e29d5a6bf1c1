// SPDX-License-Identifier: Apache-2.0
// InstBatchNormCxx, GroupNorm and LayerNorm over contiguous rows (row_lanes.h): norm.comp.
#include "op/norm.h"

#include "device/vulkan/kernel_list.h"
#include "device/vulkan/row_lanes.h"

namespace plumb::vulkan {
namespace {

constexpr int kNormPasses = 3;  // how often the shader walks its row

// Gamma (slot "scale", input 1) or beta (slot "bias", input 2); nothing, and the shader leaves it out: the data
// instead.
Status AddCoefficient(Builder* b, const char* slot, int input, LaunchSpec* launch) {
  const bool given = static_cast<int>(b->inputs.size()) > input;
  const bool resource = !given && b->layer().Resource(slot) != nullptr;
  Argument argument = Argument::Input(given ? input : 0);
  if (resource) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor values, F32Resource(b->layer(), slot));
    PLUMB_ASSIGN_OR_RETURN(argument, b->Constant(values));
  }
  launch->arguments.push_back(argument);
  launch->constants.push_back(given || resource ? 1 : 0);
  return Status::Ok();
}

Status SupportsNorm(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  PLUMB_ASSIGN_OR_RETURN(const NormShape shape, ResolveNorm(spec.layer(), spec.inputs[0].shape));
  return RequireRow(spec, shape.n, kNormPasses);
}

Status BuildNorm(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const NormShape shape, ResolveNorm(b->layer(), b->inputs[0].shape));
  LaunchSpec launch;
  launch.shader = "norm";
  launch.arguments = {Argument::Output(0), Argument::Input(0)};
  OverRows(b, shape.rows, shape.n, true, kNormPasses, &launch);
  PLUMB_RETURN_IF_ERROR(AddCoefficient(b, "scale", 1, &launch));
  PLUMB_RETURN_IF_ERROR(AddCoefficient(b, "bias", 2, &launch));
  launch.push.Int(shape.rows).Int(shape.n).Int(shape.groups).Int(shape.per_row).Int(shape.inner);
  launch.push.Float(static_cast<float>(shape.eps));
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_norm = {SupportsNorm, BuildNorm};

}  // namespace plumb::vulkan
