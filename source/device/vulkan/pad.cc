// SPDX-License-Identifier: Apache-2.0
// Pad, PadV2: pad.comp.
#include "op/pad.h"

#include "device/vulkan/kernel_list.h"

namespace plumb::vulkan {
namespace {

constexpr size_t kPadMaxRank = 9;

Status SupportsPad(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireDType(spec, spec.inputs[0].dtype));
  if (spec.inputs[0].shape.rank() > static_cast<int>(kPadMaxRank)) return Status::NotSupported("takes at most 9 dims");
  return ResolvePad(spec.layer(), spec.inputs).status();
}

Status BuildPad(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const PadShape pad, ResolvePad(b->layer(), b->spec.inputs));
  PLUMB_ASSIGN_OR_RETURN(Tensor value, Tensor::Create(DType::kF32, {}));
  *value.data<float>() = pad.value;
  PLUMB_ASSIGN_OR_RETURN(const Tensor fill, value.ConvertedTo(b->inputs[0].dtype));
  PLUMB_ASSIGN_OR_RETURN(const Argument constant, b->Constant(fill));
  LaunchSpec launch;
  launch.shader = "pad" + SizeSuffix(b->inputs[0].dtype);
  launch.constants = {static_cast<uint32_t>(pad.mode), static_cast<uint32_t>(pad.out.rank())};
  launch.arguments = {Argument::Output(0), Argument::Input(0), constant};
  launch.push.Int(pad.out.NumElements()).Ints(b->inputs[0].shape.dims(), kPadMaxRank).Ints(pad.out.dims(), kPadMaxRank);
  launch.push.Ints(pad.begins, kPadMaxRank);
  launch.Over(pad.out.NumElements());
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_pad = {SupportsPad, BuildPad};

}  // namespace plumb::vulkan
