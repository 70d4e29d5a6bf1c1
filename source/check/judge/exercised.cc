// SPDX-License-Identifier: Apache-2.0
#include "check/judge/exercised.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "op/activation.h"
#include "op/convolution.h"

namespace plumb {
namespace {

bool HasChannelWeights(OpKind kind) { return kind == OpKind::kConvolution || kind == OpKind::kConvolution1D; }

bool IsWeighted(OpKind kind) {
  return HasChannelWeights(kind) || kind == OpKind::kDeconvolution || kind == OpKind::kInnerProduct ||
         kind == OpKind::kMatMul;
}

bool AllAre(const Tensor& values, int64_t first, int64_t count, double value) {
  if (values.dtype() == DType::kF64) {
    const double* v = values.data<double>() + first;
    return std::all_of(v, v + count, [value](double one) { return one == value; });
  }
  int64_t i = 0;
  while (i < count && values.ValueAt(first + i) == value) ++i;
  return i == count;
}

bool HoldsOneValue(const Tensor& values) { return AllAre(values, 0, values.NumElements(), values.ValueAt(0)); }

// How many of the channels hold zeros alone.
int64_t DeadChannels(const Tensor& input) {
  const Shape& shape = input.shape();
  if (shape.rank() < 3) return 0;
  const int64_t plane = shape.CountFrom(2);
  int64_t dead = 0;
  for (int64_t c = 0; c < shape[1]; ++c) {
    int64_t n = 0;
    while (n < shape[0] && AllAre(input, (n * shape[1] + c) * plane, plane, 0)) ++n;
    dead += n == shape[0];
  }
  return dead;
}

// The two values between which a function moves. Soft ones are reached within a rounding of f32.
struct Limits {
  double low = 0, high = 0;
  bool soft = false;
  bool Reached(double value) const {
    const double near = soft ? 0x1p-24 : 0;
    return value <= low + near || value >= high - near;
  }
};

std::optional<Limits> LimitsOf(const Layer& layer) {
  switch (layer.kind) {
    case OpKind::kReLU6: return Limits{0, 6};
    case OpKind::kHardSigmoid: return Limits{0, 1};
    case OpKind::kSigmoid: return Limits{0, 1, true};
    case OpKind::kTanh:
    case OpKind::kErf: return Limits{-1, 1, true};
    case OpKind::kClip: {
      const auto& p = ParamOf<ClipParam>(layer);
      return Limits{p.min, p.max};
    }
    case OpKind::kConvolution:
      if (ParamOf<ConvolutionParam>(layer).activation == kActivationReLU6) return Limits{0, 6};
      return std::nullopt;
    default: return std::nullopt;
  }
}

// So many of the values lie between them.
int64_t Between(const Limits& limits, const Tensor& values) {
  int64_t count = 0;
  for (int64_t i = 0; i < values.NumElements(); ++i) count += !limits.Reached(values.ValueAt(i));
  return count;
}

void Say(const std::string& what, LayerReport* report) {
  report->reason += (report->reason.empty() ? "" : "; ") + what;
}

void NoteInput(const Layer& product, const Tensor& input, LayerReport* report) {
  const int64_t count = input.NumElements(), dead = HasChannelWeights(product.kind) ? DeadChannels(input) : 0;
  if (AllAre(input, 0, count, 0)) {
    report->verdict = Verdict::kNotTested;
    report->reason = fmt::format("weights of '{}' were not exercised: its input is 0 everywhere", product.name);
  } else if (count > 1 && HoldsOneValue(input)) {
    Say(fmt::format("weakly tested: the input of '{}' is the same everywhere, which exercises sums of weights alone",
                    product.name),
        report);
  } else if (dead > 0) {
    Say(fmt::format("{} of {} input channels of '{}' are 0 everywhere: their weights were not exercised", dead,
                    input.shape()[1], product.name),
        report);
  }
}

// Whether every output that has values is one of such functions, at its limits everywhere.
void NoteLimits(StepRecord* record) {
  constexpr double kNearly = 0.01;
  bool all = !record->group.outputs.empty();
  std::string always, nearly;
  for (size_t o = 0; o < record->group.outputs.size(); ++o) {
    const Layer& layer = *record->group.members[static_cast<size_t>(record->group.outputs[o].member)];
    const auto limits = o < record->replay.values.size() ? LimitsOf(layer) : std::nullopt;
    const Tensor* values = limits ? &record->replay.values[o] : nullptr;
    if (values == nullptr || !IsFloat(values->dtype()) || values->NumElements() < 2) {
      all = false;
      continue;
    }
    const int64_t count = values->NumElements(), between = Between(*limits, *values);
    if (between == 0) {
      always = fmt::format(
          "'{}' was not exercised: each of its values is at a limit ({} or {}), whatever it is computed "
          "from",
          layer.name, Number(limits->low, 6), Number(limits->high, 6));
    } else if (static_cast<double>(between) < kNearly * static_cast<double>(count)) {
      nearly = fmt::format("weakly tested: {} of {} values of '{}' are at a limit ({} or {})", count - between, count,
                           layer.name, Number(limits->low, 6), Number(limits->high, 6));
    }
    all = all && between == 0;
  }
  if (all) {
    record->report.verdict = Verdict::kNotTested;
    record->report.reason = always;
  } else if (!always.empty() || !nearly.empty()) {
    Say(always.empty() ? nearly : always, &record->report);
  }
}

}  // namespace

void NoteNotExercised(StepRecord* record) {
  for (size_t i = 0; i < record->group.inputs.size() && record->report.verdict == Verdict::kAligned; ++i) {
    const LayerGroup::Port& port = record->group.inputs[i];
    const Layer& layer = *record->group.members[static_cast<size_t>(port.member)];
    const Tensor& input = record->inputs[i];
    const bool reads = !record->info.inputs[i].constant && input.dtype() == DType::kF64 && input.NumElements() > 0;
    if (reads && IsWeighted(layer.kind)) NoteInput(layer, input, &record->report);
  }
  if (record->report.verdict == Verdict::kAligned) NoteLimits(record);
}

Exercise ExerciseOf(const Layer& layer, const Tensor& input, const Tensor& output) {
  constexpr double kEnough = 0.25;  // of the values between the limits
  Exercise exercise;
  const auto least = [&](double share, std::string what) {
    if (share < exercise.share) exercise = {share, std::move(what)};
  };
  if (!IsFloat(output.dtype()) || output.NumElements() < 2) return exercise;
  if (HoldsOneValue(output)) return {0, "all of its values are the same"};
  const auto at_limits = [&](const Limits& limits, const char* what) {
    const int64_t count = output.NumElements(), between = Between(limits, output);
    const double share = static_cast<double>(between) / static_cast<double>(count);
    least(share / kEnough, fmt::format("{} of its {} values {}", between, count, what));
  };
  if (const auto limits = LimitsOf(layer)) at_limits(*limits, "lie between its limits");
  if (layer.kind == OpKind::kReLU) at_limits({0, INFINITY}, "are above 0");
  const bool reads = IsFloat(input.dtype()) && input.NumElements() > 1;
  if (!reads || !IsWeighted(layer.kind)) return exercise;
  if (HoldsOneValue(input)) least(0, "its input is the same everywhere");
  if (!HasChannelWeights(layer.kind) || input.shape().rank() < 3) return exercise;
  const int64_t channels = input.shape()[1], live = channels - DeadChannels(input);
  least(static_cast<double>(live) / static_cast<double>(channels),
        fmt::format("{} of its {} input channels are not 0 everywhere", live, channels));
  return exercise;
}

}  // namespace plumb
