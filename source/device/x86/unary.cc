// Element-wise operators of one input: the rows of device/simd/unary_*.def, in the layout in which the blob arrives.
#include "device/simd/unary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/threads.h"
#include "device/x86/blocked_layout.h"
#include "device/x86/kernel_list.h"
#include "op/activation.h"

namespace plumb::x86 {
namespace {

constexpr int64_t kUnaryGrain = 16384;  // elements that are worth a second thread

using simd::UnaryOp;

struct Choice {
  UnaryOp op = UnaryOp::kRelu;
  simd::UnaryParams params;
};

struct NamedUnary {
  const char* type;
  UnaryOp op;
};

// Operators without parameters.
const NamedUnary kUnaryNamed[] = {
    {"ReLU", UnaryOp::kRelu},         {"ReLU6", UnaryOp::kRelu6},
    {"Sigmoid", UnaryOp::kSigmoid},   {"LogSigmoid", UnaryOp::kLogSigmoid},
    {"Swish", UnaryOp::kSwish},       {"Tanh", UnaryOp::kTanh},
    {"GELU", UnaryOp::kGelu},         {"Erf", UnaryOp::kErf},
    {"Softplus", UnaryOp::kSoftplus}, {"Softsign", UnaryOp::kSoftsign},
    {"Exp", UnaryOp::kExp},           {"Log", UnaryOp::kLog},
    {"Sqrt", UnaryOp::kSqrt},         {"Rsqrt", UnaryOp::kRsqrt},
    {"Abs", UnaryOp::kAbs},           {"Reciprocal", UnaryOp::kReciprocal},
    {"Neg", UnaryOp::kNeg},           {"Floor", UnaryOp::kFloor},
    {"Ceil", UnaryOp::kCeil},         {"Sign", UnaryOp::kSign},
    {"Sin", UnaryOp::kSin},           {"Cos", UnaryOp::kCos},
    {"Tan", UnaryOp::kTan},           {"Asin", UnaryOp::kAsin},
    {"Acos", UnaryOp::kAcos},         {"Atan", UnaryOp::kAtan},
};

Result<Choice> ChoiceOf(const Layer& layer) {
  for (const NamedUnary& named : kUnaryNamed) {
    if (layer.type == named.type) return Choice{named.op, {}};
  }
  if (layer.type == "LeakyRelu") return Choice{UnaryOp::kLeakyRelu, {ParamOf<LeakyReluParam>(layer).slope}};
  if (layer.type == "Elu") return Choice{UnaryOp::kElu, {ParamOf<EluParam>(layer).alpha}};
  if (layer.type == "Selu") {
    return Choice{UnaryOp::kSelu, {ParamOf<SeluParam>(layer).alpha, 0, ParamOf<SeluParam>(layer).gamma}};
  }
  if (layer.type == "Clip")
    return Choice{UnaryOp::kClip, {ParamOf<ClipParam>(layer).min, ParamOf<ClipParam>(layer).max}};
  if (layer.type == "Power") {
    const auto& p = ParamOf<PowerParam>(layer);
    return Choice{UnaryOp::kPower, {p.scale, p.shift, p.exponent}};
  }
  if (layer.type == "HardSigmoid" || layer.type == "HardSwish") {
    const auto& p = ParamOf<HardParam>(layer);
    return Choice{layer.type == "HardSwish" ? UnaryOp::kHardSwish : UnaryOp::kHardSigmoid, {p.alpha, p.beta}};
  }
  return Status::NotSupported("no vector kernel is named for '" + layer.type + "'");
}

class UnaryKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    if (spec.inputs.size() != 1)
      return Status::NotSupported("takes one input, found " + std::to_string(spec.inputs.size()));
    return ChoiceOf(spec.layer()).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    choice->inputs = {arriving[0]};
    choice->outputs = {arriving[0]};
    choice->shares = {{ShareWish::kOverwrite, 0, 0}};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(choice_, ChoiceOf(spec.layer()));
    float zero = 0;
    simd::Unary(choice_.op, choice_.params, &zero, &zero, 1);
    keeps_zero_ = zero == 0;
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const float* src = inputs[0].host<float>();
    float* dst = outputs[0].host<float>();
    ParallelFor(static_cast<int64_t>(outputs[0].bytes() / sizeof(float)), kUnaryGrain, [&](int64_t begin, int64_t end) {
      simd::Unary(choice_.op, choice_.params, src + begin, dst + begin, static_cast<size_t>(end - begin));
    });
    if (!keeps_zero_) ZeroTailLanes(outputs[0]);
    return Status::Ok();
  }

 private:
  Choice choice_;
  bool keeps_zero_ = true;
};

// ReLU, Abs, Neg, Sign and Clip of whole numbers, which wrap round.
class UnaryIntKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.inputs[0].dtype;
    if (dtype == DType::kI32 || dtype == DType::kI64) return Status::Ok();
    return Status::NotSupported(std::string("takes i32 and i64, found ") + DTypeName(dtype));
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    layer_ = &spec.layer();
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    return inputs[0].dtype == DType::kI32 ? RunAs<int32_t>(inputs[0], outputs[0])
                                          : RunAs<int64_t>(inputs[0], outputs[0]);
  }

 private:
  // A float bound as a whole number: towards zero, cut to the type's range; NaN is 0.
  template <class T>
  static T Limit(float bound) {
    const double value = std::isnan(bound) ? 0.0 : std::trunc(static_cast<double>(bound));
    if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    return static_cast<T>(value);
  }

  template <class T>
  static T Negated(T x) {
    return static_cast<T>(std::make_unsigned_t<T>{0} - static_cast<std::make_unsigned_t<T>>(x));
  }

  template <class T>
  Status RunAs(const DeviceTensor& input, const DeviceTensor& output) {
    const std::string& type = layer_->type;
    if (type == "ReLU") return Map<T>(input, output, [](T x) { return std::max<T>(x, 0); });
    if (type == "Abs") return Map<T>(input, output, [](T x) { return x < 0 ? Negated(x) : x; });
    if (type == "Neg") return Map<T>(input, output, [](T x) { return Negated(x); });
    if (type == "Sign") return Map<T>(input, output, [](T x) { return static_cast<T>((x > 0) - (x < 0)); });
    if (type == "Clip") {
      const auto& p = ParamOf<ClipParam>(*layer_);
      const T low = Limit<T>(p.min), high = Limit<T>(p.max);
      return Map<T>(input, output, [=](T x) { return std::min(std::max(x, low), high); });
    }
    return Status::NotSupported("'" + type + "' of whole numbers has no kernel");
  }

  template <class T, class F>
  Status Map(const DeviceTensor& input, const DeviceTensor& output, F f) {
    const T* src = input.host<T>();
    T* dst = output.host<T>();
    ParallelFor(output.shape.NumElements(), kUnaryGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) dst[i] = f(src[i]);
    });
    return Status::Ok();
  }

  const Layer* layer_ = nullptr;
};

}  // namespace

const KernelFunctions kernel_unary_int = {UnaryIntKernel::Supports, MakeKernel<UnaryIntKernel>};
const KernelFunctions kernel_unary = {UnaryKernel::Supports, MakeKernel<UnaryKernel>};

}  // namespace plumb::x86
