// SPDX-License-Identifier: Apache-2.0
#include "stage/resample.h"

#include <algorithm>
#include <cmath>

namespace plumb {
namespace {

constexpr double kPi = 3.14159265358979323846;

double BoxWeight(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

double TriangleWeight(double x) {
  x = std::fabs(x);
  return x < 1 ? 1 - x : 0;
}

double HammingWeight(double x) {
  x = std::fabs(x);
  if (x == 0) return 1;
  if (x >= 1) return 0;
  x *= kPi;
  return std::sin(x) / x * (static_cast<double>(0.54f) + static_cast<double>(0.46f) * std::cos(x));  // floats there
}

// Keys, Cubic convolution interpolation for digital image processing (1981).
double KeysWeight(double x, double sharpness) {
  x = std::fabs(x);
  if (x < 1) return ((sharpness + 2) * x - (sharpness + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * sharpness;
  return 0;
}

double CatmullRomWeight(double x) { return KeysWeight(x, -0.5); }
double SharpCubicWeight(double x) { return KeysWeight(x, -0.75); }

double Sinc(double x) { return x == 0 ? 1 : std::sin(x * kPi) / (x * kPi); }

double LanczosWeight(double x) { return -3 <= x && x < 3 ? Sinc(x) * Sinc(x / 3) : 0; }

}  // namespace

const ResampleFilter kBoxFilter = {BoxWeight, 0.5};
const ResampleFilter kTriangleFilter = {TriangleWeight, 1};
const ResampleFilter kHammingFilter = {HammingWeight, 1};
const ResampleFilter kCatmullRomFilter = {CatmullRomWeight, 2};
const ResampleFilter kSharpCubicFilter = {SharpCubicWeight, 2};
const ResampleFilter kLanczosFilter = {LanczosWeight, 3};

std::vector<ResampleTaps> FilterTaps(const ResampleFilter& filter, int64_t from, int64_t to, bool antialias) {
  std::vector<ResampleTaps> all;
  const double step = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = antialias ? std::max(step, 1.0) : 1.0;
  const double support = filter.support * stretch;
  for (int64_t x = 0; x < to; ++x) {
    const double center = (static_cast<double>(x) + 0.5) * step;
    ResampleTaps taps;
    taps.first = std::max<int64_t>(0, static_cast<int64_t>(center - support + 0.5));
    const int64_t end = std::min(from, static_cast<int64_t>(center + support + 0.5));
    double sum = 0;
    for (int64_t i = taps.first; i < end; ++i) {
      taps.weights.push_back(filter.weight((static_cast<double>(i) - center + 0.5) * (1.0 / stretch)));
      sum += taps.weights.back();
    }
    for (double& weight : taps.weights) weight = sum != 0 ? weight / sum : weight;
    all.push_back(std::move(taps));
  }
  return all;
}

namespace {

template <class Real>
double SourceOfPixel(Place place, int64_t x, int64_t from, int64_t to) {
  const auto pixel = static_cast<Real>(x), source = static_cast<Real>(from), wanted = static_cast<Real>(to);
  const auto half = static_cast<Real>(0.5);
  switch (place) {
    case Place::kHalfPixel: return static_cast<double>((pixel + half) * (source / wanted) - half);
    case Place::kAsymmetric: return static_cast<double>(pixel * (source / wanted));
    case Place::kCorners: return to > 1 ? static_cast<double>(pixel * ((source - 1) / (wanted - 1))) : 0;
  }
  return 0;
}

}  // namespace

std::vector<ResampleTaps> FormulaTaps(Place place, Method method, int64_t from, int64_t to, bool in_float32) {
  std::vector<ResampleTaps> all;
  for (int64_t x = 0; x < to; ++x) {
    double source = in_float32 ? SourceOfPixel<float>(place, x, from, to) : SourceOfPixel<double>(place, x, from, to);
    if (method == Method::kLinear) source = std::min(std::max(source, 0.0), static_cast<double>(from - 1));
    const auto floor = static_cast<int64_t>(std::floor(source));
    const double rest = source - static_cast<double>(floor);
    const int64_t begin = method == Method::kLinear ? floor : floor - 1;
    const int64_t end = method == Method::kLinear ? floor + 2 : floor + 3;
    ResampleTaps taps;
    taps.first = std::min(std::max<int64_t>(begin, 0), from - 1);
    const int64_t last = std::min(std::max<int64_t>(end - 1, 0), from - 1);
    taps.weights.assign(static_cast<size_t>(last - taps.first + 1), 0.0);
    const ResampleFilter& filter = method == Method::kLinear ? kTriangleFilter : kSharpCubicFilter;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t within = std::min(std::max(i, taps.first), last);
      taps.weights[static_cast<size_t>(within - taps.first)] += filter.weight(static_cast<double>(i - floor) - rest);
    }
    all.push_back(std::move(taps));
  }
  return all;
}

Picture ResampleRows(const Picture& before, const std::vector<ResampleTaps>& taps) {
  const int64_t channels = before.channels;
  Picture after = MakePicture(before.height, static_cast<int64_t>(taps.size()), channels, before.bytes);
  for (int64_t h = 0; h < before.height; ++h) {
    float* to = after.Row(h);
    for (const ResampleTaps& tap : taps) {
      for (int64_t c = 0; c < channels; ++c) {
        const float* from = before.Row(h) + tap.first * channels + c;
        double sum = 0;
        for (size_t k = 0; k < tap.weights.size(); ++k) sum += tap.weights[k] * static_cast<double>(from[k * channels]);
        *to++ = static_cast<float>(sum);
      }
    }
  }
  return after;
}

Picture ResampleColumns(const Picture& before, const std::vector<ResampleTaps>& taps) {
  const int64_t row_values = before.width * before.channels;
  Picture after = MakePicture(static_cast<int64_t>(taps.size()), before.width, before.channels, before.bytes);
  std::vector<double> sums(static_cast<size_t>(row_values));
  for (int64_t h = 0; h < after.height; ++h) {
    const ResampleTaps& tap = taps[static_cast<size_t>(h)];
    std::fill(sums.begin(), sums.end(), 0.0);
    for (size_t k = 0; k < tap.weights.size(); ++k) {
      const float* from = before.Row(tap.first + static_cast<int64_t>(k));
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += tap.weights[k] * static_cast<double>(from[i]);
    }
    std::transform(sums.begin(), sums.end(), after.Row(h), [](double value) { return static_cast<float>(value); });
  }
  return after;
}

}  // namespace plumb
