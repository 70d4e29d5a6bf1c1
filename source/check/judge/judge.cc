// SPDX-License-Identifier: Apache-2.0
#include "check/judge/judge.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <set>

#include "base/text.h"
#include "base/threads.h"
#include "check/core/simd_f64.h"
#include "check/judge/repeated_values.h"

namespace plumb {
namespace {

constexpr double kWrongExcess = 4;
constexpr double kWrongRms = 2;
constexpr double kWrongChannelRms = 6;
constexpr double kGreyExcess = 1;
constexpr int64_t kChannelMin = 64;  // fewer values say nothing about one channel
constexpr double kSlopeZ = 8;        // and |b| > kSlopeMin
constexpr double kSlopeMin = 5e-6;
// On int8's grid: what rounding to it does to values below half a step, where the rms is four steps or more.
constexpr double kSlopeMinOnGrid = 0.025;
// Quantised values next to a rounding tie may fall on either side: some 5e-5 of them do (tolerance of int8 layers).
// More than this is another rounding rule or another scale. Behind several quantisations in one step many values are
// within the bound of a tie, which is 8 sigma: of these one in twenty falls on the other side (the mean of P(e > d) for
// a normal e and an even distance d of up to 8 sigma is 0.4 / 8), and four times as many, one in five, are too many.
constexpr double kFlipRate = 1e-3;
constexpr double kFlips = 3;
constexpr double kFlipsOfUncertain = 0.2;
// Integers plus a constant that lies next to a tie: so do all of them, and any share of them may fall on the other
// side.
constexpr double kTiesEverywhere = 0.9;
constexpr double kWeakBound = 0.01;  // of the values: what is below it is not seen
constexpr double kMinTau = 1e-300;   // its inverse is finite

// What one channel contributes.
struct Channel {
  int64_t count = 0;  // finite values
  double excess = 0;
  double squares = 0;         // sum (e / tau)^2
  double ey = 0, yy = 0;      // sum e y / tau^2, sum y^2 / tau^2: for the slope test, and what faults can be seen
  int64_t unknown = 0;        // the reference is neither finite nor bounded: nothing is said of them
  int64_t misclassified = 0;  // not finite, and not as the reference
  int64_t lost_nan = 0;       // of these: NaN in the replay only
  double min = INFINITY, max = -INFINITY;  // of the reference
};

// rms(8 x) from the sum of x^2.
double Rms(double squares, int64_t count) {
  return count == 0 ? 0 : 8 * std::sqrt(squares / static_cast<double>(count));
}

void AddElement(double device, double y, double tau, Channel* c) {
  if (std::isinf(tau) && !std::isfinite(y)) {
    ++c->unknown;
    return;
  }
  const double rounded = static_cast<double>(static_cast<float>(y));
  c->min = std::min(c->min, y);
  c->max = std::max(c->max, y);
  if (!std::isfinite(device) || !std::isfinite(rounded)) {
    const bool same = (std::isnan(device) && std::isnan(rounded)) || device == rounded;
    const bool edge =
        std::isfinite(y) && std::isinf(device) && std::fabs(y) + tau >= 0x1.fffffep127;  // rounds over the edge
    const bool spread = std::isinf(tau) && !std::isfinite(device);  // through a tile of Winograd's algorithm
    c->misclassified += !same && !edge && !spread;
    c->lost_nan += !same && !spread && std::isnan(rounded);
    return;
  }
  ++c->count;
  if (tau == 0) {  // bit-exact: the reference rounded to the device's dtype
    if (device != rounded) c->excess = c->squares = INFINITY;
    return;
  }
  const double per_tau = 1 / std::max(tau, kMinTau);
  const double ratio = (device - y) * per_tau;
  const double scaled = y * per_tau;
  c->excess = std::max(c->excess, std::fabs(ratio));
  c->squares += ratio * ratio;
  c->ey += ratio * scaled;
  c->yy += scaled * scaled;
}

// Eight lanes of a Channel, of finite elements.
struct ChannelLanes {
  double excess[lanes::kLanes] = {}, squares[lanes::kLanes] = {}, ey[lanes::kLanes] = {}, yy[lanes::kLanes] = {};
  double low[lanes::kLanes], high[lanes::kLanes];
  double inexact = 0;  // largest |device - rounded reference| where tau is 0
  double finite = 0;   // NaN when an element was not finite
  ChannelLanes() {
    std::fill_n(low, lanes::kLanes, INFINITY);
    std::fill_n(high, lanes::kLanes, -INFINITY);
  }
};

// AddElement for `count` elements, a multiple of eight.
template <int kWidth>
PLUMB_LANES_INLINE void AddLanes(const float* device, const double* reference, const double* bound, int64_t count,
                                 ChannelLanes* c) {
  using L = lanes::Lanes<kWidth>;
  L excess = L::Load(c->excess), squares = L::Load(c->squares), ey = L::Load(c->ey), yy = L::Load(c->yy);
  L low = L::Load(c->low), high = L::Load(c->high), inexact = L::All(0), finite = L::All(0);
  const L zero = L::All(0), one = L::All(1), min_tau = L::All(kMinTau);
  for (int64_t i = 0; i < count; i += lanes::kLanes) {
    const L x = L::Load(device + i), y = L::Load(reference + i), tau = L::Load(bound + i);
    const L off = x - Rounded(y);
    finite = finite + off * zero;
    inexact = Max(WhereZero(tau, Abs(off)), inexact);
    const L per_tau = WhereNotZero(tau, one / Max(tau, min_tau));
    const L ratio = (x - y) * per_tau, scaled = y * per_tau;
    excess = Max(Abs(ratio), excess);
    squares = squares + ratio * ratio;
    ey = ey + ratio * scaled;
    yy = yy + scaled * scaled;
    low = Min(y, low);
    high = Max(y, high);
  }
  excess.Store(c->excess);
  squares.Store(c->squares);
  ey.Store(c->ey);
  yy.Store(c->yy);
  low.Store(c->low);
  high.Store(c->high);
  double lane[lanes::kLanes];
  inexact.Store(lane);
  c->inexact = std::max(c->inexact, lanes::MaxOf(lane));
  finite.Store(lane);
  c->finite += lanes::SumOf(lane);
}

#define PLUMB_JUDGE_SET(set, attribute, width)                                                       \
  namespace set {                                                                                    \
  attribute void Add(const float* device, const double* reference, const double* tau, int64_t count, \
                     ChannelLanes* c) {                                                              \
    AddLanes<width>(device, reference, tau, count, c);                                               \
  }                                                                                                  \
  }
PLUMB_FOR_EACH_ISA(PLUMB_JUDGE_SET)

// `count` neighbouring elements of a channel.
void AddRun(const float* device, const double* reference, const double* tau, int64_t count, Channel* c) {
  int64_t done = count / lanes::kLanes * lanes::kLanes;
  ChannelLanes part;
  if (done > 0) PLUMB_BEST_ISA(Add)(device, reference, tau, done, &part);
  if (part.finite == 0) {
    c->count += done;
    c->excess = std::max(c->excess, lanes::MaxOf(part.excess));
    c->squares += lanes::SumOf(part.squares);
    c->ey += lanes::SumOf(part.ey);
    c->yy += lanes::SumOf(part.yy);
    c->min = std::min(c->min, *std::min_element(part.low, part.low + lanes::kLanes));
    c->max = std::max(c->max, lanes::MaxOf(part.high));
    if (part.inexact > 0) c->excess = c->squares = INFINITY;
  } else {
    done = 0;
  }
  for (int64_t i = done; i < count; ++i) AddElement(static_cast<double>(device[i]), reference[i], tau[i], c);
}

double SlopeMin(const JudgeInput& input) { return input.grid_step > 0 ? kSlopeMinOnGrid : kSlopeMin; }

bool SlopeWrong(const Channel& c, const JudgeInput& input, double* b, double* z) {
  *b = c.yy > 0 ? c.ey / c.yy : 0;
  *z = std::fabs(*b) * 8 * std::sqrt(c.yy);
  if (input.grid_step > 0 && c.yy < static_cast<double>(c.count)) return false;
  return *z > kSlopeZ && std::fabs(*b) > SlopeMin(input);
}

struct Repetition {
  double share = 1;     // of the values that are no repetitions
  bool by_few = false;  // what they say is said by the largest alone
};

// Of the reference's values, zeros apart. Where a constant field went into a convolution one rounding error is repeated
// all over the map; the slope test counts it once. Where all weights are the same, so are all channels, and sums of
// equal terms stray to one side.
Repetition Repeated(const JudgeInput& input, int64_t channel, int64_t channels) {
  const Shape& shape = input.reference.shape();
  const int64_t plane = shape.rank() >= 2 ? shape.CountFrom(2) : shape.NumElements(), batch = shape.DimOrOne(0);
  const double* reference = input.reference.data<double>();
  std::vector<double> values;
  for (int64_t n = 0; n < (shape.rank() >= 2 ? batch : 1); ++n) {
    for (int64_t c = channel; c < channel + channels; ++c) {
      const double* y = reference + (n * shape.DimOrOne(1) + c) * plane;
      std::copy_if(y, y + plane, std::back_inserter(values), [](double v) { return std::isfinite(v) && v != 0; });
    }
  }
  if (values.empty()) return {};
  constexpr double kRare = 1.0 / 64;
  std::sort(values.begin(), values.end());
  const auto distinct = std::unique(values.begin(), values.end()) - values.begin();
  const double share = static_cast<double>(distinct) / static_cast<double>(values.size());
  if (share >= kRare) return {share, false};
  for (double& value : values) value = static_cast<double>(static_cast<float>(value));  // sums in another order
  const auto stored = std::unique(values.begin(), values.begin() + distinct) - values.begin();
  return {share, stored < kChannelMin};
}

// All channels of eight or more have the same values.
bool HasOneChannel(const JudgeInput& input) {
  constexpr int64_t kMany = 8;
  const Shape& shape = input.reference.shape();
  if (shape.rank() < 2 || shape[1] < kMany) return false;
  const int64_t plane = shape.CountFrom(2);
  for (int64_t n = 0; n < shape[0]; ++n) {
    const double* first = input.reference.data<double>() + n * shape[1] * plane;
    for (int64_t i = plane; i < shape[1] * plane; ++i) {
      if (static_cast<float>(first[i]) != static_cast<float>(first[i % plane])) return false;
    }
  }
  return true;
}

// Whether slope and R say no more of the blob than E does.
bool SaysOnlyItsLargest(const JudgeInput& input, int64_t channels) {
  return HasOneChannel(input) || Repeated(input, 0, channels).by_few;
}

// sum(e y / tau^2) / sum(y^2 / tau^2) over channels; error(i, |y|, tau) is |e|, with y's sign.
template <class Error>
double SlopeOf(const JudgeInput& input, int64_t channel, int64_t channels, const Error& error) {
  const Shape& shape = input.reference.shape();
  const int64_t plane = shape.rank() >= 2 ? shape.CountFrom(2) : shape.NumElements(), batch = shape.DimOrOne(0);
  double ey = 0, yy = 0;
  for (int64_t n = 0; n < (shape.rank() >= 2 ? batch : 1); ++n) {
    for (int64_t i = (n * shape.DimOrOne(1) + channel) * plane, end = i + channels * plane; i < end; ++i) {
      const double y = std::fabs(input.reference.data<double>()[i]), tau = input.tau.data<double>()[i];
      const double per_tau2 = 1 / (tau * tau);
      if (!std::isfinite(y * tau * per_tau2)) continue;
      ey += error(i, y, tau) * y * per_tau2;
      yy += y * y * per_tau2;
    }
  }
  return yy > 0 ? ey / yy : 0;
}

// Of errors of 1.5 d that all have the sign of their values: sums that stray do so alike all over a field that is
// nearly constant.
double StrayingSlope(const JudgeInput& input, int64_t channel, int64_t channels) {
  if (input.steady == nullptr) return 0;
  const double* steady = input.steady->data<double>();
  return SlopeOf(input, channel, channels, [&](int64_t i, double, double tau) {
    return std::sqrt(std::max(0.0, tau * tau - steady[i] * steady[i])) / 8;
  });
}

// Of rounding the reference to int8's grid, which does the same all over such a field, too.
double RoundingSlope(const JudgeInput& input, int64_t channel, int64_t channels) {
  const double step = input.grid_step;
  if (step == 0) return 0;
  return SlopeOf(input, channel, channels,
                 [&](int64_t, double y, double) { return std::nearbyint(y / step) * step - y; });
}

// Called only where the slope stands out, so that healthy blobs are passed over once.
bool SlopeStands(const JudgeInput& input, int64_t channel, int64_t channels, double b, double* z) {
  const double left = std::fabs(b - RoundingSlope(input, channel, channels));
  const Repetition repetition = Repeated(input, channel, channels);
  *z *= left / std::fabs(b) * std::sqrt(repetition.share);
  return !repetition.by_few && *z > kSlopeZ &&
         left > std::max(StrayingSlope(input, channel, channels), SlopeMin(input)) && !HasOneChannel(input);
}

void Raise(Verdict verdict, const std::string& reason, OutputReport* report) {
  if (verdict > report->verdict) report->verdict = verdict;
  if (verdict == Verdict::kWrong && !reason.empty()) {
    report->reason += (report->reason.empty() ? "" : "; ") + reason;
  }
}

// R again, where it alone is beyond its limits and the step repeats its errors wherever its argument repeats. Returns
// whether R counts.
bool CountRepeatedOnce(const std::vector<Channel>& channels, const JudgeInput& input, OutputReport* report) {
  const bool by_rms = report->rms_excess > kWrongRms || report->channel_excess > kWrongChannelRms;
  if (!by_rms || report->excess > kWrongExcess) return true;
  if (!input.repeats_errors) return !SaysOnlyItsLargest(input, static_cast<int64_t>(channels.size()));
  report->rms_excess = RmsOfDistinct(input, 0, static_cast<int64_t>(channels.size()));
  report->channel_excess = 0;
  for (size_t i = 0; i < channels.size(); ++i) {
    if (channels[i].count < kChannelMin) continue;
    report->channel_excess = std::max(report->channel_excess, RmsOfDistinct(input, static_cast<int64_t>(i), 1));
  }
  return true;
}

void Decide(const std::vector<Channel>& channels, const JudgeInput& input, OutputReport* report) {
  const bool slope_test = input.slope_test;
  Channel all;
  report->verdict = Verdict::kAligned;
  for (size_t i = 0; i < channels.size(); ++i) {
    const Channel& c = channels[i];
    all.count += c.count;
    all.excess = std::max(all.excess, c.excess);
    all.squares += c.squares;
    all.ey += c.ey;
    all.yy += c.yy;
    all.unknown += c.unknown;
    all.misclassified += c.misclassified;
    all.lost_nan += c.lost_nan;
    all.min = std::min(all.min, c.min);
    all.max = std::max(all.max, c.max);
    if (c.count < kChannelMin) continue;
    report->channel_excess = std::max(report->channel_excess, Rms(c.squares, c.count));
    double b, z;
    if (slope_test && report->reason.empty() && SlopeWrong(c, input, &b, &z) &&
        SlopeStands(input, static_cast<int64_t>(i), 1, b, &z)) {
      Raise(Verdict::kWrong, fmt::format("channel {} is off by the factor 1 + {}", i, Number(b, 3)), report);
    }
  }
  report->excess = all.excess;
  report->rms_excess = Rms(all.squares, all.count);
  report->smallest_fault = all.yy > 0 ? kWrongRms / Rms(all.yy, all.count) : 0;
  if (slope_test && SlopeWrong(all, input, &report->slope, &report->slope_z) &&
      SlopeStands(input, 0, static_cast<int64_t>(channels.size()), report->slope, &report->slope_z)) {
    Raise(Verdict::kWrong, "the output is off by the factor 1 + " + Number(report->slope, 3), report);
  }
  if (!input.inputs_finite && all.lost_nan > 0) {
    all.misclassified -= all.lost_nan;
    Raise(Verdict::kGrey, "", report);
    report->reason = std::to_string(all.lost_nan) + " NaN that follow from the inputs were lost";
  }
  if (all.misclassified > 0) {
    report->excess = report->rms_excess = INFINITY;
    Raise(Verdict::kWrong, std::to_string(all.misclassified) + " values are NaN or infinite on one side only", report);
  }
  const bool rms_counts = CountRepeatedOnce(channels, input, report);
  const bool by_rms = report->rms_excess > kWrongRms || report->channel_excess > kWrongChannelRms;
  if (report->excess > kWrongExcess || (by_rms && rms_counts)) {
    Raise(Verdict::kWrong, "the error is beyond rounding", report);
  } else if (report->excess > kGreyExcess) {
    Raise(Verdict::kGrey, "", report);
  }
  if (report->verdict == Verdict::kAligned && all.count == 0 && all.unknown > 0) {
    report->verdict = Verdict::kNotTested;
    report->reason = "its inputs stand as infinite, and were read before they were rounded";
  } else if (report->verdict == Verdict::kAligned && report->shape.NumElements() > 1 && all.min == all.max) {
    report->verdict = Verdict::kNotTested;
    report->reason = all.min == 0 ? "all values are zero on both sides" : "all values are the same on both sides";
  }
  const double bound = all.yy > 0 ? 8 / Rms(all.yy, all.count) : 0;
  if (report->verdict == Verdict::kAligned && bound > kWeakBound) {
    report->reason = fmt::format("weakly tested: the bound is {} % of the values", Number(100 * bound, 3));
  }
}

template <class T>
void JudgeIntegers(const JudgeInput& input, OutputReport* report) {
  const T* a = input.device.data<T>();
  const T* b = input.reference.data<T>();
  const double* tau = input.tau.data<double>();
  int64_t differing = 0, near_ties = 0, uncertain = 0, free = 0;
  std::set<std::pair<T, T>> ties;  // up to one more than tells: one that a field repeats is one
  bool constant = true;
  for (int64_t i = 0; i < input.device.NumElements(); ++i) {
    if (std::isinf(tau[i])) {
      ++free;
      continue;
    }
    const bool near = a[i] != b[i] && std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])) <= tau[i];
    near_ties += near;
    if (near && ties.size() <= kFlips) ties.emplace(a[i], b[i]);
    uncertain += tau[i] > 0;
    differing += a[i] != b[i] && !near;
    constant = constant && b[i] == b[0];
  }
  const double allowed = std::max({kFlips, kFlipRate * static_cast<double>(input.device.NumElements()),
                                   kFlipsOfUncertain * static_cast<double>(uncertain)});
  const bool often = !input.picks && ties.size() > kFlips && static_cast<double>(near_ties) > allowed;
  const bool everywhere = input.rounds_once && static_cast<double>(uncertain) >
                                                   kTiesEverywhere * static_cast<double>(input.device.NumElements());
  const bool wrong = differing > 0 || (often && !everywhere);
  report->excess = report->rms_excess = wrong ? INFINITY : often ? kWrongExcess : 0;
  report->verdict = wrong                                        ? Verdict::kWrong
                    : often                                      ? Verdict::kGrey
                    : constant && input.device.NumElements() > 1 ? Verdict::kNotTested
                                                                 : Verdict::kAligned;
  if (near_ties > 0) {
    report->reason = std::to_string(near_ties) + (input.picks ? " indices name another element of the same value"
                                                              : " values lie on the other side of a rounding tie");
    if (often && everywhere) report->reason += ", which nearly all values are next to: it cannot be told by which rule";
  }
  if (differing > 0) report->reason = std::to_string(differing) + " integers differ";
  if (report->verdict == Verdict::kNotTested) report->reason = "all values are the same on both sides";
  if (free > 0 && free == input.device.NumElements()) {
    report->verdict = Verdict::kNotTested;
    report->reason = "integers that stand for NaN: any is right";
  }
}

