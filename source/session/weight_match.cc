// SPDX-License-Identifier: Apache-2.0
#include "session/weight_match.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/half.h"

namespace plumb {
namespace {

constexpr double kEqualShare = 1e-6;  // of the tensor's largest value

// In what the converted values are stored: by what the file says, or by the values themselves.
struct WeightGrid {
  const char* name = "f32";
  double relative = 0;       // of a value
  double absolute = 0;       // of any
  std::vector<float> steps;  // of integers: one, or one per element of the first axis
  double factor_tolerance = 2e-5;
};

double LargestOf(const Tensor& tensor) {
  double largest = 0;
  const float* values = tensor.data<float>();
  for (int64_t i = 0; i < tensor.NumElements(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(values[i])));
  return largest;
}

template <class Stored>
bool AllAre(const Tensor& tensor, Stored stored) {
  const float* values = tensor.data<float>();
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    if (stored(values[i]) != values[i]) return false;
  }
  return true;
}

// Steps of symmetric 8-bit integers, the largest of which is 127, for pieces of `size` values; empty: they lie on none.
std::vector<float> GridSteps(const Tensor& tensor, int64_t size) {
  std::vector<float> steps;
  const float* values = tensor.data<float>();
  for (int64_t begin = 0; begin < tensor.NumElements(); begin += size) {
    double largest = 0;
    for (int64_t i = begin; i < begin + size; ++i) largest = std::max(largest, std::abs(double{values[i]}));
    const double step = largest / 127;
    for (int64_t i = begin; i < begin + size && step > 0; ++i) {
      const double q = values[i] / step;
      if (!(std::abs(q - std::nearbyint(q)) < 0.01)) return {};
    }
    steps.push_back(static_cast<float>(step));
  }
  return steps;
}

WeightGrid GridOfWeights(const WeightTensor& tensor) {
  constexpr int64_t kFewest = 16, kFewestInRow = 4;  // values that a grid can be seen in
  // Rounded or cut off; converters raise what is below 1e-7 to that (onnxconverter-common).
  const WeightGrid half{"f16", 0x1p-10, 0x1p-23, {}, 2e-3};
  const WeightGrid brain{"bf16", 0x1p-7, 0, {}, 1.6e-2};
  WeightGrid integers{"int8", 0, 0, tensor.steps, 5e-2};
  if (!tensor.steps.empty()) {
    if (tensor.stored == "i32") integers.name = "int32";
    return integers;
  }
  const Tensor& value = tensor.value;
  // Most values of bf16 are values of f16, too.
  if (tensor.stored == "bf16" || AllAre(value, [](float x) { return BitsToFloat(FloatToBits(x) & 0xFFFF0000u); }))
    return brain;
  if (tensor.stored == "f16" || AllAre(value, [](float x) { return HalfToFloat(FloatToHalf(x)); })) return half;
  const int64_t count = value.NumElements(), rows = value.shape().DimOrOne(0);
  if (count < kFewest) return {};
  if (rows > 0 && count / rows >= kFewestInRow) integers.steps = GridSteps(value, count / rows);
  if (integers.steps.empty()) integers.steps = GridSteps(value, count);
  return integers.steps.empty() ? WeightGrid() : integers;
}

bool Near(const WeightGrid& grid, double slack, double original, double converted, int64_t index, int64_t inner) {
  const double difference = std::abs(original - converted);
  if (difference <= slack) return true;
  if (grid.steps.empty()) return difference <= grid.relative * std::abs(original) + grid.absolute;
  const double step = grid.steps[grid.steps.size() == 1 ? 0 : static_cast<size_t>(index / inner)];
  const bool saturated = std::abs(converted) >= 126.5 * step && std::abs(original) >= std::abs(converted) &&
                         (original > 0) == (converted > 0);
  return difference <= 0.501 * step + slack || saturated;
}

// Walks the elements of a tensor with its axes in another order.
class TurnedWalk {
 public:
  TurnedWalk(const Shape& shape, const std::vector<int>& axes) : at_(axes.size(), 0) {
    for (const int axis : axes) {
      dims_.push_back(shape[axis]);
      strides_.push_back(shape.CountFrom(axis + 1));
    }
  }
  int64_t Next() {
    const int64_t now = place_;
    for (size_t d = at_.size(); d-- > 0;) {
      place_ += strides_[d];
      if (++at_[d] < dims_[d]) break;
      place_ -= strides_[d] * dims_[d];
      at_[d] = 0;
    }
    return now;
  }

