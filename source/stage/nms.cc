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
};

constexpr double kUsualOverlaps[] = {0.3, 0.4, 0.45, 0.5, 0.6, 0.65, 0.7};
constexpr int64_t kMostCandidates = 100000;
constexpr int64_t kManyPairs = 5000000;  // of candidates and kept ones: then only the usual rules are tried

// Rows that were kept, to tell what rounding made of an overlap at the threshold; null: as it is computed here.
using KeptRows = std::set<std::vector<float>>;

KeptRows KeptOf(const Picture& picture) {
  KeptRows rows;
  for (int64_t h = 0; h < picture.height; ++h) rows.emplace(picture.Row(h), picture.Row(h) + picture.width);
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
  if (wanted != nullptr && near) return wanted->count(std::vector<float>(row, row + rows.width)) == 0;
  // In float32, as the libraries compare.
  const auto narrow = static_cast<float>(overlap), limit = static_cast<float>(rule.overlap);
  return rule.overlap_equal ? narrow >= limit : narrow > limit;
}

// At most `enough` rows: more is known to be wrong.
Picture Suppressed(const Picture& rows, const Suppression& rule, int64_t enough, const KeptRows* wanted) {
  std::vector<int64_t> order;
  for (int64_t h = 0; h < rows.height; ++h) {
    const double score = static_cast<double>(rows.Row(h)[4]);
    if (rule.score_equal ? score >= rule.score : score > rule.score) order.push_back(h);
  }
  if (rule.ties_from_back) std::reverse(order.begin(), order.end());
  std::stable_sort(order.begin(), order.end(),
                   [&rows](int64_t a, int64_t b) { return rows.Row(a)[4] > rows.Row(b)[4]; });
  std::vector<int64_t> kept;
  for (const int64_t row : order) {
    if ((rule.most > 0 && static_cast<int64_t>(kept.size()) >= rule.most) ||
        static_cast<int64_t>(kept.size()) >= enough)
      break;
    const bool goes = std::any_of(kept.begin(), kept.end(), [&](int64_t better) {
      const bool apart = rule.by_class && rows.width > 5 && rows.Row(better)[5] != rows.Row(row)[5];
      return !apart && Overlaps(rule, rows, better, row, wanted);
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
                                 rule.overlap_equal ? ">=" : ">", Number(rule.overlap, 3));
  if (std::isfinite(rule.score))
    text += fmt::format(", score {} {}", rule.score_equal ? ">=" : ">", Number(rule.score, 3));
  if (rule.inclusive) text += ", inclusive areas (+ 1)";
  if (rule.ties_from_back) text += ", of equal scores the last first";
  if (rule.most > 0) text += fmt::format(", at most {}", rule.most);
  return text;
}

std::string Code(const Suppression& rule) {
  if (rule.overlap_equal || rule.inclusive || rule.ties_from_back) return "";
  return rule.by_class ? fmt::format("torchvision.ops.batched_nms(boxes, scores, classes, {})", Number(rule.overlap, 3))
                       : fmt::format("torchvision.ops.nms(boxes, scores, {})", Number(rule.overlap, 3));
}

Convention SuppressionRow(const Suppression& rule, std::shared_ptr<const KeptRows> wanted) {
  return {
      Words(rule), Words(rule), Code(rule),
      [rule, wanted = std::move(wanted)](const Picture& before, const PictureTarget& target) -> std::optional<Picture> {
        if (before.channels != 1 || before.width < 5 || before.width > 6 || before.width != target.width ||
            before.height > kMostCandidates)
          return std::nullopt;
        return Suppressed(before, rule, before.height, wanted.get());
      }};
}

std::vector<double> Said(const StageInfo& info, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const StageValue* value = info.Find(name);
    if (value != nullptr && !value->numbers.empty()) return value->numbers;
  }
  return {};
}

// Every rule with these thresholds that keeps what was kept.
void AddSuppressions(const Picture& before, const Picture& after, double overlap, double score, bool cut,
                     std::vector<Convention>* found) {
  const PictureTarget target = {after.height, after.width, 1, false, nullptr};
  const auto wanted = std::make_shared<const KeptRows>(KeptOf(after));
  const int rules = before.height * after.height > kManyPairs ? 2 : 32;
  for (int bits = 0; bits < rules; ++bits) {
    const bool by_class = (bits & 1) != 0, equal = (bits & 8) != 0;
    if ((by_class && before.width <= 5) || (equal && !std::isfinite(score))) continue;
    Suppression rule{overlap, score};
    rule.by_class = by_class;
    rule.inclusive = (bits & 2) != 0;
    rule.overlap_equal = (bits & 4) != 0;
    rule.score_equal = equal;
    rule.ties_from_back = (bits & 16) != 0;
    const int64_t kept = Suppressed(before, rule, after.height + 1, wanted.get()).height;
    if (kept != after.height && !(cut && kept > after.height)) continue;
    rule.most = kept > after.height ? after.height : 0;
    const Convention row = SuppressionRow(rule, wanted);
    if (row.run(before, target)->values == after.values) found->push_back(row);
  }
}

}  // namespace

