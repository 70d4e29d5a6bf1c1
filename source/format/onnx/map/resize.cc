// SPDX-License-Identifier: Apache-2.0
// Resize, Upsample -> TNN's Upsample, where it is the same to the last tap: nearest with floor of the asymmetric
// position (and every whole factor under half_pixel, where both ways of rounding agree), linear and cubic (A = -0.75)
// at half pixels or aligned corners, the step being in / out. Regions of interest, antialiasing, kept aspect ratios,
// half_pixel_symmetric and aligned corners of a length that is no whole number are PlumbResize; everything else goes
// axis by axis (resize_axis.h).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "format/onnx/map/resize_axis.h"
#include "format/onnx/node_context.h"
#include "op/resize.h"
#include "op/upsample.h"

namespace plumb::onnx {
namespace {

struct Wanted {
  std::vector<int64_t> out;   // one per dim
  std::vector<double> scale;  // one per dim: what was given, or out / in
  bool whole = true;          // every scale is out / in
};

// The sizes from input `sizes`, or from the scales when each of them gives a whole number.
Result<Wanted> WantedSize(NodeContext& c, const std::vector<double>& scales, const std::vector<int64_t>& sizes) {
  const Shape& in = c.ShapeOf(0);
  Wanted wanted;
  wanted.out = in.dims();
  wanted.scale.assign(wanted.out.size(), 1);
  std::vector<int64_t> axes = c.IntList("axes");
  const size_t count = sizes.empty() ? scales.size() : sizes.size();
  if (axes.empty()) {
    for (int i = 0; i < in.rank(); ++i) axes.push_back(i);
  }
  if (count != axes.size())
    return Status::CorruptModel(fmt::format("there are {} sizes or scales for {}", count, in.ToString()));
  for (size_t i = 0; i < count; ++i) {
    PLUMB_ASSIGN_OR_RETURN(const int axis, AxisOf(axes[i], in.rank()));
    int64_t& out = wanted.out[static_cast<size_t>(axis)];
    if (!sizes.empty()) {
      out = sizes[i];
      if (out < 0 || in[axis] == 0)
        return Status::CorruptModel(fmt::format("cannot resize {} to a dim of {}", in.ToString(), out));
      wanted.scale[static_cast<size_t>(axis)] = static_cast<double>(out) / static_cast<double>(in[axis]);
      continue;
    }
    const double exact = static_cast<double>(in[axis]) * scales[i];
    if (!(exact >= 0 && exact < 1e9)) return Status::CorruptModel("the scale " + std::to_string(scales[i]));
    out = static_cast<int64_t>(std::floor(exact + 1e-6 * exact));
    wanted.whole = wanted.whole && std::fabs(exact - static_cast<double>(out)) <= 1e-4;
    wanted.scale[static_cast<size_t>(axis)] = scales[i];
  }
  return wanted;
}

bool WholeFactors(const Shape& in, const std::vector<int64_t>& out) {
  for (int i = 0; i < in.rank(); ++i) {
    if (in[i] == 0 || out[static_cast<size_t>(i)] % in[i] != 0) return false;
  }
  return true;
}

// TNN's mode and alignment, or 0 where TNN has no such resize.
int ModeOf(const NodeContext& c, const ResizeRule& rule, const Shape& in, const Wanted& wanted) {
  const std::vector<int64_t>& out = wanted.out;
  const std::string& coordinates = rule.coordinates;
  if (!wanted.whole || in.rank() < 3 || in.rank() > 4 || out[0] != in[0] || out[1] != in[1]) return 0;
  if (rule.mode == "nearest") {
    const bool same = coordinates == "asymmetric" ? rule.rounding == "floor"
                                                  : coordinates == "half_pixel" &&
                                                        rule.rounding.rfind("round_", 0) == 0 && WholeFactors(in, out);
    return same ? kUpsampleNearest : 0;
  }
  const bool one = out[out.size() - 1] == 1 || out[out.size() - 2] == 1;  // positions differ there
  const bool half = (coordinates == "half_pixel" && !one) || coordinates == "pytorch_half_pixel",
             align = coordinates == "align_corners";
  if (rule.mode == "linear" && (half || align)) return kUpsampleLinear;
  return rule.mode == "cubic" && !one && (half || align) && rule.cubic_a == -0.75 && !rule.exclude_outside
             ? kUpsampleCubic
             : 0;
}

Status Emit(NodeContext& c, const Wanted& wanted, const ResizeRule& rule) {
  const Shape in = c.ShapeOf(0);
  PLUMB_RETURN_IF_ERROR(c.builder().CheckSize(c.DTypeOf(0), Shape(wanted.out)));
  PLUMB_RETURN_IF_ERROR(Narrow(wanted.out).status());
  if (Shape(wanted.out) == in) {
    c.Set(0, c.In(0));
    return Status::Ok();
  }
  auto param = std::make_shared<UpsampleParam>();
  param->mode = ModeOf(c, rule, in, wanted);
  if (param->mode == 0) {
    PLUMB_ASSIGN_OR_RETURN(const Value y, ResizeByAxis(c, c.In(0), wanted.out, wanted.scale, rule));
    c.Set(0, y);
    return Status::Ok();
  }
  param->align_corners = rule.coordinates == "align_corners" ? 1 : 0;
  const bool flat = in.rank() == 3;
  param->out_w = static_cast<int>(wanted.out.back());
  param->out_h = flat ? 1 : static_cast<int>(wanted.out[2]);
  param->scale_w = static_cast<float>(wanted.out.back()) / static_cast<float>(in[in.rank() - 1]);
  param->scale_h = flat ? 1 : static_cast<float>(wanted.out[2]) / static_cast<float>(in[2]);
  Value x = c.In(0);
  if (flat) {
    PLUMB_ASSIGN_OR_RETURN(x, c.Reshape(x, {in[0], in[1], 1, in[2]}));
  }
  PLUMB_ASSIGN_OR_RETURN(Value y, c.Emit(OpKind::kUpsample, param, {x}));
  if (flat) {
    PLUMB_ASSIGN_OR_RETURN(y, c.Reshape(y, wanted.out));
  }
  c.Set(0, y);
  return Status::Ok();
}

std::vector<double> Doubles(const Tensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) values.push_back(tensor.ValueAt(i));
  return values;
}

// The node as it stands.
Result<std::shared_ptr<ResizeParam>> WholeParam(NodeContext& c, const std::vector<double>& scales,
                                                const std::vector<int64_t>& sizes, const std::string& coordinates) {
  auto p = std::make_shared<ResizeParam>();
  p->mode = c.Text("mode", "nearest");
  p->coordinates = coordinates;
  p->nearest_mode = c.Text("nearest_mode", "round_prefer_floor");
  p->cubic_coeff_a = c.Float("cubic_coeff_a", -0.75f);
  p->exclude_outside = c.Int("exclude_outside", 0) != 0;
  p->extrapolation_value = c.Float("extrapolation_value", 0);
  p->antialias = c.Int("antialias", 0) != 0;
  p->keep_aspect_ratio_policy = c.Text("keep_aspect_ratio_policy", "stretch");
  PLUMB_ASSIGN_OR_RETURN(p->axes, Narrow(c.IntList("axes")));
  PLUMB_ASSIGN_OR_RETURN(p->sizes, Narrow(sizes));
  p->scales = FormatFloats({scales.begin(), scales.end()});
  if (coordinates == "tf_crop_and_resize") {
    PLUMB_ASSIGN_OR_RETURN(const Tensor roi, c.Constant(1, "the region of interest"));
    std::vector<float> numbers;
    for (int64_t i = 0; i < roi.NumElements(); ++i) numbers.push_back(static_cast<float>(roi.ValueAt(i)));
    p->roi = FormatFloats(numbers);
  }
  return p;
}

// What neither Upsample nor the axes one by one can say.
Status EmitWhole(NodeContext& c, const std::vector<double>& scales, const std::vector<int64_t>& sizes,
                 const std::string& coordinates) {
  PLUMB_ASSIGN_OR_RETURN(const auto param, WholeParam(c, scales, sizes, coordinates));
  return c.EmitOutput(OpKind::kPlumbResize, param, {c.In(0)});
}

// The factors and sizes that double what follows batch and channels, or the node's axes.
std::vector<int64_t> Factors(const NodeContext& c) {
  const size_t axes = c.IntList("axes").size();
  std::vector<int64_t> factors(axes > 0 ? axes : static_cast<size_t>(c.Rank(0)), 2);
  for (size_t i = 0; axes == 0 && i < std::min<size_t>(factors.size(), 2); ++i) factors[i] = 1;
  return factors;
}

std::vector<int64_t> TwiceAsLarge(const NodeContext& c) {
  const std::vector<int64_t> axes = c.IntList("axes");
  std::vector<int64_t> sizes = Factors(c);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Result<int> axis = AxisOf(axes.empty() ? static_cast<int64_t>(i) : axes[i], c.Rank(0));
    if (axis.ok()) sizes[i] *= c.ShapeOf(0)[*axis];
  }
  return sizes;
}

}  // namespace

