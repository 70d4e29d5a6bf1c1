// SPDX-License-Identifier: Apache-2.0
#include "check/numbers/int8.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <unordered_set>

#include "check/numbers/weight_formats.h"

namespace plumb {
namespace {

constexpr size_t kMaxValues = 256;
constexpr size_t kMinValues = 6;  // fewer distinct values than that do not tell a grid from luck
constexpr double kMaxSteps = 255.5;
constexpr double kOffGrid = 0.02;  // of a step: f32 values of 255 steps are off by 1e-5
constexpr double kManySaturated = 0.1, kMostSaturated = 0.5;
constexpr double kLevels = 127;  // of symmetric int8

// What a quantiser that adds the grid's end writes for zero, or for one value in two ways, is apart by less than that.
constexpr double kSameValue = 1e-5;  // of the range; a step is 4e-3 of it

// Up to kMaxValues distinct values, zero among them, in order; empty where there are more or some are not finite.
std::vector<double> DistinctValues(const Tensor& tensor) {
  const float* x = tensor.data<float>();
  std::unordered_set<uint32_t> seen;
  std::vector<double> values = {0};
  float last = 0;
  for (int64_t i = 0, count = tensor.NumElements(); i < count; ++i) {
    if (x[i] == last || x[i] == 0) continue;
    last = x[i];
    uint32_t bits;
    std::memcpy(&bits, &last, sizeof(bits));
    if (!std::isfinite(last)) return {};
    if (!seen.insert(bits).second) continue;
    if (seen.size() > 2 * kMaxValues) return {};
    values.push_back(static_cast<double>(last));
  }
  std::sort(values.begin(), values.end());
  const double apart = kSameValue * (values.back() - values.front());
  const auto same = [apart](double a, double b) { return b - a < apart; };
  values.erase(std::unique(values.begin(), values.end(), same), values.end());
  if (values.size() > kMaxValues) return {};
  return values;
}

// Every value a whole number of steps, to within rounding. Returns the step fitted to all of them, 0: they are not.
double FitStep(const std::vector<double>& values, double step) {
  if (values.back() - values.front() > kMaxSteps * step) return 0;
  double vn = 0, nn = 0;
  for (const double value : values) {
    const double steps = value / step, whole = std::nearbyint(steps);
    if (std::fabs(steps - whole) > kOffGrid) return 0;
    vn += value * whole;
    nn += whole * whole;
  }
  return vn / nn;
}

// Each weight moved by step / sqrt(12), up or down.
Result<Tensor> Moved(const Tensor& weight, uint64_t* state) {
  PLUMB_ASSIGN_OR_RETURN(Tensor moved, weight.Clone());
  if (weight.dtype() != DType::kF32 || weight.NumElements() == 0) return moved;
  float* w = moved.data<float>();
  const double by = ValuesRange(weight).largest() / kLevels / std::sqrt(12.0);
  for (int64_t i = 0; i < moved.NumElements(); ++i) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    w[i] = static_cast<float>(static_cast<double>(w[i]) + (*state >> 63 != 0 ? by : -by));
  }
  return moved;
}

// Of a step: what an exact operator gives on the grid that it is stored on.
constexpr double kExactBound = 0.2;
bool StandsOnGrid(double value, double step) {
  constexpr double kNear = 1e-3;
  return std::fabs(value / step - std::nearbyint(value / step)) < kNear;
}

// The step that a tensor with too few values, or none but zeros, is judged with.
double GuessedStep(const Grid& grid, const Tensor& reference) {
  if (grid.step > 0) return grid.step;
  double largest = 0;
  const double* y = reference.data<double>();
  for (int64_t i = 0; i < reference.NumElements(); ++i) {
    if (std::isfinite(y[i])) largest = std::max(largest, std::fabs(y[i]));
  }
  return largest / kLevels;
}

}  // namespace

