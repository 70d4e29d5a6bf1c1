// SPDX-License-Identifier: Apache-2.0
// What reads windows of images and rows: convolutions, their columns, pools; pads and sizes.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "format/onnx/map/convolve_by_product.h"
#include "format/onnx/map/ggml_steps.h"
#include "op/gather.h"
#include "op/norm.h"
#include "op/pad.h"
#include "op/pooling.h"
#include "op/resize.h"

namespace plumb::onnx {
// NOLINTBEGIN(readability-identifier-naming): the rows of ggml_list.def bear ggml's names
namespace {

constexpr int kMaxGgmlWindow = 1 << 20;

// Width and height of a window; ggml names the width first.
struct GgmlWindow {
  std::array<int32_t, 2> kernel, stride, pad, dilation = {1, 1};
};

Result<WindowAttributes> AsAttributes(const GgmlWindow& g) {
  WindowAttributes w;
  for (const size_t i : {size_t{1}, size_t{0}}) {
    for (const int32_t number : {g.kernel[i], g.stride[i], g.dilation[i]}) {
      if (number < 1 || number > kMaxGgmlWindow)
        return Status::CorruptModel(
            fmt::format("a window of {} every {} with steps of {}", g.kernel[i], g.stride[i], g.dilation[i]));
    }
    if (g.pad[i] < 0 || g.pad[i] > kMaxGgmlWindow)
      return Status::CorruptModel(fmt::format("op_params say a pad of {}", g.pad[i]));
    w.kernel.push_back(g.kernel[i]);
    w.stride.push_back(g.stride[i]);
    w.dilation.push_back(g.dilation[i]);
    w.begin.push_back(g.pad[i]);
    w.end.push_back(g.pad[i]);
  }
  return w;
}

// op_params: strides, pads and dilations, of the width first.
Result<WindowAttributes> WindowOfConvolution(NodeContext& c, int64_t height, int64_t width) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int> size, Narrow({width, height}));
  const auto two = [&c](size_t i) { return std::array<int32_t, 2>{GgmlInt(c, i), GgmlInt(c, i + 1)}; };
  return AsAttributes({{size[0], size[1]}, two(0), two(2), two(4)});
}

// x [n, channels, h, w] with a filter [o, channels / group, h, w], rounded as the filter's type asks for.
Status GgmlConvolved(NodeContext& c, const Value& filter, int64_t group) {
  PLUMB_ASSIGN_OR_RETURN(const Value given, FourDims(c, c.In(1)));
  const Shape shape = c.ShapeOf(filter);
  PLUMB_ASSIGN_OR_RETURN(const WindowAttributes w, WindowOfConvolution(c, shape[2], shape[3]));
  PLUMB_ASSIGN_OR_RETURN(const Value x, group > 1 ? Result<Value>(given) : AsOperandFor(c, given, GgmlTypeOf(c, 0)));
  const auto product = [&c](const Value& filters, const Value& windows) {
    return c.Emit(OpKind::kMatMul, nullptr, {filters, windows});
  };
  PLUMB_ASSIGN_OR_RETURN(const Value y, ConvolveByProduct(c, x, filter, group, w, product));
  return SetGgml(c, y);
}

constexpr int32_t kGgmlMax = 0, kGgmlAverage = 1;

Result<Value> Pooled(NodeContext& c, const Value& x, const GgmlWindow& window, bool counts_pads) {
  const int32_t kind = GgmlInt(c, 0);
  PLUMB_ASSIGN_OR_RETURN(const WindowAttributes w, AsAttributes(window));
  if (kind == kGgmlMax) {
    auto param = std::make_shared<PoolingParam>();
    param->pool_type = kPoolMax;
    param->kernel_h = w.kernel[0], param->kernel_w = w.kernel[1];
    param->stride_h = w.stride[0], param->stride_w = w.stride[1];
    param->pad_h = w.begin[0], param->pad_w = w.begin[1];
    return c.Emit(OpKind::kPooling, param, {x});
  }
  if (kind != kGgmlAverage) return Status::CorruptModel(fmt::format("op_params say pool {}", kind));
  auto param = std::make_shared<PlumbAveragePoolParam>();
  param->kernel_h = w.kernel[0], param->kernel_w = w.kernel[1];
  param->stride_h = w.stride[0], param->stride_w = w.stride[1];
  param->pad_top = param->pad_bottom = w.begin[0];
  param->pad_left = param->pad_right = w.begin[1];
  param->count_include_pad = counts_pads;
  return c.Emit(OpKind::kPlumbAveragePool, param, {x});
}

