// SPDX-License-Identifier: Apache-2.0
// Non-maximum suppression: rows of corners, score and (where there are six numbers) class, the best score first; a row
// goes when it overlaps a better one by more than the threshold. What differs between programs:
//   torchvision.ops.nms        IoU > threshold, plain areas, all classes together    (ops/cpu/nms_kernel.cpp)
//   torchvision.ops.batched_nms                              class by class
//   cv2.dnn.NMSBoxes           IoU > threshold, score > threshold, plain areas        (dnn/src/nms.inl.hpp)
//   Fast R-CNN's py_cpu_nms    inclusive areas (+ 1), keeps IoU <= threshold
//   others                     IoU >= threshold, score >= threshold, ties from the back, at most N
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "base/text.h"
#include "stage/boxes.h"

namespace plumb {
namespace {

struct Suppression {
  double overlap = 0.5, score = -HUGE_VAL;
  bool by_class = false, inclusive = false, overlap_equal = false, score_equal = false, ties_from_back = false;
  int64_t most = 0;  // 0: any
  bool most_of_class = false;
};

constexpr double kUsualOverlaps[] = {0.5, 0.45, 0.4, 0.6, 0.65, 0.7, 0.3};  // the commonest first
constexpr int64_t kMostCandidates = 100000;
constexpr int64_t kManyPairs = 1000000;  // of candidates and kept ones: then only the usual rules are tried

using DetectionRow = std::vector<float>;
DetectionRow RowAt(const Picture& rows, int64_t at) { return DetectionRow(rows.Row(at), rows.Row(at) + rows.width); }

// Rows that were kept, to tell what rounding made of an overlap at the threshold; null: as it is computed here.
using KeptRows = std::set<DetectionRow>;

KeptRows KeptOf(const Picture& picture) {
  KeptRows rows;
  for (int64_t h = 0; h < picture.height; ++h) rows.insert(RowAt(picture, h));
  return rows;
}

// Boxes of a grid have overlaps of exactly 1/2, and what float32 makes of their corners and areas does not: each
// program rounds them to another side. Corners that are small whole numbers are exact in every program.
constexpr double kNearOverlap = 2e-6;

bool IsExact(const float* row) {
  return std::all_of(row, row + 4,
                     [](float corner) { return std::floor(corner) == corner && std::fabs(corner) < 2048; });
}

bool Overlaps(const Suppression& rule, const Picture& rows, int64_t better, int64_t at, const KeptRows* wanted) {
  const float *kept = rows.Row(better), *row = rows.Row(at);
  const double overlap = BoxOverlap(kept, row, rule.inclusive ? 1.0f : 0.0f);
  const bool near = std::fabs(overlap - rule.overlap) < kNearOverlap && !(IsExact(kept) && IsExact(row));
  if (wanted != nullptr && near) return wanted->count(RowAt(rows, at)) == 0;
  // In float32, as the libraries compare.
  const auto narrow = static_cast<float>(overlap), limit = static_cast<float>(rule.overlap);
  return rule.overlap_equal ? narrow >= limit : narrow > limit;
}

bool AreApart(const Suppression& rule, const Picture& rows, int64_t a, int64_t b) {
  return rule.by_class && rows.width > 5 && rows.Row(a)[5] != rows.Row(b)[5];
}

// Rows of a score that is high enough, the best first.
std::vector<int64_t> OrderOf(const Picture& rows, const Suppression& rule) {
  std::vector<int64_t> order;
  for (int64_t h = 0; h < rows.height; ++h) {
    const double score = static_cast<double>(rows.Row(h)[4]);
    if (rule.score_equal ? score >= rule.score : score > rule.score) order.push_back(h);
  }
  if (rule.ties_from_back) std::reverse(order.begin(), order.end());
  std::stable_sort(order.begin(), order.end(),
                   [&rows](int64_t a, int64_t b) { return rows.Row(a)[4] > rows.Row(b)[4]; });
  return order;
}

// Whether as many as the rule allows are kept already: of all, or of this row's class.
bool IsFull(const Suppression& rule, const Picture& rows, const std::vector<int64_t>& kept, int64_t row) {
  if (rule.most <= 0) return false;
  if (!rule.most_of_class) return static_cast<int64_t>(kept.size()) >= rule.most;
  const auto of_class = [&](int64_t other) { return rows.Row(other)[5] == rows.Row(row)[5]; };
  return std::count_if(kept.begin(), kept.end(), of_class) >= rule.most;
}

Picture Suppressed(const Picture& rows, const Suppression& rule, const KeptRows* wanted) {
  std::vector<int64_t> kept;
  for (const int64_t row : OrderOf(rows, rule)) {
    if (IsFull(rule, rows, kept, row)) continue;
    const bool goes = std::any_of(kept.begin(), kept.end(), [&](int64_t better) {
      return !AreApart(rule, rows, better, row) && Overlaps(rule, rows, better, row, wanted);
    });
    if (!goes) kept.push_back(row);
  }
  Picture after = MakePicture(static_cast<int64_t>(kept.size()), rows.width, 1, false);
  for (size_t i = 0; i < kept.size(); ++i)
    std::copy_n(rows.Row(kept[i]), rows.width, after.Row(static_cast<int64_t>(i)));
  return after;
}

std::string Words(const Suppression& rule) {
  std::string text = fmt::format("NMS {}, IoU {} {}", rule.by_class ? "class by class" : "of all classes together",
                                 rule.overlap_equal ? ">=" : ">", Number(rule.overlap, 4));
  if (std::isfinite(rule.score))
    text += fmt::format(", score {} {}", rule.score_equal ? ">=" : ">", Number(rule.score, 3));
  if (rule.inclusive) text += ", inclusive areas (+ 1)";
  if (rule.ties_from_back) text += ", of equal scores the last first";
  if (rule.most > 0) text += fmt::format(", at most {}{}", rule.most, rule.most_of_class ? " per class" : "");
  return text;
}

std::string Code(const Suppression& rule) {
  if (rule.overlap_equal || rule.inclusive || rule.ties_from_back) return "";
  return rule.by_class ? fmt::format("torchvision.ops.batched_nms(boxes, scores, classes, {})", Number(rule.overlap, 4))
                       : fmt::format("torchvision.ops.nms(boxes, scores, {})", Number(rule.overlap, 4));
}

Convention SuppressionRow(const Suppression& rule, std::shared_ptr<const KeptRows> wanted) {
  return {
      Words(rule), Words(rule), Code(rule),
      [rule, wanted = std::move(wanted)](const Picture& before, const PictureTarget& target) -> std::optional<Picture> {
        if (before.channels != 1 || before.width < 5 || before.width > 6 || before.width != target.width ||
            before.height > kMostCandidates)
          return std::nullopt;
        return Suppressed(before, rule, wanted.get());
      }};
}

std::vector<double> Said(const StageInfo& info, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const StageValue* value = info.Find(name);
    if (value != nullptr && !value->numbers.empty()) return value->numbers;
  }
  return {};
}

// The thresholds that a rule may have: from the largest overlap of two kept ones to the smallest that a row which went
// has with a better one. Empty: low > high.
struct OverlapRange {
  double low = 0, high = 1;
};
OverlapRange RangeOf(const Picture& rows, const Suppression& rule, const KeptRows& wanted) {
  OverlapRange range;
  std::vector<int64_t> kept;
  KeptRows left = wanted;  // an equal row behind the first one has gone
  for (const int64_t row : OrderOf(rows, rule)) {
    if (IsFull(rule, rows, kept, row)) continue;
    double largest = 0;
    for (const int64_t better : kept) {
      if (!AreApart(rule, rows, better, row))
        largest = std::max(largest, BoxOverlap(rows.Row(better), rows.Row(row), rule.inclusive ? 1.0f : 0.0f));
    }
    if (left.erase(RowAt(rows, row)) > 0) {
      range.low = std::max(range.low, largest);
      kept.push_back(row);
    } else {
      range.high = std::min(range.high, largest);
    }
    if (range.low > range.high + kNearOverlap) return {1, 0};
  }
  return left.empty() ? range : OverlapRange{1, 0};
}

// Thresholds within the range and how likely each is: those that the stage says first, then the usual ones; where none
// of these lies there the one with the fewest decimals.
struct Threshold {
  size_t rank;
  double value;
};
std::vector<Threshold> ThresholdsIn(const OverlapRange& range, std::vector<double> known) {
  known.insert(known.end(), std::begin(kUsualOverlaps), std::end(kUsualOverlaps));
  std::vector<Threshold> found;
  const auto fits = [&](double value) {
    return value >= range.low - kNearOverlap && value <= range.high + kNearOverlap;
  };
  for (size_t rank = 0; rank < known.size(); ++rank) {
    if (fits(known[rank])) found.push_back({rank, known[rank]});
  }
  for (double unit = 10; found.empty() && unit <= 1e5; unit *= 10) {
    const double value = std::ceil(range.low * unit) / unit;
    if (fits(value)) found.push_back({known.size(), value});
  }
  return found;
}

struct Candidate {
  size_t rank;  // of its threshold
  Convention convention;
};

// The rules with this score that keep what was kept. `most` 0: no limit.
void AddSuppressions(const Picture& before, const Picture& after, const std::vector<double>& said, double score,
                     int64_t most, bool of_class, std::vector<Candidate>* found) {
  const PictureTarget target = {after.height, after.width, 1, false, nullptr};
  const auto wanted = std::make_shared<const KeptRows>(KeptOf(after));
  const int rules = before.height * after.height > kManyPairs ? 2 : 16;
  for (int bits = 0; bits < rules; ++bits) {
    Suppression rule;
    rule.score = score, rule.most = most, rule.most_of_class = of_class;
    rule.by_class = (bits & 1) != 0, rule.inclusive = (bits & 2) != 0;
    rule.score_equal = (bits & 4) != 0, rule.ties_from_back = (bits & 8) != 0;
    if ((rule.by_class && before.width <= 5) || (rule.score_equal && !std::isfinite(score))) continue;
    for (const Threshold& threshold : ThresholdsIn(RangeOf(before, rule, *wanted), said)) {
      rule.overlap = threshold.value;
      for (const bool equal : {false, true}) {
        rule.overlap_equal = equal;
        const Convention row = SuppressionRow(rule, wanted);
        if (row.of_one(before, target)->values == after.values) found->push_back({threshold.rank, row});
      }
    }
  }
}

// How many of the commonest class there are.
int64_t MostOfAClass(const Picture& rows) {
  std::map<float, int64_t> counts;
  for (int64_t h = 0; h < rows.height; ++h) ++counts[rows.Row(h)[5]];
  int64_t most = 0;
  for (const auto& [id, count] : counts) most = std::max(most, count);
  return most;
}

}  // namespace