Grid FindGrid(const Tensor& values) {
  Grid grid;
  if (values.dtype() != DType::kF32 || values.NumElements() == 0) return grid;
  const std::vector<double> distinct = DistinctValues(values);
  if (distinct.empty()) return grid;
  grid.low = distinct.front();
  grid.high = distinct.back();
  double smallest = 0;
  for (size_t i = 1; i < distinct.size(); ++i) {
    const double distance = distinct[i] - distinct[i - 1];
    smallest = i == 1 ? distance : std::min(smallest, distance);
  }
  grid.few = distinct.size() <= kMinValues;
  grid.step = smallest;
  if (grid.few) return grid;
  // Seven values of a hundred steps may be ten steps apart. By chance they lie on one of 255 grids once in 4e4.
  const double most = kMaxSteps * smallest / (grid.high - grid.low);
  for (int part = 1; part == 1 || part <= most; ++part) {
    grid.step = FitStep(distinct, smallest / part);
    if (grid.step > 0) break;
  }
  return grid;
}

bool IsRoundedFrom(const Tensor& floats, const Tensor& rounded) {
  const Grid grid = FindGrid(rounded);
  if (grid.none() || grid.few || floats.shape() != rounded.shape() || floats.dtype() != DType::kF32) return false;
  for (int64_t i = 0; i < rounded.NumElements(); ++i) {
    const double x = floats.ValueAt(i), q = rounded.ValueAt(i);
    const bool end = (grid.IsHighest(q) && x > q) || (grid.IsLowest(q) && x < q);
    if (!end && !(std::fabs(x - q) <= 0.51 * grid.step)) return false;
  }
  return true;
}

std::string WhyUnbounded(const LayerGroup& group) {
  int products = 0;
  for (const Layer* member : group.members) {
    products += IsProduct(*member);
    const bool follows = GetReferenceOp(member->kind).in_place || GetOp(member->kind).moves_data_only ||
                         member->kind == OpKind::kBatchNormCxx;
    if (!follows && !IsProduct(*member) && group.members.size() > 1) products = 2;
  }
  return products < 2 ? "" : "the subject's int8 values between the layers of this step are unknown";
}

Result<Tensor> InputNoise(const Tensor& input) {
  double largest = 0;
  for (int64_t i = 0; i < input.NumElements(); ++i) {
    if (std::isfinite(input.ValueAt(i))) largest = std::max(largest, std::fabs(input.ValueAt(i)));
  }
  PLUMB_ASSIGN_OR_RETURN(Tensor tau, Tensor::Create(DType::kF64, input.shape()));
  std::fill_n(tau.data<double>(), tau.NumElements(), 8 * (2 * largest / kLevels) / std::sqrt(12.0));
  return tau;
}

Result<Tensor> DequantisingNoise(const Tensor& input) {
  PLUMB_ASSIGN_OR_RETURN(Tensor tau, Tensor::Create(DType::kF64, input.shape()));
  const ValueRange range = ValuesRange(input);
  std::fill_n(tau.data<double>(), tau.NumElements(), range.largest() * 0x1p-22);
  return tau;
}

