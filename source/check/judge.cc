#include "check/judge.h"

#include <algorithm>
#include <cmath>

#include "base/threads.h"

namespace plumb {
namespace {

constexpr double kWrongExcess = 4;
constexpr double kWrongRms = 2;
constexpr double kWrongChannelRms = 6;
constexpr double kGreyExcess = 1;
constexpr int64_t kChannelMin = 64;     // fewer values say nothing about one channel
constexpr double kSlopeZ = 8;           // and |b| > kSlopeMin
constexpr double kSlopeMin = 5e-6;

// What one channel contributes.
struct Channel {
  int64_t count = 0;        // finite values
  double excess = 0;
  double squares = 0;       // sum (8 e / tau)^2
  double visible = 0;       // sum (8 y / tau)^2
  double ey = 0, yy = 0;    // slope test: sum e y / s^2, sum y^2 / s^2, s = tau / 8
  int64_t misclassified = 0;  // not finite, and not as the reference
  int64_t lost_nan = 0;       // of these: NaN in the replay only
  double min = INFINITY, max = -INFINITY;  // of the reference
};

double Rms(double squares, int64_t count) { return count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count)); }

void AddElement(double device, double y, double tau, Channel* c) {
  const double rounded = static_cast<double>(static_cast<float>(y));
  c->min = std::min(c->min, y);
  c->max = std::max(c->max, y);
  if (!std::isfinite(device) || !std::isfinite(rounded)) {
    const bool same = (std::isnan(device) && std::isnan(rounded)) || device == rounded;
    const bool edge = std::isfinite(y) && std::isinf(device) && std::fabs(y) + tau >= 0x1.fffffep127;  // rounds over the edge
    c->misclassified += !same && !edge;
    c->lost_nan += !same && std::isnan(rounded);
    return;
  }
  ++c->count;
  const double e = device - y;
  if (tau == 0) {  // bit-exact: the reference rounded to the device's dtype
    if (device != rounded) c->excess = c->squares = INFINITY;
    return;
  }
  const double ratio = e / tau;
  const double scaled = y / tau;
  c->excess = std::max(c->excess, std::fabs(ratio));
  c->squares += 64 * ratio * ratio;
  c->visible += 64 * scaled * scaled;
  c->ey += 64 * ratio * scaled;
  c->yy += 64 * scaled * scaled;
}

bool SlopeWrong(double ey, double yy, double* b, double* z) {
  *b = yy > 0 ? ey / yy : 0;
  *z = std::fabs(*b) * std::sqrt(yy);
  return *z > kSlopeZ && std::fabs(*b) > kSlopeMin;
}

void Raise(Verdict verdict, const std::string& reason, OutputReport* report) {
  if (verdict > report->verdict) report->verdict = verdict;
  if (verdict == Verdict::kWrong && !reason.empty()) {
    report->reason += (report->reason.empty() ? "" : "; ") + reason;
  }
}

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", value);
  return text;
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
    all.visible += c.visible;
    all.ey += c.ey;
    all.yy += c.yy;
    all.misclassified += c.misclassified;
    all.lost_nan += c.lost_nan;
    all.min = std::min(all.min, c.min);
    all.max = std::max(all.max, c.max);
    if (c.count < kChannelMin) continue;
    report->channel_excess = std::max(report->channel_excess, Rms(c.squares, c.count));
    double b, z;
    if (slope_test && report->reason.empty() && SlopeWrong(c.ey, c.yy, &b, &z)) {
      Raise(Verdict::kWrong, "channel " + std::to_string(i) + " is off by the factor 1 + " + Number(b), report);
    }
  }
  report->excess = all.excess;
  report->rms_excess = Rms(all.squares, all.count);
  report->smallest_fault = all.visible > 0 ? kWrongRms / Rms(all.visible, all.count) : 0;
  if (slope_test && SlopeWrong(all.ey, all.yy, &report->slope, &report->slope_z)) {
    Raise(Verdict::kWrong, "the output is off by the factor 1 + " + Number(report->slope), report);
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
  if (report->excess > kWrongExcess || report->rms_excess > kWrongRms || report->channel_excess > kWrongChannelRms) {
    Raise(Verdict::kWrong, "the error is beyond rounding", report);
  } else if (report->excess > kGreyExcess) {
    Raise(Verdict::kGrey, "", report);
  }
  if (report->verdict == Verdict::kAligned && report->shape.NumElements() > 1 && all.min == all.max) {
    report->verdict = Verdict::kNotTested;
    report->reason = all.min == 0 ? "all values are zero on both sides" : "all values are the same on both sides";
  }
}

template <class T>
void JudgeIntegers(const JudgeInput& input, OutputReport* report) {
  const T* a = input.device.data<T>();
  const T* b = input.reference.data<T>();
  int64_t differing = 0;
  bool constant = true;
  for (int64_t i = 0; i < input.device.NumElements(); ++i) {
    differing += a[i] != b[i];
    constant = constant && b[i] == b[0];
  }
  report->excess = report->rms_excess = differing > 0 ? INFINITY : 0;
  report->verdict = differing > 0 ? Verdict::kWrong
                    : constant && input.device.NumElements() > 1 ? Verdict::kNotTested
                                                                   : Verdict::kAligned;
  if (differing > 0) report->reason = std::to_string(differing) + " integers differ";
  if (report->verdict == Verdict::kNotTested) report->reason = "all values are the same on both sides";
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
    case DType::kI32: return JudgeIntegers<int32_t>(input, report);
    case DType::kI64: return JudgeIntegers<int64_t>(input, report);
    case DType::kI8: return JudgeIntegers<int8_t>(input, report);
    case DType::kU8: case DType::kBool: return JudgeIntegers<uint8_t>(input, report);
    default:
      report->verdict = Verdict::kNotTested;
      report->reason = std::string("no rule for ") + DTypeName(input.device.dtype()) + " blobs yet";
      return;
  }
  const Shape& shape = input.device.shape();
  const int64_t channels = shape.rank() >= 2 ? shape[1] : 1;
  const int64_t plane = shape.rank() >= 2 ? shape.CountFrom(2) : shape.NumElements();
  const int64_t batch = shape.rank() >= 2 ? shape[0] : 1;
  std::vector<Channel> parts(static_cast<size_t>(channels));
  const float* device = input.device.data<float>();
  const double* reference = input.reference.data<double>();
  const double* tau = input.tau.data<double>();
  ParallelFor(channels, std::max<int64_t>(1, (1 << 13) / std::max<int64_t>(1, batch * plane)), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      Channel part;
      for (int64_t n = 0; n < batch; ++n) {
        const int64_t at = (n * channels + c) * plane;
        for (int64_t i = at; i < at + plane; ++i) AddElement(static_cast<double>(device[i]), reference[i], tau[i], &part);
      }
      parts[static_cast<size_t>(c)] = part;
    }
  });
  Decide(parts, input, report);
}

}  // namespace plumb
