// SPDX-License-Identifier: Apache-2.0
#include "stage/explain.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "stage/boxes.h"
#include "stage/conventions.h"
#include "stage/masks.h"
#include "stage/written_text.h"

namespace plumb {

namespace {

// The convention, and then red and blue exchanged.
Convention ThenSwapped(const Convention& convention) {
  Convention both = convention;
  both.name += ", red and blue exchanged";
  both.group += ", red and blue exchanged";
  if (!both.code.empty()) both.code += "; x = x[..., ::-1]";
  both.of_one = [run = convention.of_one](const Picture& before,
                                          const PictureTarget& target) -> std::optional<Picture> {
    const std::optional<Picture> after = run(before, target);
    if (!after.has_value()) return std::nullopt;
    return ChannelsSwapped(*after);
  };
  return both;
}

// Whether the stage's parameter "method" is a word of the name.
bool SaysMethod(const StageInfo& info, const std::string& name) {
  const StageValue* method = info.Find("method");
  if (method == nullptr || !method->is_text || method->text.empty()) return false;
  const std::string word = Lower(method->text);
  const auto in_word = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  for (size_t at = name.find(word); at != std::string::npos; at = name.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !in_word(name[at - 1])) && (end == name.size() || !in_word(name[end]))) return true;
  }
  return false;
}

// How much of what the stage says of itself the convention is: its library, its method.
int RankOfSaid(const Convention& convention, const StageInfo& info) {
  const std::string library = Lower(info.library), name = Lower(convention.name);
  int rank = SaysMethod(info, name) ? 2 : 0;
  for (const char* word : {"opencv", "pillow", "torch", "tensorflow", "tflite"}) {
    if (library.find(word) != std::string::npos && name.find(word) != std::string::npos) return rank + 1;
  }
  return rank;
}

void Try(const Convention& convention, const Picture& before, const Picture& after, const PictureTarget& target,
         DType dtype, std::vector<Explained>* found) {
  const std::optional<Picture> replayed = convention.run(before, target);
  if (!replayed.has_value()) return;
  Explained explained{convention, ComparePictures(*replayed, after), false};
  if (!explained.difference.comparable) return;
  explained.reproduces = Reproduces(convention, explained.difference, before, after, dtype);
  found->push_back(std::move(explained));
  if (after.channels < 3 || found->back().reproduces || convention.name == kSwapped) return;
  const Picture swapped = ChannelsSwapped(*replayed);
  Explained other{ThenSwapped(convention), ComparePictures(swapped, after), false};
  other.reproduces = Reproduces(other.convention, other.difference, before, after, dtype);
  if (other.reproduces) found->push_back(std::move(other));
}

// Of the best: which other group gives the very same.
void NoteTies(std::vector<Explained>* found) {
  if (found->empty() || !found->front().reproduces) return;
  Explained& best = found->front();
  for (const Explained& other : *found) {
    const bool same = other.reproduces && other.difference.max_abs == best.difference.max_abs &&
                      other.difference.differing == best.difference.differing;
    if (!same || other.convention.group == best.convention.group) continue;
    best.also = " (here the same as " + other.convention.name + ")";
    return;
  }
}

// A resize and the line of a normalisation in one stage: PIL image in, tensor out.
void TryFused(const Picture& before, const Picture& after, const StageInfo& info, DType dtype,
              std::vector<Explained>* found) {
  const PictureTarget bytes = {after.height, after.width, after.channels, before.bytes, &info};
  for (const Convention& convention : AllConventions()) {
    const std::optional<Picture> inner = convention.run(before, bytes);
    if (!inner.has_value() || inner->count() != after.count()) continue;
    for (const Convention& line : FindAffine(*inner, after, info, dtype)) {
      Convention both = line;
      both.name = convention.name + ", then " + line.name;
      both.group = convention.group + ", then " + line.group;
      both.code = convention.code.empty() ? line.code : convention.code + "; " + line.code;
      both.any_size = true;
      both.of_one = [first = convention.of_one, second = line.of_one, whole = before.bytes](
                        const Picture& from, const PictureTarget& target) -> std::optional<Picture> {
        const PictureTarget middle = {target.height, target.width, target.channels, whole, target.info};
        const std::optional<Picture> between = first(from, middle);
        if (!between.has_value()) return std::nullopt;
        return second(*between, target);
      };
      Explained explained{both, ComparePictures(*line.run(*inner, bytes), after), false};
      explained.reproduces = Reproduces(both, explained.difference, before, after, dtype);
      if (explained.reproduces) found->push_back(std::move(explained));
    }
  }
}

}  // namespace

