// SPDX-License-Identifier: Apache-2.0
// Faults of any step: its result's grid and limits, its activation; and of means, slopes and softmax.
#include <algorithm>
#include <cmath>

#include "check/integer/integer_faults.h"
#include "op/activation.h"

namespace plumb {
namespace {

template <int kBy>
bool ZeroOfResultOff(IntegerStep* step, const BlobTable&) {
  step->zero += kBy;
  return true;
}

bool ZeroOfResultLost(IntegerStep* step, const BlobTable&) {
  const bool had = step->zero != 0;
  step->zero = 0;
  return had;
}

bool ZeroOfResultNegated(IntegerStep* step, const BlobTable&) {
  step->zero = -step->zero;
  return step->zero != 0;
}

bool LimitedAt127(IntegerStep* step, const BlobTable&) {
  ++step->low;
  return true;
}

bool LimitedBelowLargest(IntegerStep* step, const BlobTable&) {
  --step->high;
  return true;
}

template <int kLow, int kHigh>
bool LimitedTo(IntegerStep* step, const BlobTable&) {
  step->low = std::max(step->low, step->zero + kLow);
  step->high = std::min(step->high, step->zero + kHigh);
  return step->of_16_bits() || kHigh < 127;
}

bool Wraps(IntegerStep* step, const BlobTable&) {
  step->wraps = true;
  return true;
}

bool WithoutLines(IntegerStep* step, const BlobTable&) {
  step->lines = false;
  return step->of_16_bits();
}

template <int kBy>
bool OtherEntry(IntegerStep* step, const BlobTable&) {
  step->entry = kBy;
  return step->of_16_bits();
}

bool RoundedDown(IntegerStep* step, const BlobTable&) {
  step->halves = false;
  return step->of_16_bits();
}

bool LimitedInFrontOfZero(IntegerStep* step, const BlobTable&) {
  const int64_t zero = step->zero;
  step->low = std::max(step->low, -128 + zero);
  step->high = std::min(step->high, 127 + zero);
  return zero != 0 && step->low < step->high;
}

// Of max pools: MNN 3.6.1 on x86.
bool MaximaOfSignedBytes(IntegerStep* step, const BlobTable&) {
  step->signed_bytes = std::any_of(step->tail_layers.begin(), step->tail_layers.end(),
                                   [](const Layer& layer) { return layer.kind == OpKind::kPooling; });
  return step->signed_bytes && step->low == -128 && step->high == 127;
}

// The limits of the activation behind the operator; false: it has none.
ClipParam* ActivationOf(IntegerStep* step) {
  for (Layer& layer : step->tail_layers) {
    if (layer.kind == OpKind::kReLU) {
      auto limits = std::make_shared<ClipParam>();
      limits->min = 0;
      limits->max = INFINITY;
      layer.kind = OpKind::kClip;
      layer.param = limits;
      return limits.get();
    }
    if (layer.kind != OpKind::kClip) continue;
    auto limits = std::make_shared<ClipParam>(ParamOf<ClipParam>(layer));
    layer.param = limits;
    return limits.get();
  }
  return nullptr;
}

// The limits of an activation are integers that stay where they are.
bool MoveZeroAlone(IntegerStep* step, int64_t zero) {
  ClipParam* limits = ActivationOf(step);
  const auto by = static_cast<float>(step->zero - zero);
  step->zero = zero;
  if (limits != nullptr) limits->min += by, limits->max += by;
  return limits != nullptr && by != 0;
}

bool ZeroOfResultLostAlone(IntegerStep* step, const BlobTable&) { return MoveZeroAlone(step, 0); }

template <int kBy>
bool ZeroOfResultOffAlone(IntegerStep* step, const BlobTable&) {
  return MoveZeroAlone(step, step->zero + kBy);
}

bool ActivationLost(IntegerStep* step, const BlobTable&) {
  if (step->activated) {
    step->low = step->type_low, step->high = step->type_high;
    return true;
  }
  ClipParam* limits = ActivationOf(step);
  if (limits != nullptr) limits->min = -INFINITY, limits->max = INFINITY;
  return limits != nullptr;
}

bool UpperLimitLost(IntegerStep* step, const BlobTable&) {
  if (step->activated && step->high != step->type_high) {
    step->high = step->type_high;
    return true;
  }
  ClipParam* limits = ActivationOf(step);
  if (limits != nullptr) limits->max = INFINITY;
  return limits != nullptr;
}

template <int kBy>
bool UpperLimitOff(IntegerStep* step, const BlobTable&) {
  ClipParam* limits = ActivationOf(step);
  if (limits != nullptr) limits->max += kBy;
  return limits != nullptr;
}

bool LowerLimitAtInteger0(IntegerStep* step, const BlobTable&) {
  ClipParam* limits = ActivationOf(step);
  if (limits != nullptr) limits->min = static_cast<float>(-step->zero);
  return limits != nullptr && step->zero != 0;
}

bool ScaleBy255(IntegerStep* step, const BlobTable&) {
  const bool by_256 = step->scale == 1.0f / 256;
  step->scale = 1.0f / 255;
  return by_256;
}

template <int kBy>
bool CountOff(IntegerStep* step, const BlobTable&) {
  step->count += kBy;
  for (int64_t& count : step->counts) count += kBy;
  return step->form == IntegerForm::kMean || step->form == IntegerForm::kWindowMean ||
         step->form == IntegerForm::kReduceMean;
}

// Padding counts, as zeros of the file or as zero points.
bool PaddingCounted(IntegerStep* step, const BlobTable&) {
  if (step->form != IntegerForm::kWindowMean || step->counts.empty()) return false;
  const int64_t all = *std::max_element(step->counts.begin(), step->counts.end());
  std::fill(step->counts.begin(), step->counts.end(), all);
  return true;
}

bool ZerosCounted(IntegerStep* step, const BlobTable& blobs) {
  const std::vector<int64_t> counts = step->counts;
  if (!PaddingCounted(step, blobs)) return false;
  IntegerOperand& x = step->operands[0];
  auto whole = x.whole.Clone();
  if (!whole.ok()) return false;
  for (size_t i = 0; i < counts.size(); ++i)
    whole->data<double>()[i] -= static_cast<double>(x.zero * (step->counts[i] - counts[i]));
  x.whole = std::move(*whole);
  return true;
}

// Sums of 16 bits, as TNN's kernels for ARM have them.
bool ShortSumOfWindow(IntegerStep* step, const BlobTable&) {
  if (step->form != IntegerForm::kMean && step->form != IntegerForm::kWindowMean) return false;
  IntegerOperand& x = step->operands[0];
  auto whole = x.whole.Clone();
  if (!whole.ok()) return false;
  for (int64_t i = 0; i < whole->NumElements(); ++i) {
    const int64_t count = step->counts.empty() ? step->count : step->counts[static_cast<size_t>(i)];
    const double zeros = static_cast<double>(x.zero) * static_cast<double>(count);
    const double sum = whole->data<double>()[i] + zeros;
    if (!(std::fabs(sum) < 0x1p52)) return false;
    const auto low_bits = static_cast<uint16_t>(static_cast<uint64_t>(static_cast<int64_t>(sum)) & 0xffff);
    whole->data<double>()[i] = static_cast<double>(static_cast<int16_t>(low_bits)) - zeros;
  }
  x.whole = std::move(*whole);
  return true;
}

// Slopes of PReLU, whose channels lie along the last axis or the second: f(i, c, channels, inner) is the place of the
// slope that an element gets.
template <bool kLastAxis, class F>
bool WithSlopes(IntegerStep* step, F place) {
  if (step->form != IntegerForm::kPRelu || step->shape.rank() < 2) return false;
  const int axis = kLastAxis ? step->shape.rank() - 1 : 1;
  const int64_t channels = step->shape[axis], inner = step->shape.CountFrom(axis + 1);
  if (step->operands[1].whole.NumElements() != step->shape.NumElements()) return false;
  auto slopes = step->operands[1].whole.Clone();
  if (!slopes.ok()) return false;
  const double* old = step->operands[1].whole.data<double>();
  for (int64_t i = 0; i < slopes->NumElements(); ++i)
    slopes->data<double>()[i] = old[place(i, i / inner % channels, channels, inner)];
  step->operands[1].whole = std::move(*slopes);
  return true;
}

template <bool kLastAxis>
bool SlopeOfNeighbour(IntegerStep* step, const BlobTable&) {
  return WithSlopes<kLastAxis>(step, [](int64_t i, int64_t c, int64_t channels, int64_t inner) {
    return i + ((c + channels - 1) % channels - c) * inner;
  });
}

template <bool kLastAxis>
bool SlopeOfFirst(IntegerStep* step, const BlobTable&) {
  return WithSlopes<kLastAxis>(step, [](int64_t i, int64_t c, int64_t, int64_t inner) { return i - c * inner; });
}

template <int kNumerator, int kDenominator>
bool FactorOfSoftmax(IntegerStep* step, const BlobTable&) {
  step->beta *= static_cast<float>(kNumerator) / kDenominator;
  return step->form == IntegerForm::kSoftmax;
}

bool OtherAxis(IntegerStep* step, const BlobTable&) {
  step->axis = step->axis > 0 ? step->axis - 1 : step->shape.rank() - 1;
  return (step->form == IntegerForm::kSoftmax || step->form == IntegerForm::kLogSoftmax) && step->shape.rank() > 1;
}

}  // namespace

const std::vector<StepFault>& ValueFaults() {
  static const auto* faults = new std::vector<StepFault>{
      {"without the zero point of the result", "with it", ZeroOfResultLost},
      {"with the zero point of the result and one more", "the zero point", ZeroOfResultOff<1>},
      {"with the zero point of the result less one", "the zero point", ZeroOfResultOff<-1>},
      {"with the zero point of the result with the other sign", "the zero point", ZeroOfResultNegated},
      {"without the zero point of the result", "with it", ZeroOfResultLostAlone},
      {"with the zero point of the result and one more", "the zero point", ZeroOfResultOffAlone<1>},
      {"with the zero point of the result less one", "the zero point", ZeroOfResultOffAlone<-1>},
      {"with limits above the lowest integer", "all of its type", LimitedAt127},
      {"with limits below the largest integer", "all of its type", LimitedBelowLargest},
      {"with integers limited to 7 bits", "all of its type", LimitedTo<-64, 63>},
      {"with integers limited to 8 bits", "all of its type", LimitedTo<-128, 127>},
      {"with integers that wrap at the ends of their type", "limits", Wraps},
      {"by the entries of its tables without the lines between", "with them", WithoutLines},
      {"by the next entry of its table", "its own", OtherEntry<1>},
      {"by the entry before in its table", "its own", OtherEntry<-1>},
      {"with rounding down", "to the nearest", RoundedDown},
      {"with limits in front of the zero point", "behind it", LimitedInFrontOfZero},
      {"with bytes of its integers and 128 compared as signed ones", "the integers", MaximaOfSignedBytes},
      {"without its activation's limits", "with them", ActivationLost},
      {"without its activation's upper limit", "with it", UpperLimitLost},
      {"with its activation's upper limit and one more", "the limit", UpperLimitOff<1>},
      {"with its activation's upper limit less one", "the limit", UpperLimitOff<-1>},
      {"with its activation's lower limit at the integer 0", "at the zero point", LowerLimitAtInteger0},
      {"with a scale of the result of 1 / 255", "1 / 256", ScaleBy255},
      {"with a count of one more", "the count", CountOff<1>},
      {"with a count of one less", "the count", CountOff<-1>},
      {"with padding counted", "what lies inside alone", PaddingCounted},
      {"with padding by the integer 0 counted", "what lies inside alone", ZerosCounted},
      {"with sums that wrap at 16 bits", "exact sums", ShortSumOfWindow},
      {"with the slope of the channel before", "its own", SlopeOfNeighbour<false>},
      {"with the slope of the channel before", "its own", SlopeOfNeighbour<true>},
      {"with the slope of the first channel for all", "its own", SlopeOfFirst<false>},
      {"with the slope of the first channel for all", "its own", SlopeOfFirst<true>},
      {"with half of its factor (beta)", "the factor", FactorOfSoftmax<1, 2>},
      {"with twice its factor (beta)", "the factor", FactorOfSoftmax<2, 1>},
      {"with its factor (beta) times 1.1", "the factor", FactorOfSoftmax<11, 10>},
      {"along another axis", "its own", OtherAxis},
  };
  return *faults;
}

}  // namespace plumb
