// SPDX-License-Identifier: Apache-2.0
#include "format/onnx/map/convolve_by_product.h"

#include <fmt/core.h>

#include <climits>

#include "format/onnx/map/window_attributes.h"
#include "op/strided_slice.h"

namespace plumb::onnx {
namespace {

// What the tap at `position` of each window reads: [n, c, windows ...].
Result<Value> Tap(NodeContext& c, const Value& x, const WindowAttributes& w, const std::vector<int>& position,
                  const std::vector<int64_t>& windows) {
  auto cut = std::make_shared<StridedSliceV2Param>();
  for (size_t i = 0; i < windows.size(); ++i) {
    cut->axes.push_back(static_cast<int>(i) + 2);
    const int64_t begin = int64_t{position[i]} * w.dilation[i], end = begin + (windows[i] - 1) * w.stride[i] + 1;
    cut->begins.push_back(static_cast<int>(begin));
    cut->ends.push_back(static_cast<int>(end));
    cut->strides.push_back(w.stride[i]);
  }
  return c.Emit(OpKind::kStridedSliceV2, cut, {x});
}

// A filter [o, c / group, taps ...] as [group, o / group, taps * c / group].
Result<Value> Rows(NodeContext& c, const Value& filter, int64_t group) {
  const Shape shape = c.ShapeOf(filter);
  const int64_t taps = shape.CountFrom(2);
  PLUMB_ASSIGN_OR_RETURN(Value rows, c.Reshape(filter, {shape[0], shape[1], taps}));
  if (taps > 1 && shape[1] > 1) {
    PLUMB_ASSIGN_OR_RETURN(rows, c.Transpose(rows, {0, 2, 1}));
  }
  return c.Reshape(rows, {group, shape[0] / group, taps * shape[1]});
}

}  // namespace

Result<std::vector<int64_t>> CountWindows(NodeContext& c, const Value& x, const WindowAttributes& w) {
  const Shape in = c.ShapeOf(x);
  std::vector<int64_t> windows;
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    const int64_t room =
        in[static_cast<int>(i) + 2] + w.begin[i] + w.end[i] - (int64_t{w.kernel[i]} - 1) * w.dilation[i] - 1;
    if (room < 0) return Status::CorruptModel("the window does not fit the input " + in.ToString());
    windows.push_back(room / w.stride[i] + 1);
  }
  return windows;
}

// Of a single image and group a tap's columns lie in one piece, so that nothing copies them twice.
Result<Value> WindowColumns(NodeContext& c, const Value& x, const WindowAttributes& w, int64_t group,
                            const std::vector<int64_t>& windows) {
  const int64_t batch = c.ShapeOf(x)[0], channels = c.ShapeOf(x)[1], count = Shape(windows).NumElements();
  std::vector<int> position(windows.size(), 0);
  std::vector<Value> taps;
  for (bool more = true; more;) {
    PLUMB_ASSIGN_OR_RETURN(const Value tap, Tap(c, x, w, position, windows));
    PLUMB_ASSIGN_OR_RETURN(const Value column, c.Reshape(tap, {batch, group, channels / group, count}));
    taps.push_back(column);
    more = false;
    for (size_t i = position.size(); i-- > 0 && !more;) {
      more = ++position[i] < w.kernel[i];
      if (!more) position[i] = 0;
    }
  }
  return c.Join(taps, 2);
}

Result<Value> ConvolveByProduct(NodeContext& c, const Value& x, const Value& filter, const TapProduct& product) {
  const Shape in = c.ShapeOf(x), weights = c.ShapeOf(filter);
  WindowAttributes w;
  if (in.rank() >= 3 && weights.rank() == in.rank()) {
    PLUMB_ASSIGN_OR_RETURN(
        w, ReadWindow(c, {in.dims().begin() + 2, in.dims().end()}, {weights.dims().begin() + 2, weights.dims().end()}));
  }
  return ConvolveByProduct(c, x, filter, c.Int("group", 1), w, product);
}

Result<Value> ConvolveByProduct(NodeContext& c, const Value& x, const Value& filter, int64_t group,
                                const WindowAttributes& w, const TapProduct& product) {
  const Shape in = c.ShapeOf(x), weights = c.ShapeOf(filter);
  if (in.rank() < 3 || weights.rank() != in.rank() || group < 1 || weights[0] % group != 0 ||
      in[1] != weights[1] * group) {
    return Status::CorruptModel(
        fmt::format("the weights {} with {} groups do not fit the input {}", weights.ToString(), group, in.ToString()));
  }
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> windows, CountWindows(c, x, w));
  if (in.NumElements() > INT_MAX) return Status::NotSupported("an input of " + in.ToString());
  std::vector<int64_t> out = {in[0], weights[0]};
  out.insert(out.end(), windows.begin(), windows.end());
  const std::vector<int> none(w.begin.size(), 0);
  const bool pads = w.begin != none || w.end != none;
  PLUMB_ASSIGN_OR_RETURN(const Value rows, Rows(c, filter, group));
  PLUMB_ASSIGN_OR_RETURN(const Value padded, pads ? PadSpatial(c, x, w, 0) : Result<Value>(x));
  PLUMB_ASSIGN_OR_RETURN(const Value columns, WindowColumns(c, padded, w, group, windows));
  PLUMB_ASSIGN_OR_RETURN(const Value sums, product(rows, columns));
  return c.Reshape(sums, out);
}

}  // namespace plumb::onnx
