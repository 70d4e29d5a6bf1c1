// Element-wise operators of one input: the rows of device/simd/unary_*.def, in the layout in which the blob arrives.
#include "device/simd/unary.h"

#include <cmath>

#include "base/threads.h"
#include "device/x86/blocked_layout.h"
#include "device/x86/kernel_list.h"

namespace plumb::x86 {
namespace {

constexpr int64_t kGrain = 16384;  // elements that are worth a second thread

using simd::UnaryOp;

// Computes n floats; dst may be src.
using Function = void (*)(UnaryOp op, const simd::UnaryParams& params, const float* src, float* dst, size_t n);

// Rare functions: the C library, in double, one element at a time.
template <double (*f)(double)>
void Scalar(UnaryOp, const simd::UnaryParams&, const float* src, float* dst, size_t n) {
  for (size_t i = 0; i < n; ++i) dst[i] = static_cast<float>(f(static_cast<double>(src[i])));
}

struct Choice {
  UnaryOp op = UnaryOp::kRelu;
  simd::UnaryParams params;
  Function function = simd::Unary;
};

struct NamedOp {
  const char* type;
  UnaryOp op;
  Function function = simd::Unary;
};

// Operators without parameters.
const NamedOp kNamed[] = {
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
    {"Tan", {}, Scalar<std::tan>},    {"Asin", {}, Scalar<std::asin>},
    {"Acos", {}, Scalar<std::acos>},  {"Atan", {}, Scalar<std::atan>},
};

Result<Choice> ChoiceOf(const Layer& layer) {
  for (const NamedOp& named : kNamed) {
    if (layer.type == named.type) return Choice{named.op, {}, named.function};
  }
  return Status::NotSupported("no vector kernel is named for '" + layer.type + "'");
}

class UnaryKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
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
    choice_.function(choice_.op, choice_.params, &zero, &zero, 1);
    keeps_zero_ = zero == 0;
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const float* src = inputs[0].host<float>();
    float* dst = outputs[0].host<float>();
    ParallelFor(static_cast<int64_t>(outputs[0].bytes() / sizeof(float)), kGrain, [&](int64_t begin, int64_t end) {
      choice_.function(choice_.op, choice_.params, src + begin, dst + begin, static_cast<size_t>(end - begin));
    });
    if (!keeps_zero_) ZeroTailLanes(outputs[0]);
    return Status::Ok();
  }

 private:
  Choice choice_;
  bool keeps_zero_ = true;
};

}  // namespace

const KernelFunctions kernel_unary = {UnaryKernel::Supports, MakeKernel<UnaryKernel>};

}  // namespace plumb::x86
