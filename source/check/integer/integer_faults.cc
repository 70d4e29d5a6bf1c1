// SPDX-License-Identifier: Apache-2.0
#include "check/integer/integer_faults.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "check/integer/integer_rules.h"
#include "check/integer/step_reader.h"
#include "check/numbers/replay.h"

namespace plumb {
namespace {

using Integers = std::vector<int64_t>;

bool IsInt32(double v) { return std::fabs(v) <= 2147483647.0; }

float HalfEven(float v) { return std::nearbyint(v); }
float HalfAwayFromZero(float v) { return std::round(v); }
float HalfUp(float v) { return static_cast<float>(std::floor(static_cast<double>(v) + 0.5)); }
float HalfDown(float v) { return static_cast<float>(std::ceil(static_cast<double>(v) - 0.5)); }
float TowardsZero(float v) { return std::trunc(v); }
float Down(float v) { return std::floor(v); }
float Up(float v) { return std::ceil(v); }

// The rule's steps, each of which a fault may replace.
struct FaultyProduct {
  float (*round)(float) = HalfEven;
  double (*sum)(double) = nullptr;            // what becomes of a sum, the bias included
  int channel = 0;                            // whose scale: so many further
  bool first_channel = false;                 // or the first one's
  int64_t zero = 0;                           // so much more than the result's zero point
  bool wraps = false;                         // the lowest 8 bits in place of limits
  int64_t low = INT64_MIN, high = INT64_MAX;  // other limits