std::vector<Convention> FindSuppression(const Picture& before, const Picture& after, const StageInfo& info) {
  const bool rows = before.channels == 1 && before.width >= 5 && before.width <= 6 && after.width == before.width &&
                    after.height > 0 && after.height <= before.height && after.channels == 1 &&
                    before.height <= kMostCandidates && !after.bytes;
  if (!rows) return {};
  std::vector<double> overlaps = Said(info, {"iou", "iou_threshold", "nms_threshold"});
  for (const double usual : kUsualOverlaps) overlaps.push_back(usual);
  std::vector<double> scores = Said(info, {"score", "score_threshold", "conf"});
  scores.push_back(-HUGE_VAL);
  float lowest = after.Row(0)[4];
  for (int64_t h = 0; h < after.height; ++h) lowest = std::min(lowest, after.Row(h)[4]);
  for (const double usual : {0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6}) {
    if (usual <= static_cast<double>(lowest)) scores.push_back(usual);
  }
  std::vector<Convention> found;
  for (const bool cut : {false, true}) {  // at most N only where nothing else explains it
    for (size_t i = 0; i < overlaps.size() && found.empty(); ++i) {
      for (size_t k = 0; k < scores.size() && found.empty(); ++k)
        AddSuppressions(before, after, overlaps[i], scores[k], cut, &found);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Convention& a, const Convention& b) { return a.name.size() < b.name.size(); });
  return found;
}

std::optional<SetDifference> CompareDetections(const Picture& a, const Picture& b) {
  if (a.channels != 1 || b.channels != 1 || a.width != b.width || a.width < 5 || a.width > 6) return std::nullopt;
  if (a.height * b.height > int64_t{100000000}) return std::nullopt;
  SetDifference difference;
  std::vector<int64_t> partner(static_cast<size_t>(a.height), -1);
  std::vector<bool> taken(static_cast<size_t>(b.height), false);
  for (int64_t i = 0; i < a.height; ++i) {
    double best = 0.5;
    int64_t found = -1;
    for (int64_t j = 0; j < b.height; ++j) {
      const bool apart = a.width > 5 && a.Row(i)[5] != b.Row(j)[5];
      if (taken[static_cast<size_t>(j)] || apart) continue;
      const bool equal = std::equal(a.Row(i), a.Row(i) + 4, b.Row(j));  // an empty box, too
      const double overlap = equal ? 1 : BoxOverlap(a.Row(i), b.Row(j), 0);
      if (overlap > best || (overlap == best && found < 0)) best = overlap, found = j;
    }
    const auto ties = [&a](int64_t row) {
      for (int64_t other = 0; other < a.height; ++other) {
        if (other != row && std::fabs(a.Row(other)[4] - a.Row(row)[4]) <= 1e-4f) return true;
      }
      return false;
    };
    if (found < 0) {
      ++difference.only_a;
      difference.near_ties += ties(i) ? 1 : 0;
      continue;
    }
    taken[static_cast<size_t>(found)] = true;
    difference.same_order = difference.same_order && found == i;
    ++difference.pairs;
    difference.smallest_overlap = std::min(difference.smallest_overlap, best);
    const double scores = static_cast<double>(std::fabs(a.Row(i)[4] - b.Row(found)[4]));
    difference.largest_score = std::isnan(scores) ? HUGE_VAL : std::max(difference.largest_score, scores);
  }
  difference.only_b = std::count(taken.begin(), taken.end(), false);
  return difference;
}

std::string SetDifference::text() const {
  std::string words = fmt::format("{} boxes of both", pairs);
  if (pairs > 0)
    words +=
        fmt::format(" (IoU {} or more, scores by up to {})", Number(smallest_overlap, 4), Number(largest_score, 3));
  words += fmt::format(", {} only in the original, {} only in the port", only_a, only_b);
  if (near_ties > 0) words += fmt::format("; {} of them near ties", near_ties);
  if (pairs > 0 && !same_order) words += "; in another order";
  return words;
}

}  // namespace plumb
