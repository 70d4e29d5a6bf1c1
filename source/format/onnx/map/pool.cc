// SPDX-License-Identifier: Apache-2.0
// Pools. What TNN's Pooling says it says (equal pads, padding not counted, no dilation); other averages are
// PlumbAveragePool; a maximum with unequal pads gets a Pad of -infinity in front. 1-D is 2-D of height 1.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "format/onnx/map/window_attributes.h"
#include "format/onnx/node_context.h"
#include "op/pool_nd.h"
#include "op/pooling.h"
#include "op/reduce.h"
#include "op/strided_slice.h"

namespace plumb::onnx {
namespace {

std::shared_ptr<OpParam> Plain(const WindowAttributes& w, int type, bool ceil_mode) {
  auto p = std::make_shared<PoolingParam>();
  p->pool_type = type;
  p->kernel_h = w.kernel[0];
  p->kernel_w = w.kernel[1];
  p->stride_h = w.stride[0];
  p->stride_w = w.stride[1];
  p->pad_h = w.begin[0];
  p->pad_w = w.begin[1];
  p->pad_type = kPadExplicit;
  p->ceil_mode = ceil_mode;
  return p;
}

std::shared_ptr<OpParam> Counted(const WindowAttributes& w, bool ceil_mode, bool include_pad) {
  auto p = std::make_shared<PlumbAveragePoolParam>();
  p->kernel_h = w.kernel[0];
  p->kernel_w = w.kernel[1];
  p->stride_h = w.stride[0];
  p->stride_w = w.stride[1];
  p->pad_top = w.begin[0];
  p->pad_left = w.begin[1];
  p->pad_bottom = w.end[0];
  p->pad_right = w.end[1];
  p->ceil_mode = ceil_mode;
  p->count_include_pad = include_pad;
  return p;
}

WindowParam InDims(const WindowAttributes& w, bool ceil_mode) {
  WindowParam p{w.kernel, w.stride, w.begin, w.dilation, ceil_mode};
  p.pads.insert(p.pads.end(), w.end.begin(), w.end.end());
  return p;
}

bool Padded(const WindowAttributes& w) {
  for (size_t i = 0; i < w.begin.size(); ++i) {
    if (w.begin[i] != 0 || w.end[i] != 0) return true;
  }
  return false;
}

constexpr int64_t kMaxTaps = 512;  // slices that a pool may become

// What TNN's pools cannot say (dilations, three spatial dims) as one slice of the padded input per tap, combined by
// `kind`.
Result<Value> ByTaps(NodeContext& c, const Value& x, const WindowAttributes& w, bool ceil_mode, OpKind kind,
                     float fill) {
  const Shape in = c.ShapeOf(x);
  const size_t rank = w.kernel.size();
  WindowAttributes padded = w;
  std::vector<int64_t> out(rank);
  int64_t taps = 1;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t dim = in[static_cast<int>(i) + 2], extent = int64_t{w.dilation[i]} * (w.kernel[i] - 1) + 1;
    const int64_t room = dim + w.begin[i] + w.end[i] - extent;
    if (room < 0) return Status::CorruptModel(fmt::format("a window of {} does not fit a dim of {}", extent, dim));
    out[i] = (ceil_mode ? (room + w.stride[i] - 1) / w.stride[i] : room / w.stride[i]) + 1;
    if (ceil_mode && (out[i] - 1) * w.stride[i] >= dim + w.begin[i]) --out[i];  // it would begin in the end pad
    padded.end[i] =
        static_cast<int>(std::max<int64_t>(w.end[i], (out[i] - 1) * w.stride[i] + extent - dim - w.begin[i]));
    taps *= w.kernel[i];
  }
  if (taps > kMaxTaps)
    return Status::NotSupported(
        fmt::format("windows of more than {} elements with dilations or three spatial dims", kMaxTaps));
  PLUMB_ASSIGN_OR_RETURN(const Value whole, Padded(padded) ? PadSpatial(c, x, padded, fill) : Result<Value>(x));
  Value y;
  for (int64_t tap = 0; tap < taps; ++tap) {
    auto slice = std::make_shared<StridedSliceV2Param>();
    int64_t rest = tap;
    for (size_t i = rank; i-- > 0; rest /= w.kernel[i]) {
      const auto begin = static_cast<int>(rest % w.kernel[i]) * w.dilation[i];
      slice->begins.insert(slice->begins.begin(), begin);
      slice->ends.insert(slice->ends.begin(), begin + static_cast<int>(out[i] - 1) * w.stride[i] + 1);
      slice->axes.insert(slice->axes.begin(), static_cast<int>(i) + 2);
      slice->strides.insert(slice->strides.begin(), w.stride[i]);
    }
    PLUMB_ASSIGN_OR_RETURN(const Value part, c.Emit(OpKind::kStridedSliceV2, slice, {whole}));
    PLUMB_ASSIGN_OR_RETURN(y, tap == 0 ? Result<Value>(part) : c.Emit(kind, nullptr, {y, part}));
  }
  return y;
}

// ceil_mode: ONNX drops a last window that would begin in the end pad, TNN's 2-D pools keep it. Rounding down drops it,
// too; where another axis must be rounded up, the output is cut to `keep`.
struct Rounding {
  bool up = false;
  std::vector<int64_t> keep;  // sizes
};

Rounding RoundingOf(const Shape& in, const WindowAttributes& w, bool ceil_mode) {
  Rounding rounding;
  for (size_t i = 0; ceil_mode && i < w.kernel.size(); ++i) {
    const int64_t dim = in[static_cast<int>(i) + 2], extent = int64_t{w.dilation[i]} * (w.kernel[i] - 1) + 1;
    const int64_t room = dim + w.begin[i] + w.end[i] - extent, stride = w.stride[i];
    const int64_t last = (room + stride - 1) / stride;
    const bool drop = room >= 0 && last * stride >= dim + w.begin[i];
    rounding.keep.push_back(drop ? last : last + 1);
    rounding.up = rounding.up || rounding.keep.back() > room / stride + 1;
  }
  return rounding;
}

Result<Value> CutTo(NodeContext& c, Value y, const std::vector<int64_t>& keep) {
  for (size_t i = 0; i < keep.size(); ++i) {
    const int axis = static_cast<int>(i) + 2;
    if (c.ShapeOf(y)[axis] <= keep[i]) continue;
    PLUMB_ASSIGN_OR_RETURN(y, c.Cut(y, axis, 0, keep[i]));
  }
  return y;
}

// `pool` on a 4-D value, or a 5-D one.
template <class Pool>
Status Run(NodeContext& c, Pool pool) {
  const Shape& x = c.ShapeOf(0);
  if (x.rank() < 3 || x.rank() > 5)
    return Status::NotSupported(fmt::format("an input of rank {}; rank 3 to 5 are supported", x.rank()));
  PLUMB_ASSIGN_OR_RETURN(WindowAttributes w, ReadWindow(c, {x.dims().begin() + 2, x.dims().end()}, {}));
  WarnOfSides(c, w);
  Value in = c.In(0);
  const bool narrow = IsNarrowInteger(in.type) && in.type != kTypeUint32;  // exact in f32
  if (narrow) {
    PLUMB_ASSIGN_OR_RETURN(in, c.CastTo(in, DType::kF32));
  }
  if (x.rank() == 3) {
    PLUMB_ASSIGN_OR_RETURN(in, AddHeight(c, in, &w));
  }
  PLUMB_ASSIGN_OR_RETURN(Value y, pool(in, w));
  if (narrow) {
    PLUMB_ASSIGN_OR_RETURN(y, c.CastTo(y, DType::kI64));
  }
  if (x.rank() == 3) {
    PLUMB_ASSIGN_OR_RETURN(y, DropHeight(c, y));
  }
  c.Set(0, y);
  return Status::Ok();
}

Status Global(NodeContext& c, int type, OpKind reduce) {
  if (c.Rank(0) == 4) {
    auto p = std::make_shared<PoolingParam>();
    p->pool_type = type;
    p->pad_type = kPadExplicit;
    return c.EmitOutput(OpKind::kPooling, p, {c.In(0)});
  }
  auto p = std::make_shared<ReduceParam>();
  p->keep_dims = true;
  for (int i = 2; i < c.Rank(0); ++i) p->axes.push_back(i);
  if (p->axes.empty()) {
    c.Set(0, c.In(0));
    return Status::Ok();
  }
  return c.EmitOutput(reduce, p, {c.In(0)});
}

int64_t TapsPool(const WindowAttributes& w) {
  int64_t taps = 1;
  for (const int k : w.kernel) taps = std::min<int64_t>(taps * k, kMaxTaps + 1);
  return taps;
}

// The maximum and where it is.
Status WithIndices(NodeContext& c, bool ceil_mode) {
  const Shape& x = c.ShapeOf(0);
  if (x.rank() < 3)
    return Status::NotSupported(fmt::format("an input of rank {}; rank 3 and above are supported", x.rank()));
  PLUMB_ASSIGN_OR_RETURN(const WindowAttributes w, ReadWindow(c, {x.dims().begin() + 2, x.dims().end()}, {}));
  auto p = std::make_shared<MaxPoolParam>();
  p->window = InDims(w, ceil_mode);
  p->column_major = c.Int("storage_order", 0) != 0;
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Value> y, c.EmitMany({OpKind::kPlumbMaxPool, p, {c.In(0)}, {}, 2}));
  c.Set(0, y[0]);
  c.Set(1, y[1], kTypeInt64);
  return Status::Ok();
}

}  // namespace