// The bounds are f32's: what is below them is not seen.
void JudgeDoubles(const JudgeInput& input, OutputReport* report) {
  const auto single = input.device.ConvertedTo(DType::kF32);
  if (single.ok())
    return Judge({*single, input.reference, input.tau, input.slope_test, input.inputs_finite, input.grid_step, nullptr,
                  input.picks, input.rounds_once},
                 report);
  report->verdict = Verdict::kNotTested;
  report->reason = single.status().message();
}

// Other types, which are only moved: the same values.
void JudgeMoved(const JudgeInput& input, OutputReport* report) {
  int64_t differing = 0;
  const int64_t count = input.device.NumElements();
  const size_t size = input.device.bytes() / static_cast<size_t>(count);
  const bool floats = IsFloat(input.device.dtype());
  for (int64_t i = 0; i < count; ++i) {
    const bool same =
        std::memcmp(static_cast<const char*>(input.device.raw()) + static_cast<size_t>(i) * size,
                    static_cast<const char*>(input.reference.raw()) + static_cast<size_t>(i) * size, size) == 0;
    const double a = floats && !same ? input.device.ValueAt(i) : 0,
                 b = floats && !same ? input.reference.ValueAt(i) : 1;
    differing += !same && a != b && !(std::isnan(a) && std::isnan(b));
  }
  report->excess = report->rms_excess = differing > 0 ? INFINITY : 0;
  report->verdict = differing > 0 ? Verdict::kWrong : Verdict::kAligned;
  if (differing > 0) report->reason = fmt::format("{} {} differ", differing, floats ? "values" : "integers");
}

}  // namespace

