#include "check/signature.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "base/half.h"

namespace plumb {
namespace {

constexpr int64_t kMaxElements = 1 << 22;  // some 100 MB of float64 at a time
constexpr double kSame = 1e-4;             // of the largest value: far above rounding, far below another arrangement

struct Pair {
  const Shape& shape;
  std::vector<double> x, y;  // device, reference
  double largest = 0;        // |y|
  double error = 0;          // |x - y|
};

double Distance(const std::vector<double>& a, const std::vector<double>& b) {
  double distance = 0;
  for (size_t i = 0; i < a.size(); ++i) distance = std::max(distance, std::fabs(a[i] - b[i]));
  return distance;
}

std::string Zeros(const Pair& p) {
  const bool zero = std::all_of(p.x.begin(), p.x.end(), [](double v) { return v == 0; });
  return zero ? "every value is zero" : "";
}

// y with two axes of equal size swapped.
std::vector<double> Swapped(const Pair& p, int a, int b) {
  const int64_t inner = p.shape.CountFrom(b + 1), middle = p.shape.Count(a + 1, b), size = p.shape[a];
  std::vector<double> result(p.y.size());
  for (size_t i = 0; i < result.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    const int64_t low = rest % inner;
    rest /= inner;
    const int64_t at_b = rest % size;
    rest /= size;
    const int64_t between = rest % middle;
    rest /= middle;
    const int64_t at_a = rest % size;
    const int64_t high = rest / size;
    result[i] = p.y[static_cast<size_t>((((high * size + at_b) * middle + between) * size + at_a) * inner + low)];
  }
  return result;
}

std::string Turned(const Pair& p) {
  for (int a = 0; a < p.shape.rank(); ++a) {
    for (int b = a + 1; b < p.shape.rank(); ++b) {
      if (p.shape[a] != p.shape[b] || p.shape[a] == 1) continue;
      if (Distance(p.x, Swapped(p, a, b)) <= kSame * p.largest) {
        return "the values are right with the axes " + std::to_string(a) + " and " + std::to_string(b) + " swapped";
      }
    }
  }
  return "";
}

// Channel c holds what channel (channels - 1 - c) should; or the memory is channels last.
std::string Channels(const Pair& p) {
  if (p.shape.rank() < 3 || p.shape[0] != 1 || p.shape[1] < 2) return "";
  const auto channels = static_cast<size_t>(p.shape[1]), pixels = static_cast<size_t>(p.shape.CountFrom(2));
  std::vector<double> reversed(p.y.size()), last(p.y.size());
  for (size_t c = 0; c < channels; ++c) {
    for (size_t i = 0; i < pixels; ++i) {
      reversed[(channels - 1 - c) * pixels + i] = p.y[c * pixels + i];
      last[i * channels + c] = p.y[c * pixels + i];
    }
  }
  if (Distance(p.x, reversed) <= kSame * p.largest) return "the values are right with the channels in reverse";
  return Distance(p.x, last) <= kSame * p.largest ? "the values are right in NHWC order" : "";
}

std::string Border(const Pair& p) {
  if (p.shape.rank() != 4 || p.shape[2] < 5 || p.shape[3] < 5) return "";
  const int64_t height = p.shape[2], width = p.shape[3];
  double inside = 0;
  for (size_t i = 0; i < p.x.size(); ++i) {
    const int64_t w = static_cast<int64_t>(i) % width, h = static_cast<int64_t>(i) / width % height;
    const bool border = std::min({w, h, width - 1 - w, height - 1 - h}) < 2;
    if (!border) inside = std::max(inside, std::fabs(p.x[i] - p.y[i]));
  }
  return inside <= 1e-3 * p.error ? "only the border differs: pads" : "";
}

std::string Factor(const Pair& p) {
  double xy = 0, yy = 0;
  for (size_t i = 0; i < p.x.size(); ++i) xy += p.x[i] * p.y[i], yy += p.y[i] * p.y[i];
  const double factor = yy > 0 ? xy / yy : 1;
  double rest = 0;
  for (size_t i = 0; i < p.x.size(); ++i) rest = std::max(rest, std::fabs(p.x[i] - factor * p.y[i]));
  if (p.x.size() < 4 || rest > 0.02 * p.error) return "";
  char text[64];
  std::snprintf(text, sizeof(text), "every value is off by the factor %.7g", factor);
  return text;
}

std::string Offset(const Pair& p) {
  double sum = 0;
  for (size_t i = 0; i < p.x.size(); ++i) sum += p.x[i] - p.y[i];
  const double offset = sum / static_cast<double>(p.x.size());
  double rest = 0;
  for (size_t i = 0; i < p.x.size(); ++i) rest = std::max(rest, std::fabs(p.x[i] - p.y[i] - offset));
  if (p.x.size() < 4 || rest > 0.02 * p.error) return "";
  char text[64];
  std::snprintf(text, sizeof(text), "every value is off by %.7g", offset);
  return text;
}

std::string Narrow(const Pair& p) {
  const auto all = [](const std::vector<double>& values, auto rounded) {
    return std::all_of(values.begin(), values.end(),
                       [&](double v) { return static_cast<double>(rounded(static_cast<float>(v))) == v; });
  };
  const auto half = [](float v) { return HalfToFloat(FloatToHalf(v)); };
  const auto brain = [](float v) { return BFloat16ToFloat(FloatToBFloat16(v)); };
  if (all(p.x, half) && !all(p.y, half)) return "every value is an f16";
  return all(p.x, brain) && !all(p.y, brain) ? "every value is a bf16" : "";
}

}  // namespace

std::string DescribeDifference(const Tensor& device, const Tensor& reference) {
  if (!IsFloat(device.dtype()) || device.NumElements() == 0 || device.NumElements() > kMaxElements) return "";
  Pair pair{device.shape(), {}, {}, 0, 0};
  for (int64_t i = 0; i < device.NumElements(); ++i) {
    pair.x.push_back(device.ValueAt(i));
    pair.y.push_back(reference.ValueAt(i));
    if (!std::isfinite(pair.x.back()) || !std::isfinite(pair.y.back())) return "";
    pair.largest = std::max(pair.largest, std::fabs(pair.y.back()));
    pair.error = std::max(pair.error, std::fabs(pair.x.back() - pair.y.back()));
  }
  for (const auto look : {Zeros, Turned, Channels, Factor, Offset, Border, Narrow}) {
    const std::string text = look(pair);
    if (!text.empty()) return text;
  }
  return "";
}

}  // namespace plumb
