// SPDX-License-Identifier: Apache-2.0
// Masks of scores or logits: a threshold, or the place of the largest channel, before or behind a resize. What differs
// between programs: > or >=; 0.5 of scores or 0 of logits; scores resized and cut (Mask R-CNN, Ultralytics), or the
// mask itself resized (nearest, or linear and cut again).
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "stage/conventions.h"
#include "stage/masks.h"

namespace plumb {
namespace {

struct Cut {
  float threshold = 0.5f;
  bool equal = false, largest = false;  // `largest`: the channel of the largest value, no threshold
  float one = 1;                        // what the mask has where it is set

  std::string words() const {
    return largest ? "the largest channel" : fmt::format("values {} {}", equal ? ">=" : ">", Number(threshold, 4));
  }
  std::string code() const {
    if (largest) return "mask = scores.argmax(axis=channels)";
    return fmt::format("mask = scores {} {}", equal ? ">=" : ">", Number(threshold, 4));
  }
};

Picture CutOf(const Picture& before, const Cut& cut) {
  Picture after = MakePicture(before.height, before.width, cut.largest ? 1 : before.channels, false);
  for (size_t i = 0; i < after.values.size(); ++i) {
    if (cut.largest) {
      const float* pixel = before.values.data() + i * static_cast<size_t>(before.channels);
      after.values[i] = static_cast<float>(std::max_element(pixel, pixel + before.channels) - pixel);
    } else {
      const bool set = cut.equal ? before.values[i] >= cut.threshold : before.values[i] > cut.threshold;
      after.values[i] = set ? cut.one : 0;
    }
  }
  return after;
}

std::optional<Picture> AsTarget(std::optional<Picture> picture, const PictureTarget& target) {
  if (picture.has_value()) picture->bytes = target.bytes;
  return picture;
}

Convention CutAlone(const Cut& cut) {
  const std::string name = "a mask of " + cut.words();
  return {name, name, cut.code(), [cut](const Picture& before, const PictureTarget& target) -> std::optional<Picture> {
            if (before.height != target.height || before.width != target.width) return std::nullopt;
            return AsTarget(CutOf(before, cut), target);
          }};
}

// The scores resized in floats, and then cut.
Convention ResizedThenCut(const Convention& resize, const Cut& cut) {
  const std::string name = resize.name + ", then a mask of " + cut.words();
  return {name, name, resize.code.empty() ? "" : resize.code + "; " + cut.code(),
          [run = resize.of_one, cut](const Picture& before, const PictureTarget& target) -> std::optional<Picture> {
            const auto resized = run(before, {target.height, target.width, before.channels, before.bytes, target.info});
            if (!resized.has_value()) return std::nullopt;
            return AsTarget(CutOf(*resized, cut), target);
          }};
}

// The mask resized as bytes of 0 and 255, and cut in the middle again.
Convention CutThenResized(const Convention& resize, const Cut& cut) {
  const std::string name = "a mask of " + cut.words() + ", then " + resize.name;
  return {name, name, "",
          [run = resize.of_one, cut](const Picture& before, const PictureTarget& target) -> std::optional<Picture> {
            Cut bytes = cut;
            bytes.one = 255;
            Picture mask = CutOf(before, bytes);
            mask.bytes = true;
            const auto resized = run(mask, {target.height, target.width, mask.channels, true, target.info});
            if (!resized.has_value()) return std::nullopt;
            Cut half;
            half.threshold = 127, half.one = cut.one;
            return AsTarget(CutOf(*resized, half), target);
          }};
}

}  // namespace

std::vector<Convention> FindMask(const Picture& before, const Picture& after, const StageInfo& info) {
  const float one = *std::max_element(after.values.begin(), after.values.end());
  std::vector<Cut> cuts;
  const StageValue* said = info.Find("threshold");
  if (said != nullptr && said->numbers.size() == 1) cuts.push_back({static_cast<float>(said->numbers[0])});
  for (const float usual : {0.5f, 0.0f, 0.3f, 127.0f}) cuts.push_back({usual});
  for (size_t i = 0, count = cuts.size(); i < count; ++i) {
    cuts.push_back(cuts[i]);
    cuts.back().equal = true;
  }
  for (Cut& cut : cuts) cut.one = one;
  if (before.channels > 1 && after.channels == 1) cuts = {{0, false, true, 1}};
  std::vector<Convention> found;
  const bool same_size = before.height == after.height && before.width == after.width;
  for (const Cut& cut : cuts) {
    if (same_size) found.push_back(CutAlone(cut));
    for (const Convention& resize : ResizeConventions()) {
      if (same_size) break;
      found.push_back(ResizedThenCut(resize, cut));
      if (!cut.largest) found.push_back(CutThenResized(resize, cut));
    }
  }
  for (Convention& convention : found) convention.any_size = !same_size;
  return found;
}

std::optional<MaskOverlap> CompareMasks(const Picture& a, const Picture& b) {
  if (a.height != b.height || a.width != b.width || a.channels != b.channels || a.batch != b.batch) return std::nullopt;
  MaskOverlap overlap;
  for (size_t i = 0; i < a.values.size(); ++i) {
    const bool in_a = a.values[i] != 0, in_b = b.values[i] != 0;  // NaN is set, and equals nothing
    overlap.both += in_a && a.values[i] == b.values[i] ? 1 : 0;
    overlap.only_a += in_a && a.values[i] != b.values[i] ? 1 : 0;
    overlap.only_b += in_b && a.values[i] != b.values[i] ? 1 : 0;
    overlap.pixels += 1;
  }
  return overlap;
}

double MaskOverlap::share() const {
  const int64_t all = both + only_a + only_b;
  return all == 0 ? 1 : static_cast<double>(both) / static_cast<double>(all);
}

std::string MaskOverlap::text() const {
  return fmt::format("IoU {}: {} pixels of both, {} only in the original, {} only in the port", Number(share(), 4),
                     both, only_a, only_b);
}

}  // namespace plumb
