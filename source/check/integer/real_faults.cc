// SPDX-License-Identifier: Apache-2.0
// What is done wrong with the reals that are quantised, whatever made them: roundings, zero points, limits, a factor.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "check/integer/integer_faults.h"

namespace plumb {
namespace {

int64_t Limited(const QuantisedReals& reals, double rounded, int64_t zero) {
  return std::clamp(static_cast<int64_t>(rounded) + zero, reals.low, reals.high);
}

double Even(double v) { return std::nearbyint(v); }
double HalfUp(double v) { return std::floor(v + 0.5); }
double HalfDown(double v) { return std::ceil(v - 0.5); }

template <double (*kRound)(double)>
int64_t RoundedBy(const QuantisedReals& reals, double v) {
  return Limited(reals, kRound(v), reals.zero);
}

double Towards0(double v) { return std::trunc(v); }
double Down(double v) { return std::floor(v); }
double Up(double v) { return std::ceil(v); }
double Away(double v) { return std::round(v); }

template <double (*kRound)(double)>
int64_t ZeroLost(const QuantisedReals& reals, double v) {
  return Limited(reals, kRound(v), 0);
}
template <double (*kRound)(double)>
int64_t ZeroNegated(const QuantisedReals& reals, double v) {
  return Limited(reals, kRound(v), -reals.zero);
}
template <double (*kRound)(double), int kBy>
int64_t ZeroOff(const QuantisedReals& reals, double v) {
  return Limited(reals, kRound(v), reals.zero + kBy);
}

template <double (*kRound)(double)>
int64_t Wraps(const QuantisedReals& reals, double v) {
  const int64_t range = reals.high - reals.low + 1, off = static_cast<int64_t>(kRound(v)) + reals.zero - reals.low;
  return (off % range + range) % range + reals.low;
}

template <double (*kRound)(double)>
int64_t AboveLowest(const QuantisedReals& reals, double v) {
  return std::max(Limited(reals, kRound(v), reals.zero), reals.low + 1);
}

// Bytes that are read with another sign, and were not moved.
template <double (*kRound)(double)>
int64_t HighestBitTurned(const QuantisedReals& reals, double v) {
  const int64_t half = (reals.high - reals.low + 1) / 2, whole = Limited(reals, kRound(v), reals.zero);
  return whole - reals.low < half ? whole + half : whole - half;
}

template <double (*kRound)(double)>
int64_t LowestBitLost(const QuantisedReals& reals, double v) {
  const int64_t whole = Limited(reals, kRound(v), reals.zero);
  return whole - (whole % 2 != 0 ? 1 : 0);
}

// What a half is not added to.
int64_t Towards0BehindZero(const QuantisedReals& reals, double v) {
  return Limited(reals, std::trunc(v + static_cast<double>(reals.zero)), 0);
}

// Of what `kRound` rounds; `kOther` rounds halves the other way.
template <double (*kRound)(double), double (*kOther)(double)>
std::vector<RealFault> FaultsOf(const char* other, const char* right) {
  return {
      {other, right, RoundedBy<kOther>},
      {"with limits above the lowest integer", "all of its type", AboveLowest<kRound>},
      {"with rounding half up", right, RoundedBy<HalfUp>},
      {"with rounding half down", right, RoundedBy<HalfDown>},
      {"with rounding towards zero", right, RoundedBy<Towards0>},
      {"with rounding towards zero, behind the zero point", right, Towards0BehindZero},
      {"with rounding down", right, RoundedBy<Down>},
      {"with rounding up", right, RoundedBy<Up>},
      {"without the zero point of the result", "with it", ZeroLost<kRound>},
      {"with the zero point of the result and one more", "the zero point", ZeroOff<kRound, 1>},
      {"with the zero point of the result less one", "the zero point", ZeroOff<kRound, -1>},
      {"with the zero point of the result with the other sign", "the zero point", ZeroNegated<kRound>},
      {"with integers that wrap at the ends of their type", "limits", Wraps<kRound>},
      {"with the highest bit of its integers turned", "as it is", HighestBitTurned<kRound>},
      {"without the lowest bit of its integers", "with it", LowestBitLost<kRound>},
  };
}

}  // namespace

const std::vector<RealFault>& RealFaults(bool away_from_zero) {
  static const auto* even =
      new std::vector<RealFault>(FaultsOf<Even, Away>("with rounding half away from zero", "half to even"));
  static const auto* away =
      new std::vector<RealFault>(FaultsOf<Away, Even>("with rounding half to even", "half away from zero"));
  return away_from_zero ? *away : *even;
}

std::string NameRealFactor(const QuantisedReals& reals, const std::vector<int64_t>& device) {
  constexpr int kFewest = 8;  // integers within the limits
  double above = 0, below = 0;
  int within = 0;
  for (size_t i = 0; i < device.size(); ++i) {
    if (device[i] == reals.low || device[i] == reals.high) continue;
    const double v = reals.steps[i];
    ++within;
    above += v * static_cast<double>(device[i] - reals.zero);
    below += v * v;
  }
  const double factor = below > 0 ? above / below : 0;
  constexpr double kLeastOff = 5e-4;
  if (within < kFewest || !(std::fabs(factor) > 1e-3 && std::fabs(factor) < 1e3) || std::fabs(factor - 1) < kLeastOff)
    return "";
  size_t off = 0, apart = 0;
  for (size_t i = 0; i < device.size(); ++i) {
    const double scaled = reals.steps[i] * factor;
    off += std::abs(Limited(reals, Even(scaled), reals.zero) - device[i]) > 0 ? 1 : 0;
    apart += Limited(reals, Even(reals.steps[i]), reals.zero) != device[i] ? 1 : 0;
  }
  return off * 8 <= apart && off * 20 <= device.size() ? fmt::format("with its scale times {:.4g}", factor) : "";
}

}  // namespace plumb
