// SPDX-License-Identifier: Apache-2.0
// Softmax and LogSoftmax in plain order.
#include "op/softmax.h"

#include "device/opencl/kernel_list.h"
#include "device/opencl/row_items.h"
#include "device/shared/axis_view.h"

namespace plumb::opencl {
namespace {

class SoftmaxKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    return RequireF32(spec);
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const Shape& shape = spec.inputs[0].shape;
    PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<SoftmaxParam>(spec.layer()).axis, shape.rank()));
    view_ = AxisView::Over(shape, axis, axis + 1);
    items_ = RowItems(spec.device, view_);
    const bool log = spec.layer().kind == OpKind::kLogSoftmax;
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "softmax.cl", RowKernelName(log ? "log_softmax" : "softmax", items_)));
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    return launcher_.Run({view_.rows() * items_}, outputs[0], inputs[0], view_.outer, view_.n, view_.inner);
  }

 private:
  AxisView view_;
  int64_t items_ = 1;  // of a row
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_softmax = {SoftmaxKernel::Supports, MakeKernel<SoftmaxKernel>};

}  // namespace plumb::opencl