Status MapMaxPool(NodeContext& c) {
  const bool ceil_mode = c.Int("ceil_mode", 0) != 0;
  if (c.Wants(1)) return WithIndices(c, ceil_mode);
  return Run(c, [&](Value in, WindowAttributes w) -> Result<Value> {
    if ((w.dilated() || w.kernel.size() == 3) && TapsPool(w) > kMaxTaps) {
      auto p = std::make_shared<MaxPoolParam>();
      p->window = InDims(w, ceil_mode);
      PLUMB_ASSIGN_OR_RETURN(const std::vector<Value> y, c.EmitMany({OpKind::kPlumbMaxPool, p, {in}, {}, 2}));
      return y[0];
    }
    if (w.dilated() || w.kernel.size() == 3) return ByTaps(c, in, w, ceil_mode, OpKind::kMaximum, -INFINITY);
    const Rounding rounding = RoundingOf(c.ShapeOf(in), w, ceil_mode);
    if (!w.symmetric()) {
      PLUMB_ASSIGN_OR_RETURN(in, PadSpatial(c, in, w, -INFINITY));
      w.begin.assign(2, 0);
      w.end.assign(2, 0);
    }
    PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(OpKind::kPooling, Plain(w, kPoolMax, rounding.up), {in}));
    return CutTo(c, y, rounding.keep);
  });
}

