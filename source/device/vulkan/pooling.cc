// Pooling, PlumbAveragePool, in the layout in which the blob arrives. pooling_strip.comp, for GPUs and NC4HW4: strips
// of a row in registers. pooling.comp, for everything else: one output (of four channels) per invocation.
#include "op/pooling.h"

#include "device/vulkan/channel4_layout.h"
#include "device/vulkan/kernel_list.h"
#include "device/vulkan/strip.h"

namespace plumb::vulkan {
namespace {

Status Supports(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  return ResolvePooling(spec.layer(), spec.inputs[0].shape).status();
}

Status Layouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) {
  choice->inputs = arriving;
  choice->outputs = arriving;
  return Status::Ok();
}

Status BuildStrips(const PoolingShape& shape, Builder* b) {
  const WindowAxis &h = shape.window.h, &w = shape.window.w;
  LaunchSpec launch;
  launch.shader = std::string("pooling_strip") + HalfSuffix(b->inputs[0].layout);
  launch.constants = {shape.average ? 1u : 0u, shape.count_include_pad ? 1u : 0u, static_cast<uint32_t>(w.kernel),
                      static_cast<uint32_t>(w.stride)};
  launch.arguments = {Argument::Output(0), Argument::Input(0)};
  const MapShape map = MapOf(b->outputs[0].shape);
  const int64_t count = map.batch * map.quads() * h.out * Strips(w.out);
  launch.push.Int(count).Int(h.in).Int(w.in).Int(h.out).Int(w.out).Int(h.kernel).Int(h.stride);
  launch.push.Int(h.pad_begin).Int(w.pad_begin).Int(h.pad_end).Int(w.pad_end).Int(shape.channels);
  launch.Over(count);
  b->launches.push_back(std::move(launch));
  b->detail = "strips of 4 pixels";
  return Status::Ok();
}

Status Build(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const PoolingShape shape, ResolvePooling(b->layer(), b->inputs[0].shape));
  if (IsChannel4(b->inputs[0].layout) && !shape.adaptive && RequireStrip(b->spec, shape.window.w).ok()) {
    return BuildStrips(shape, b);
  }
  const WindowAxis &h = shape.window.h, &w = shape.window.w;
  LaunchSpec launch;
  const bool quads = IsChannel4(b->inputs[0].layout);
  launch.shader = quads ? std::string("pooling4") + HalfSuffix(b->inputs[0].layout) : "pooling";
  launch.constants = {shape.average ? 1u : 0u, shape.adaptive ? 1u : 0u, shape.count_include_pad ? 1u : 0u};
  launch.arguments = {Argument::Output(0),
                      Argument::Input(0, quads ? TexelsOf(b->inputs[0].layout) : Argument::kStorage)};
  const int64_t count = static_cast<int64_t>(b->outputs[0].bytes() / (ElementBytes(b->outputs[0]) * (quads ? 4 : 1)));
  launch.push.Int(count).Int(h.in).Int(w.in).Int(h.out).Int(w.out).Int(h.kernel).Int(w.kernel).Int(h.stride);
  launch.push.Int(w.stride);
  launch.push.Int(h.pad_begin).Int(w.pad_begin).Int(h.pad_end).Int(w.pad_end).Int(shape.channels);
  launch.Over(count);
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_pooling = {Supports, Build, Layouts};

}  // namespace plumb::vulkan