std::vector<Convention> FindSuppression(const Picture& before, const Picture& after, const StageInfo& info) {
  const bool rows = before.channels == 1 && before.width >= 5 && before.width <= 6 && after.width == before.width &&
                    after.height > 0 && after.height <= before.height && after.channels == 1 &&
                    before.height <= kMostCandidates && !after.bytes;
  if (!rows) return {};
  const auto finite = [](const Picture& picture) {
    return std::all_of(picture.values.begin(), picture.values.end(), [](float value) { return std::isfinite(value); });
  };
  if (!finite(before) || !finite(after)) return {};
  const KeptRows candidates = KeptOf(before), wanted = KeptOf(after);
  if (!std::includes(candidates.begin(), candidates.end(), wanted.begin(), wanted.end())) return {};
  const std::vector<double> said = Said(info, {"iou", "iou_threshold", "nms_threshold"});
  std::vector<double> scores = Said(info, {"score", "score_threshold", "conf"});
  scores.push_back(-HUGE_VAL);
  float lowest = after.Row(0)[4];
  for (int64_t h = 0; h < after.height; ++h) lowest = std::min(lowest, after.Row(h)[4]);
  for (const double usual : {0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6}) {
    if (usual <= static_cast<double>(lowest)) scores.push_back(usual);
  }
  struct Limit {
    int64_t most;
    bool of_class;
  };
  std::vector<Limit> limits = {{0, false}, {after.height, false}};  // at most N only where nothing else explains it
  if (after.width > 5) limits.push_back({MostOfAClass(after), true});
  std::vector<Candidate> found;
  for (const Limit& limit : limits) {
    for (size_t k = 0; k < scores.size() && found.empty(); ++k)
      AddSuppressions(before, after, said, scores[k], limit.most, limit.of_class, &found);
  }
  std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair(a.rank, a.convention.name.size()) < std::pair(b.rank, b.convention.name.size());
  });
  std::vector<Convention> conventions;
  for (Candidate& one : found) conventions.push_back(std::move(one.convention));
  return conventions;
}

}  // namespace plumb