Status MapResize(NodeContext& c) {
  const bool old = c.opset() < 11;
  const size_t scales_at = old ? 1 : 2;
  std::vector<double> scales;
  std::vector<int64_t> sizes;
  if (!old && c.Has(3)) {
    if (c.Known(3) == nullptr) c.SayWhatSuits(3, TwiceAsLarge(c));
    PLUMB_ASSIGN_OR_RETURN(sizes, c.Ints(3, "the sizes"));
  }
  if (sizes.empty()) {
    if (c.Known(scales_at) == nullptr) c.SayWhatSuits(scales_at, Factors(c));
    PLUMB_ASSIGN_OR_RETURN(const Tensor given, c.Constant(scales_at, "the scales"));
    scales = Doubles(given);
  }
  const std::string coordinates = c.Text("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  const bool stretches = c.Text("keep_aspect_ratio_policy", "stretch") == "stretch";
  if (!stretches || coordinates == "tf_crop_and_resize" || coordinates == "half_pixel_symmetric")
    return EmitWhole(c, scales, sizes, coordinates);
  PLUMB_ASSIGN_OR_RETURN(const Wanted wanted, WantedSize(c, scales, sizes));
  bool shrinks = false;
  for (int i = 0; i < c.Rank(0); ++i) shrinks = shrinks || wanted.out[static_cast<size_t>(i)] < c.ShapeOf(0)[i];
  // Aligned corners count in the length scale * in, also where it is no whole number.
  const bool fractional = coordinates == "align_corners" && !wanted.whole;
  if (fractional || (c.Int("antialias", 0) != 0 && shrinks)) return EmitWhole(c, scales, sizes, coordinates);
  if (old)
    c.Warn("AL02", fmt::format("Resize of opset {} does not say where its pixels lie; export with opset 11 or newer",
                               c.opset()));
  else if (Shape(wanted.out) != c.ShapeOf(0))
    c.Warn("AL01", fmt::format("resizes with mode {}, coordinates {}, rounding {}", c.Text("mode", "nearest"),
                               coordinates, c.Text("nearest_mode", "round_prefer_floor")));
  ResizeRule rule;
  rule.mode = c.Text("mode", "nearest");
  rule.coordinates = coordinates;
  rule.rounding = c.Text("nearest_mode", old ? "floor" : "round_prefer_floor");
  rule.cubic_a = static_cast<double>(c.Float("cubic_coeff_a", -0.75f));
  rule.exclude_outside = c.Int("exclude_outside", 0) != 0;
  const size_t before = c.builder().NumLayers();
  PLUMB_RETURN_IF_ERROR(Emit(c, wanted, rule));
  // Products with exact weights know nothing of how positions are rounded, which decides how far another kernel may be
  // off; nor do picked elements of what rule picked them.
  const bool nearest = rule.mode == "nearest" && ModeOf(c, rule, c.ShapeOf(0), wanted) == 0;
  const bool sayable = coordinates != "tf_half_pixel_for_nn";
  if (!old && sayable && c.builder().NumLayers() > before + (nearest ? 0 : 1)) {
    PLUMB_ASSIGN_OR_RETURN(const auto param, WholeParam(c, scales, sizes, coordinates));
    c.Whole({OpKind::kPlumbResize, param, {c.In(0)}, {}, 1}, {c.outputs()[0]});
  }
  return Status::Ok();
}

Status MapUpsample(NodeContext& c) {
  std::vector<double> scales;
  for (const float scale : c.FloatList("scales")) scales.push_back(static_cast<double>(scale));
  if (scales.empty()) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor given, c.Constant(1, "the scales"));
    scales = Doubles(given);
  }
  PLUMB_ASSIGN_OR_RETURN(const Wanted wanted, WantedSize(c, scales, {}));
  c.Warn("AL02", "Upsample does not say where its pixels lie; export with opset 11 or newer, which writes Resize");
  ResizeRule rule;
  rule.mode = c.Text("mode", "nearest");
  rule.coordinates = "asymmetric";
  rule.rounding = "floor";
  return Emit(c, wanted, rule);
}

}  // namespace plumb::onnx