void Judge(const JudgeInput& input, OutputReport* report) {
  report->reason.clear();
  report->channel_excess = report->slope = report->slope_z = 0;
  if (input.device.NumElements() == 0) {
    report->verdict = Verdict::kNotTested;
    report->reason = "the blob has no values";
    return;
  }
  switch (input.device.dtype()) {
    case DType::kF32: break;
    case DType::kF64: return JudgeDoubles(input, report);
    case DType::kI32: return JudgeIntegers<int32_t>(input, report);
    case DType::kI64: return JudgeIntegers<int64_t>(input, report);
    case DType::kI8: return JudgeIntegers<int8_t>(input, report);
    case DType::kU8:
    case DType::kBool: return JudgeIntegers<uint8_t>(input, report);
    default: return JudgeMoved(input, report);
  }
  const Shape& shape = input.device.shape();
  const int64_t channels = shape.rank() >= 2 ? shape[1] : 1;
  const int64_t plane = shape.rank() >= 2 ? shape.CountFrom(2) : shape.NumElements();
  const int64_t batch = shape.rank() >= 2 ? shape[0] : 1;
  std::vector<Channel> parts(static_cast<size_t>(channels));
  const float* device = input.device.data<float>();
  const double* reference = input.reference.data<double>();
  const double* tau = input.tau.data<double>();
  ParallelFor(channels, std::max<int64_t>(1, (1 << 13) / std::max<int64_t>(1, batch * plane)),
              [&](int64_t begin, int64_t end) {
                for (int64_t c = begin; c < end; ++c) {
                  Channel part;
                  for (int64_t n = 0; n < batch; ++n) {
                    const int64_t at = (n * channels + c) * plane;
                    AddRun(device + at, reference + at, tau + at, plane, &part);
                  }
                  parts[static_cast<size_t>(c)] = part;
                }
              });
  Decide(parts, input, report);
}

}  // namespace plumb
