// SPDX-License-Identifier: Apache-2.0
#include "check/cause/accumulator.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "base/half.h"

namespace plumb {
namespace {

constexpr int64_t kMaxTerms = 8192;  // of one output
constexpr double kCollapsed = 0.25;  // of the difference, where another order would leave about all of it

bool HasProducts(const SampleSum& sum) {
  return std::any_of(sum.w.begin(), sum.w.end(), [](float w) { return w != 1; });
}

}  // namespace

float RoundedBy(const SumWay& way, float x) {
  return way.half ? HalfToFloat(FloatToHalf(x)) : BFloat16ToFloat(FloatToBFloat16(x));
}

namespace {

// Towards zero, to the format of the way.
float CutBy(const SumWay& way, double x) {
  auto cut = static_cast<float>(x);
  if (std::fabs(static_cast<double>(cut)) > std::fabs(x)) cut = std::nextafter(cut, 0.0f);
  if (way.single) return cut;
  if (way.half && std::fabs(x) < 0x1p-14) return static_cast<float>(std::trunc(x * 0x1p24) * 0x1p-24);
  return BitsToFloat(FloatToBits(cut) & (way.half ? 0xFFFFE000u : 0xFFFF0000u));
}

float Sum(const SumWay& way, float a, float b) {
  return way.cuts ? CutBy(way, static_cast<double>(a) + static_cast<double>(b)) : RoundedBy(way, a + b);
}

float AddProduct(const SumWay& way, float sum, float x, float w) {
  if (!way.cuts) return RoundedBy(way, sum + (way.fused ? x * w : RoundedBy(way, x * w)));
  const double product = static_cast<double>(x) * static_cast<double>(w);
  return CutBy(way, static_cast<double>(sum) + (way.fused ? product : static_cast<double>(CutBy(way, product))));
}

}  // namespace

float Accumulate(const SampleSum& sum, const SumWay& way) {
  std::vector<float> lanes(way.lanes, 0.0f);
  if (way.bias_first) lanes[0] = way.cuts ? CutBy(way, static_cast<double>(sum.bias)) : RoundedBy(way, sum.bias);
  const auto terms = static_cast<int64_t>(sum.x.size()), channels = terms / sum.inner;
  for (int64_t i = 0; i < terms; ++i) {
    const auto at = static_cast<size_t>(way.channels_inner ? i % channels * sum.inner + i / channels : i);
    float& lane = lanes[static_cast<size_t>(i) % way.lanes];
    const float x = way.operands ? RoundedBy(way, sum.x[at]) : sum.x[at];
    const float w = way.operands ? RoundedBy(way, sum.w[at]) : sum.w[at];
    lane = AddProduct(way, lane, x, w);
  }
  for (size_t width = way.lanes / 2; way.by_halves && width > 0; width /= 2) {
    for (size_t l = 0; l < width; ++l) lanes[l] = Sum(way, lanes[l], lanes[l + width]);
  }
  float total = lanes[0];
  for (size_t l = 1; l < lanes.size() && !way.by_halves; ++l) total = Sum(way, total, lanes[l]);
  if (sum.divisor != 1) {
    const double mean = static_cast<double>(total) / sum.divisor;
    return way.cuts ? CutBy(way, mean) : RoundedBy(way, total / static_cast<float>(sum.divisor));
  }
  return way.bias_first ? total : Sum(way, total, sum.bias);
}

std::string Describe(const SumWay& way, const SampleSum& sum) {
  const char* order = !HasProducts(sum) ? "" : way.channels_inner ? ", channels innermost" : ", channel by channel";
  return fmt::format("{}accumulated in {}{}{}{}", way.operands ? "operands rounded and " : "",
                     way.single ? "f32"
                     : way.half ? "f16"
                                : "bf16",
                     order, way.lanes > 1 ? fmt::format(", in {} partial sums", way.lanes) : "",
                     way.cuts ? ", each addition cut off towards zero" : "");
}

std::vector<SumWay> WaysOf(const SampleSum& sum) {
  std::vector<SumWay> ways;
  for (const bool operands : {false, true}) {
    for (const size_t lanes : {1, 4, 8, 16, 32}) {
      for (int bits = 0; bits < 32; ++bits) {
        const SumWay way{bits % 2 == 0, bits / 2 % 2 != 0, bits / 4 % 2 == 0, bits / 8 % 2 != 0, operands,
                         lanes,         bits / 16 % 2 != 0};
        const bool idle = (way.channels_inner && sum.inner == 1) || (way.by_halves && lanes == 1) ||
                          (way.operands && !HasProducts(sum)) || (way.bias_first && sum.divisor != 1);
        if (!idle && lanes <= sum.x.size()) ways.push_back(way);
      }
    }
  }
  return ways;
}

std::vector<SumWay> CuttingWaysOf(const SampleSum& sum) {
  std::vector<SumWay> ways;
  for (SumWay way : WaysOf(sum)) {
    if (way.operands) continue;
    way.cuts = true;
    ways.push_back(way);
    way.single = true;
    if (way.half) ways.push_back(way);  // once
  }
  return ways;
}

namespace {

std::vector<SampleSum> SumsOf(const ReplayedStep& step) {
  if (step.device.size() != 1 || step.device[0].dtype() != DType::kF32) return {};
  std::vector<SampleSum> sums = SampleOf(step);
  if (sums.empty() && step.group.members.size() == 1) sums = SampleOfTerms(step);
  if (sums.empty() || sums[0].x.empty() || static_cast<int64_t>(sums[0].x.size()) > kMaxTerms) return {};
  return sums;
}

// What of the ways leaves the smallest of squared differences below `least`, or "".
std::string BestOf(const std::vector<SumWay>& ways, const std::vector<SampleSum>& sums, const ReplayedStep& step,
                   double least) {
  std::string best;
  for (const SumWay& way : ways) {
    double left = 0;
    for (size_t i = 0; i < sums.size() && left < least; ++i) {
      const double off = step.device[0].ValueAt(sums[i].output) - static_cast<double>(Accumulate(sums[i], way));
      left += off * off;
    }
    if (!(left < least)) continue;
    least = left;
    best = Describe(way, sums[0]);
  }
  return best;
}

// Whether a sum adds the same few numbers over and over: constant weights and channels. Such sums stray to one side.
bool RepeatsTerms(const SampleSum& sum) {
  constexpr size_t kOften = 8;
  std::vector<float> terms;
  for (size_t i = 0; i < sum.x.size(); ++i) terms.push_back(sum.x[i] * sum.w[i]);
  std::sort(terms.begin(), terms.end());
  const auto distinct = static_cast<size_t>(std::unique(terms.begin(), terms.end()) - terms.begin());
  return terms.size() >= kOften && distinct * kOften <= terms.size();
}

// What a sample is off by, in squares; `drifts`: nearly all of it towards zero, values that are the same counted once.
struct Off {
  double squares = 0;
  bool drifts = false;
};

Off OffOf(const std::vector<SampleSum>& sums, const ReplayedStep& step) {
  constexpr double kDrift = -4;  // of the sum of 64 signed errors, in units of theirs; cut sums are at -6 and below
  Off result;
  double towards = 0, once = 0;
  std::set<std::pair<double, double>> seen;
  for (const SampleSum& sum : sums) {
    const double x = step.device[0].ValueAt(sum.output), y = step.replay.values[0].ValueAt(sum.output);
    result.squares += (x - y) * (x - y);
    if (!seen.emplace(x, static_cast<double>(static_cast<float>(y))).second) continue;
    once += (x - y) * (x - y);
    towards += y < 0 ? y - x : x - y;
  }
  result.drifts = towards < kDrift * std::sqrt(once) && !RepeatsTerms(sums[0]);
  return result;
}

}  // namespace

std::string NameAccumulator(const ReplayedStep& step) {
  const std::vector<SampleSum> sums = SumsOf(step);
  if (sums.empty()) return "";
  const auto [own, drifts] = OffOf(sums, step);
  double rounded[2] = {0, 0}, xy = 0, yy = 0, xx = 0;
  for (const SampleSum& sum : sums) {
    const double x = step.device[0].ValueAt(sum.output), y = step.replay.values[0].ValueAt(sum.output);
    xy += x * y, yy += y * y, xx += x * x;
    for (const bool half : {false, true}) {
      const double off = x - static_cast<double>(RoundedBy({half}, static_cast<float>(y)));
      rounded[half ? 1 : 0] += off * off;
    }
  }
  const double enough = kCollapsed * kCollapsed * own;
  if (rounded[0] < enough || rounded[1] < enough) return "";  // only the result was
  constexpr double kFactor = 1e-3;  // of the squares is left of a factor; narrow sums lose more unevenly
  if (yy == 0 || xx - xy * xy / yy < kFactor * own) return "";
  std::vector<SumWay> ways = WaysOf(sums[0]);
  if (drifts) {
    const std::vector<SumWay> cutting = CuttingWaysOf(sums[0]);
    ways.insert(ways.end(), cutting.begin(), cutting.end());
  }
  return BestOf(ways, sums, step, enough);
}

std::string NameCuttingF32(const ReplayedStep& step) {
  const std::vector<SampleSum> sums = SumsOf(step);
  if (sums.empty()) return "";
  const auto [own, drifts] = OffOf(sums, step);
  if (!drifts) return "";
  std::vector<SumWay> ways = CuttingWaysOf(sums[0]);
  ways.erase(std::remove_if(ways.begin(), ways.end(), [](const SumWay& way) { return !way.single; }), ways.end());
  return BestOf(ways, sums, step, kCollapsed * kCollapsed * own);
}

}  // namespace plumb
