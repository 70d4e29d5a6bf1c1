// SPDX-License-Identifier: Apache-2.0
// Pooling, PlumbAveragePool, in the layout in which the blob arrives. pooling_strip.comp, for GPUs and NC4HW4: strips
// of a row in registers. pooling.comp, for everything else: one output (of four channels) per invocation. A window too
// large for the driver's loops (loop_rounds.h) is pooled along its rows and then along its columns, in plain order.
#include "op/pooling.h"

#include <algorithm>

#include "device/vulkan/channel4_layout.h"
#include "device/vulkan/kernel_list.h"
#include "device/vulkan/loop_rounds.h"
#include "device/vulkan/strip.h"

namespace plumb::vulkan {
namespace {

// How many elements of an axis a window covers at most.
int64_t Extent(const PoolingShape& shape, const WindowAxis& axis) {
  return shape.adaptive ? axis.in / std::max<int64_t>(1, axis.out) + 2 : axis.kernel;
}

bool InTwoSteps(const KernelSpec& spec, const PoolingShape& shape) {
  return NestedRounds(Extent(shape, shape.window.h), Extent(shape, shape.window.w)) > MaxLoopRounds(spec);
}

Status SupportsPooling(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  PLUMB_ASSIGN_OR_RETURN(const PoolingShape shape, ResolvePooling(spec.layer(), spec.inputs[0].shape));
  return RequireLoopRounds(spec, 2 * std::max(Extent(shape, shape.window.h), Extent(shape, shape.window.w)));
}

Status LayoutsPooling(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) {
  PLUMB_ASSIGN_OR_RETURN(const PoolingShape shape, ResolvePooling(spec.layer(), spec.inputs[0].shape));
  const bool two_steps = InTwoSteps(spec, shape);
  choice->inputs = two_steps ? std::vector<LayoutPtr>{PlainLayout()} : arriving;
  choice->outputs = choice->inputs;
  const Shape& input = spec.inputs[0].shape;
  if (two_steps) choice->workspace = input.NumElements() / std::max<int64_t>(1, shape.window.w.in) * shape.window.w.out;
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

// An axis along which nothing is pooled.
WindowAxis Untouched(int64_t size) {
  WindowAxis axis;
  axis.in = axis.out = size;
  axis.kernel = axis.stride = 1;
  return axis;
}

LaunchSpec Pool(const PoolingShape& shape, const WindowAxis& h, const WindowAxis& w, const std::string& shader,
                int64_t count) {
  LaunchSpec launch;
  launch.shader = shader;
  launch.constants = {shape.average ? 1u : 0u, shape.adaptive ? 1u : 0u, shape.count_include_pad ? 1u : 0u};
  launch.push.Int(count).Int(h.in).Int(w.in).Int(h.out).Int(w.out).Int(h.kernel).Int(w.kernel).Int(h.stride);
  launch.push.Int(w.stride);
  launch.push.Int(h.pad_begin).Int(w.pad_begin).Int(h.pad_end).Int(w.pad_end).Int(shape.channels);
  launch.Over(count);
  return launch;
}

// An average is that of the rows' averages: each counts its valid pixels along one axis, and the product is their
// number.
void BuildTwoSteps(const PoolingShape& shape, Builder* b) {
  const WindowAxis &h = shape.window.h, &w = shape.window.w;
  const DeviceTensor& workspace = b->spec.workspace;
  const int64_t rows = b->inputs[0].shape.NumElements() / std::max<int64_t>(1, w.in) * w.out;
  const Argument between =
      Argument::Part(workspace.buffer, workspace.offset, static_cast<size_t>(rows) * sizeof(float));
  LaunchSpec along_rows = Pool(shape, Untouched(h.in), w, "pooling", rows);
  along_rows.arguments = {between, Argument::Input(0)};
  LaunchSpec along_columns = Pool(shape, h, Untouched(w.out), "pooling", b->outputs[0].shape.NumElements());
  along_columns.arguments = {Argument::Output(0), between};
  b->launches = {std::move(along_rows), std::move(along_columns)};
  b->detail = "rows, then columns";
}

Status BuildPooling(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const PoolingShape shape, ResolvePooling(b->layer(), b->inputs[0].shape));
  if (InTwoSteps(b->spec, shape)) {
    BuildTwoSteps(shape, b);
    return Status::Ok();
  }
  const bool quads = IsChannel4(b->inputs[0].layout);
  if (quads && !shape.adaptive && RequireStrip(b->spec, shape.window.w).ok()) return BuildStrips(shape, b);
  const int64_t count = static_cast<int64_t>(b->outputs[0].bytes() / (ElementBytes(b->outputs[0]) * (quads ? 4 : 1)));
  const std::string shader = quads ? std::string("pooling4") + HalfSuffix(b->inputs[0].layout) : "pooling";
  b->launches.push_back(Pool(shape, shape.window.h, shape.window.w, shader, count));
  b->launches.back().arguments = {Argument::Output(0),
                                  Argument::Input(0, quads ? TexelsOf(b->inputs[0].layout) : Argument::kStorage)};
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_pooling = {SupportsPooling, BuildPooling, LayoutsPooling};

}  // namespace plumb::vulkan
