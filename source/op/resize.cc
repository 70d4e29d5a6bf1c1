// SPDX-License-Identifier: Apache-2.0
#include "op/resize.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "base/from_chars.h"

namespace plumb {
namespace {

template <class E>
struct Name {
  const char* name;
  E value;
};

template <class E, size_t n>
Status Find(const Name<E> (&names)[n], const char* field, const std::string& text, E* value) {
  std::string known;
  for (const Name<E>& entry : names) {
    if (text == entry.name) {
      *value = entry.value;
      return Status::Ok();
    }
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  return Status::InvalidArgument(fmt::format("{} '{}' is none of {}", field, text, known));
}

const Name<ResizeMode> kModes[] = {
    {"nearest", ResizeMode::kNearest}, {"linear", ResizeMode::kLinear}, {"cubic", ResizeMode::kCubic}};
const Name<ResizeCoordinates> kCoordinates[] = {{"half_pixel", ResizeCoordinates::kHalfPixel},
                                                {"half_pixel_symmetric", ResizeCoordinates::kHalfPixelSymmetric},
                                                {"pytorch_half_pixel", ResizeCoordinates::kPytorchHalfPixel},
                                                {"asymmetric", ResizeCoordinates::kAsymmetric},
                                                {"align_corners", ResizeCoordinates::kAlignCorners},
                                                {"tf_crop_and_resize", ResizeCoordinates::kCropAndResize}};
const Name<ResizeNearest> kNearest[] = {{"round_prefer_floor", ResizeNearest::kRoundPreferFloor},
                                        {"round_prefer_ceil", ResizeNearest::kRoundPreferCeil},
                                        {"floor", ResizeNearest::kFloor},
                                        {"ceil", ResizeNearest::kCeil}};

// Which entry of the lists belongs to each dim; -1: none.
Result<std::vector<int>> EntryOfDim(const ResizeParam& p, int rank) {
  std::vector<int> entries(static_cast<size_t>(rank), -1);
  for (size_t i = 0; i < p.axes.size(); ++i) {
    PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axes[i], rank));
    if (entries[static_cast<size_t>(axis)] >= 0) {
      return Status::InvalidArgument(fmt::format("axis {} is named twice", axis));
    }
    entries[static_cast<size_t>(axis)] = static_cast<int>(i);
  }
  for (int d = 0; p.axes.empty() && d < rank; ++d) entries[static_cast<size_t>(d)] = d;
  return entries;
}

Status SetSizes(const ResizeParam& p, const std::vector<int>& entries, ResizeShape* s) {
  const bool stretch = p.keep_aspect_ratio_policy == "stretch", larger = p.keep_aspect_ratio_policy == "not_smaller";
  if (!stretch && !larger && p.keep_aspect_ratio_policy != "not_larger") {
    return Status::InvalidArgument(fmt::format(
        "keep_aspect_ratio_policy '{}' is none of stretch, not_larger, not_smaller", p.keep_aspect_ratio_policy));
  }
  double common = 0;
  for (size_t d = 0; d < entries.size(); ++d) {
    if (entries[d] < 0) continue;
    ResizeAxis& axis = s->axes[d];
    axis.resized = true;
    axis.out = p.sizes[static_cast<size_t>(entries[d])];
    axis.scale = static_cast<double>(axis.out) / static_cast<double>(axis.in);
    const bool take = common == 0 || (larger ? axis.scale > common : axis.scale < common);
    if (take) common = axis.scale;
  }
  for (ResizeAxis& axis : s->axes) {
    if (stretch || !axis.resized) continue;
    axis.scale = common;
    axis.out = static_cast<int64_t>(std::floor(common * static_cast<double>(axis.in) + 0.5));
  }
  return Status::Ok();
}

Status SetScales(const std::vector<float>& scales, const std::vector<int>& entries, ResizeShape* s) {
  for (size_t d = 0; d < entries.size(); ++d) {
    if (entries[d] < 0) continue;
    ResizeAxis& axis = s->axes[d];
    axis.scale = static_cast<double>(scales[static_cast<size_t>(entries[d])]);
    if (!(axis.scale > 0)) return Status::InvalidArgument(fmt::format("scale {} is not positive", axis.scale));
    const double out = std::floor(static_cast<double>(axis.in) * axis.scale);
    if (!(out <= 0x1p40)) return Status::InvalidArgument(fmt::format("scale {} is too large", axis.scale));
    axis.resized = true;
    axis.out = static_cast<int64_t>(out);
  }
  return Status::Ok();
}

Status SetRoi(const std::vector<float>& roi, const std::vector<int>& entries, size_t count, ResizeShape* s) {
  if (roi.size() != 2 * count) {
    return Status::InvalidArgument(
        fmt::format("tf_crop_and_resize expects {} roi numbers, found {}", 2 * count, roi.size()));
  }
  for (size_t d = 0; d < entries.size(); ++d) {
    if (entries[d] < 0) continue;
    s->axes[d].roi_begin = static_cast<double>(roi[static_cast<size_t>(entries[d])]);
    s->axes[d].roi_end = static_cast<double>(roi[static_cast<size_t>(entries[d]) + count]);
  }
  return Status::Ok();
}

// Axes that keep their size and hit every element need no arithmetic.
bool Changes(const ResizeShape& s, const ResizeAxis& axis) {
  if (!axis.resized) return false;
  const bool crops = s.coordinates == ResizeCoordinates::kCropAndResize && (axis.roi_begin != 0 || axis.roi_end != 1);
  return crops || axis.scale != 1;
}

Status InferResize(ShapeContext& context) {
  PLUMB_ASSIGN_OR_RETURN(const ResizeShape s, ResolveResize(context.layer, context.shape(0)));
  const DType dtype = context.inputs[0].dtype;
  if (s.mode != ResizeMode::kNearest) PLUMB_RETURN_IF_ERROR(InferFloatSameAsInput(context));
  if (s.coordinates == ResizeCoordinates::kCropAndResize) PLUMB_RETURN_IF_ERROR(InferFloatSameAsInput(context));
  context.SetAll(dtype, s.out);
  return Status::Ok();
}

}  // namespace