// The dims that the manifest says, four of them.
Result<std::vector<int64_t>> FourOfShape(NodeContext& c) {
  std::vector<int64_t> dims = c.LongIntList("shape");
  if (dims.size() > 4) return Status::CorruptModel("ggml has four dims");
  dims.insert(dims.begin(), 4 - dims.size(), 1);
  PLUMB_RETURN_IF_ERROR(Shape(dims).Validate());
  PLUMB_RETURN_IF_ERROR(c.builder().CheckSize(DType::kF32, Shape(dims)));
  return dims;
}

// Element o of a dim is element o / (out / in) of the input, computed in f32 and cut off.
Result<Value> NearestAlong(NodeContext& c, const Value& x, int axis, int64_t out) {
  const int64_t in = c.ShapeOf(x)[axis];
  const float factor = static_cast<float>(out) / static_cast<float>(in);
  std::vector<int64_t> places;
  for (int64_t i = 0; i < out; ++i)
    places.push_back(std::min(in - 1, static_cast<int64_t>(static_cast<float>(i) / factor)));
  auto param = std::make_shared<GatherParam>();
  param->axis = axis;
  param->indices_in_resource = false;
  return c.Emit(OpKind::kGather, param, {x, c.ConstInts(places)});
}

Result<Value> Interpolated(NodeContext& c, const Value& x, const std::vector<int64_t>& dims, bool cubic, bool corners) {
  const Shape in = c.ShapeOf(x);
  if (in[0] != dims[0] || in[1] != dims[1])
    return Status::NotSupported("interpolation of more than rows and columns is not known");
  auto param = std::make_shared<ResizeParam>();
  param->mode = cubic ? "cubic" : "linear";
  param->coordinates = corners ? "align_corners" : "half_pixel";
  param->axes = {2, 3};
  PLUMB_ASSIGN_OR_RETURN(param->sizes, Narrow({dims[2], dims[3]}));
  return c.Emit(OpKind::kPlumbResize, param, {x});
}

}  // namespace

// Windows of width d_conv along each row: x [n, rows, tokens + d_conv - 1], filter [rows, d_conv], y [n, tokens, rows].
Status MapGgmlSSM_CONV(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value x, FourDims(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value taps, FourDims(c, c.In(1)));
  const Shape of_x = c.ShapeOf(x), of_taps = c.ShapeOf(taps);
  if (of_x[0] != 1 || of_taps[2] != of_x[2] || of_taps[0] != 1 || of_taps[1] != 1)
    return Status::CorruptModel(fmt::format("taps {} for rows {}", of_taps.ToString(), of_x.ToString()));
  WindowAttributes w;
  PLUMB_ASSIGN_OR_RETURN(w.kernel, Narrow({of_taps[3]}));
  w.stride = w.dilation = {1};
  w.begin = w.end = {0};
  PLUMB_ASSIGN_OR_RETURN(const Value rows, c.Reshape(x, {of_x[1], of_x[2], of_x[3]}));
  PLUMB_ASSIGN_OR_RETURN(const Value filter, c.Reshape(taps, {of_taps[2], 1, of_taps[3]}));
  const auto product = [&c](const Value& filters, const Value& windows) {
    return c.Emit(OpKind::kMatMul, nullptr, {filters, windows});
  };
  PLUMB_ASSIGN_OR_RETURN(const Value y, ConvolveByProduct(c, rows, filter, of_taps[2], w, product));
  PLUMB_ASSIGN_OR_RETURN(const Value turned, c.Transpose(y, {0, 2, 1}));
  PLUMB_ASSIGN_OR_RETURN(const Value four, FourDims(c, turned));
  return SetGgml(c, four);
}

Status MapGgmlCONV_2D(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value filter, FourDims(c, c.In(0)));
  return GgmlConvolved(c, filter, 1);
}

// A filter of its own per channel.
Status MapGgmlCONV_2D_DW(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value filter, FourDims(c, c.In(0)));
  return GgmlConvolved(c, filter, c.ShapeOf(filter)[0]);
}

