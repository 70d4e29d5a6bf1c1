// SPDX-License-Identifier: Apache-2.0
// PlumbHardmax.
#include "op/hardmax.h"

#include "device/gpu/kernel_list.h"
#include "device/shared/axis_view.h"

namespace plumb::gpu {

Status plan_hardmax(Plan* plan) {
  PLUMB_RETURN_IF_ERROR(plan->RequireF32(0));
  const Shape& shape = plan->in(0).shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<HardmaxParam>(plan->layer()).axis, shape.rank()));
  const AxisView view = AxisView::Over(shape, axis, axis + 1);
  if (shape.NumElements() == 0) return Status::Ok();
  const Port best = plan->Scratch(view.rows(), "i32");
  Launch largest{"largest_of_row", {best, plan->In(0, "real")}, {view.rows()}};
  plan->AddParts(largest.Int(view.n).Int(view.inner), view.n);
  plan->Add("hardmax", shape.NumElements(), {plan->Out(0, "real"), best}).Int(view.n).Int(view.inner);
  return Status::Ok();
}

}  // namespace plumb::gpu
