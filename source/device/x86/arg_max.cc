// ArgMaxOrMin of f32 along any axis, on the shared vector kernel, in plain order.
#include "op/arg_max.h"

#include "device/simd/reduce.h"
#include "device/x86/axis_view.h"
#include "device/x86/kernel_list.h"

namespace plumb::x86 {
namespace {

class ArgMaxKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    if (spec.inputs[0].dtype == DType::kF32) return Status::Ok();
    return Status::NotSupported(std::string("takes f32, found ") + DTypeName(spec.inputs[0].dtype));
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
    const float* src = inputs[0].host<float>();
    int32_t* dst = outputs[0].host<int32_t>();
    view_.ForEachTile([&](int64_t outer, int64_t begin, int64_t end) {
      simd::ArgReduce(max_, last_, src + outer * view_.n * view_.inner, view_.n, view_.inner, begin, end,
                      dst + outer * view_.inner + begin);
    });
    return Status::Ok();
  }

 private:
  bool max_ = true, last_ = false;
  AxisView view_;
};

}  // namespace

const KernelFunctions kernel_arg_max = {ArgMaxKernel::Supports, MakeKernel<ArgMaxKernel>};

}  // namespace plumb::x86