Result<std::vector<Tensor>> WeightNoise(const LayerGroup& group, const std::vector<Tensor>& inputs,
                                        const BlobTable& blobs, const ReplayResult& replay) {
  constexpr int kTries = 4;
  std::vector<Tensor> sigma;
  for (const Tensor& value : replay.values) {
    PLUMB_ASSIGN_OR_RETURN(sigma.emplace_back(), Tensor::Zeros(DType::kF64, value.shape()));
  }
  uint64_t state = 1;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    LayerGroup moved = group;
    std::vector<std::unique_ptr<Layer>> layers;
    for (const Layer*& member : moved.members) {
      if (!IsProduct(*member) || member->Resource("weight") == nullptr) continue;
      layers.push_back(std::make_unique<Layer>(*member));
      PLUMB_ASSIGN_OR_RETURN(layers.back()->resources["weight"], Moved(*member->Resource("weight"), &state));
      member = layers.back().get();
    }
    if (layers.empty()) return sigma;
    PLUMB_ASSIGN_OR_RETURN(const ReplayResult other, ReplayValues(moved, inputs, blobs));
    for (size_t o = 0; o < sigma.size(); ++o) {
      if (other.values[o].dtype() != DType::kF64) continue;
      const double *a = other.values[o].data<double>(), *b = replay.values[o].data<double>();
      double* squares = sigma[o].data<double>();
      for (int64_t i = 0; i < sigma[o].NumElements(); ++i) squares[i] += (a[i] - b[i]) * (a[i] - b[i]) / kTries;
    }
  }
  // Four tries are few for one element: the mean over the tensor is added.
  for (Tensor& tensor : sigma) {
    double* squares = tensor.data<double>();
    double mean = 0;
    for (int64_t i = 0; i < tensor.NumElements(); ++i) mean += squares[i] / static_cast<double>(tensor.NumElements());
    for (int64_t i = 0; i < tensor.NumElements(); ++i) squares[i] = std::sqrt(squares[i] + mean);
  }
  return sigma;
}

Result<OnGrid> JudgeOnGrid(const Tensor& device, bool exact, Tensor* reference, Tensor* tau) {
  OnGrid result;
  if (device.NumElements() == 0) return result;
  const Grid grid = FindGrid(device);
  if (grid.none() && !grid.few) return result;  // stored in f32
  PLUMB_ASSIGN_OR_RETURN(*reference, reference->Clone());
  PLUMB_ASSIGN_OR_RETURN(*tau, tau->Clone());
  result.step = GuessedStep(grid, *reference);
  result.low = grid.low;
  result.high = grid.high;
  result.few = grid.few;
  const float* x = device.data<float>();
  double *y = reference->data<double>(), *bound = tau->data<double>();
  const auto count = static_cast<double>(device.NumElements());
  result.ends = 2 / count;
  const auto beyond = [&](int64_t i, double slack) {
    const auto value = static_cast<double>(x[i]);
    return (grid.IsHighest(value) && grid.high > 0 && y[i] > value + slack) ||
           (grid.IsLowest(value) && grid.low < 0 && y[i] < value - slack);
  };
  for (int64_t i = 0; i < device.NumElements(); ++i) result.saturated += beyond(i, result.step) ? 1 / count : 0;
  const double share = result.saturated - result.ends;
  const bool excused = grid.spans() || share <= kMostSaturated;
  if (!grid.spans() && share > (grid.few ? kManySaturated : 0)) result.span = (grid.high - grid.low) / grid.step;
  for (int64_t i = 0; i < device.NumElements(); ++i) {
    if (excused && beyond(i, 0)) y[i] = static_cast<double>(x[i]);
    const bool stays = exact && bound[i] == 0 && !grid.few && StandsOnGrid(y[i], result.step);
    bound[i] = stays ? kExactBound * result.step : std::sqrt(bound[i] * bound[i] + 16 * result.step * result.step);
  }
  if (!excused) result.saturated = result.span = 0;
  return result;
}

void OnGrid::AddTo(OutputReport* output) const {
  const auto add = [&](const std::string& text) { output->reason += (output->reason.empty() ? "" : "; ") + text; };
  if (few && output->verdict != Verdict::kWrong) add("weakly tested: too few distinct values to find the grid's step");
  if (saturated > kManySaturated / 10)
    add(fmt::format("{:.2g} % of the values saturate at the end of the grid", 100 * saturated));
  if (span > 0) add(fmt::format("it spans {:.0f} steps only, so they may be limited by something else", span));
  if ((span > 0 || saturated - ends > kManySaturated) && output->verdict == Verdict::kAligned)
    output->verdict = Verdict::kGrey;
}

}  // namespace plumb
