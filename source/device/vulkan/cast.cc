// SPDX-License-Identifier: Apache-2.0
// Cast, PlumbCast: cast.comp; nothing at all where the dtype stays.
#include "op/cast.h"

#include "device/vulkan/copy.h"

namespace plumb::vulkan {
namespace {

// The shader's number of a dtype.
uint32_t CodeOf(DType dtype) {
  const DType codes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8,  DType::kU8,
                         DType::kI16, DType::kU16, DType::kI32,  DType::kU32, DType::kI64, DType::kBool};
  uint32_t code = 0;
  while (codes[code] != dtype) ++code;
  return code;
}

Status SupportsCast(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(CastTarget(spec.layer()).status());
  for (const DType dtype :
       {spec.inputs[0].dtype, spec.outputs[0].dtype, DType::kI64, DType::kF64, DType::kI16, DType::kI8}) {
    PLUMB_RETURN_IF_ERROR(RequireDType(spec, dtype));  // the shader speaks all widths
  }
  return Status::Ok();
}

Status LayoutsCast(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) {
  choice->inputs = {PlainLayout()};
  choice->outputs = {PlainLayout()};
  if (spec.inputs[0].dtype == spec.outputs[0].dtype) choice->shares.push_back({ShareWish::kView, 0, 0, 0});
  return Status::Ok();
}

Status BuildCast(Builder* b) {
  const DeviceTensor &in = b->inputs[0], &out = b->outputs[0];
  if (in.dtype == out.dtype && SameMemory(in, out)) return Status::Ok();
  const int64_t count = out.shape.NumElements();
  if (in.dtype == out.dtype) {
    b->launches.push_back(CopyAllSpec(out.dtype, Argument::Output(0), Argument::Input(0), count));
    return Status::Ok();
  }
  LaunchSpec launch;
  launch.shader = "cast";
  launch.constants = {CodeOf(in.dtype), CodeOf(out.dtype)};
  launch.arguments = {Argument::Output(0), Argument::Input(0)};
  launch.push.Int(count);
  launch.Over(count);
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_cast = {SupportsCast, BuildCast, LayoutsCast};

}  // namespace plumb::vulkan