// What a window reads as one row, its channels outermost; of the filter (input 0) only the size counts. op_params' last
// number: 0 where the images are rows.
Status MapGgmlIM2COL(NodeContext& c) {
  const bool images = GgmlInt(c, 6) != 0;
  PLUMB_ASSIGN_OR_RETURN(const Value given, FourDims(c, c.In(1)));
  PLUMB_ASSIGN_OR_RETURN(const Value filter, FourDims(c, c.In(0)));
  const Shape of_x = c.ShapeOf(given), size = c.ShapeOf(filter);
  Value x = given;
  if (!images) {
    if (of_x[0] != 1) return Status::CorruptModel("the rows are " + of_x.ToString());
    PLUMB_ASSIGN_OR_RETURN(x, c.Reshape(given, {of_x[1], of_x[2], 1, of_x[3]}));
  }
  GgmlWindow window;
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int> kernel, Narrow({size[3], images ? size[2] : 1}));
  for (size_t i = 0; i < (images ? 2 : 1); ++i) {
    window.kernel[i] = kernel[i];
    window.stride[i] = GgmlInt(c, i);
    window.pad[i] = GgmlInt(c, 2 + i);
    window.dilation[i] = GgmlInt(c, 4 + i);
  }
  if (!images) window.kernel[1] = window.stride[1] = window.dilation[1] = 1, window.pad[1] = 0;
  PLUMB_ASSIGN_OR_RETURN(const WindowAttributes w, AsAttributes(window));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> windows, CountWindows(c, x, w));
  PLUMB_ASSIGN_OR_RETURN(const Value padded, PadSpatial(c, x, w, 0));
  PLUMB_ASSIGN_OR_RETURN(const Value columns, WindowColumns(c, padded, w, 1, windows));
  const int64_t batch = c.ShapeOf(x)[0], channels = c.ShapeOf(x)[1], taps = int64_t{w.kernel[0]} * w.kernel[1];
  PLUMB_ASSIGN_OR_RETURN(const Value split, c.Reshape(columns, {batch, taps, channels, windows[0] * windows[1]}));
  PLUMB_ASSIGN_OR_RETURN(const Value turned, c.Transpose(split, {0, 3, 2, 1}));
  const std::vector<int64_t> dims = images ? std::vector<int64_t>{batch, windows[0], windows[1], channels * taps}
                                           : std::vector<int64_t>{1, batch, windows[1], channels * taps};
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Reshape(turned, dims));
  return SetGgml(c, y);
}

// op_params: kind, sizes, strides, pads; an average counts pads, too.
Status MapGgmlPOOL_2D(NodeContext& c) {
  const auto two = [&c](size_t i) { return std::array<int32_t, 2>{GgmlInt(c, i), GgmlInt(c, i + 1)}; };
  PLUMB_ASSIGN_OR_RETURN(const Value x, FourDims(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value y, Pooled(c, x, {two(1), two(3), two(5)}, true));
  return SetGgml(c, y);
}

Status MapGgmlPOOL_1D(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value x, FourDims(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value y,
                         Pooled(c, x, {{GgmlInt(c, 1), 1}, {GgmlInt(c, 2), 1}, {GgmlInt(c, 3), 0}}, false));
  return SetGgml(c, y);
}

// op_params: how many zeros stand before and behind, of the innermost dim first; those behind follow from the shape.
Status MapGgmlPAD(NodeContext& c) {
  if (GgmlInt(c, 8) != 0) return Status::NotSupported("pads that wrap around are not known");
  PLUMB_ASSIGN_OR_RETURN(const Value x, FourDims(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, FourOfShape(c));
  auto param = std::make_shared<PadV2Param>();
  for (int axis = 0; axis < 4; ++axis) {
    const int32_t before = GgmlInt(c, 2 * static_cast<size_t>(3 - axis));
    const int64_t behind = dims[static_cast<size_t>(axis)] - c.ShapeOf(x)[axis] - before;
    if (before < 0 || behind < 0)
      return Status::CorruptModel(
          fmt::format("pads of {} and {} around dim {} of {}", before, behind, axis, c.ShapeOf(x).ToString()));
    param->begins.push_back(before);
    param->ends.push_back(static_cast<int>(behind));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(OpKind::kPadV2, param, {x}));
  return SetGgml(c, y);
}

Status MapGgmlPAD_REFLECT_1D(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value x, FourDims(c, c.In(0)));
  auto param = std::make_shared<PadV2Param>();
  param->type = kPadReflect;
  param->begins = {0, 0, 0, GgmlInt(c, 0)};
  param->ends = {0, 0, 0, GgmlInt(c, 1)};
  if (param->begins[3] < 0 || param->ends[3] < 0) return Status::CorruptModel("op_params say a pad below 0");
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(OpKind::kPadV2, param, {x}));
  return SetGgml(c, y);
}

