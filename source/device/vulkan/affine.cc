// SPDX-License-Identifier: Apache-2.0
// BatchNormCxx, Scale, BiasAdd, PReLU: one or two coefficients per channel, affine.comp.
#include "op/affine.h"

#include <fmt/core.h>

#include "device/vulkan/channel4_layout.h"
#include "device/vulkan/kernel_list.h"

namespace plumb::vulkan {
namespace {

Status SupportsAffine(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  return ResolveAffine(spec.layer(), spec.inputs[0].shape).status();
}

// `count` values: the tensor's, its only one repeated, or `absent`.
Result<std::vector<float>> Expand(const Tensor* tensor, int64_t count, float absent) {
  std::vector<float> values(static_cast<size_t>(count), absent);
  if (tensor == nullptr) return values;
  PLUMB_ASSIGN_OR_RETURN(const Tensor f32, tensor->ConvertedTo(DType::kF32));
  for (size_t c = 0; c < values.size(); ++c) values[c] = f32.data<float>()[f32.NumElements() == 1 ? 0 : c];
  return values;
}

// Per channel, or one for all: then the coefficients of NC4HW4 follow from those of the channels.
Status LayoutsAffine(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) {
  PLUMB_RETURN_IF_ERROR(PlainInPlace(spec, arriving, choice));
  const Shape& shape = spec.inputs[0].shape;
  bool per_channel = spec.layer().kind == OpKind::kPReLU;
  if (!per_channel) {
    PLUMB_ASSIGN_OR_RETURN(const AffineShape affine, ResolveAffine(spec.layer(), shape));
    per_channel = affine.count == shape.DimOrOne(1) && affine.inner == MapOf(shape).pixels;
  }
  if (!per_channel || !IsChannel4(arriving[0])) return Status::Ok();
  choice->inputs = choice->outputs = {arriving[0]};
  return Status::Ok();
}

Status LaunchAffine(Builder* b, bool prelu, std::vector<float> scale, std::vector<float> bias, int64_t inner) {
  const bool channel4 = IsChannel4(b->outputs[0].layout);
  if (channel4) {
    const MapShape map = MapOf(b->outputs[0].shape);
    if (scale.size() == 1) scale.assign(static_cast<size_t>(map.channels), scale[0]);
    if (bias.size() == 1) bias.assign(static_cast<size_t>(map.channels), bias[0]);
    scale.resize(static_cast<size_t>(map.quads() * 4));
    bias.resize(static_cast<size_t>(map.quads() * 4));
  }
  LaunchSpec launch;
  launch.shader = std::string("affine") + HalfSuffix(b->outputs[0].layout);
  launch.constants = {prelu ? 1u : 0u, channel4 ? 1u : 0u};
  PLUMB_ASSIGN_OR_RETURN(const Argument first, b->Constant(scale.data(), scale.size() * sizeof(float)));
  PLUMB_ASSIGN_OR_RETURN(const Argument second, b->Constant(bias.data(), bias.size() * sizeof(float)));
  launch.arguments = {Argument::Output(0), Argument::Input(0), first, second};
  const auto count = static_cast<int64_t>(b->outputs[0].bytes() / ElementBytes(b->outputs[0]));
  launch.push.Int(count).Int(static_cast<int64_t>(scale.size())).Int(inner);
  launch.Over(count);
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

Status BuildAffine(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const AffineShape shape, ResolveAffine(b->layer(), b->inputs[0].shape));
  PLUMB_ASSIGN_OR_RETURN(const auto scale, Expand(shape.scale, shape.count, 1));
  PLUMB_ASSIGN_OR_RETURN(const auto bias, Expand(shape.bias, shape.count, 0));
  return LaunchAffine(b, false, scale, bias, shape.inner);
}

Status SupportsPrelu(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  return RequireF32(spec);
}

Status BuildPrelu(Builder* b) {
  const Shape& shape = b->inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const Tensor slope, F32Resource(b->layer(), "slope"));
  const int64_t count = slope.NumElements();
  if (count != 1 && count != shape.DimOrOne(1)) {
    return Status::CorruptModel(fmt::format("slope expects 1 or {} values for the input {}, found {}",
                                            shape.DimOrOne(1), shape.ToString(), count));
  }
  const std::vector<float> values(slope.data<float>(), slope.data<float>() + count);
  return LaunchAffine(b, true, values, values, shape.rank() < 2 ? 1 : shape.CountFrom(2));
}

}  // namespace

const KernelFunctions kernel_affine = {SupportsAffine, BuildAffine, LayoutsAffine};
const KernelFunctions kernel_prelu = {SupportsPrelu, BuildPrelu, LayoutsAffine};

}  // namespace plumb::vulkan
