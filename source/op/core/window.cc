// SPDX-License-Identifier: Apache-2.0
#include "op/core/window.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "op/core/op.h"

namespace plumb {

void VisitPadType(ParamVisitor& v, int& pad_type) {
  if (v.loading() && !v.HasMore()) pad_type = kPadSame;
  v.Int("pad_type", pad_type);
}

Status ResolveWindow(int pad_type, bool ceil_mode, WindowAxis* axis) {
  if (axis->kernel <= 0 || axis->stride <= 0 || axis->dilation <= 0 || axis->in < 0) {
    return Status::InvalidArgument(fmt::format("kernel {}, stride {} and dilation {} must be positive", axis->kernel,
                                               axis->stride, axis->dilation));
  }
  const int64_t extent = axis->extent();
  if (pad_type == kPadSame) {
    axis->out = (axis->in + axis->stride - 1) / axis->stride;
    const int64_t total = std::max<int64_t>((axis->out - 1) * axis->stride + extent - axis->in, 0);
    axis->pad_begin = total / 2;
    axis->pad_end = total - total / 2;
    return Status::Ok();
  }
  if (pad_type == kPadValid)
    axis->pad_begin = axis->pad_end = 0;
  else if (pad_type != kPadExplicit)
    return Status::InvalidArgument(fmt::format("pad_type {} is not -1, 0 or 1", pad_type));
  if (axis->pad_begin < 0 || axis->pad_end < 0) return Status::InvalidArgument("a pad is negative");
  const int64_t room = axis->in + axis->pad_begin + axis->pad_end - extent;
  if (room < 0) {
    return Status::InvalidArgument(fmt::format("a window of {} does not fit an input of {} with pads {} and {}", extent,
                                               axis->in, axis->pad_begin, axis->pad_end));
  }
  axis->out = (ceil_mode ? (room + axis->stride - 1) / axis->stride : room / axis->stride) + 1;
  return Status::Ok();
}

}  // namespace plumb
