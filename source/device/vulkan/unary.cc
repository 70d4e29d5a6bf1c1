// SPDX-License-Identifier: Apache-2.0
// Element-wise operators of one input: unary.comp.
#include "device/vulkan/channel4_layout.h"
#include "device/vulkan/kernel_list.h"
#include "op/activation.h"

namespace plumb::vulkan {
namespace {

// The rows of op/unary.def, whose numbers are the shader's cases (CMakeLists.txt writes them).
const OpKind kUnaryOps[] = {
#define PLUMB_UNARY(name, ...) OpKind::k##name,
#include "op/unary.def"
#undef PLUMB_UNARY
};

Status SupportsUnary(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  if (spec.inputs.size() != 1)
    return Status::NotSupported("takes one input, found " + std::to_string(spec.inputs.size()));
  return Status::Ok();
}

Status LayoutsUnary(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) {
  choice->inputs = arriving;
  choice->outputs = arriving;
  choice->shares = {{ShareWish::kOverwrite, 0, 0}};
  return Status::Ok();
}

Status BuildUnary(Builder* b) {
  const DeviceTensor& out = b->outputs[0];
  const MapShape map = MapOf(out.shape);
  PLUMB_ASSIGN_OR_RETURN(const uint32_t op, CaseOf(kUnaryOps, b->layer()));
  LaunchSpec launch;
  launch.shader = std::string("unary") + HalfSuffix(out.layout);
  launch.constants = {op, IsChannel4(out.layout) ? 1u : 0u};
  launch.arguments = {Argument::Output(0), Argument::Input(0)};
  const auto count = static_cast<int64_t>(out.bytes() / ElementBytes(out));
  const UnaryCoefficients with = CoefficientsOf(b->layer());
  launch.push.Int(count).Int(map.channels).Int(map.pixels).Float(with.a).Float(with.b).Float(with.c);
  launch.Over(count);
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_unary = {SupportsUnary, BuildUnary, LayoutsUnary};

}  // namespace plumb::vulkan
