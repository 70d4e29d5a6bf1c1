// SPDX-License-Identifier: Apache-2.0
// Resizes of TensorFlow and TFLite that no other library has:
//   TFLite on uint8     weights of 10 bits (reference_ops/resize_bilinear.h); by XNNPACK, its default, of 11
//   bicubic             a table of 1024 steps; A = -0.75, or -0.5 on pixel centres, where weights beyond the edge are
//                       left out (core/kernels/image/resize_bicubic_op.cc)
//   area                the exact share of each pixel (resize_area_op.cc)
//   lanczos3            with antialias, in floats
#include <algorithm>
#include <cmath>

#include "stage/resample.h"

namespace plumb {
namespace {

struct TenBits {
  int64_t place = 0, low = 0, high = 0;
};

TenBits TfliteSource(int64_t x, int64_t from, int64_t to, Place place) {
  const bool corners = place == Place::kCorners && to > 1;
  const int64_t step =
      corners ? ((int64_t{1024} * (from - 1)) + (to - 1) / 2) / (to - 1) : ((int64_t{1024} * from) + to / 2) / to;
  TenBits source;
  source.place = place == Place::kHalfPixel ? x * step + step / 2 - 512 : x * step;
  source.low = std::max<int64_t>(source.place / 1024, 0);
  source.high = std::min((source.place + 1023) / 1024, from - 1);
  return source;
}

std::optional<Picture> TfliteBytes(const Picture& before, const PictureTarget& target, Place place) {
  if (before.channels != target.channels || !before.bytes) return std::nullopt;
  Picture after = MakePicture(target.height, target.width, before.channels, true);
  for (int64_t h = 0; h < target.height; ++h) {
    const TenBits y = TfliteSource(h, before.height, target.height, place);
    for (int64_t w = 0; w < target.width; ++w) {
      const TenBits x = TfliteSource(w, before.width, target.width, place);
      const int64_t down = y.place - 1024 * y.low, right = x.place - 1024 * x.low;
      for (int64_t c = 0; c < before.channels; ++c) {
        const auto at = [&](int64_t row, int64_t column) {
          return static_cast<int64_t>(before.Row(row)[std::max<int64_t>(column, 0) * before.channels + c]);
        };
        const int64_t low = std::min(x.low, before.width - 1), top = std::min(y.low, before.height - 1);
        const int64_t bottom = std::max<int64_t>(y.high, 0);
        const int64_t sum = at(top, low) * (1024 - down) * (1024 - right) + at(bottom, low) * down * (1024 - right) +
                            at(top, x.high) * (1024 - down) * right + at(bottom, x.high) * down * right;
        const int64_t value = (sum + (int64_t{1} << 19)) / (int64_t{1} << 20);
        after.Row(h)[w * before.channels + c] = static_cast<float>(std::min<int64_t>(255, std::max<int64_t>(0, value)));
      }
    }
  }
  return after;
}

// A place in float32, as all of TensorFlow's kernels compute it.
float TfPlace(Place place, int64_t x, int64_t from, int64_t to) {
  const bool corners = place == Place::kCorners && to > 1;
  const float scale = corners ? static_cast<float>(from - 1) / static_cast<float>(to - 1)
                              : static_cast<float>(from) / static_cast<float>(to);
  const auto at = static_cast<float>(x);
  return place == Place::kHalfPixel ? (at + 0.5f) * scale - 0.5f : at * scale;
}

struct ElevenBits {
  int64_t low = 0, high = 0, weight = 0;
};
ElevenBits XnnpackSource(int64_t x, int64_t from, int64_t to, Place place) {
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  const float place_of_x =
      place == Place::kHalfPixel ? static_cast<float>(x) * scale + (0.5f * scale - 0.5f) : TfPlace(place, x, from, to);
  const float at = std::min(std::max(place_of_x, 0.0f), static_cast<float>(from - 1));
  ElevenBits source;
  source.low = static_cast<int64_t>(at);
  source.high = std::min(source.low + 1, from - 1);
  source.weight = std::lrint((at - static_cast<float>(source.low)) * 2048.0f);
  return source;
}

std::optional<Picture> XnnpackBytes(const Picture& before, const PictureTarget& target, Place place) {
  if (before.channels != target.channels || !before.bytes) return std::nullopt;
  Picture after = MakePicture(target.height, target.width, before.channels, true);
  for (int64_t h = 0; h < target.height; ++h) {
    const ElevenBits y = XnnpackSource(h, before.height, target.height, place);
    const float *top = before.Row(y.low), *bottom = before.Row(y.high);
    for (int64_t w = 0; w < target.width; ++w) {
      const ElevenBits x = XnnpackSource(w, before.width, target.width, place);
      for (int64_t c = 0; c < before.channels; ++c) {
        const int64_t left = x.low * before.channels + c, right = x.high * before.channels + c;
        const auto along = [&](const float* row) {
          const auto first = static_cast<int64_t>(row[left]), second = static_cast<int64_t>(row[right]);
          return first * 2048 + (second - first) * x.weight;
        };
        const int64_t upper = along(top), lower = along(bottom);
        const int64_t sum = upper * 2048 + (lower - upper) * y.weight + (int64_t{1} << 21);
        after.Row(h)[w * before.channels + c] = static_cast<float>(sum >> 22);
      }
    }
  }
  return after;
}

// Keys' cubic, of |x| rounded to 1/1024.
double TableWeight(double x, double sharpness) {
  x = std::fabs(x);
  if (x <= 1) return ((sharpness + 2) * x - (sharpness + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * sharpness;
  return 0;
}

std::vector<ResampleTaps> TableTaps(Place place, int64_t from, int64_t to) {
  const bool centres = place == Place::kHalfPixel;
  const double sharpness = centres ? -0.5 : -0.75;
  std::vector<ResampleTaps> all;
  for (int64_t x = 0; x < to; ++x) {
    const float at = TfPlace(place, x, from, to);
    const auto floor = static_cast<int64_t>(std::floor(at));
    const double rest = static_cast<double>(std::lrint((at - static_cast<float>(floor)) * 1024.0f)) / 1024;
    ResampleTaps taps;
    taps.first = std::min(std::max<int64_t>(floor - 1, 0), from - 1);
    const int64_t last = std::min(std::max<int64_t>(floor + 2, 0), from - 1);
    taps.weights.assign(static_cast<size_t>(last - taps.first + 1), 0.0);
    double sum = 0;
    for (int64_t i = floor - 1; i <= floor + 2; ++i) {
      const int64_t within = std::min(std::max(i, taps.first), last);
      if (centres && within != i) continue;
      const double weight = TableWeight(static_cast<double>(i - floor) - rest, sharpness);
      taps.weights[static_cast<size_t>(within - taps.first)] += weight;
      sum += weight;
    }
    for (double& weight : taps.weights) weight = centres && sum != 0 ? weight / sum : weight;
    all.push_back(std::move(taps));
  }
  return all;
}

// What each pixel of a window covers of it; beyond the edge the edge counts.
std::vector<ResampleTaps> AreaShares(Place place, int64_t from, int64_t to) {
  std::vector<ResampleTaps> all;
  for (int64_t x = 0; x < to; ++x) {
    const auto begin = static_cast<double>(TfPlace(place, x, from, to));
    const auto end = static_cast<double>(TfPlace(place, x + 1, from, to));
    ResampleTaps taps;
    taps.first = std::min(static_cast<int64_t>(std::floor(begin)), from - 1);
    const auto stop = static_cast<int64_t>(std::ceil(end));
    taps.weights.assign(static_cast<size_t>(std::max<int64_t>(1, std::min(stop, from) - taps.first)), 0.0);
    for (auto i = static_cast<int64_t>(std::floor(begin)); i < stop; ++i) {
      const double share = std::min(static_cast<double>(i + 1), end) - std::max(static_cast<double>(i), begin);
      taps.weights[static_cast<size_t>(std::min(i, from - 1) - taps.first)] += share / (end - begin);
    }
    all.push_back(std::move(taps));
  }
  return all;
}

using TapsOfPlace = std::vector<ResampleTaps> (*)(Place place, int64_t from, int64_t to);

std::optional<Picture> BySeparateTaps(const Picture& before, const PictureTarget& target, const TapsOfPlace& taps,
                                      Place place) {
  if (before.channels != target.channels) return std::nullopt;
  Picture after = before;
  after.bytes = false;
  after = ResampleRows(after, taps(place, before.width, target.width));
  after = ResampleColumns(after, taps(place, before.height, target.height));
  after.bytes = target.bytes;
  if (target.bytes) std::transform(after.values.begin(), after.values.end(), after.values.begin(), ToByte);
  return after;
}

std::vector<ResampleTaps> LanczosTapsOfFloats(Place, int64_t from, int64_t to) {
  return FilterTaps(kLanczosFilter, from, to, true);
}

struct TfRow {
  const char* name;
  const char* code;
  TapsOfPlace taps;
  Place place;
};
const TfRow kTfRows[] = {
    {"TensorFlow's bicubic on pixel corners", "tf.compat.v1.image.resize_bicubic(x, (h, w))", TableTaps,
     Place::kAsymmetric},
    {"TensorFlow's bicubic, align_corners", "tf.compat.v1.image.resize_bicubic(x, (h, w), align_corners=True)",
     TableTaps, Place::kCorners},
    {"TensorFlow's bicubic on pixel centres", "tf.image.resize(x, (h, w), 'bicubic')", TableTaps, Place::kHalfPixel},
    {"TensorFlow's area", "tf.image.resize(x, (h, w), 'area')", AreaShares, Place::kAsymmetric},
    {"TensorFlow's area, align_corners", "tf.compat.v1.image.resize_area(x, (h, w), align_corners=True)", AreaShares,
     Place::kCorners},
    {"TensorFlow's lanczos3 with antialias", "tf.image.resize(x, (h, w), 'lanczos3', antialias=True)",
     LanczosTapsOfFloats, Place::kHalfPixel},
};

}  // namespace

void AddResizeTensorFlow(std::vector<Convention>* list) {
  constexpr double kTies = 0.002;  // sums that lie at half a byte
  for (const TfRow& row : kTfRows) {
    list->push_back({row.name, row.name, row.code,
                     [row](const Picture& before, const PictureTarget& target) {
                       return BySeparateTaps(before, target, row.taps, row.place);
                     },
                     kTies, true});
  }
  const std::pair<const char*, Place> tflite[] = {{"TFLite's bilinear on uint8, half_pixel_centers", Place::kHalfPixel},
                                                  {"TFLite's bilinear on uint8", Place::kAsymmetric},
                                                  {"TFLite's bilinear on uint8, align_corners", Place::kCorners}};
  for (const auto& [name, place] : tflite) {
    list->push_back({std::string(name) + " (XNNPACK)", name, "",
                     [place = place](const Picture& before, const PictureTarget& target) {
                       return XnnpackBytes(before, target, place);
                     }});
    list->push_back({std::string(name) + " (without a delegate)", name, "",
                     [place = place](const Picture& before, const PictureTarget& target) {
                       return TfliteBytes(before, target, place);
                     },
                     kTies});
  }
}

}  // namespace plumb
