// SPDX-License-Identifier: Apache-2.0
// LRN across channels in plain order, each window summed afresh (simd/norm.h).
#include "op/lrn.h"

#include "device/cpu/kernel_list.h"
#include "device/shared/axis_view.h"
#include "simd/norm.h"

namespace plumb::cpu {
namespace {

class LrnKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    return RequireF32(spec);
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const auto& p = ParamOf<LrnParam>(spec.layer());
    view_ = AxisView::Over(spec.inputs[0].shape, 1, 2);
    params_ = {view_.n, view_.inner, p.size, p.alpha, p.beta, p.bias};
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const float* src = inputs[0].host<float>();
    float* dst = outputs[0].host<float>();
    const int64_t image = view_.n * view_.inner;
    view_.ForEachTile([&](int64_t outer, int64_t begin, int64_t end) {
      simd::Lrn(params_, src + outer * image, begin, end, dst + outer * image);
    });
    return Status::Ok();
  }

 private:
  AxisView view_;
  simd::LrnParams params_;
};

}  // namespace

const KernelFunctions kernel_lrn = {LrnKernel::Supports, MakeKernel<LrnKernel>};

}  // namespace plumb::cpu
