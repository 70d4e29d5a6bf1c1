// SPDX-License-Identifier: Apache-2.0
// PlumbResize: a table of taps per resized axis, made once. Nearest copies elements of any dtype; linear and cubic
// resize one axis after the other in f32.
#include <fmt/core.h>

#include <algorithm>

#include "device/gpu/kernel_list.h"
#include "device/shared/resize_table.h"

namespace plumb::gpu {
namespace {

constexpr size_t kResizeRank = 8;  // of the programs

Status AddNearest(Plan* plan, const ResizeShape& s) {
  std::vector<int64_t> from;
  for (size_t d = 0; d < s.axes.size(); ++d) {
    const ResizeAxis& axis = s.axes[d];
    if (axis.resized) {
      const ResizeTable table = MakeResizeTable(s, axis);
      from.insert(from.end(), table.index.begin(), table.index.end());
    } else {
      for (int64_t o = 0; o < s.out[static_cast<int>(d)]; ++o) from.push_back(o);
    }
  }
  const std::string bits = plan->Bits(plan->in(0).dtype);
  plan->Add("resize_nearest_" + bits, s.out.NumElements(), {plan->Out(0, bits), plan->In(0, bits), plan->Ints(from)})
      .Int(s.out.rank())
      .Ints(s.out.dims(), kResizeRank)
      .Ints(s.in.dims(), kResizeRank);
  return Status::Ok();
}

Status AddWeighted(Plan* plan, const ResizeShape& s) {
  PLUMB_RETURN_IF_ERROR(plan->RequireF32(0));
  Shape shape = s.in;
  Port from = plan->In(0, "real");
  auto left = std::count_if(s.axes.begin(), s.axes.end(), [](const ResizeAxis& axis) { return axis.resized; });
  if (left == 0) {
    const std::string bits = plan->Bits(DType::kF32);
    plan->Add("copy_" + bits, s.out.NumElements(), {plan->Out(0, bits), plan->In(0, bits)});
  }
  for (int d = s.in.rank() - 1; d >= 0; --d) {
    const ResizeAxis& axis = s.axes[static_cast<size_t>(d)];
    if (!axis.resized) continue;
    const ResizeTable table = MakeResizeTable(s, axis);
    for (size_t o = 0; o + 1 < table.first.size(); ++o) {
      PLUMB_RETURN_IF_ERROR(plan->RequireRounds(table.first[o + 1] - table.first[o]));
    }
    const int64_t in = shape[d];
    shape[d] = s.out[d];
    const Port to = --left == 0 ? plan->Out(0, "real") : plan->Scratch(shape.NumElements(), "f32");
    plan->Add("resize_" + to.type + "_" + from.type, shape.NumElements(),
              {to, from, plan->Ints(table.first), plan->Ints(table.index), plan->Floats(table.weight)})
        .Int(in)
        .Int(shape[d])
        .Int(shape.CountFrom(d + 1));
    from = to;
  }
  return Status::Ok();
}

// Positions outside a cropped input.
Status AddOutside(Plan* plan, const ResizeShape& s) {
  PLUMB_RETURN_IF_ERROR(plan->RequireF32(0));
  std::vector<int64_t> marks;
  for (size_t d = 0; d < s.axes.size(); ++d) {
    std::vector<bool> outside(static_cast<size_t>(s.out[static_cast<int>(d)]), false);
    if (s.axes[d].resized) outside = MakeResizeTable(s, s.axes[d]).outside;
    marks.insert(marks.end(), outside.begin(), outside.end());
  }
  plan->Add("resize_outside", s.out.NumElements(), {plan->Out(0, "real"), plan->Ints(marks)})
      .Int(s.out.rank())
      .Ints(s.out.dims(), kResizeRank)
      .Float(static_cast<float>(s.extrapolation_value));
  return Status::Ok();
}

}  // namespace

Status plan_resize(Plan* plan) {
  PLUMB_ASSIGN_OR_RETURN(const ResizeShape s, ResolveResize(plan->layer(), plan->in(0).shape));
  if (s.axes.size() > kResizeRank) return Status::NotSupported(fmt::format("takes at most {} dims", kResizeRank));
  PLUMB_RETURN_IF_ERROR(s.mode == ResizeMode::kNearest ? AddNearest(plan, s) : AddWeighted(plan, s));
  return s.coordinates == ResizeCoordinates::kCropAndResize ? AddOutside(plan, s) : Status::Ok();
}

}  // namespace plumb::gpu