  bool Run(const IntegerStep& step, const double* sums, Integers* integers) const {
    const size_t channels = step.scales.size();
    const int64_t added = step.zero + zero, least = std::max(low, step.low), most = std::min(high, step.high);
    if ((channel != 0 || first_channel) && channels < 2) return false;
    for (size_t i = 0; i < integers->size(); ++i) {
      const double whole = sum == nullptr ? sums[i] : sum(sums[i]);
      if (!IsInt32(whole)) return false;
      const size_t own = step.scale_index(static_cast<int64_t>(i));
      const size_t taken = first_channel ? 0 : (own + channels + static_cast<size_t>(channel + 1) - 1) % channels;
      const float v = static_cast<float>(whole) * (step.scales[taken] / step.scale);
      if (!(std::fabs(v) < 0x1p31f)) return false;
      const int64_t integer = static_cast<int64_t>(round(v)) + added;
      (*integers)[i] = wraps ? ((integer - step.low) & 255) + step.low : std::clamp(integer, least, most);
    }
    return !wraps || step.high - step.low == 255;
  }
};

template <float (*kRound)(float)>
bool RoundedBy(const IntegerStep& step, const BlobTable&, Integers* integers) {
  FaultyProduct faulty;
  faulty.round = kRound;
  return faulty.Run(step, step.sums.data<double>(), integers);
}

double Saturated16(double sum) { return std::clamp(sum, -32768.0, 32767.0); }
double Wrapped16(double sum) {
  if (!IsInt32(sum)) return sum;
  return static_cast<double>(static_cast<int16_t>(static_cast<uint64_t>(static_cast<int64_t>(sum)) & 0xffff));
}

// Sums of 16 bits, the bias among them or added behind.
template <double (*kNarrow)(double)>
bool ShortSum(const IntegerStep& step, const BlobTable&, Integers* integers) {
  FaultyProduct faulty;
  faulty.sum = kNarrow;
  return faulty.Run(step, step.sums.data<double>(), integers);
}

// The sums with each channel's bias exchanged for another.
template <class F>
bool WithBias(const IntegerStep& step, Integers* integers, F bias_of) {
  if (step.bias.empty()) return false;
  std::vector<double> sums(integers->size());
  for (size_t i = 0; i < sums.size(); ++i) {
    const size_t channel = step.scale_index(static_cast<int64_t>(i));
    sums[i] = bias_of(step.sums.data<double>()[i] - step.bias[channel], channel);
  }
  return FaultyProduct().Run(step, sums.data(), integers);
}

template <double (*kNarrow)(double)>
bool ShortSumInFrontOfBias(const IntegerStep& step, const BlobTable&, Integers* integers) {
  return WithBias(step, integers, [&](double sum, size_t c) { return kNarrow(sum) + step.bias[c]; });
}

bool BiasLost(const IntegerStep& step, const BlobTable&, Integers* integers) {
  return WithBias(step, integers, [](double sum, size_t) { return sum; });
}

bool BiasTwice(const IntegerStep& step, const BlobTable&, Integers* integers) {
  return WithBias(step, integers, [&](double sum, size_t c) { return sum + 2 * step.bias[c]; });
}

template <int kBy>
bool BiasOfNeighbour(const IntegerStep& step, const BlobTable&, Integers* integers) {
  const size_t count = step.bias.size();
  return WithBias(step, integers, [&](double sum, size_t c) { return sum + step.bias[(c + count + kBy) % count]; });
}

template <int kBy>
bool ScaleOfNeighbour(const IntegerStep& step, const BlobTable&, Integers* integers) {
  FaultyProduct faulty;
  faulty.channel = kBy;
  return faulty.Run(step, step.sums.data<double>(), integers);
}

bool ScaleOfFirst(const IntegerStep& step, const BlobTable&, Integers* integers) {
  FaultyProduct faulty;
  faulty.first_channel = true;
  return faulty.Run(step, step.sums.data<double>(), integers);
}

template <int kBy>
bool ZeroOfResultOff(const IntegerStep& step, const BlobTable&, Integers* integers) {
  FaultyProduct faulty;
  faulty.zero = kBy;
  return faulty.Run(step, step.sums.data<double>(), integers);
}

bool ZeroOfResultLost(const IntegerStep& step, const BlobTable&, Integers* integers) {
  FaultyProduct faulty;
  faulty.zero = -step.zero;
  return step.zero != 0 && faulty.Run(step, step.sums.data<double>(), integers);
}

bool ClampLost(const IntegerStep& step, const BlobTable&, Integers* integers) {
  FaultyProduct faulty;
  faulty.wraps = true;
  return faulty.Run(step, step.sums.data<double>(), integers);
}

bool ClampedAt127(const IntegerStep& step, const BlobTable&, Integers* integers) {
  FaultyProduct faulty;
  faulty.high = 127, faulty.low = step.low < 0 ? -127 : 0;
  return faulty.Run(step, step.sums.data<double>(), integers);
}

// The sums over another input; false: it is not known.
bool SumsOver(const IntegerStep& step, const BlobTable& blobs, const Tensor& x, std::vector<double>* sums) {
  if (!step.knows_terms) return false;
  LayerGroup group;
  group.members = {&step.product};
  group.inputs = {{0, 0, step.product.inputs[0]}};
  group.outputs = {{0, 0, step.product.outputs[0]}};
  const auto replay = ReplayValues(group, {x}, blobs);
  if (!replay.ok() || replay->values[0].dtype() != DType::kF64) return false;
  const double* values = replay->values[0].data<double>();
  sums->assign(values, values + replay->values[0].NumElements());
  for (size_t i = 0; i < sums->size() && !step.bias.empty(); ++i)
    (*sums)[i] += step.bias[step.scale_index(static_cast<int64_t>(i))];
  return true;
}

// f of each whole number of the input, padding left at its zero point.
template <class F>
bool WithInput(const IntegerStep& step, const BlobTable& blobs, Integers* integers, F f) {
  auto x = step.knows_terms ? step.x.whole.Clone() : Result<Tensor>(Status::NotSupported(""));
  std::vector<double> sums;
  if (!x.ok()) return false;
  for (int64_t i = 0; i < x->NumElements(); ++i) x->data<double>()[i] = f(x->data<double>()[i]);
  return SumsOver(step, blobs, *x, &sums) && sums.size() == integers->size() &&
         FaultyProduct().Run(step, sums.data(), integers);
}

bool ZeroOfInputLost(const IntegerStep& step, const BlobTable& blobs, Integers* integers) {
  const auto zero = static_cast<double>(step.x.zero);
  return zero != 0 && WithInput(step, blobs, integers, [zero](double v) { return v + zero; });
}

template <int kBy>
bool ZeroOfInputOff(const IntegerStep& step, const BlobTable& blobs, Integers* integers) {
  return WithInput(step, blobs, integers, [](double v) { return v - kBy; });
}

bool OtherSignOfInput(const IntegerStep& step, const BlobTable& blobs, Integers* integers) {
  const auto zero = static_cast<double>(step.x.zero);
  return WithInput(step, blobs, integers, [zero](double v) {
    const double q = v + zero;
    return (q > 127 ? q - 256 : q < 0 ? q + 256 : q) - zero;
  });
}

// The sums of all weights, of each channel; empty: not known.
std::vector<double> WeightSums(const IntegerStep& step) {
  const Tensor* weight = step.knows_terms ? step.product.Resource("weight") : nullptr;
  if (weight == nullptr || step.product.kind == OpKind::kMatMul || weight->NumElements() == 0) return {};
  const auto channels = static_cast<size_t>(weight->shape()[0]);
  std::vector<double> all(channels, 0);
  for (int64_t i = 0; i < weight->NumElements(); ++i)
    all[static_cast<size_t>(i) / (static_cast<size_t>(weight->NumElements()) / channels)] += weight->ValueAt(i);
  return all;
}

// The same in padding, which holds the right one.
template <int kBy>
bool ZeroOfInputOffPadded(const IntegerStep& step, const BlobTable&, Integers* integers) {
  const std::vector<double> all = WeightSums(step);
  std::vector<double> sums(integers->size());
  for (size_t i = 0; i < sums.size() && !all.empty(); ++i)
    sums[i] = step.sums.data<double>()[i] - kBy * all[step.scale_index(static_cast<int64_t>(i)) % all.size()];
  return !all.empty() && FaultyProduct().Run(step, sums.data(), integers);
}

// What padding adds that is the integer 0 in place of the zero point: the weights outside of the input times -zero.
bool PaddedByZero(const IntegerStep& step, const BlobTable& blobs, Integers* integers) {
  if (!step.knows_terms || step.x.zero == 0) return false;
  auto ones = Tensor::Create(DType::kF64, step.x.whole.shape());
  const std::vector<double> all = WeightSums(step);
  std::vector<double> inside;
  if (!ones.ok() || all.empty()) return false;
  std::fill_n(ones->data<double>(), ones->NumElements(), 1.0);
  IntegerStep plain = step;
  plain.bias.clear();
  if (!SumsOver(plain, blobs, *ones, &inside) || inside.size() != integers->size()) return false;
  for (size_t i = 0; i < inside.size(); ++i) {
    const double outside = all[step.scale_index(static_cast<int64_t>(i)) % all.size()] - inside[i];
    inside[i] = step.sums.data<double>()[i] - static_cast<double>(step.x.zero) * outside;
  }
  return FaultyProduct().Run(step, inside.data(), integers);
}

}  // namespace

const std::vector<IntegerFault>& IntegerFaults() {
  static const auto* faults = new std::vector<IntegerFault>{
      {"with rounding half away from zero", "half to even", RoundedBy<HalfAwayFromZero>},
      {"with rounding half up", "half to even", RoundedBy<HalfUp>},
      {"with rounding half down", "half to even", RoundedBy<HalfDown>},
      {"with rounding towards zero", "half to even", RoundedBy<TowardsZero>},
      {"with rounding down", "half to even", RoundedBy<Down>},
      {"with rounding up", "half to even", RoundedBy<Up>},
      {"with sums that saturate at 16 bits", "exact sums", ShortSum<Saturated16>},
      {"with sums that saturate at 16 bits", "exact sums", ShortSumInFrontOfBias<Saturated16>},
      {"with sums that wrap at 16 bits", "exact sums", ShortSum<Wrapped16>},
      {"with sums that wrap at 16 bits", "exact sums", ShortSumInFrontOfBias<Wrapped16>},
      {"without the bias", "with it", BiasLost},
      {"with its bias twice", "once", BiasTwice},
      {"with the i32 bias of the channel before", "its own", BiasOfNeighbour<-1>},
      {"with the i32 bias of the channel behind", "its own", BiasOfNeighbour<1>},
      {"with the scale of the first channel for all", "its own", ScaleOfFirst},
      {"with the scale of the channel before", "its own", ScaleOfNeighbour<-1>},
      {"with the scale of the channel behind", "its own", ScaleOfNeighbour<1>},
      {"without the zero point of the result", "with it", ZeroOfResultLost},
      {"with the zero point of the result and one more", "the zero point", ZeroOfResultOff<1>},
      {"with the zero point of the result less one", "the zero point", ZeroOfResultOff<-1>},
      {"with integers that wrap at 8 bits", "limits", ClampLost},
      {"with integers limited to those of 7 bits and a sign", "all of 8 bits", ClampedAt127},
      {"without the zero point of the input", "with it", ZeroOfInputLost},
      {"with the zero point of the input and one more", "the zero point", ZeroOfInputOff<1>},
      {"with the zero point of the input less one", "the zero point", ZeroOfInputOff<-1>},
      {"with the zero point of the input and one more", "the zero point", ZeroOfInputOffPadded<1>},
      {"with the zero point of the input less one", "the zero point", ZeroOfInputOffPadded<-1>},
      {"with its input's bits taken with the other sign", "as they are", OtherSignOfInput},
      {"with padding by the integer 0", "by the zero point", PaddedByZero},
  };
  return *faults;
}

std::string NameIntegerFault(const Scene& scene, const StepRecord& record, size_t output) {
  const std::string& blob = record.group.outputs[output].blob;
  const Tensor& device = record.device[output];
  const auto step = ReadIntegerStep(scene, record.group, record.inputs, blob);
  if (!step.ok() || step->form != IntegerForm::kProduct || device.dtype() != DType::kI64) return "";
  Integers integers(static_cast<size_t>(step->shape.NumElements()));
  const auto is_device = [&] {
    const auto result = BehindTail(*step, *scene.blobs, integers);
    return result.ok() && result->shape() == device.shape() &&
           std::memcmp(result->raw(), device.raw(), device.bytes()) == 0;
  };
  if (FaultyProduct().Run(*step, step->sums.data<double>(), &integers) && is_device()) return "";  // none
  for (const IntegerFault& fault : IntegerFaults()) {
    if (fault.replay(*step, *scene.blobs, &integers) && is_device())
      return fmt::format("computed {}; the graph says {}", fault.computed, fault.says);
  }
  return "";
}

}  // namespace plumb
