// SPDX-License-Identifier: Apache-2.0
// Image.resize of bytes (src/libImaging/Resample.c): rows, then columns, each rounded to bytes; weights with 22
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

enum class Passes { kRowsFirst, kColumnsFirst };

Picture FixedPasses(const Picture& before, const PictureTarget& target, const FixedAxis& across, const FixedAxis& down,
                    Passes passes) {
  Picture after = before;
  const bool rows = before.width != target.width, columns = before.height != target.height;
  if (columns && passes == Passes::kColumnsFirst) after = FixedColumns(after, down);
  if (rows) after = FixedRows(after, across);
  if (columns && passes == Passes::kRowsFirst) after = FixedColumns(after, down);
  return after;
}

std::optional<Picture> ResizeTorchBytes(const Picture& before, const PictureTarget& target, const TapsOfAxis& taps_of) {
  if (before.channels != target.channels || !before.bytes) return std::nullopt;
  const auto axis = [&](int64_t from, int64_t to) {
    const std::vector<ResampleTaps> taps = taps_of(from, to);
    return Fixed(taps, TorchBits(taps));
  };
  return FixedPasses(before, target, axis(before.width, target.width), axis(before.height, target.height),
                     Passes::kRowsFirst);
}

// Pillow 13 does columns first where the height loses more than twice the pixels that the width does; versions before
// it never do (measured: 600 pairs of sizes).
bool ColumnsMayGoFirst(const Picture& before, const PictureTarget& target) {
  return target.height < before.height && before.height - target.height > 2 * (before.width - target.width);
}

// Pillow computes floats ("F" images) in float64, pass by pass.
std::optional<Picture> ResizeWithPillow(const Picture& before, const PictureTarget& target,
                                        const ResampleFilter& filter, Passes passes) {
  if (before.channels != target.channels) return std::nullopt;
  if (passes == Passes::kColumnsFirst && !ColumnsMayGoFirst(before, target)) return std::nullopt;
  const std::vector<ResampleTaps> across = FilterTaps(filter, before.width, target.width, true);
  const std::vector<ResampleTaps> down = FilterTaps(filter, before.height, target.height, true);
  if (before.bytes) return FixedPasses(before, target, Fixed(across, kPillowBits), Fixed(down, kPillowBits), passes);
  Picture after = before;
  if (before.height != target.height && passes == Passes::kColumnsFirst) after = ResampleColumns(after, down);
  if (before.width != target.width) after = ResampleRows(after, across);
  if (before.height != target.height && passes == Passes::kRowsFirst) after = ResampleColumns(after, down);
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
    for (const Passes passes : {Passes::kRowsFirst, Passes::kColumnsFirst}) {
      const char* words = passes == Passes::kRowsFirst ? "" : ", columns first (Pillow 13)";
      list->push_back({std::string("Pillow's antialiased ") + row.name + words, std::string("Pillow ") + row.name,
                       std::string("image.resize((w, h), Image.Resampling.") + row.constant + ")",
                       [filter, passes](const Picture& before, const PictureTarget& target) {
                         return ResizeWithPillow(before, target, filter, passes);
                       }});
    }
  }
  const auto torch = [list](const char* name, const char* mode, const char* with, const TapsOfAxis& taps) {
    list->push_back({std::string("torchvision's ") + name + " on uint8, " + with,
                     std::string("torchvision ") + name + " " + with,
                     std::string("torchvision.transforms.v2.functional.resize(x, (h, w), InterpolationMode.") + mode +
                         ", " + with + ")",
                     [taps](const Picture& before, const PictureTarget& target) {
                       return ResizeTorchBytes(before, target, taps);
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
