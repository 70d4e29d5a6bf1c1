// SPDX-License-Identifier: Apache-2.0
// Rules for comparing two tensors without a model, and so without a bound (plumb/diff.h).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.h"
#include "check/core/metrics.h"
#include "plumb/diff.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

bool SameNonFinite(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

// Whether one element keeps the rule.
bool Keeps(const ComparisonRule& rule, const ComparisonResult& result, double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return SameNonFinite(a, b);
  const double distance = std::fabs(a - b);
  if (rule.kind == ComparisonRule::kTnn) return !(distance / (std::fabs(a) + std::fabs(b)) > 0.005 && distance > 0.001);
  return distance <= result.atol + result.rtol * std::fabs(b);
}

template <class A, class B>
void CountElements(const ComparisonRule& rule, const A* a, const B* b, int64_t count, ComparisonResult* result) {
  for (int64_t i = 0; i < count; ++i) {
    if (Keeps(rule, *result, static_cast<double>(a[i]), static_cast<double>(b[i]))) continue;
    if (result->failing++ == 0) result->first = i;
  }
}

template <class T>
void CountIntegers(int64_t allowed, const T* a, const T* b, int64_t count, ComparisonResult* result) {
  for (int64_t i = 0; i < count; ++i) {
    const __int128 distance = static_cast<__int128>(a[i]) - static_cast<__int128>(b[i]);
    if (distance <= allowed && -distance <= allowed) continue;
    if (result->failing++ == 0) result->first = i;
  }
}

// Absolute tolerances in use: the default rule scales with the largest finite |b|.
void ResolveTolerances(const ComparisonRule& rule, const Tensor& b, ComparisonResult* result) {
  if (rule.kind == ComparisonRule::kAllClose) {
    result->atol = rule.atol.value_or(1e-8);
    result->rtol = rule.rtol.value_or(1e-5);
    return;
  }
  result->rtol = rule.rtol.value_or(1e-3);
  if (rule.atol.has_value()) {
    result->atol = *rule.atol;
    return;
  }
  result->atol = 1e-5 * LargestMagnitude(b);
}

void JudgeCosine(ComparisonResult* result, int64_t count) {
  const DiffMetrics& m = result->metrics;
  const bool finite = m.nan_a + m.inf_a + m.nan_b + m.inf_b == 0;
  if (finite && m.cosine >= 0.999) return;
  result->failing = count;
  result->first = std::max<int64_t>(m.worst, 0);
  result->reason = finite ? fmt::format("cosine {} < 0.999", Number(m.cosine, 6)) : "NaN or infinite values";
}

}  // namespace

std::string ComparisonRule::Describe() const {
  switch (kind) {
    case kTnn: return "TNN's: |a-b|/(|a|+|b|) <= 0.005 or |a-b| <= 0.001";
    case kCosine: return "cosine >= 0.999";
    case kAllClose:
      return fmt::format("|a-b| <= {} + {} |b|", Number(atol.value_or(1e-8), 6), Number(rtol.value_or(1e-5), 6));
    case kDefault: break;
  }
  return fmt::format("|a-b| <= {} + {} |b|",
                     atol.has_value() ? Number(*atol, 6) : std::string("1e-05 of the blob's largest |b|"),
                     Number(rtol.value_or(1e-3), 6));
}

Status ComparisonRule::CheckTolerances() const {
  if ((kind == kDefault || kind == kAllClose) || (!atol.has_value() && !rtol.has_value())) return Status::Ok();
  return Status::InvalidArgument(fmt::format("{} does nothing with ComparisonRule::kind {}, which is {}",
                                             atol.has_value() ? "ComparisonRule::atol" : "ComparisonRule::rtol",
                                             kind == kTnn ? "tnn" : "cosine", Describe()));
}

Result<ComparisonRule::Kind> ParseRule(const std::string& name) {
  if (name == "default") return ComparisonRule::kDefault;
  if (name == "allclose") return ComparisonRule::kAllClose;
  if (name == "tnn") return ComparisonRule::kTnn;
  if (name == "cosine") return ComparisonRule::kCosine;
  return Status::InvalidArgument(UnknownWord("ComparisonRule::kind", name, {"default", "allclose", "tnn", "cosine"}));
}

Result<ComparisonResult> CompareByRule(const ComparisonRule& rule, const Tensor& a, const Tensor& b) {
  if (a.NumElements() != b.NumElements()) {
    return Status::Mismatch(
        fmt::format("shapes {} and {} have different element counts", a.shape().ToString(), b.shape().ToString()));
  }
  ComparisonResult result;
  const int64_t count = a.NumElements();
  result.metrics = CompareTensors(a, b);
  const bool integers = !IsFloat(a.dtype()) && !IsFloat(b.dtype());
  if (rule.kind == ComparisonRule::kCosine) {
    JudgeCosine(&result, count);
  } else if (integers) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor wide_a, a.ConvertedTo(DType::kI64));
    PLUMB_ASSIGN_OR_RETURN(const Tensor wide_b, b.ConvertedTo(DType::kI64));
    const int64_t allowed = rule.kind == ComparisonRule::kTnn ? 1 : static_cast<int64_t>(rule.atol.value_or(0));
    CountIntegers(allowed, wide_a.data<int64_t>(), wide_b.data<int64_t>(), count, &result);
  } else {
    ResolveTolerances(rule, b, &result);
    PLUMB_ASSIGN_OR_RETURN(const Tensor wide_a, a.ConvertedTo(DType::kF64));
    PLUMB_ASSIGN_OR_RETURN(const Tensor wide_b, b.ConvertedTo(DType::kF64));
    CountElements(rule, wide_a.data<double>(), wide_b.data<double>(), count, &result);
  }
  result.pass = result.failing == 0;
  if (!result.pass && result.reason.empty())
    result.reason = fmt::format("{} of {} values differ", result.failing, count);
  return result;
}

}  // namespace plumb
