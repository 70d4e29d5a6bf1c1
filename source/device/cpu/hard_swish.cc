// SPDX-License-Identifier: Apache-2.0
// HardSwish of two inputs, y = x0 * clip(alpha * x1 + beta, 0, 1) with broadcasting, in plain order: the gate is
// computed into a buffer of the kernel's own, then multiplied.
#include <vector>

#include "base/threads.h"
#include "device/cpu/kernel_list.h"
#include "op/activation.h"
#include "simd/binary.h"
#include "simd/unary.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kGateGrain = 16384;  // elements that are worth a second thread

class GateKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    if (spec.inputs.size() != 2) return Status::NotSupported("takes two inputs");
    if (spec.outputs[0].shape.rank() > simd::BroadcastPlan::kMaxRank)
      return Status::NotSupported("takes at most 8 dims");
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const auto& p = ParamOf<HardParam>(spec.layer());
    params_ = {p.alpha, p.beta};
    const auto &a = spec.inputs[0].shape.dims(), &b = spec.inputs[1].shape.dims();
    plan_ = simd::PlanBroadcast(a.data(), static_cast<int>(a.size()), b.data(), static_cast<int>(b.size()));
    gate_.resize(static_cast<size_t>(spec.inputs[1].shape.NumElements()));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const float *x0 = inputs[0].host<float>(), *x1 = inputs[1].host<float>();
    float* dst = outputs[0].host<float>();
    ParallelFor(static_cast<int64_t>(gate_.size()), kGateGrain, [&](int64_t begin, int64_t end) {
      simd::Unary(simd::UnaryOp::kHardSigmoid, params_, x1 + begin, &gate_[static_cast<size_t>(begin)],
                  static_cast<size_t>(end - begin));
    });
    ParallelFor(plan_.size(), kGateGrain, [&](int64_t begin, int64_t end) {
      simd::Binary(simd::BinaryOp::kMul, plan_, x0, gate_.data(), dst, begin, end);
    });
    return Status::Ok();
  }

 private:
  simd::UnaryParams params_;
  simd::BroadcastPlan plan_;
  std::vector<float> gate_;
};

}  // namespace

const KernelFunctions kernel_gate = {GateKernel::Supports, MakeKernel<GateKernel>};

}  // namespace plumb::cpu
