// SPDX-License-Identifier: Apache-2.0
// A cause: some batch elements, channels, rows or columns of an output hold the values of others (stale, or written
// from the wrong place), and all else is right.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "check/cause/explainers.h"
#include "check/cause/known_ways_util.h"
#include "check/core/axis_words.h"

namespace plumb {
namespace {

constexpr size_t kMaxOfOne = 64;  // parts that all have one part's values
constexpr size_t kMaxCopied = 4;  // parts of one axis that have each another's values

// One output along one axis.
struct CopiedAxis {
  const Tensor &x, &y, &tau;
  int axis;
  int64_t size() const { return x.shape()[axis]; }
  int64_t inner() const { return x.shape().CountFrom(axis + 1); }
  int64_t part() const { return x.NumElements() / std::max<int64_t>(1, size()); }
  // Element k of part i.
  int64_t At(int64_t i, int64_t k) const { return (k / inner() * size() + i) * inner() + k % inner(); }

  bool Matches(int64_t device, int64_t reference) const {
    for (int64_t k = 0; k < part(); ++k) {
      const int64_t from = At(reference, k);
      if (!(std::fabs(x.ValueAt(At(device, k)) - y.ValueAt(from)) <= tau.ValueAt(from))) return false;
    }
    return true;
  }
  // Parts that are nearly the same on the reference, too, are not told apart by an error that is as small.
  bool Apart(int64_t i, int64_t j) const {
    constexpr double kApart = 0.05;
    double apart = 0, size = 0;
    for (int64_t k = 0; k < part(); ++k) {
      const double a = y.ValueAt(At(i, k)), b = y.ValueAt(At(j, k));
      apart += (a - b) * (a - b);
      size += a * a;
    }
    return apart > kApart * kApart * size;
  }

  // A part of few values (all the same, rounded to few steps) may be anything.
  bool Tells(int64_t i) const {
    const size_t enough = static_cast<size_t>(std::min<int64_t>(8, std::max<int64_t>(2, part() / 2)));
    std::set<double> distinct;
    for (int64_t k = 0; k < part() && distinct.size() < enough; ++k) distinct.insert(y.ValueAt(At(i, k)));
    return distinct.size() >= enough;
  }
};

// Of each part that is off the one whose values it has; empty: there are none, too many, or they have no other's.
std::vector<std::pair<int64_t, int64_t>> FindCopied(const CopiedAxis& a) {
  std::set<int64_t> off;
  for (int64_t i = 0; i < a.x.NumElements(); ++i) {
    if (std::fabs(a.x.ValueAt(i) - a.y.ValueAt(i)) <= a.tau.ValueAt(i)) continue;
    off.insert(i / a.inner() % a.size());
  }
  std::vector<std::pair<int64_t, int64_t>> copied;
  if (off.size() > kMaxCopied || 2 * static_cast<int64_t>(off.size()) > a.size()) {
    // More than these can only be all of one: the first one's, as a rule.
    if (off.size() > kMaxOfOne) return {};
    const int64_t from = off.count(0) == 0 ? 0 : a.size() - 1;
    if (off.count(from) != 0 || !a.Tells(from)) return {};
    for (const int64_t to : off) {
      if (!a.Matches(to, from) || !a.Apart(to, from)) return {};
      copied.emplace_back(to, from);
    }
    return copied;
  }
  for (const int64_t to : off) {
    int64_t from = 0;
    while (from < a.size() && (from == to || !a.Tells(from) || !a.Matches(to, from) || !a.Apart(to, from))) ++from;
    if (from == a.size()) return {};
    copied.emplace_back(to, from);
  }
  return copied;
}

std::string Pairs(const std::vector<std::pair<int64_t, int64_t>>& copied, int axis, int rank) {
  std::string text;
  for (const auto& [to, from] : copied)
    text += fmt::format("{}{} has the values of {}", text.empty() ? "" : ", ", PlaceWord(axis, rank, to),
                        PlaceWord(axis, rank, from));
  return text;
}

// The replay with these parts copied, bounds too.
Result<ReplayResult> Copied(const ReplayResult& replay, size_t output, const CopiedAxis& a,
                            const std::vector<std::pair<int64_t, int64_t>>& copied) {
  ReplayResult changed = replay;
  const auto from = [&](int64_t i) {
    const int64_t at = i / a.inner() % a.size();
    for (const auto& [to, source] : copied) {
      if (to == at) return i + (source - at) * a.inner();
    }
    return i;
  };
  PLUMB_ASSIGN_OR_RETURN(changed.values[output], ElementsFrom(a.y, a.y.shape(), from));
  PLUMB_ASSIGN_OR_RETURN(changed.tau[output], ElementsFrom(a.tau, a.tau.shape(), from));
  return changed;
}

}  // namespace

std::optional<Answer> ExplainAsCopied(const Question& q) {
  constexpr int64_t kMaxElements = 1 << 22;
  for (size_t o = 0; o < q.record.device.size(); ++o) {
    const Tensor& x = q.record.device[o];
    if (x.dtype() != DType::kF32 || x.NumElements() > kMaxElements || x.NumElements() == 0) continue;
    for (int axis = 0; axis < x.shape().rank() && x.shape().rank() > 1; ++axis) {
      const CopiedAxis a{x, q.record.replay.values[o], q.record.replay.tau[o], axis};
      if (a.size() < 2 || a.part() < 4) continue;
      const auto copied = FindCopied(a);
      if (copied.empty()) continue;
      const auto replay = Copied(q.record.replay, o, a, copied);
      LayerReport tried;
      if (!replay.ok() || !q.judge.JudgeOutputs(q.record, *replay, 0, &tried).ok()) continue;
      if (tried.verdict != Verdict::kAligned) continue;
      const int rank = x.shape().rank();
      std::string text = Pairs(copied, axis, rank);
      if (copied.size() > 1 && copied.size() == static_cast<size_t>(copied.back().first - copied[0].first + 1) &&
          copied[0].second == copied.back().second) {
        text = fmt::format("{} have the values of {}", PlaceWords(axis, rank, copied[0].first, copied.back().first),
                           PlaceWord(axis, rank, copied[0].second));
      }
      return Answer(InOwnAxes(q.record, o, std::move(text)));
    }
  }
  return std::nullopt;
}

}  // namespace plumb
