// SPDX-License-Identifier: Apache-2.0
#include "check/numbers/winograd_spread.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace plumb {
namespace {

// Healthy layers of MNN and ncnn have crests of 5 to 12, least shares of 0.3 to 0.9 and fits below 0.2; the limits lie
// between these and planted faults (test/check/winograd_found_test.cc prints both).
constexpr int64_t kFewest = 64;        // values
constexpr double kLikelier = 20;       // difference of the logarithms of both likelihoods
constexpr double kLeastShare = 0.125;  // rms of the median part, of that of all
constexpr double kMostCrest = 24;      // the largest error, of the rms of all
constexpr double kMostFitted = 0.5;    // of the errors' energy
constexpr double kMostRms = 0.25;      // of that form's own bound: R of 2
constexpr double kMostExcess = 4;      // and E

// Errors in units of the algorithm's bound; one that tells nothing (a ReLU's 0, an overflow) is NaN.
std::vector<double> ErrorsInTau(const WinogradErrors& e) {
  std::vector<double> ratios(static_cast<size_t>(e.device.NumElements()));
  for (size_t i = 0; i < ratios.size(); ++i) {
    const double direct = e.direct_tau.data<double>()[i], tau = e.winograd_tau.data<double>()[i];
    const double error = static_cast<double>(e.device.data<float>()[i]) - e.exact.data<double>()[i];
    ratios[i] = direct > 0 && tau > 0 && std::isfinite(tau) ? error / tau : NAN;
  }
  return ratios;
}

struct Energy {
  double sum = 0, largest = 0;
  int64_t count = 0;
  void Add(double ratio) {
    if (!std::isfinite(ratio)) return;
    sum += ratio * ratio;
    largest = std::max(largest, std::fabs(ratio));
    ++count;
  }
  double rms() const { return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count)); }
};

// Whether errors of normal distribution, of any size, are likelier with the algorithm's bound for their spread than
// with the direct one.
bool FollowsTau(const WinogradErrors& e, const std::vector<double>& ratios) {
  Energy winograd, direct;
  double larger = 0;  // sum of the logarithms of their quotient
  for (size_t i = 0; i < ratios.size(); ++i) {
    if (!std::isfinite(ratios[i])) continue;
    const double quotient = e.winograd_tau.data<double>()[i] / e.direct_tau.data<double>()[i];
    winograd.Add(ratios[i]);
    direct.Add(ratios[i] * quotient);
    larger += std::log(quotient);
  }
  if (winograd.count < kFewest || winograd.sum == 0) return false;
  const double each = std::log(direct.rms() / winograd.rms());
  return static_cast<double>(winograd.count) * each - larger > kLikelier;
}

// Of the parts along each axis the median one has its share.
bool IsEverywhere(const Shape& shape, const std::vector<double>& ratios, double rms) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto size = static_cast<size_t>(shape[axis]), inner = static_cast<size_t>(shape.CountFrom(axis + 1));
    std::vector<Energy> parts(size);
    for (size_t i = 0; i < ratios.size(); ++i) parts[i / inner % size].Add(ratios[i]);
    std::vector<double> shares;
    for (const Energy& part : parts) {
      if (part.count > 0) shares.push_back(part.rms() / rms);
    }
    std::sort(shares.begin(), shares.end());
    if (shares[(shares.size() - 1) / 2] < kLeastShare) return false;
  }
  return true;
}

// The share of the energy that a y + b with its own a and b for each channel explains, beyond what two numbers explain
// of any values that are as few.
double FittedShare(const WinogradErrors& e, const std::vector<double>& ratios) {
  const Shape& shape = e.device.shape();
  const auto channels = static_cast<size_t>(shape.DimOrOne(1)), plane = static_cast<size_t>(shape.CountFrom(2));
  struct Sums {
    double yy = 0, y = 0, one = 0, ye = 0, e = 0, ee = 0, count = 0;
  };
  std::vector<Sums> sums(channels);
  double energy = 0, fitted = 0, by_chance = 0;
  for (size_t i = 0; i < ratios.size(); ++i) {
    if (!std::isfinite(ratios[i])) continue;
    const double weight = 1 / e.winograd_tau.data<double>()[i], y = e.exact.data<double>()[i] * weight;
    Sums& s = sums[i / plane % channels];
    s.yy += y * y, s.y += y * weight, s.one += weight * weight, s.ye += y * ratios[i], s.e += weight * ratios[i];
    s.ee += ratios[i] * ratios[i], s.count += 1;
  }
  for (const Sums& s : sums) {
    energy += s.ee;
    by_chance += s.ee * std::min(1.0, 2 / std::max(1.0, s.count));
    const double determinant = s.yy * s.one - s.y * s.y;
    if (!(determinant > 1e-9 * s.yy * s.one)) continue;  // one value: it fits anything
    const double a = (s.ye * s.one - s.e * s.y) / determinant, b = (s.e * s.yy - s.ye * s.y) / determinant;
    fitted += a * s.ye + b * s.e;
  }
  return energy > by_chance ? (fitted - by_chance) / (energy - by_chance) : 1;
}

}  // namespace

bool SpreadAsWinograd(const WinogradErrors& errors) {
  if (errors.device.dtype() != DType::kF32 || errors.device.shape().rank() < 3) return false;
  const std::vector<double> ratios = ErrorsInTau(errors);
  if (!FollowsTau(errors, ratios)) return false;
  Energy all;
  for (const double ratio : ratios) all.Add(ratio);
  return all.rms() <= kMostRms && all.largest <= std::min(kMostExcess, kMostCrest * all.rms()) &&
         IsEverywhere(errors.device.shape(), ratios, all.rms()) && FittedShare(errors, ratios) < kMostFitted;
}

}  // namespace plumb
