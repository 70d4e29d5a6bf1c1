// SPDX-License-Identifier: Apache-2.0
// Normalize along any axis, or along it and all behind it, in plain order (simd/norm.h).
#include "op/normalize.h"

#include "device/cpu/kernel_list.h"
#include "device/shared/axis_view.h"
#include "simd/norm.h"

namespace plumb::cpu {
namespace {

class NormalizeKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    return RequireF32(spec);
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const auto& p = ParamOf<NormalizeParam>(spec.layer());
    const Shape& shape = spec.inputs[0].shape;
    PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, shape.rank()));
    view_ = AxisView::Over(shape, axis, p.across_spatial != 0 ? shape.rank() : axis + 1);
    epsilon_ = static_cast<double>(p.epsilon);
    kind_ = p.p == 1         ? simd::NormKind::kL1
            : p.p == 2       ? simd::NormKind::kL2
            : p.p == INT_MAX ? simd::NormKind::kMaxAbs
                             : simd::NormKind::kMinAbs;
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const float* src = inputs[0].host<float>();
    float* dst = outputs[0].host<float>();
    const int64_t slice = view_.n * view_.inner;
    view_.ForEachTile([&](int64_t outer, int64_t begin, int64_t end) {
      simd::Normalize(kind_, src + outer * slice, view_.n, view_.inner, begin, end, epsilon_, dst + outer * slice);
    });
    return Status::Ok();
  }

 private:
  AxisView view_;
  double epsilon_ = 0;
  simd::NormKind kind_ = simd::NormKind::kL2;
};

}  // namespace

const KernelFunctions kernel_normalize = {NormalizeKernel::Supports, MakeKernel<NormalizeKernel>};

}  // namespace plumb::cpu
