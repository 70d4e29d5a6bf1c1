// SPDX-License-Identifier: Apache-2.0
#include "check/judge/exercised.h"

#include <fmt/core.h>

#include <algorithm>

namespace plumb {
namespace {

bool HasChannelWeights(OpKind kind) { return kind == OpKind::kConvolution || kind == OpKind::kConvolution1D; }

bool IsWeighted(OpKind kind) {
  return HasChannelWeights(kind) || kind == OpKind::kDeconvolution || kind == OpKind::kInnerProduct ||
         kind == OpKind::kMatMul;
}

bool AllAre(const double* values, int64_t count, double value) {
  return std::all_of(values, values + count, [value](double v) { return v == value; });
}

// How many of the channels hold zeros alone.
int64_t DeadChannels(const Tensor& input) {
  const Shape& shape = input.shape();
  if (shape.rank() < 3) return 0;
  const int64_t plane = shape.CountFrom(2);
  int64_t dead = 0;
  for (int64_t c = 0; c < shape[1]; ++c) {
    int64_t n = 0;
    while (n < shape[0] && AllAre(input.data<double>() + (n * shape[1] + c) * plane, plane, 0)) ++n;
    dead += n == shape[0];
  }
  return dead;
}

void Say(const std::string& what, LayerReport* report) {
  report->reason += (report->reason.empty() ? "" : "; ") + what;
}

void NoteInput(const Layer& product, const Tensor& input, LayerReport* report) {
  const double first = input.data<double>()[0];
  const int64_t count = input.NumElements(), dead = HasChannelWeights(product.kind) ? DeadChannels(input) : 0;
  if (AllAre(input.data<double>(), count, 0)) {
    report->verdict = Verdict::kNotTested;
    report->reason = fmt::format("weights of '{}' were not exercised: its input is 0 everywhere", product.name);
  } else if (count > 1 && AllAre(input.data<double>(), count, first)) {
    Say(fmt::format("weakly tested: the input of '{}' is the same everywhere, which exercises sums of weights alone",
                    product.name),
        report);
  } else if (dead > 0) {
    Say(fmt::format("{} of {} input channels of '{}' are 0 everywhere: their weights were not exercised", dead,
                    input.shape()[1], product.name),
        report);
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
}

}  // namespace plumb