PictureDifference ComparePictures(const Picture& a, const Picture& b) {
  PictureDifference difference;
  difference.comparable = a.height == b.height && a.width == b.width && a.channels == b.channels && a.batch == b.batch;
  if (!difference.comparable) return difference;
  difference.count = a.count();
  for (size_t i = 0; i < a.values.size(); ++i) {
    if (a.values[i] == b.values[i]) continue;
    const double distance = std::fabs(static_cast<double>(a.values[i]) - static_cast<double>(b.values[i]));
    if (std::isnan(distance)) {
      if (std::isnan(a.values[i]) && std::isnan(b.values[i])) continue;
      difference.comparable = false;
      return difference;
    }
    ++difference.differing;
    difference.sum_abs += distance;
    if (distance > difference.max_abs) difference.max_abs = distance, difference.worst = static_cast<int64_t>(i);
  }
  return difference;
}

double ReplayBound(const Picture& after, DType dtype) {
  if (!IsFloat(dtype)) return 0;
  double largest = 0;
  for (const float value : after.values) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(static_cast<double>(value)));
  }
  const double share = dtype == DType::kBF16 ? 1.0 / 128 : dtype == DType::kF16 ? 1.0 / 1024 : 1e-5;
  return share * largest;
}

bool Reproduces(const Convention& convention, const PictureDifference& difference, const Picture& before,
                const Picture& after, DType dtype) {
  if (!difference.comparable) return false;
  double bound = ReplayBound(after, dtype);
  // A place that is off by 2 units in the last place of the largest place moves a value by that share of an edge.
  if (convention.in_float32 && IsFloat(dtype))
    bound += bound / 1e-5 * 2 * 0x1p-23 * static_cast<double>(std::max(before.height, before.width));
  if (difference.max_abs <= bound) return true;
  if (IsFloat(dtype) || difference.max_abs > 1) return false;
  return static_cast<double>(difference.differing) <= convention.off_by_one * static_cast<double>(difference.count);
}

namespace {

void SortByFit(const StageInfo& info, std::vector<Explained>* found) {
  std::stable_sort(found->begin(), found->end(), [&info](const Explained& a, const Explained& b) {
    if (a.reproduces != b.reproduces) return a.reproduces;
    const int rank_a = a.reproduces ? RankOfSaid(a.convention, info) : 0;
    const int rank_b = b.reproduces ? RankOfSaid(b.convention, info) : 0;
    if (rank_a != rank_b) return rank_a > rank_b;
    return a.difference.sum_abs < b.difference.sum_abs;
  });
  NoteTies(found);
}

// Those of the first picture, done on all of them.
std::vector<Explained> ExplainBatch(const Picture& before, const Picture& after, const StageInfo& info, DType dtype) {
  std::vector<Explained> found;
  if (before.batch != after.batch) return found;
  const PictureTarget target = {after.height, after.width, after.channels, after.bytes, &info};
  for (Explained& one : ExplainPicture(PictureAt(before, 0), PictureAt(after, 0), info, dtype)) {
    if (!one.reproduces && !found.empty()) break;
    const std::optional<Picture> all = one.convention.run(before, target);
    if (!all.has_value()) continue;
    one.difference = ComparePictures(*all, after);
    if (!one.difference.comparable) continue;
    one.reproduces = Reproduces(one.convention, one.difference, before, after, dtype);
    one.also.clear();
    found.push_back(std::move(one));
  }
  SortByFit(info, &found);
  return found;
}

}  // namespace

std::vector<Explained> ExplainPicture(const Picture& before, const Picture& after, const StageInfo& info, DType dtype,
                                      bool alone) {
  if (before.batch > 1 || after.batch > 1) return ExplainBatch(before, after, info, dtype);
  std::vector<Explained> found;
  const PictureTarget target = {after.height, after.width, after.channels, after.bytes, &info};
  const auto known = [&] {
    return std::any_of(found.begin(), found.end(), [](const Explained& one) { return one.reproduces; });
  };
  const auto try_all = [&](const std::vector<Convention>& list) {
    for (const Convention& convention : list) Try(convention, before, after, target, dtype, &found);
  };
  if (info.kind == "mask") try_all(FindMask(before, after, info));
  const bool rows = info.kind == "boxes" || info.kind == "detections";
  if (!known())
    try_all(info.kind == "text" ? FindText(before, after, info) : rows ? BoxConventions() : AllConventions());
  const bool same_size = before.height == after.height && before.width == after.width;
  if (!known() && !alone) try_all(FindSuppression(before, after, info));
  if (!known() && rows) try_all(FindBoxLines(before, after));
  if (!known() && !rows && before.channels == after.channels) try_all(FindAffine(before, after, info, dtype));
  if (!known() && !rows) try_all(FindCrop(before, after));
  const bool to_floats = before.bytes && IsFloat(dtype);
  if (!known() && !alone && !rows && !same_size && (before.bytes == after.bytes || to_floats))
    try_all(FindLetterbox(before, after, dtype));
  if (!known() && !alone && !same_size && to_floats) TryFused(before, after, info, dtype, &found);
  SortByFit(info, &found);
  return found;
}

}  // namespace plumb
