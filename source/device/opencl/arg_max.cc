// SPDX-License-Identifier: Apache-2.0
// ArgMaxOrMin in plain order.
#include "op/arg_max.h"

#include "device/opencl/kernel_list.h"
#include "device/opencl/row_items.h"
#include "device/shared/axis_view.h"

namespace plumb::opencl {
namespace {

class ArgMaxKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.inputs[0].dtype;
    if (dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kI64) return Status::Ok();
    return Status::NotSupported(std::string("takes f32, i32 and i64, found ") + DTypeName(dtype));
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const auto& p = ParamOf<ArgMaxParam>(spec.layer());
    const Shape& shape = spec.inputs[0].shape;
    PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, shape.rank()));
    view_ = AxisView::Over(shape, axis, axis + 1);
    smallest_ = p.mode != 1;
    last_ = p.select_last_index;
    const DType dtype = spec.inputs[0].dtype;
    items_ = RowItems(spec.device, view_);
    const char* name = dtype == DType::kI32 ? "arg_int" : dtype == DType::kI64 ? "arg_long" : "arg_float";
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "arg_max.cl", RowKernelName(name, items_)));
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    return launcher_.Run({view_.rows() * items_}, outputs[0], inputs[0], view_.outer, view_.n, view_.inner, smallest_,
                         last_);
  }

 private:
  AxisView view_;
  int64_t items_ = 1;  // of a row
  int smallest_ = 0, last_ = 0;
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_arg_max = {ArgMaxKernel::Supports, MakeKernel<ArgMaxKernel>};

}  // namespace plumb::opencl
