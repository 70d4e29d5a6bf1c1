// SPDX-License-Identifier: Apache-2.0
// PlumbMaxPool and PlumbPoolND: the spatial dims are seen as three (missing ones are 1), a window per work item.
#include "op/pool_nd.h"

#include <algorithm>
#include <array>

#include "device/gpu/kernel_list.h"

namespace plumb::gpu {
namespace {

struct PoolWindow {
  std::array<PoolAxis, 3> axes;

  void AddTo(Launch* launch) const {
    for (const PoolAxis& a : axes)
      launch->Int(a.in).Int(a.out).Int(a.kernel).Int(a.stride).Int(a.pad_begin).Int(a.dilation);
  }
};

Result<PoolWindow> WindowOfPlan(const Plan& plan, const WindowParam& param) {
  PLUMB_ASSIGN_OR_RETURN(const PoolShape s, ResolvePool(param, plan.in(0).shape));
  PoolWindow w;
  if (s.axes.size() > w.axes.size()) {
    return Status::NotSupported("takes at most 3 spatial dims, got " + plan.in(0).shape.ToString());
  }
  std::copy(s.axes.begin(), s.axes.end(), w.axes.end() - static_cast<ptrdiff_t>(s.axes.size()));
  const int64_t rows = w.axes[0].kernel * (w.axes[1].kernel + 2);
  PLUMB_RETURN_IF_ERROR(plan.RequireRounds(rows + rows * (w.axes[2].kernel + 1)));
  return w;
}

}  // namespace

Status plan_max_pool(Plan* plan) {
  PLUMB_ASSIGN_OR_RETURN(const std::string number, plan->Number(plan->in(0).dtype));
  const auto& p = ParamOf<MaxPoolParam>(plan->layer());
  PLUMB_ASSIGN_OR_RETURN(const PoolWindow window, WindowOfPlan(*plan, p.window));
  Launch& launch = plan->Add("max_pool_" + number, plan->out().shape.NumElements(),
                             {plan->Out(0, number), plan->Out(1, "i32"), plan->In(0, number)});
  window.AddTo(&launch);
  launch.Int(p.column_major);
  return Status::Ok();
}

Status plan_pool_nd(Plan* plan) {
  PLUMB_RETURN_IF_ERROR(plan->RequireF32(0));
  const auto& p = ParamOf<PoolNDParam>(plan->layer());
  PLUMB_ASSIGN_OR_RETURN(const PoolWindow window, WindowOfPlan(*plan, p.window));
  Launch& launch = plan->Add("mean_pool", plan->out().shape.NumElements(), {plan->Out(0, "real"), plan->In(0, "real")});
  window.AddTo(&launch);
  launch.Int(p.mode == "lp" ? p.p : 0).Int(p.count_include_pad);
  for (const PoolAxis& a : window.axes) launch.Int(a.pad_end);
  return Status::Ok();
}

}  // namespace plumb::gpu