void ResizeParam::Visit(ParamVisitor& v) {
  v.Text("mode", mode);
  v.Text("coordinates", coordinates);
  v.Text("nearest_mode", nearest_mode);
  v.Float("cubic_coeff_a", cubic_coeff_a);
  v.Bool("exclude_outside", exclude_outside);
  v.Float("extrapolation_value", extrapolation_value);
  v.Bool("antialias", antialias);
  v.Text("keep_aspect_ratio_policy", keep_aspect_ratio_policy);
  v.Counted("axes", axes);
  v.Counted("sizes", sizes);
  v.Text("scales", scales);
  v.Text("roi", roi);
}

Result<std::vector<float>> ParseFloats(const std::string& text) {
  std::vector<float> values;
  if (text == "-") return values;
  const char* at = text.data();
  const char* end = at + text.size();
  while (true) {
    float value = 0;
    const auto [next, error] = FromChars(at, end, &value);
    if (error != std::errc() || !std::isfinite(value) || (next != end && *next != ';')) {
      return Status::InvalidArgument(fmt::format("'{}' is no list of numbers separated by ';'", text));
    }
    values.push_back(value);
    if (next == end) return values;
    at = next + 1;
  }
}

std::string FormatFloats(const std::vector<float>& values) {
  if (values.empty()) return "-";
  std::string text;
  for (const float value : values) {
    char buffer[64];
    const auto written = std::to_chars(buffer, buffer + sizeof(buffer), value);
    text += (text.empty() ? "" : ";") + std::string(buffer, written.ptr);
  }
  return text;
}

Result<ResizeShape> ResolveResize(const Layer& layer, const Shape& in) {
  const auto& p = ParamOf<ResizeParam>(layer);
  ResizeShape s;
  PLUMB_RETURN_IF_ERROR(Find(kModes, "mode", p.mode, &s.mode));
  PLUMB_RETURN_IF_ERROR(Find(kCoordinates, "coordinates", p.coordinates, &s.coordinates));
  PLUMB_RETURN_IF_ERROR(Find(kNearest, "nearest_mode", p.nearest_mode, &s.nearest));
  s.cubic_coeff_a = static_cast<double>(p.cubic_coeff_a);
  s.extrapolation_value = static_cast<double>(p.extrapolation_value);
  s.exclude_outside = p.exclude_outside;
  s.antialias = p.antialias && s.mode != ResizeMode::kNearest;
  s.in = s.out = in;
  for (const int64_t dim : in.dims()) s.axes.push_back({dim, dim});
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int> entries, EntryOfDim(p, in.rank()));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<float> scales, ParseFloats(p.scales));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<float> roi, ParseFloats(p.roi));
  const size_t count = p.axes.empty() ? entries.size() : p.axes.size();
  if (p.sizes.empty() == scales.empty() || p.sizes.size() + scales.size() != count) {
    return Status::InvalidArgument(
        fmt::format("expects {} sizes or scales, found {} sizes and {} scales", count, p.sizes.size(), scales.size()));
  }
  PLUMB_RETURN_IF_ERROR(scales.empty() ? SetSizes(p, entries, &s) : SetScales(scales, entries, &s));
  if (s.coordinates == ResizeCoordinates::kCropAndResize) PLUMB_RETURN_IF_ERROR(SetRoi(roi, entries, count, &s));
  for (size_t d = 0; d < s.axes.size(); ++d) {
    ResizeAxis& axis = s.axes[d];
    axis.resized = Changes(s, axis);
    s.out.dims()[d] = axis.out;
    if (axis.out < 0 || (axis.out > 0 && axis.in == 0)) {
      return Status::InvalidArgument(fmt::format("cannot resize dim {} of {} to {}", d, in.ToString(), axis.out));
    }
  }
  PLUMB_RETURN_IF_ERROR(s.out.Validate());
  return s;
}

OpDef DefinePlumbResize() {
  OpDef op;
  op.make_param = MakeParam<ResizeParam>;
  op.infer = InferResize;
  return op;
}

}  // namespace plumb
