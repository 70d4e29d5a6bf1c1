// SPDX-License-Identifier: Apache-2.0
// Separable resampling with a filter whose width grows with the step where pictures shrink ("antialias"), as Pillow has
// it (src/libImaging/Resample.c) and PyTorch took over (ATen/native/cpu/UpSampleKernel.cpp).
#ifndef PLUMB_STAGE_RESAMPLE_H_
#define PLUMB_STAGE_RESAMPLE_H_

#include <cstdint>
#include <vector>

#include "stage/picture.h"

namespace plumb {

struct ResampleFilter {
  double (*weight)(double x);
  double support;  // beyond which the weight is 0, either way
};
extern const ResampleFilter kBoxFilter, kTriangleFilter, kHammingFilter, kCatmullRomFilter, kSharpCubicFilter,
    kLanczosFilter;  // Catmull-Rom: A = -0.5; the sharp cubic: A = -0.75

// The source pixels of a target pixel and their weights, whose sum is 1.
struct ResampleTaps {
  int64_t first = 0;
  std::vector<double> weights;
};
// `antialias`: a filter stretched by the step; else as wide as it is.
std::vector<ResampleTaps> FilterTaps(const ResampleFilter& filter, int64_t from, int64_t to, bool antialias);

// Where the centre of a target pixel lies in the source (resize_torch.cc).
enum class Place { kHalfPixel, kAsymmetric, kCorners };
enum class Method { kLinear, kCubic };
// By formula; neighbours beyond the edge are the edge. `in_float32`: the place is computed so.
std::vector<ResampleTaps> FormulaTaps(Place place, Method method, int64_t from, int64_t to, bool in_float32);

// One pass along rows or columns in float64.
Picture ResampleRows(const Picture& before, const std::vector<ResampleTaps>& taps);
Picture ResampleColumns(const Picture& before, const std::vector<ResampleTaps>& taps);

}  // namespace plumb

#endif  // PLUMB_STAGE_RESAMPLE_H_
