// Pooling, PlumbAveragePool: pooling.comp, in plain order.
#include "op/pooling.h"

#include "device/vulkan/kernel_list.h"

namespace plumb::vulkan {
namespace {

Status Supports(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  return ResolvePooling(spec.layer(), spec.inputs[0].shape).status();
}

Status Build(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const PoolingShape shape, ResolvePooling(b->layer(), b->inputs[0].shape));
  const WindowAxis &h = shape.window.h, &w = shape.window.w;
  LaunchSpec launch;
  launch.shader = "pooling";
  launch.constants = {shape.average ? 1u : 0u, shape.adaptive ? 1u : 0u, shape.count_include_pad ? 1u : 0u};
  launch.arguments = {Argument::Output(0), Argument::Input(0)};
  const int64_t count = b->outputs[0].shape.NumElements();
  launch.push.Int(count).Int(h.in).Int(w.in).Int(h.out).Int(w.out).Int(h.kernel).Int(w.kernel).Int(h.stride).Int(w.stride);
  launch.push.Int(h.pad_begin).Int(w.pad_begin).Int(h.pad_end).Int(w.pad_end);
  launch.Over(count);
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_pooling = {Supports, Build};

}  // namespace plumb::vulkan