// op_params: nearest, bilinear or bicubic (pixels are squares, or with a flag their corners points).
Status MapGgmlUPSCALE(NodeContext& c) {
  constexpr int32_t kKinds = 0xFF, kCorners = 1 << 8;
  const int32_t flags = GgmlInt(c, 0), kind = flags & kKinds;
  PLUMB_ASSIGN_OR_RETURN(Value y, FourDims(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, FourOfShape(c));
  if (c.ShapeOf(y).NumElements() == 0) return Status::CorruptModel("it has no values");
  if (kind == 0 && flags == 0) {
    for (int axis = 0; axis < 4; ++axis) {
      if (c.ShapeOf(y)[axis] == dims[static_cast<size_t>(axis)]) continue;
      PLUMB_ASSIGN_OR_RETURN(y, NearestAlong(c, y, axis, dims[static_cast<size_t>(axis)]));
    }
    return SetGgml(c, y);
  }
  const bool known = (kind == 1 || kind == 2) && (flags & ~(kKinds | kCorners)) == 0;
  if (!known) return Status::NotSupported(fmt::format("mode {} is not known", flags));
  PLUMB_ASSIGN_OR_RETURN(y, Interpolated(c, y, dims, kind == 2, (flags & kCorners) != 0));
  return SetGgml(c, y);
}

// Over channels that lie together, with all of their rows and columns.
Status MapGgmlGROUP_NORM(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value x, FourDims(c, c.In(0)));
  auto param = std::make_shared<GroupNormParam>();
  param->group = GgmlInt(c, 0);
  param->eps = GgmlFloat(c, 1);
  const int64_t channels = c.ShapeOf(x)[1];
  if (param->group < 1) return Status::CorruptModel(fmt::format("op_params say {} groups", param->group));
  if (channels % param->group != 0)
    return Status::NotSupported(fmt::format("{} channels in {} groups are not known", channels, param->group));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(OpKind::kGroupNorm, param, {x}));
  return SetGgml(c, y);
}

// Cosines, then sines of each time at frequencies 1 .. 1 / period, which ggml computes in f32; op_params: width,
// period.
Status MapGgmlTIMESTEP_EMBEDDING(NodeContext& c) {
  const int32_t width = GgmlInt(c, 0), period = GgmlInt(c, 1), half = width / 2;
  const int64_t times = c.ShapeOf(0).NumElements();
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, FourOfShape(c));
  if (width < 2 || period < 1 || dims[3] != width) {
    return Status::CorruptModel(
        fmt::format("op_params say rows of {} and a period of {}, its shape rows of {}", width, period, dims[3]));
  }
  PLUMB_ASSIGN_OR_RETURN(Tensor frequencies, Tensor::Create(DType::kF32, Shape{1, half}));
  const float log_period = std::log(static_cast<float>(period));
  for (int32_t i = 0; i < half; ++i)
    frequencies.data<float>()[i] = std::exp(-log_period * static_cast<float>(i) / static_cast<float>(half));
  PLUMB_ASSIGN_OR_RETURN(const Value column, c.Reshape(c.In(0), {times, 1}));
  PLUMB_ASSIGN_OR_RETURN(const Value angle, c.Binary(OpKind::kMul, column, c.Const(frequencies)));
  PLUMB_ASSIGN_OR_RETURN(const Value cosines, c.Emit(OpKind::kCos, nullptr, {angle}));
  PLUMB_ASSIGN_OR_RETURN(const Value sines, c.Emit(OpKind::kSin, nullptr, {angle}));
  std::vector<Value> parts = {cosines, sines};
  if (width % 2 != 0) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor zeros, Tensor::Zeros(DType::kF32, Shape{times, 1}));
    parts.push_back(c.Const(zeros));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Join(parts, 1));
  PLUMB_ASSIGN_OR_RETURN(const Value four, FourDims(c, y));
  return SetGgml(c, four);
}

// NOLINTEND(readability-identifier-naming)
}  // namespace plumb::onnx