 private:
  std::vector<int64_t> at_, dims_, strides_;
  int64_t place_ = 0;
};

// Whether all are near, with the original's axes in that order; *max_abs: the largest difference.
bool AllNear(const WeightTensor& a, const WeightTensor& b, const std::vector<int>& axes, const WeightGrid& grid,
             double slack, double* max_abs) {
  TurnedWalk walk(a.value.shape(), axes);
  const float* from = a.value.data<float>();
  const float* to = b.value.data<float>();
  const int64_t inner = b.value.shape().CountFrom(1);
  *max_abs = 0;
  for (int64_t i = 0; i < b.value.NumElements(); ++i) {
    const double x = from[walk.Next()], y = to[i];
    if (!Near(grid, slack, x, y, i, inner)) return false;
    *max_abs = std::max(*max_abs, std::abs(x - y));
  }
  return true;
}

WeightMatch MatchInAnyOrder(const WeightTensor& a, const WeightTensor& b, const WeightGrid& grid, double slack,
                            WeightMatch::Kind kind) {
  constexpr int kMaxRank = 4;
  const bool integers = !grid.steps.empty() && grid.steps.size() != 1 &&
                        static_cast<int64_t>(grid.steps.size()) != b.value.shape().DimOrOne(0);
  WeightMatch match;
  if (integers) return match;
  std::vector<int> axes(static_cast<size_t>(a.value.shape().rank()));
  std::iota(axes.begin(), axes.end(), 0);
  const std::vector<int> own = axes;
  do {
    if (!AllNear(a, b, axes, grid, slack, &match.max_abs)) continue;
    match.kind = kind;
    if (axes != own) match.axes = axes;
    if (kind == WeightMatch::kRounded) match.rounding = grid.name;
    return match;
  } while (a.value.shape().rank() <= kMaxRank && std::next_permutation(axes.begin(), axes.end()));
  return WeightMatch();
}

// Sums over one output channel, of the original's values, the converted ones and their products.
struct ChannelSums {
  double aa = 0, ab = 0, bb = 0;
};

ChannelSums SumsOfChannel(const Tensor& a, const Tensor& b, int axis, int64_t channel) {
  const int64_t channels = a.shape().DimOrOne(axis), inner = a.shape().CountFrom(axis + 1);
  ChannelSums sum;
  for (int64_t outer = 0; outer < a.shape().Count(0, std::min(axis, a.shape().rank())); ++outer) {
    for (int64_t i = 0; i < inner; ++i) {
      const int64_t at = (outer * channels + channel) * inner + i;
      const double x = a.data<float>()[at], y = b.data<float>()[at];
      sum.aa += x * x, sum.ab += x * y, sum.bb += y * y;
    }
  }
  return sum;
}

// Ends with the first channel that is not the original's times a factor: most candidates of a search fail there.
WeightMatch MatchScaled(const WeightTensor& a, const WeightTensor& b, const WeightGrid& grid, bool quick) {
  WeightMatch match;
  const Shape& shape = a.value.shape();
  const int64_t channels = shape.DimOrOne(a.out_axis);
  if (shape != b.value.shape() || channels < 1 || shape.NumElements() / channels < (quick ? 4 : 2)) return match;
  bool zero = true;
  for (int64_t channel = 0; channel < channels; ++channel) {
    const ChannelSums sum = SumsOfChannel(a.value, b.value, a.out_axis, channel);
    zero = zero && sum.bb == 0;
    if (sum.aa == 0 && sum.bb == 0) {
      match.factors.push_back(std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    const double rest = sum.aa == 0 ? sum.bb : sum.bb - sum.ab * sum.ab / sum.aa;
    if (!(rest <= grid.factor_tolerance * grid.factor_tolerance * sum.bb)) return WeightMatch();
    match.factors.push_back(sum.ab / sum.aa);
  }
  if (zero) return WeightMatch();
  match.tolerance = grid.factor_tolerance;
  if (grid.relative > 0 || !grid.steps.empty()) match.rounding = grid.name;
  match.kind = WeightMatch::kScaled;
  return match;
}

}  // namespace

std::string AxesText(const std::vector<int>& axes) {
  std::string text;
  for (const int axis : axes) text += fmt::format("{}{}", text.empty() ? "(" : ",", axis);
  return text + ")";
}

WeightMatch MatchWeights(const WeightTensor& original, const WeightTensor& converted, bool quick) {
  if (original.value.NumElements() != converted.value.NumElements()) return {};
  const double slack = kEqualShare * LargestOf(original.value);
  WeightMatch match = MatchInAnyOrder(original, converted, WeightGrid(), slack, WeightMatch::kEqual);
  if (match.kind != WeightMatch::kNone) return match;
  const WeightGrid grid = GridOfWeights(converted);
  if (grid.relative > 0 || !grid.steps.empty())
    match = MatchInAnyOrder(original, converted, grid, slack, WeightMatch::kRounded);
  if (match.kind != WeightMatch::kNone) return match;
  return MatchScaled(original, converted, grid, quick);
}

double LargestDifference(const Tensor& original, const Tensor& converted) {
  double largest = 0;
  for (int64_t i = 0; i < std::min(original.NumElements(), converted.NumElements()); ++i)
    largest = std::max(largest, std::abs(double{original.data<float>()[i]} - converted.data<float>()[i]));
  return largest;
}

std::string DifferenceOfWeights(const Tensor& original, const Tensor& converted) {
  constexpr int64_t kTelling = 16;
  if (original.NumElements() != converted.NumElements())
    return fmt::format("has the shape {}, the original's is {}", converted.shape().ToString(),
                       original.shape().ToString());
  const int64_t count = original.NumElements();
  double aa = 0, ab = 0, bb = 0, sum_a = 0, sum_b = 0;
  int64_t differing = 0, first = -1, nans = 0;
  const double slack = kEqualShare * LargestOf(original);
  for (int64_t i = 0; i < count; ++i) {
    const double x = original.data<float>()[i], y = converted.data<float>()[i];
    nans += std::isnan(y);
    aa += x * x, ab += x * y, bb += y * y, sum_a += x, sum_b += y;
    if (std::abs(x - y) <= slack) continue;
    ++differing;
    if (first < 0) first = i;
  }
  if (nans > 0) return fmt::format("holds {} NaN", nans);
  if (bb == 0) return "is all zeros";
  const double factor = aa > 0 ? ab / aa : 0, rest = aa > 0 ? bb - ab * factor : bb;
  if (rest <= 1e-8 * bb) return fmt::format("is {:.6g} times the original's", factor);
  if (differing <= count / 2)
    return fmt::format("differs in {} of {} values, first in {} ({:.6g}, the original's is {:.6g})", differing, count,
                       first, converted.data<float>()[first], original.data<float>()[first]);
  const auto n = static_cast<double>(count);
  const double var_a = aa - sum_a * sum_a / n, var_b = bb - sum_b * sum_b / n;
  const double correlation = var_a > 0 && var_b > 0 ? (ab - sum_a * sum_b / n) / std::sqrt(var_a * var_b) : 0;
  if (count >= kTelling && std::abs(correlation) < 0.3)
    return fmt::format(
        "has nothing in common with the original's (correlation {:.2f}): it was never loaded, or is another's",
        correlation);
  return fmt::format("differs in {} of {} values, by up to {:.4g}", differing, count,
                     LargestDifference(original, converted));
}

}  // namespace plumb
