// BatchNormCxx, Scale, BiasAdd, PReLU: one or two coefficients per channel, affine.comp.
#include "op/affine.h"

#include "device/vulkan/kernel_list.h"

namespace plumb::vulkan {
namespace {

Status Supports(const KernelSpec& spec) {
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

Status Launch(Builder* b, bool prelu, const std::vector<float>& scale, const std::vector<float>& bias, int64_t inner) {
  LaunchSpec launch;
  launch.shader = "affine";
  launch.constants = {prelu ? 1u : 0u};
  PLUMB_ASSIGN_OR_RETURN(const Argument first, b->Constant(scale.data(), scale.size() * sizeof(float)));
  PLUMB_ASSIGN_OR_RETURN(const Argument second, b->Constant(bias.data(), bias.size() * sizeof(float)));
  launch.arguments = {Argument::Output(0), Argument::Input(0), first, second};
  const int64_t count = b->outputs[0].shape.NumElements();
  launch.push.Int(count).Int(static_cast<int64_t>(scale.size())).Int(inner);
  launch.Over(count);
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

Status Build(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const AffineShape shape, ResolveAffine(b->layer(), b->inputs[0].shape));
  PLUMB_ASSIGN_OR_RETURN(const auto scale, Expand(shape.scale, shape.count, 1));
  PLUMB_ASSIGN_OR_RETURN(const auto bias, Expand(shape.bias, shape.count, 0));
  return Launch(b, false, scale, bias, shape.inner);
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
    return Status::CorruptModel("slope expects 1 or " + std::to_string(shape.DimOrOne(1)) + " values for the input " +
                                shape.ToString() + ", found " + std::to_string(count));
  }
  const std::vector<float> values(slope.data<float>(), slope.data<float>() + count);
  return Launch(b, true, values, values, shape.rank() < 2 ? 1 : shape.CountFrom(2));
}

}  // namespace

const KernelFunctions kernel_affine = {Supports, Build, PlainInPlace};
const KernelFunctions kernel_prelu = {SupportsPrelu, BuildPrelu, PlainInPlace};

}  // namespace plumb::vulkan
