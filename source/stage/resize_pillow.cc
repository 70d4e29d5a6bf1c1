// SPDX-License-Identifier: Apache-2.0
// Image.resize of bytes (src/libImaging/Resample.c): rows first, then columns, each rounded to bytes; weights with 22
// bits of fraction, rounded half away from zero; a sum is rounded half up. And PyTorch's own byte kernels, which do the
// same with weights of 16 bits, whose fraction is as long as the largest weight lets it be.
#include <algorithm>
#include <cmath>

#include "stage/resample.h"

namespace plumb {
namespace {

constexpr int kPillowBits = 22;

struct FixedTaps {
  int64_t first = 0;
  std::vector<int64_t> weights;
};
struct FixedAxis {
  std::vector<FixedTaps> taps;
  int bits = kPillowBits;
};

FixedAxis Fixed(const std::vector<ResampleTaps>& taps, int bits) {
  FixedAxis axis{{}, bits};
  for (const ResampleTaps& one : taps) {
    FixedTaps fixed{one.first, {}};
    for (const double weight : one.weights) {
      const double scaled = weight * static_cast<double>(int64_t{1} << bits);
      fixed.weights.push_back(static_cast<int64_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5));
    }
    axis.taps.push_back(std::move(fixed));
  }
  return axis;
}

// As many bits as keep the largest weight within 16 bits with its sign.
int TorchBits(const std::vector<ResampleTaps>& taps) {
  double largest = 0;
  for (const ResampleTaps& one : taps) {
    for (const double weight : one.weights) largest = std::max(largest, weight);
  }
  int bits = 0;
  for (; bits < kPillowBits; ++bits) {
    if (static_cast<int64_t>(0.5 + largest * static_cast<double>(int64_t{1} << (bits + 1))) >= (1 << 15)) break;
  }
  return bits;
}

float Rounded(int64_t sum, int bits) {
  return static_cast<float>(std::min<int64_t>(255, std::max<int64_t>(0, sum >> bits)));
}

Picture FixedRows(const Picture& before, const FixedAxis& axis) {
  const int64_t channels = before.channels;
  Picture after = MakePicture(before.height, static_cast<int64_t>(axis.taps.size()), channels, true);
  for (int64_t h = 0; h < before.height; ++h) {
    float* to = after.Row(h);
    for (const FixedTaps& tap : axis.taps) {
      for (int64_t c = 0; c < channels; ++c) {
        const float* from = before.Row(h) + tap.first * channels + c;
        int64_t sum = int64_t{1} << (axis.bits - 1);
        for (size_t k = 0; k < tap.weights.size(); ++k)
          sum += tap.weights[k] * static_cast<int64_t>(from[static_cast<int64_t>(k) * channels]);
        *to++ = Rounded(sum, axis.bits);
      }
    }
  }
  return after;
}

Picture FixedColumns(const Picture& before, const FixedAxis& axis) {
  const int64_t row_values = before.width * before.channels;
  Picture after = MakePicture(static_cast<int64_t>(axis.taps.size()), before.width, before.channels, true);
  std::vector<int64_t> sums(static_cast<size_t>(row_values));
  for (int64_t h = 0; h < after.height; ++h) {
    const FixedTaps& tap = axis.taps[static_cast<size_t>(h)];
    std::fill(sums.begin(), sums.end(), int64_t{1} << (axis.bits - 1));
    for (size_t k = 0; k < tap.weights.size(); ++k) {
      const float* from = before.Row(tap.first + static_cast<int64_t>(k));
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += tap.weights[k] * static_cast<int64_t>(from[i]);
    }
    float* to = after.Row(h);
    for (size_t i = 0; i < sums.size(); ++i) to[i] = Rounded(sums[i], axis.bits);
  }
  return after;
}

using TapsOfAxis = std::function<std::vector<ResampleTaps>(int64_t from, int64_t to)>;

std::optional<Picture> ResizeBytes(const Picture& before, const PictureTarget& target, const TapsOfAxis& taps_of,
                                   bool torch) {
  if (before.channels != target.channels || !before.bytes) return std::nullopt;
  const auto axis = [&](int64_t from, int64_t to) {
    const std::vector<ResampleTaps> taps = taps_of(from, to);
    return Fixed(taps, torch ? TorchBits(taps) : kPillowBits);
  };
  Picture after = before;
  if (before.width != target.width) after = FixedRows(after, axis(before.width, target.width));
  if (before.height != target.height) after = FixedColumns(after, axis(before.height, target.height));
  return after;
}

// Pillow computes floats ("F" images) in float64, pass by pass.
std::optional<Picture> ResizeWithPillow(const Picture& before, const PictureTarget& target,
                                        const ResampleFilter& filter) {
  const auto taps = [&filter](int64_t from, int64_t to) { return FilterTaps(filter, from, to, true); };
  if (before.bytes) return ResizeBytes(before, target, taps, false);
  if (before.channels != target.channels) return std::nullopt;
  Picture after = before;
  if (before.width != target.width) after = ResampleRows(after, FilterTaps(filter, before.width, target.width, true));
  if (before.height != target.height)
    after = ResampleColumns(after, FilterTaps(filter, before.height, target.height, true));
  return after;
}

struct PillowRow {
  const char* name;
  const char* constant;
  const ResampleFilter* filter;
};

}  // namespace

void AddResizePillow(std::vector<Convention>* list) {
  const PillowRow rows[] = {{"BILINEAR", "BILINEAR", &kTriangleFilter},
                            {"BICUBIC", "BICUBIC", &kCatmullRomFilter},
                            {"LANCZOS", "LANCZOS", &kLanczosFilter},
                            {"BOX", "BOX", &kBoxFilter},
                            {"HAMMING", "HAMMING", &kHammingFilter}};
  for (const PillowRow& row : rows) {
    const ResampleFilter filter = *row.filter;
    list->push_back({std::string("Pillow's antialiased ") + row.name, std::string("Pillow ") + row.name,
                     std::string("image.resize((w, h), Image.Resampling.") + row.constant + ")",
                     [filter](const Picture& before, const PictureTarget& target) {
                       return ResizeWithPillow(before, target, filter);
                     }});
  }
  const auto torch = [list](const char* name, const char* mode, const char* with, const TapsOfAxis& taps) {
    list->push_back({std::string("torchvision's ") + name + " on uint8, " + with,
                     std::string("torchvision ") + name + " " + with,
                     std::string("torchvision.transforms.v2.functional.resize(x, (h, w), InterpolationMode.") + mode +
                         ", " + with + ")",
                     [taps](const Picture& before, const PictureTarget& target) {
                       return ResizeBytes(before, target, taps, true);
                     }});
  };
  torch("bilinear", "BILINEAR", "antialias=True",
        [](int64_t from, int64_t to) { return FilterTaps(kTriangleFilter, from, to, true); });
  torch("bilinear", "BILINEAR", "antialias=False",
        [](int64_t from, int64_t to) { return FormulaTaps(Place::kHalfPixel, Method::kLinear, from, to, false); });
  torch("bicubic", "BICUBIC", "antialias=True",
        [](int64_t from, int64_t to) { return FilterTaps(kCatmullRomFilter, from, to, true); });
  torch("bicubic", "BICUBIC", "antialias=False",
        [](int64_t from, int64_t to) { return FormulaTaps(Place::kHalfPixel, Method::kCubic, from, to, false); });
}

}  // namespace plumb
