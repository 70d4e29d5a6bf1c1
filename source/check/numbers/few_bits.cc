// SPDX-License-Identifier: Apache-2.0
#include "check/numbers/few_bits.h"

#include <algorithm>
#include <cmath>

#include "base/half.h"

namespace plumb::few_bits {
namespace {

struct Float8 {
  int bits, least_exponent;
  double largest;
};
constexpr Float8 kE4M3 = {3, -6, 448}, kE5M2 = {2, -14, 57344};

double InFloat8(const Float8& format, double v) {
  if (v == 0 || !std::isfinite(v)) return v;
  int exponent;
  (void)std::frexp(v, &exponent);
  const double step = std::ldexp(1, std::max(exponent - 1, format.least_exponent) - format.bits);
  return std::clamp(std::nearbyint(v / step) * step, -format.largest, format.largest);
}

// v / step as quantisers compute it, with a step that they keep in f32: of 63.5 steps the largest value is a tie.
double Steps(double v, double step) {
  return std::nearbyint(static_cast<double>(static_cast<float>(v) / static_cast<float>(step)));
}

void KeepInHalf(double step, std::vector<double>* values) {
  for (double& v : *values) v = step != 0 ? v * (InHalf(step) / step) : v;
}

}  // namespace

double InHalf(double v) { return static_cast<double>(HalfToFloat(FloatToHalf(static_cast<float>(v)))); }
double InBrain(double v) { return static_cast<double>(BFloat16ToFloat(FloatToBFloat16(static_cast<float>(v)))); }
double InCutHalf(double v) {
  const double half = InHalf(v);
  const double step = std::fabs(half) > std::fabs(v) && v != 0 ? std::ldexp(1, std::max(std::ilogb(v), -14) - 10) : 0;
  return half - std::copysign(step, v);
}
double InCutBrain(double v) {
  const double brain = InBrain(v);
  const double step = std::fabs(brain) > std::fabs(v) && v != 0 ? std::ldexp(1, std::ilogb(v) - 7) : 0;
  return brain - std::copysign(step, v);
}
double InTwoBrains(double v) { return InBrain(v) + InBrain(v - InBrain(v)); }

double InBits(double v, int bits) {
  if (v == 0 || !std::isfinite(v)) return v;
  int exponent;
  const double significand = std::frexp(v, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(significand, bits)), exponent - bits);
}
double InTf32(double v) { return InBits(v, 11); }
double CutBits(double v, int bits) {
  if (v == 0 || !std::isfinite(v)) return v;
  int exponent;
  const double significand = std::frexp(v, &exponent);
  return std::ldexp(std::trunc(std::ldexp(significand, bits)), exponent - bits);
}
double InE4M3(double v) { return InFloat8(kE4M3, v); }
double InE5M2(double v) { return InFloat8(kE5M2, v); }

void Symmetric(const ValueRange& range, double levels, std::vector<double>* values) {
  const double step = range.largest() / levels, least = -std::ceil(levels), most = std::min(std::ceil(levels), 127.0);
  if (static_cast<float>(step) <= 0) return;
  for (double& v : *values) v = std::clamp(Steps(v, step), least, most) * step;
}

void Lopsided(const ValueRange& range, double levels, std::vector<double>* values) {
  const double extreme = -range.low > range.high ? range.low : range.high, step = extreme / -levels;
  for (double& v : *values) v = step != 0 ? std::clamp(std::nearbyint(v / step), -levels, levels - 1) * step : v;
}

void WithZeroPoint(const ValueRange& range, double levels, std::vector<double>* values) {
  const double low = std::min(range.low, 0.0), high = std::max(range.high, 0.0), step = (high - low) / levels;
  if (static_cast<float>(step) <= 0) return;
  const double zero = std::nearbyint(-low / step);
  for (double& v : *values) v = (std::clamp(Steps(v, step) + zero, 0.0, levels) - zero) * step;
}

void WithOffset(const ValueRange& range, double levels, std::vector<double>* values) {
  constexpr double kLeastStep = 1e-6;
  const auto step = static_cast<double>(static_cast<float>(range.high - range.low) / static_cast<float>(levels));
  for (double& v : *values) v = range.low + (step < kLeastStep ? 0 : Steps(v - range.low, step) * step);
}

void LopsidedKeptInHalf(const ValueRange& range, double levels, std::vector<double>* values) {
  Lopsided(range, levels, values);
  KeepInHalf(range.largest() / levels, values);
}
void WithZeroPointKeptInHalf(const ValueRange& range, double levels, std::vector<double>* values) {
  WithZeroPoint(range, levels, values);
  KeepInHalf((std::max(range.high, 0.0) - std::min(range.low, 0.0)) / levels, values);
}

bool IsByChance(int64_t next_to_ties, int64_t count) { return 256 * (next_to_ties - 2) <= count; }

}  // namespace plumb::few_bits
