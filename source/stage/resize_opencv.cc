// SPDX-License-Identifier: Apache-2.0
// cv2.resize, which computes with bytes in whole numbers (imgproc/src/resize.cpp): weights have 11 bits; a sum along a
// row is exact, and how the sum of rows is rounded differs by method. Halving both sizes with INTER_LINEAR is averaging
// four pixels. Floats are computed in float32.
#include <algorithm>
#include <array>
#include <cmath>

#include "stage/picture.h"

namespace plumb {
namespace {

constexpr int kWeightBits = 11;
constexpr float kWeightOne = 1 << kWeightBits;

// The source pixels of one target pixel along one axis, already within the picture.
struct CvTaps {
  std::vector<int64_t> from;  // per target pixel `count`
  std::vector<float> weights;
  size_t count = 0;
};

double CvStep(int64_t from, int64_t to) { return 1.0 / (static_cast<double>(to) / static_cast<double>(from)); }

void AddTaps(int64_t first, int64_t size, const float* weights, CvTaps* taps) {
  for (size_t i = 0; i < taps->count; ++i) {
    taps->from.push_back(std::min(std::max<int64_t>(first + static_cast<int64_t>(i), 0), size - 1));
    taps->weights.push_back(weights[i]);
  }
}

CvTaps LinearTaps(int64_t from, int64_t to) {
  CvTaps taps{{}, {}, 2};
  const double step = CvStep(from, to);
  for (int64_t x = 0; x < to; ++x) {
    float place = static_cast<float>((static_cast<double>(x) + 0.5) * step - 0.5);
    auto first = static_cast<int64_t>(std::floor(place));
    float rest = place - static_cast<float>(first);
    if (first < 0) first = 0, rest = 0;
    if (first >= from - 1) first = from - 1, rest = 0;
    const float weights[] = {1.0f - rest, rest};
    AddTaps(first, from, weights, &taps);
  }
  return taps;
}

// INTER_AREA where it enlarges: linear, with places of its own.
CvTaps AreaTaps(int64_t from, int64_t to) {
  CvTaps taps{{}, {}, 2};
  const double step = CvStep(from, to), back = static_cast<double>(to) / static_cast<double>(from);
  for (int64_t x = 0; x < to; ++x) {
    auto first = static_cast<int64_t>(std::floor(static_cast<double>(x) * step));
    float rest = static_cast<float>(static_cast<double>(x + 1) - static_cast<double>(first + 1) * back);
    rest = rest <= 0 ? 0.0f : rest - std::floor(rest);
    if (first < 0) first = 0, rest = 0;
    if (first >= from - 1) first = from - 1, rest = 0;
    const float weights[] = {1.0f - rest, rest};
    AddTaps(first, from, weights, &taps);
  }
  return taps;
}

// Keys' cubic with A = -0.75.
CvTaps CubicTaps(int64_t from, int64_t to) {
  constexpr float kA = -0.75f;
  CvTaps taps{{}, {}, 4};
  const double step = CvStep(from, to);
  for (int64_t i = 0; i < to; ++i) {
    const float place = static_cast<float>((static_cast<double>(i) + 0.5) * step - 0.5);
    const auto first = static_cast<int64_t>(std::floor(place));
    const float x = place - static_cast<float>(first);
    float weights[4];
    weights[0] = ((kA * (x + 1) - 5 * kA) * (x + 1) + 8 * kA) * (x + 1) - 4 * kA;
    weights[1] = ((kA + 2) * x - (kA + 3)) * x * x + 1;
    weights[2] = ((kA + 2) * (1 - x) - (kA + 3)) * (1 - x) * (1 - x) + 1;
    weights[3] = 1.0f - weights[0] - weights[1] - weights[2];
    AddTaps(first - 1, from, weights, &taps);
  }
  return taps;
}

CvTaps LanczosTaps(int64_t from, int64_t to) {
  constexpr double kHalf = 0.70710678118654752440084436210485, kPi = 3.1415926535897932384626433832795;
  constexpr double kSines[8][2] = {{1, 0},  {-kHalf, -kHalf}, {0, 1},  {kHalf, -kHalf},
                                   {-1, 0}, {kHalf, kHalf},   {0, -1}, {-kHalf, kHalf}};
  CvTaps taps{{}, {}, 8};
  const double step = CvStep(from, to);
  for (int64_t i = 0; i < to; ++i) {
    const float place = static_cast<float>((static_cast<double>(i) + 0.5) * step - 0.5);
    const auto first = static_cast<int64_t>(std::floor(place));
    const float x = place - static_cast<float>(first);
    float weights[8] = {0, 0, 0, 1, 0, 0, 0, 0};
    if (x >= 1.1920929e-07f) {
      float sum = 0;
      const double start = -static_cast<double>(x + 3) * kPi * 0.25;
      const double sine = std::sin(start), cosine = std::cos(start);
      for (int k = 0; k < 8; ++k) {
        const double angle = -static_cast<double>(x + 3 - static_cast<float>(k)) * kPi * 0.25;
        weights[k] = static_cast<float>((kSines[k][0] * sine + kSines[k][1] * cosine) / (angle * angle));
        sum += weights[k];
      }
      for (float& weight : weights) weight *= 1.0f / sum;
    }
    AddTaps(first - 3, from, weights, &taps);
  }
  return taps;
}

int ToWeight(float weight) { return static_cast<int>(std::nearbyint(weight * kWeightOne)); }

// How rows that carry 11 bits of fraction become bytes.
enum class Rows {
  kTwoShifts,  // INTER_LINEAR: each product loses 4 bits before and 16 behind the weight
  kExact,      // 22 bits, rounded half up
  kFloat,      // vector code of INTER_CUBIC: in float32, rounded half to even
};

int64_t SumOfRows(Rows rows, const std::vector<const int*>& lines, const int* weights, int64_t i) {
  if (rows == Rows::kTwoShifts) {
    const int64_t first = (static_cast<int64_t>(weights[0]) * (lines[0][i] >> 4)) >> 16;
    const int64_t second = (static_cast<int64_t>(weights[1]) * (lines[1][i] >> 4)) >> 16;
    return (first + second + 2) >> 2;
  }
  if (rows == Rows::kFloat) {
    constexpr float kScale = 1.0f / (kWeightOne * kWeightOne);
    float sum = static_cast<float>(lines.back()[i]) * (static_cast<float>(weights[lines.size() - 1]) * kScale);
    for (size_t k = lines.size() - 1; k-- > 0;)
      sum = static_cast<float>(lines[k][i]) * (static_cast<float>(weights[k]) * kScale) + sum;
    return static_cast<int64_t>(std::nearbyint(sum));
  }
  int64_t sum = int64_t{1} << 21;
  for (size_t k = 0; k < lines.size(); ++k) sum += static_cast<int64_t>(weights[k]) * lines[k][i];
  return sum >> 22;
}

Picture WholeNumbers(const Picture& before, const PictureTarget& target, const CvTaps& across, const CvTaps& down,
                     Rows rows) {
  const int64_t channels = before.channels, row_values = target.width * channels;
  std::vector<int> weights(across.weights.size()), sums(static_cast<size_t>(before.height * row_values));
  std::transform(across.weights.begin(), across.weights.end(), weights.begin(), ToWeight);
  for (int64_t h = 0; h < before.height; ++h) {
    const float* from = before.Row(h);
    int* to = sums.data() + h * row_values;
    for (int64_t w = 0; w < target.width; ++w) {
      const auto tap = static_cast<size_t>(w) * across.count;
      for (int64_t c = 0; c < channels; ++c) {
        int sum = 0;
        for (size_t k = tap; k < tap + across.count; ++k)
          sum += static_cast<int>(from[across.from[k] * channels + c]) * weights[k];
        *to++ = sum;
      }
    }
  }
  Picture after = MakePicture(target.height, target.width, channels, true);
  std::vector<const int*> lines(down.count);
  std::vector<int> line_weights(down.count);
  for (int64_t h = 0; h < target.height; ++h) {
    for (size_t k = 0; k < down.count; ++k) {
      const size_t tap = static_cast<size_t>(h) * down.count + k;
      lines[k] = sums.data() + down.from[tap] * row_values;
      line_weights[k] = ToWeight(down.weights[tap]);
    }
    float* to = after.Row(h);
    for (int64_t i = 0; i < row_values; ++i) {
      const int64_t value = SumOfRows(rows, lines, line_weights.data(), i);
      to[i] = static_cast<float>(std::min<int64_t>(255, std::max<int64_t>(0, value)));
    }
  }
  return after;
}

Picture Floats(const Picture& before, const PictureTarget& target, const CvTaps& across, const CvTaps& down) {
  const int64_t channels = before.channels, row_values = target.width * channels;
  std::vector<float> sums(static_cast<size_t>(before.height * row_values));
  for (int64_t h = 0; h < before.height; ++h) {
    const float* from = before.Row(h);
    float* to = sums.data() + h * row_values;
    for (int64_t w = 0; w < target.width; ++w) {
      const auto tap = static_cast<size_t>(w) * across.count;
      for (int64_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (size_t k = tap; k < tap + across.count; ++k)
          sum += from[across.from[k] * channels + c] * across.weights[k];
        *to++ = sum;
      }
    }
  }
  Picture after = MakePicture(target.height, target.width, channels, false);
  for (int64_t h = 0; h < target.height; ++h) {
    float* to = after.Row(h);
    for (size_t k = 0; k < down.count; ++k) {
      const size_t tap = static_cast<size_t>(h) * down.count + k;
      const float* line = sums.data() + down.from[tap] * row_values;
      for (int64_t i = 0; i < row_values; ++i) to[i] = (k == 0 ? 0 : to[i]) + line[i] * down.weights[tap];
    }
  }
  return after;
}

bool IsWholeStep(int64_t from, int64_t to) { return to > 0 && from % to == 0; }

// INTER_AREA by whole factors: the mean of each block, by a factor in float32; of four pixels in whole numbers.
Picture BlockMeans(const Picture& before, const PictureTarget& target) {
  const int64_t down = before.height / target.height, across = before.width / target.width, channels = before.channels;
  const float factor = 1.0f / static_cast<float>(down * across);
  const bool quarter = before.bytes && down == 2 && across == 2;
  Picture after = MakePicture(target.height, target.width, channels, before.bytes);
  for (int64_t h = 0; h < target.height; ++h) {
    for (int64_t w = 0; w < target.width; ++w) {
      for (int64_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (int64_t i = 0; i < down; ++i) {
          const float* from = before.Row(h * down + i) + w * across * channels + c;
          for (int64_t k = 0; k < across; ++k) sum += from[k * channels];
        }
        const float mean = quarter ? std::floor((sum + 2) / 4) : sum * factor;
        after.Row(h)[w * channels + c] = before.bytes ? ToByte(mean) : mean;
      }
    }
  }
  return after;
}

struct AreaPart {
  int64_t from, to;
  float weight;
};

// The parts of source pixels that a target pixel covers (computeResizeAreaTab).
std::vector<AreaPart> AreaParts(int64_t from, int64_t to) {
  std::vector<AreaPart> parts;
  const double step = CvStep(from, to);
  for (int64_t x = 0; x < to; ++x) {
    const double begin = static_cast<double>(x) * step, end = begin + step;
    const double width = std::min(step, static_cast<double>(from) - begin);
    int64_t first = static_cast<int64_t>(std::ceil(begin)), last = static_cast<int64_t>(std::floor(end));
    last = std::min(last, from - 1);
    first = std::min(first, last);
    if (static_cast<double>(first) - begin > 1e-3)
      parts.push_back({first - 1, x, static_cast<float>((static_cast<double>(first) - begin) / width)});
    for (int64_t i = first; i < last; ++i) parts.push_back({i, x, static_cast<float>(1.0 / width)});
    const double rest = end - static_cast<double>(last);
    if (rest > 1e-3) parts.push_back({last, x, static_cast<float>(std::min(std::min(rest, 1.0), width) / width)});
  }
  return parts;
}

Picture AreaMeans(const Picture& before, const PictureTarget& target) {
  const int64_t channels = before.channels, row_values = target.width * channels;
  const std::vector<AreaPart> across = AreaParts(before.width, target.width);
  const std::vector<AreaPart> down = AreaParts(before.height, target.height);
  Picture after = MakePicture(target.height, target.width, channels, before.bytes);
  std::vector<float> line(static_cast<size_t>(row_values));
  for (const AreaPart& row : down) {
    std::fill(line.begin(), line.end(), 0.0f);
    const float* from = before.Row(row.from);
    for (const AreaPart& part : across) {
      for (int64_t c = 0; c < channels; ++c)
        line[static_cast<size_t>(part.to * channels + c)] += from[part.from * channels + c] * part.weight;
    }
    float* to = after.Row(row.to);
    for (int64_t i = 0; i < row_values; ++i) to[i] += line[static_cast<size_t>(i)] * row.weight;
  }
  if (before.bytes) std::transform(after.values.begin(), after.values.end(), after.values.begin(), ToByte);
  return after;
}

using TapsOf = CvTaps (*)(int64_t from, int64_t to);

std::optional<Picture> ResizeByTaps(const Picture& before, const PictureTarget& target, TapsOf taps, Rows rows) {
  if (before.channels != target.channels) return std::nullopt;
  const CvTaps across = taps(before.width, target.width), down = taps(before.height, target.height);
  return before.bytes ? WholeNumbers(before, target, across, down, rows) : Floats(before, target, across, down);
}

bool IsHalf(const Picture& before, const PictureTarget& target) {
  return before.height == 2 * target.height && before.width == 2 * target.width;
}

std::optional<Picture> CvLinear(const Picture& before, const PictureTarget& target) {
  if (before.channels == target.channels && IsHalf(before, target)) return BlockMeans(before, target);
  return ResizeByTaps(before, target, LinearTaps, Rows::kTwoShifts);
}

// INTER_LINEAR_EXACT: weights of 8 bits, rounded once, half up (fixedpoint.inl.hpp, resize_bitExact).
std::optional<Picture> CvLinearExact(const Picture& before, const PictureTarget& target) {
  if (before.channels != target.channels || !before.bytes) return std::nullopt;
  const auto taps = [](int64_t from, int64_t to) {
    CvTaps result{{}, {}, 2};
    const double step = static_cast<double>(from) / static_cast<double>(to);
    for (int64_t x = 0; x < to; ++x) {
      const double place = step * (static_cast<double>(x) + 0.5) - 0.5;
      auto first = static_cast<int64_t>(std::floor(place));
      double rest = std::nearbyint((place - static_cast<double>(first)) * 256);
      if (first < 0) first = 0, rest = 0;
      if (first >= from - 1) first = from - 1, rest = 0;
      const float weights[] = {static_cast<float>(256 - rest), static_cast<float>(rest)};
      AddTaps(first, from, weights, &result);
    }
    return result;
  };
  const CvTaps across = taps(before.width, target.width), down = taps(before.height, target.height);
  Picture after = MakePicture(target.height, target.width, before.channels, true);
  for (int64_t h = 0; h < target.height; ++h) {
    const auto row = static_cast<size_t>(h) * 2;
    for (int64_t w = 0; w < target.width; ++w) {
      const auto column = static_cast<size_t>(w) * 2;
      for (int64_t c = 0; c < before.channels; ++c) {
        int64_t sum = 1 << 15;
        for (size_t i = row; i < row + 2; ++i) {
          const float* line = before.Row(down.from[i]);
          const float part = line[across.from[column] * before.channels + c] * across.weights[column] +
                             line[across.from[column + 1] * before.channels + c] * across.weights[column + 1];
          sum += static_cast<int64_t>(part) * static_cast<int64_t>(down.weights[i]);
        }
        after.Row(h)[w * before.channels + c] = static_cast<float>(sum >> 16);
      }
    }
  }
  return after;
}

std::optional<Picture> CvArea(const Picture& before, const PictureTarget& target) {
  if (before.channels != target.channels) return std::nullopt;
  if (before.height < target.height || before.width < target.width)
    return ResizeByTaps(before, target, AreaTaps, Rows::kTwoShifts);
  if (IsWholeStep(before.height, target.height) && IsWholeStep(before.width, target.width))
    return BlockMeans(before, target);
  return AreaMeans(before, target);
}

std::string CvCode(const char* method) {
  return std::string("cv2.resize(x, (w, h), interpolation=cv2.") + method + ")";
}

}  // namespace

void AddResizeOpenCv(std::vector<Convention>* list) {
  list->push_back({"OpenCV's INTER_LINEAR", "OpenCV INTER_LINEAR", CvCode("INTER_LINEAR"), CvLinear, 0.02, true});
  list->push_back(
      {"OpenCV's INTER_LINEAR_EXACT", "OpenCV INTER_LINEAR_EXACT", CvCode("INTER_LINEAR_EXACT"), CvLinearExact});
  list->push_back({"OpenCV's INTER_AREA", "OpenCV INTER_AREA", CvCode("INTER_AREA"), CvArea, 0.001});
  list->push_back({"OpenCV's INTER_CUBIC", "OpenCV INTER_CUBIC", CvCode("INTER_CUBIC"),
                   [](const Picture& before, const PictureTarget& target) {
                     return ResizeByTaps(before, target, CubicTaps, Rows::kFloat);
                   },
                   0.02, true});
  list->push_back({"OpenCV's INTER_CUBIC in whole numbers (no vector code)", "OpenCV INTER_CUBIC",
                   CvCode("INTER_CUBIC"),
                   [](const Picture& before, const PictureTarget& target) -> std::optional<Picture> {
                     if (!before.bytes) return std::nullopt;
                     return ResizeByTaps(before, target, CubicTaps, Rows::kExact);
                   }});
  list->push_back({"OpenCV's INTER_LANCZOS4", "OpenCV INTER_LANCZOS4", CvCode("INTER_LANCZOS4"),
                   [](const Picture& before, const PictureTarget& target) {
                     return ResizeByTaps(before, target, LanczosTaps, Rows::kExact);
                   },
                   0.001, true});
}

}  // namespace plumb
