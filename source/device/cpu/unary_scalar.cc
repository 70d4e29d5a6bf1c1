// SPDX-License-Identifier: Apache-2.0
// Element-wise operators of one input that no network spends its time in, in plain order: plain loops over scalar
// functions, evaluated in double so that they are rounded once.
#include <fmt/core.h>

#include <cmath>

#include "base/threads.h"
#include "device/cpu/kernel_list.h"
#include "op/activation.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kScalarGrain = 4096;  // elements that are worth a second thread

double Mish(double x) {
  const double e = std::exp(-std::fabs(x));  // tanh(log(1 + e^x)) = (s^2 - 1) / (s^2 + 1), s = 1 + e^x
  const double up = e * (2 + e), down = 1 + 2 * e;
  return std::isnan(x) ? x : x * (x < 0 ? up / (up + 2) : down / (down + 2 * e * e));
}

using UnaryFunction = double (*)(const UnaryCoefficients&, double);

UnaryFunction UnaryOf(OpKind kind) {
  using P = const UnaryCoefficients&;
  switch (kind) {
    case OpKind::kPlumbSinh: return [](P, double x) { return std::sinh(x); };
    case OpKind::kPlumbCosh: return [](P, double x) { return std::cosh(x); };
    case OpKind::kPlumbAsinh: return [](P, double x) { return std::asinh(x); };
    case OpKind::kPlumbAcosh: return [](P, double x) { return std::acosh(x); };
    case OpKind::kPlumbAtanh: return [](P, double x) { return std::atanh(x); };
    case OpKind::kPlumbMish: return [](P, double x) { return Mish(x); };
    case OpKind::kPlumbCelu: return [](P p, double x) { return x > 0 ? x : double{p.a} * std::expm1(x / double{p.a}); };
    case OpKind::kPlumbThresholdedRelu: return [](P p, double x) { return x <= double{p.a} ? 0 : x; };
    case OpKind::kPlumbShrink:
      return [](P p, double x) {
        return x < -double{p.a} ? x + double{p.b} : x > double{p.a} ? x - double{p.b} : x * 0;
      };
    default: return nullptr;
  }
}

class ScalarUnaryKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    if (UnaryOf(spec.layer().kind) != nullptr) return Status::Ok();
    return Status::NotSupported(fmt::format("no scalar function is named for '{}'", spec.layer().type));
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    function_ = UnaryOf(spec.layer().kind);
    params_ = CoefficientsOf(spec.layer());
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const float* x = inputs[0].host<float>();
    float* y = outputs[0].host<float>();
    ParallelFor(outputs[0].shape.NumElements(), kScalarGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = static_cast<float>(function_(params_, static_cast<double>(x[i])));
    });
    return Status::Ok();
  }

 private:
  UnaryFunction function_ = nullptr;
  UnaryCoefficients params_;
};

}  // namespace

const KernelFunctions kernel_scalar_unary = {ScalarUnaryKernel::Supports, MakeKernel<ScalarUnaryKernel>};

}  // namespace plumb::cpu
