// SPDX-License-Identifier: Apache-2.0
// PlumbResize: ONNX's Resize in full: any number of dims, separable. Output position o of an axis lies at input
// position
//   half_pixel (o + 1/2) / scale - 1/2        half_pixel_symmetric the same, centred when the output size was rounded
//   pytorch_half_pixel half_pixel, but -1/2 for an output of one element      asymmetric o / scale
//   align_corners o (in - 1) / (scale in - 1), 0 where scale in is 1
//   tf_crop_and_resize roi_begin (in - 1) + o (roi_end - roi_begin) (in - 1) / (scale in - 1), the middle of the roi
//   where
//     scale in is 1; positions outside the input give extrapolation_value
// mode nearest takes one element there (nearest_mode round_prefer_floor, round_prefer_ceil, floor, ceil), linear and
// cubic (cubic_coeff_a) weigh their neighbours; elements outside the input repeat its border, or with exclude_outside
// get no weight. antialias widens the weights by 1 / scale where it shrinks. Sizes: `sizes`, or floor(in * scale) from
// `scales`; keep_aspect_ratio_policy not_larger, not_smaller (with sizes) take one scale for all axes and round sizes
// half up. Lists belong to `axes` (none: every axis); an absent list of numbers is "-", else they stand separated by
// ';'.
#ifndef PLUMB_OP_RESIZE_H_
#define PLUMB_OP_RESIZE_H_

#include "op/core/op.h"

namespace plumb {

struct ResizeParam : ParamBase<ResizeParam> {
  std::string mode = "nearest";
  std::string coordinates = "half_pixel";
  std::string nearest_mode = "round_prefer_floor";
  float cubic_coeff_a = -0.75f;
  bool exclude_outside = false;
  float extrapolation_value = 0;
  bool antialias = false;
  std::string keep_aspect_ratio_policy = "stretch";
  std::vector<int> axes, sizes;
  std::string scales = "-", roi = "-";  // roi: all begins, then all ends
  void Visit(ParamVisitor& v) override;
};

enum class ResizeMode { kNearest, kLinear, kCubic };
enum class ResizeCoordinates {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAsymmetric,
  kAlignCorners,
  kCropAndResize
};
enum class ResizeNearest { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };

struct ResizeAxis {
  int64_t in = 1, out = 1;
  double scale = 1;
  double roi_begin = 0, roi_end = 1;
  bool resized = false;  // false: copied
};

struct ResizeShape {
  ResizeMode mode = ResizeMode::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  ResizeNearest nearest = ResizeNearest::kRoundPreferFloor;
  double cubic_coeff_a = -0.75, extrapolation_value = 0;
  bool exclude_outside = false, antialias = false;
  std::vector<ResizeAxis> axes;  // one per dim
  Shape in, out;
};

Result<ResizeShape> ResolveResize(const Layer& layer, const Shape& in);

// The numbers of "1;0.5;2", and the text of such a list; "-" for none.
Result<std::vector<float>> ParseFloats(const std::string& text);
std::string FormatFloats(const std::vector<float>& values);

}  // namespace plumb

#endif  // PLUMB_OP_RESIZE_H_
