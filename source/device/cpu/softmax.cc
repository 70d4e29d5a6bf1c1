// SPDX-License-Identifier: Apache-2.0
// Softmax and LogSoftmax along any axis, in plain order, on the shared vector kernel.
#include "simd/softmax.h"

#include "device/cpu/kernel_list.h"
#include "device/shared/axis_view.h"
#include "op/softmax.h"

namespace plumb::cpu {
namespace {

class SoftmaxKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    return RequireF32(spec);
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const Shape& shape = spec.inputs[0].shape;
    PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<SoftmaxParam>(spec.layer()).axis, shape.rank()));
    log_ = spec.layer().kind == OpKind::kLogSoftmax;
    view_ = AxisView::Over(shape, axis, axis + 1);
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const float* src = inputs[0].host<float>();
    float* dst = outputs[0].host<float>();
    view_.ForEachTile([&](int64_t outer, int64_t begin, int64_t end) {
      const int64_t at = outer * view_.n * view_.inner;
      simd::Softmax(log_, src + at, view_.n, view_.inner, begin, end, dst + at);
    });
    return Status::Ok();
  }

 private:
  bool log_ = false;
  AxisView view_;
};

}  // namespace

const KernelFunctions kernel_softmax = {SoftmaxKernel::Supports, MakeKernel<SoftmaxKernel>};

}  // namespace plumb::cpu
