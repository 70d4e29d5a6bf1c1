// SPDX-License-Identifier: Apache-2.0
// ArgMaxOrMin along any axis in plain order: f32 on the shared vector kernel, f64, i32 and i64 in plain loops.
#include "op/arg_max.h"

#include "device/cpu/kernel_list.h"
#include "device/shared/axis_view.h"
#include "simd/reduce.h"

namespace plumb::cpu {
namespace {

class ArgMaxKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.inputs[0].dtype;
    if (dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kI32 || dtype == DType::kI64)
      return Status::Ok();
    return Status::NotSupported(std::string("takes f32, f64, i32 and i64, found ") + DTypeName(dtype));
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const auto& p = ParamOf<ArgMaxParam>(spec.layer());
    const Shape& shape = spec.inputs[0].shape;
    PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, shape.rank()));
    max_ = p.mode == 1;
    last_ = p.select_last_index;
    view_ = AxisView::Over(shape, axis, axis + 1);
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    int32_t* dst = outputs[0].host<int32_t>();
    if (inputs[0].dtype == DType::kF64) return RunEach(inputs[0].host<double>(), dst);
    if (inputs[0].dtype == DType::kI32) return RunEach(inputs[0].host<int32_t>(), dst);
    if (inputs[0].dtype == DType::kI64) return RunEach(inputs[0].host<int64_t>(), dst);
    const float* src = inputs[0].host<float>();
    view_.ForEachTile([&](int64_t outer, int64_t begin, int64_t end) {
      simd::ArgReduce(max_, last_, src + outer * view_.n * view_.inner, view_.n, view_.inner, begin, end,
                      dst + outer * view_.inner + begin);
    });
    return Status::Ok();
  }

 private:
  template <class T>
  Status RunEach(const T* src, int32_t* dst) const {
    view_.ForEachTile([&](int64_t outer, int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const T* x = src + outer * view_.n * view_.inner + c;
        int64_t best = 0;
        for (int64_t i = 1; i < view_.n; ++i) {
          const T value = x[i * view_.inner], so_far = x[best * view_.inner];
          const bool nan = value != value, found_nan = so_far != so_far;  // the first NaN, or the last, is the best
          const bool better = nan && !found_nan, equal = value == so_far || (nan && found_nan);
          if (better || (max_ ? value > so_far : value < so_far) || (last_ && equal)) best = i;
        }
        dst[outer * view_.inner + c] = static_cast<int32_t>(best);
      }
    });
    return Status::Ok();
  }

  bool max_ = true, last_ = false;
  AxisView view_;
};

}  // namespace

const KernelFunctions kernel_arg_max = {ArgMaxKernel::Supports, MakeKernel<ArgMaxKernel>};

}  // namespace plumb::cpu
