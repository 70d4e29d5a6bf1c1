// Element-wise operators of one input: unary.comp, and unary_int.comp for whole numbers.
#include <cmath>
#include <limits>

#include "device/vulkan/channel4_layout.h"
#include "device/vulkan/kernel_list.h"
#include "op/activation.h"

namespace plumb::vulkan {
namespace {

// In the order of the shader's cases.
const char* const kUnaryOps[] = {
    "ReLU",       "ReLU6",       "Sigmoid",    "LogSigmoid", "Swish",      "Tanh",      "GELU",
    "Erf",        "Softplus",    "Softsign",   "Exp",        "Log",        "Sqrt",      "Rsqrt",
    "Reciprocal", "Abs",         "Neg",        "Floor",      "Ceil",       "Sign",      "Sin",
    "Cos",        "Tan",         "Asin",       "Acos",       "Atan",       "LeakyRelu", "Elu",
    "Selu",       "HardSigmoid", "HardSwish",  "Clip",       "Power",      "PlumbSinh", "PlumbCosh",
    "PlumbAsinh", "PlumbAcosh",  "PlumbAtanh", "PlumbMish",  "PlumbRound", "PlumbCelu", "PlumbThresholdedRelu",
    "PlumbShrink"};
const char* const kWholeOps[] = {"ReLU", "Abs", "Neg", "Sign", "Clip"};

template <size_t count>
int IndexOf(const char* const (&names)[count], const std::string& type) {
  for (size_t i = 0; i < count; ++i) {
    if (type == names[i]) return static_cast<int>(i);
  }
  return -1;
}

// alpha, beta, gamma of the shader.
void PushParams(const Layer& layer, Words* push) {
  if (layer.type == "LeakyRelu") push->Float(ParamOf<LeakyReluParam>(layer).slope);
  if (layer.type == "PlumbCelu") push->Float(ParamOf<CeluParam>(layer).alpha);
  if (layer.type == "PlumbThresholdedRelu") push->Float(ParamOf<ThresholdedReluParam>(layer).alpha);
  if (layer.type == "PlumbShrink")
    push->Float(ParamOf<ShrinkParam>(layer).lambda).Float(ParamOf<ShrinkParam>(layer).bias);
  if (layer.type == "Elu") push->Float(ParamOf<EluParam>(layer).alpha);
  if (layer.type == "Selu")
    push->Float(ParamOf<SeluParam>(layer).alpha).Float(0).Float(ParamOf<SeluParam>(layer).gamma);
  if (layer.type == "Clip") push->Float(ParamOf<ClipParam>(layer).min).Float(ParamOf<ClipParam>(layer).max);
  if (layer.type == "HardSigmoid" || layer.type == "HardSwish") {
    push->Float(ParamOf<HardParam>(layer).alpha).Float(ParamOf<HardParam>(layer).beta);
  }
  if (layer.type == "Power") {
    const auto& p = ParamOf<PowerParam>(layer);
    push->Float(p.scale).Float(p.shift).Float(p.exponent);
  }
}

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
  LaunchSpec launch;
  launch.shader = std::string("unary") + HalfSuffix(out.layout);
  launch.constants = {static_cast<uint32_t>(IndexOf(kUnaryOps, b->layer().type)), IsChannel4(out.layout) ? 1u : 0u};
  launch.arguments = {Argument::Output(0), Argument::Input(0)};
  const auto count = static_cast<int64_t>(out.bytes() / ElementBytes(out));
  launch.push.Int(count).Int(map.channels).Int(map.pixels);
  PushParams(b->layer(), &launch.push);
  launch.Over(count);
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

Status SupportsWholeUnary(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireDType(spec, DType::kI64));  // the limits of Clip
  if (spec.inputs[0].dtype != DType::kF32) return RequireNumber(spec);
  return Status::NotSupported("takes i32 and i64, found f32");
}

template <class T>
int64_t WholeLimit(float limit) {
  const double value = std::isnan(limit) ? 0.0 : std::trunc(static_cast<double>(limit));
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return static_cast<int64_t>(value);
}

Status BuildWhole(Builder* b) {
  const DType dtype = b->inputs[0].dtype;
  LaunchSpec launch;
  launch.shader = "unary_int" + DTypeSuffix(dtype);
  launch.constants = {static_cast<uint32_t>(IndexOf(kWholeOps, b->layer().type))};
  launch.arguments = {Argument::Output(0), Argument::Input(0)};
  const int64_t count = b->outputs[0].shape.NumElements();
  launch.push.Int(count);
  if (b->layer().type == "Clip") {
    const auto& p = ParamOf<ClipParam>(b->layer());
    for (const float limit : {p.min, p.max}) {
      const int64_t whole = dtype == DType::kI32 ? WholeLimit<int32_t>(limit) : WholeLimit<int64_t>(limit);
      launch.push.Int(whole).Int(whole >> 32);
    }
  }
  launch.Over(count);
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_unary = {SupportsUnary, BuildUnary, LayoutsUnary};
const KernelFunctions kernel_unary_int = {SupportsWholeUnary, BuildWhole, PlainInPlace};

}  // namespace plumb::vulkan
