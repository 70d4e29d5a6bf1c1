// SPDX-License-Identifier: Apache-2.0
#include "format/onnx/map/resize_axis.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "op/gather.h"

namespace plumb::onnx {
namespace {

struct Axis {
  int64_t in, out;
  double scale;
};

// Where output position o lies in the input.
Result<double> PositionOf(const ResizeRule& rule, const Axis& axis, int64_t o) {
  const auto position = static_cast<double>(o), last = static_cast<double>(axis.in - 1);
  const std::string& how = rule.coordinates;
  if (how == "half_pixel") return (position + 0.5) / axis.scale - 0.5;
  if (how == "pytorch_half_pixel") return axis.out > 1 ? (position + 0.5) / axis.scale - 0.5 : 0.0;
  if (how == "asymmetric") return position / axis.scale;
  if (how == "tf_half_pixel_for_nn") return (position + 0.5) / axis.scale;
  if (how == "align_corners") return axis.out > 1 ? position * last / static_cast<double>(axis.out - 1) : 0.0;
  return Status::NotSupported("coordinates " + how);
}

Result<int64_t> Rounded(const std::string& rounding, double x) {
  if (rounding == "floor") return static_cast<int64_t>(std::floor(x));
  if (rounding == "ceil") return static_cast<int64_t>(std::ceil(x));
  if (rounding == "round_prefer_floor") return static_cast<int64_t>(std::ceil(x - 0.5));
  if (rounding == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + 0.5));
  return Status::NotSupported("rounding " + rounding);
}

int64_t Clamped(int64_t i, int64_t in) { return std::min(std::max<int64_t>(i, 0), in - 1); }

Result<Value> NearestAxis(NodeContext& c, const Value& x, int d, const Axis& axis, const ResizeRule& rule) {
  PLUMB_RETURN_IF_ERROR(c.builder().Reserve(DType::kI64, Shape{axis.out}));
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DType::kI64, Shape{axis.out}));
  for (int64_t o = 0; o < axis.out; ++o) {
    PLUMB_ASSIGN_OR_RETURN(const double position, PositionOf(rule, axis, o));
    PLUMB_ASSIGN_OR_RETURN(const int64_t i, Rounded(rule.rounding, position));
    tensor.data<int64_t>()[o] = Clamped(i, axis.in);
  }
  auto param = std::make_shared<GatherParam>();
  param->axis = d;
  PLUMB_ASSIGN_OR_RETURN(Value y, c.Emit(OpKind::kGather, param, {x}, {{"indices", tensor}}));
  y.type = x.type;
  return y;
}

// The weights of the taps floor(x) + first ...
std::vector<double> TapsResizeAxis(const ResizeRule& rule, double fraction) {
  if (rule.mode == "linear") return {1 - fraction, fraction};
  const double a = rule.cubic_a;
  const auto near = [a](double t) { return ((a + 2) * t - (a + 3)) * t * t + 1; };
  const auto far = [a](double t) { return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a; };
  return {far(fraction + 1), near(fraction), near(1 - fraction), far(2 - fraction)};
}

// [out, in]
Result<Tensor> WeightsOfResizeAxis(NodeContext& c, const Axis& axis, const ResizeRule& rule) {
  const Shape shape{axis.out, axis.in};
  PLUMB_RETURN_IF_ERROR(c.builder().Reserve(DType::kF64, shape));
  PLUMB_ASSIGN_OR_RETURN(Tensor weights, Tensor::Zeros(DType::kF64, shape));
  const int64_t first = rule.mode == "linear" ? 0 : -1;
  for (int64_t o = 0; o < axis.out; ++o) {
    PLUMB_ASSIGN_OR_RETURN(const double position, PositionOf(rule, axis, o));
    const double floor = std::floor(position);
    const std::vector<double> taps = TapsResizeAxis(rule, position - floor);
    double* row = weights.data<double>() + o * axis.in;
    double sum = 0;
    for (size_t k = 0; k < taps.size(); ++k) {
      const int64_t i = static_cast<int64_t>(floor) + first + static_cast<int64_t>(k);
      if (rule.exclude_outside && (i < 0 || i >= axis.in)) continue;
      row[Clamped(i, axis.in)] += taps[k];
      sum += taps[k];
    }
    for (int64_t i = 0; rule.exclude_outside && i < axis.in; ++i) row[i] /= sum;
  }
  return weights.ConvertedTo(DType::kF32);
}

// y = W x along dim d, which is brought to the second last place.
Result<Value> WeightedAxis(NodeContext& c, const Value& x, int d, const Axis& axis, const ResizeRule& rule) {
  const Shape in = c.ShapeOf(x);
  if (in.NumElements() == 0) return Status::NotSupported("an empty input");
  PLUMB_ASSIGN_OR_RETURN(const Tensor weights, WeightsOfResizeAxis(c, axis, rule));
  PLUMB_ASSIGN_OR_RETURN(const Value flat, c.Reshape(x, {in.Count(0, d), axis.in, in.CountFrom(d + 1)}));
  PLUMB_ASSIGN_OR_RETURN(const Value product, c.Emit(OpKind::kMatMul, nullptr, {c.Const(weights), flat}));
  std::vector<int64_t> dims = in.dims();
  dims[static_cast<size_t>(d)] = axis.out;
  return c.Reshape(product, dims);
}

}  // namespace

Result<Value> ResizeByAxis(NodeContext& c, const Value& x, const std::vector<int64_t>& out,
                           const std::vector<double>& scale, const ResizeRule& rule) {
  if (rule.mode != "nearest" && rule.mode != "linear" && rule.mode != "cubic")
    return Status::NotSupported(fmt::format("mode '{}'", rule.mode));
  if (rule.mode != "nearest" && c.builder().Info(x).dtype != DType::kF32)
    return Status::NotSupported(fmt::format("mode {} on other than f32", rule.mode));
  const Shape in = c.ShapeOf(x);
  Value y = x;
  for (int d = 0; d < in.rank(); ++d) {
    const auto i = static_cast<size_t>(d);
    Axis axis{in[d], out[i], scale[i]};
    if (axis.in == axis.out && axis.scale == 1) continue;
    if (axis.in < 1 || axis.out < 1 || !(axis.scale > 0))
      return Status::CorruptModel(fmt::format("cannot resize a dim of {} to {}", axis.in, axis.out));
    Shape between = c.ShapeOf(y);
    between[d] = axis.out;
    PLUMB_RETURN_IF_ERROR(c.builder().CheckSize(c.builder().Info(y).dtype, between));
    PLUMB_ASSIGN_OR_RETURN(
        y, rule.mode == "nearest" ? NearestAxis(c, y, d, axis, rule) : WeightedAxis(c, y, d, axis, rule));
  }
  return y;
}

}  // namespace plumb::onnx
