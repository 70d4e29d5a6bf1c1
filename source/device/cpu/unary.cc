// SPDX-License-Identifier: Apache-2.0
// Element-wise operators of one input: the rows of simd/unary_*.def, in the layout in which the blob arrives.
#include "simd/unary.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/kernel_list.h"
#include "op/activation.h"
#include "op/core/whole_numbers.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kUnaryGrain = 16384;  // elements that are worth a second thread

using simd::UnaryOp;

// NotSupported for what device/cpu/unary_scalar.cc computes.
Result<UnaryOp> VectorOpOf(const Layer& layer) {
  switch (layer.kind) {
#define PLUMB_UNARY_unary(name) \
  case OpKind::k##name:         \
    return UnaryOp::k##name;
#define PLUMB_UNARY_scalar_unary(name)
#define PLUMB_UNARY(name, file, max_inputs, zero, spread, cpu, ...) PLUMB_UNARY_##cpu(name)
#include "op/unary.def"
#undef PLUMB_UNARY
#undef PLUMB_UNARY_scalar_unary
#undef PLUMB_UNARY_unary
    default: return Status::NotSupported(fmt::format("no vector kernel is named for '{}'", layer.type));
  }
}

class UnaryKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    if (spec.inputs.size() != 1)
      return Status::NotSupported("takes one input, found " + std::to_string(spec.inputs.size()));
    return VectorOpOf(spec.layer()).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    choice->inputs = {arriving[0]};
    choice->outputs = {arriving[0]};
    choice->shares = {{ShareWish::kOverwrite, 0, 0}};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(op_, VectorOpOf(spec.layer()));
    const UnaryCoefficients with = CoefficientsOf(spec.layer());
    params_ = {with.a, with.b, with.c};
    keeps_zero_ = UnaryKeepsZero(spec.layer());
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const float* src = inputs[0].host<float>();
    float* dst = outputs[0].host<float>();
    ParallelFor(static_cast<int64_t>(outputs[0].bytes() / sizeof(float)), kUnaryGrain, [&](int64_t begin, int64_t end) {
      simd::Unary(op_, params_, src + begin, dst + begin, static_cast<size_t>(end - begin));
    });
    if (!keeps_zero_) ZeroTailLanes(outputs[0]);
    return Status::Ok();
  }

 private:
  UnaryOp op_ = UnaryOp::kReLU;
  simd::UnaryParams params_;
  bool keeps_zero_ = true;
};

// The rows of op/unary_int.def.
class UnaryIntKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.inputs[0].dtype;
    if (dtype == DType::kI32 || dtype == DType::kI64) return Status::Ok();
    return Status::NotSupported(std::string("takes i32 and i64, found ") + DTypeName(dtype));
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    kind_ = spec.layer().kind;
    limits_ = WholeLimitsOf(spec.layer(), spec.inputs[0].dtype);
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    return inputs[0].dtype == DType::kI32 ? RunAs<int32_t>(inputs[0], outputs[0])
                                          : RunAs<int64_t>(inputs[0], outputs[0]);
  }

 private:
  template <class T>
  Status RunAs(const DeviceTensor& input, const DeviceTensor& output) {
    using whole::Bits, whole::Wrap;
    constexpr T ZERO = 0, ONE = 1;
    const T LOW = static_cast<T>(limits_.low), HIGH = static_cast<T>(limits_.high);
    switch (kind_) {
#define PLUMB_UNARY_INT(name, expression) \
  case OpKind::k##name:                   \
    return Map<T>(input, output, [=](T x) { return expression; });
#include "op/unary_int.def"
#undef PLUMB_UNARY_INT
      default: return Status::Internal("an operator of whole numbers without a row");
    }
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

  OpKind kind_{};
  WholeLimits limits_;
};

}  // namespace

const KernelFunctions kernel_unary_int = {UnaryIntKernel::Supports, MakeKernel<UnaryIntKernel>};
const KernelFunctions kernel_unary = {UnaryKernel::Supports, MakeKernel<UnaryKernel>};

}  // namespace plumb::cpu