Status MapAveragePool(NodeContext& c) {
  const bool ceil_mode = c.Int("ceil_mode", 0) != 0;
  const bool include_pad = c.Int("count_include_pad", 0) != 0;
  return Run(c, [&](const Value& in, const WindowAttributes& w) -> Result<Value> {
    if (w.kernel.size() == 3 && !w.dilated() && !ceil_mode && (include_pad || !Padded(w))) {
      PLUMB_ASSIGN_OR_RETURN(const Value sum, ByTaps(c, in, w, false, OpKind::kAdd, 0));
      return c.Binary(OpKind::kDiv, sum, c.ConstFloat(static_cast<float>(w.kernel[0] * w.kernel[1] * w.kernel[2])));
    }
    if (w.dilated() || w.kernel.size() == 3) {
      auto p = std::make_shared<PoolNDParam>();
      p->window = InDims(w, ceil_mode);
      p->count_include_pad = include_pad;
      return c.Emit(OpKind::kPlumbPoolND, p, {in});
    }
    if (include_pad && Padded(w)) c.Warn("AL06", "counts its padding (count_include_pad)");
    const Rounding rounding = RoundingOf(c.ShapeOf(in), w, ceil_mode);
    const bool plain = w.symmetric() && (!include_pad || (!Padded(w) && !rounding.up));
    const OpKind kind = plain ? OpKind::kPooling : OpKind::kPlumbAveragePool;
    PLUMB_ASSIGN_OR_RETURN(
        const Value y,
        c.Emit(kind, plain ? Plain(w, kPoolAverage, rounding.up) : Counted(w, rounding.up, include_pad), {in}));
    return CutTo(c, y, rounding.keep);
  });
}

Status MapGlobalAveragePool(NodeContext& c) { return Global(c, kPoolAverage, OpKind::kReduceMean); }
Status MapGlobalMaxPool(NodeContext& c) { return Global(c, kPoolMax, OpKind::kReduceMax); }

}  // namespace plumb::onnx
