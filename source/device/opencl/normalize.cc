// SPDX-License-Identifier: Apache-2.0
// Normalize in plain order.
#include <climits>

#include "device/opencl/kernel_list.h"
#include "device/opencl/row_items.h"
#include "device/shared/axis_view.h"
#include "op/normalize.h"

namespace plumb::opencl {
namespace {

class NormalizeKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    return KindOf(spec).status();
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const auto& p = ParamOf<NormalizeParam>(spec.layer());
    const Shape& shape = spec.inputs[0].shape;
    PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, shape.rank()));
    PLUMB_ASSIGN_OR_RETURN(kind_, KindOf(spec));
    view_ = AxisView::Over(shape, axis, p.across_spatial != 0 ? shape.rank() : axis + 1);
    epsilon_ = p.epsilon;
    items_ = RowItems(spec.device, view_);
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "normalize.cl", RowKernelName("normalize_rows", items_)));
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    return launcher_.Run({view_.rows() * items_}, outputs[0], inputs[0], view_.outer, view_.n, view_.inner, kind_,
                         epsilon_);
  }

 private:
  static Result<int> KindOf(const KernelSpec& spec) {
    const int p = ParamOf<NormalizeParam>(spec.layer()).p;
    if (p == 1 || p == 2) return p - 1;
    if (p == INT_MAX) return 2;
    if (p == INT_MIN) return 3;
    return Status::NotSupported("knows no norm of p = " + std::to_string(p));
  }
  int kind_ = 0;
  float epsilon_ = 0;
  AxisView view_;
  int64_t items_ = 1;  // of a row
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_normalize = {NormalizeKernel::Supports, MakeKernel<NormalizeKernel>};

}  // namespace plumb::opencl
