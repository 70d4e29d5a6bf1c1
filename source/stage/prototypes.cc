// SPDX-License-Identifier: Apache-2.0
// Masks of prototypes: sums of a few pictures, one factor per detection and picture (D. Bolya et al., "YOLACT", ICCV
// 2019). What differs between programs: a sigmoid and 0.5, or the sums and 0; cut to the box before the resize (at the
// size of the prototypes), behind it, or not at all; how the corners of the box become pixels; the resize; whether the
// mask is cut from the resized scores or resized itself.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "stage/conventions.h"
#include "stage/several.h"

namespace plumb {
namespace {

enum class CropTime { kNever, kBefore, kBehind };
enum class CornerRule { kReal, kCutOff, kRounded };

struct MaskRule {
  bool sigmoid = true;
  float threshold = 0.5f;
  CropTime crop = CropTime::kNever;
  CornerRule corners = CornerRule::kReal;
  const Convention* resize = nullptr;  // null: masks of the prototypes' size
  bool cut_first = false;
};

struct Prototypes {
  Picture pictures;      // a batch
  Picture coefficients;  // rows
  std::optional<Picture> boxes;
};

std::optional<Picture> PicturesOf(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  const bool batch = shape.rank() == 4 && shape[0] == 1;
  if (shape.rank() != 3 && !batch) return std::nullopt;
  const auto planes = tensor.Reshaped(Shape{shape[batch ? 1 : 0], shape[batch ? 2 : 1], shape[batch ? 3 : 2]});
  return planes.ok() ? PictureOf(*planes, LayoutOf(planes->shape(), "NHW")) : std::nullopt;
}

Picture ColumnsOf(const Picture& rows, int64_t first, int64_t count) {
  return PartOf(rows, 0, first, rows.height, count);
}

std::optional<Prototypes> PrototypesOf(const std::vector<Tensor>& read) {
  Prototypes all;
  std::vector<Picture> rows;
  bool has_pictures = false;
  for (const Tensor& tensor : read) {
    const std::optional<Picture> pictures = has_pictures ? std::nullopt : PicturesOf(tensor);
    if (pictures.has_value()) {
      all.pictures = *pictures;
      has_pictures = true;
      continue;
    }
    std::optional<Picture> one = RowsOfTensor(tensor);
    if (!one.has_value()) return std::nullopt;
    rows.push_back(std::move(*one));
  }
  if (!has_pictures || rows.empty() || rows.size() > 2) return std::nullopt;
  const int64_t count = all.pictures.batch;
  if (rows.size() == 2 && rows[1].width == count) std::swap(rows[0], rows[1]);
  if (rows[0].width < count) return std::nullopt;
  all.coefficients = ColumnsOf(rows[0], rows[0].width - count, count);
  const Picture& boxed = rows.back();
  const bool own = rows.size() == 2 || boxed.width >= count + 4;
  if (own && boxed.width >= 4 && boxed.height == rows[0].height) all.boxes = ColumnsOf(boxed, 0, 4);
  return all;
}

float Logistic(double value) { return static_cast<float>(1 / (1 + std::exp(-value))); }

Picture SumOf(const Prototypes& all, int64_t row, bool sigmoid) {
  Picture sum = MakePicture(all.pictures.height, all.pictures.width, 1, false);
  std::vector<double> exact(sum.values.size(), 0.0);
  for (int64_t k = 0; k < all.pictures.batch; ++k) {
    const double factor = static_cast<double>(all.coefficients.Row(row)[k]);
    const float* picture = all.pictures.Row(k * all.pictures.height);
    for (size_t i = 0; i < exact.size(); ++i) exact[i] += factor * static_cast<double>(picture[i]);
  }
  for (size_t i = 0; i < exact.size(); ++i) sum.values[i] = sigmoid ? Logistic(exact[i]) : static_cast<float>(exact[i]);
  return sum;
}

double Corner(double value, CornerRule rule) {
  if (rule == CornerRule::kReal) return value;
  return rule == CornerRule::kCutOff ? std::trunc(value) : std::nearbyint(value);
}

// 0 outside of the box; corners in pixels of a picture of `height` by `width`.
void CropTo(const float* box, double height, double width, CornerRule rule, Picture* picture) {
  const double across = static_cast<double>(picture->width) / width,
               down = static_cast<double>(picture->height) / height;
  const double left = Corner(static_cast<double>(box[0]) * across, rule),
               top = Corner(static_cast<double>(box[1]) * down, rule);
  const double right = Corner(static_cast<double>(box[2]) * across, rule),
               bottom = Corner(static_cast<double>(box[3]) * down, rule);
  for (int64_t h = 0; h < picture->height; ++h) {
    for (int64_t w = 0; w < picture->width; ++w) {
      const auto x = static_cast<double>(w), y = static_cast<double>(h);
      if (x < left || x >= right || y < top || y >= bottom) picture->Row(h)[w] = 0;
    }
  }
}

void CutAt(float threshold, float one, Picture* picture) {
  for (float& value : picture->values) value = value > threshold ? one : 0;
}

std::optional<Picture> MaskOf(const Prototypes& all, int64_t row, const MaskRule& rule, const PictureTarget& target) {
  Picture mask = SumOf(all, row, rule.sigmoid);
  const auto height = static_cast<double>(target.height), width = static_cast<double>(target.width);
  if (rule.crop == CropTime::kBefore) CropTo(all.boxes->Row(row), height, width, rule.corners, &mask);
  if (rule.cut_first) CutAt(rule.threshold, 1, &mask);
  if (rule.resize != nullptr) {
    const auto resized = rule.resize->run(mask, {target.height, target.width, 1, false, target.info});
    if (!resized.has_value()) return std::nullopt;
    mask = *resized;
  }
  if (rule.crop == CropTime::kBehind) CropTo(all.boxes->Row(row), height, width, rule.corners, &mask);
  CutAt(rule.cut_first ? 0.5f : rule.threshold, 1, &mask);
  return mask;
}

std::string WordsOfMasks(const MaskRule& rule) {
  std::string words = rule.sigmoid ? "masks of prototypes: sigmoid" : "masks of prototypes: no sigmoid";
  const char* corners = rule.corners == CornerRule::kReal     ? ""
                        : rule.corners == CornerRule::kCutOff ? " of corners cut off"
                                                              : " of rounded corners";
  const std::string cut = fmt::format(", > {}", Number(rule.threshold, 3));
  if (rule.crop == CropTime::kBefore) words += fmt::format(", cropped to the box{} before the resize", corners);
  if (rule.cut_first) words += cut;
  if (rule.resize != nullptr) words += ", " + rule.resize->name;
  if (rule.crop == CropTime::kBehind) words += fmt::format(", cropped to the box{}", corners);
  if (rule.crop == CropTime::kNever) words += ", not cropped";
  return rule.cut_first ? words : words + cut;
}

std::string CodeOfMasks(const MaskRule& rule) {
  std::string code = "m = (coefficients @ prototypes.reshape(c, -1)).reshape(-1, mh, mw)";
  if (rule.sigmoid) code += "; m = 1 / (1 + np.exp(-m))";
  if (rule.crop == CropTime::kBefore) code += "; m = crop(m, boxes * (mw / w, mh / h, mw / w, mh / h))";
  if (rule.cut_first) code += fmt::format("; m = m > {}", Number(rule.threshold, 3));
  if (rule.resize != nullptr) code += "; m = resize(m, (h, w))";
  if (rule.crop == CropTime::kBehind) code += "; m = crop(m, boxes)";
  return rule.cut_first ? code : code + fmt::format("; m = m > {}", Number(rule.threshold, 3));
}

// `only`: one mask in place of all; -1: all.
std::optional<Picture> MasksOf(const Prototypes& all, const MaskRule& rule, const PictureTarget& target, float one,
                               int64_t only) {
  Picture masks{target.height, target.width, 1, target.bytes, {}, 0};
  for (int64_t row = 0; row < all.coefficients.height; ++row) {
    if (only >= 0 && row != only) continue;
    const std::optional<Picture> mask = MaskOf(all, row, rule, target);
    if (!mask.has_value()) return std::nullopt;
    for (const float value : mask->values) masks.values.push_back(value * one);
    ++masks.batch;
  }
  return masks;
}

std::vector<const Convention*> ResizesOfMasks(const Picture& from, const Picture& to) {
  if (from.height == to.height && from.width == to.width) return {nullptr};
  constexpr const char* kNames[] = {"bilinear on pixel centres (PyTorch, TF2), no antialias",
                                    "bilinear with align_corners=True",
                                    "bilinear on pixel corners (TensorFlow 1)",
                                    "OpenCV's INTER_NEAREST",
                                    "PyTorch's nearest-exact",
                                    "OpenCV's INTER_CUBIC",
                                    "OpenCV's INTER_AREA"};
  std::vector<const Convention*> found;
  for (const Convention& resize : ResizeConventions()) {
    for (const char* name : kNames) {
      if (resize.name == name) found.push_back(&resize);
    }
  }
  return found;
}

std::vector<MaskRule> RulesOfMasks(const Prototypes& all, const Picture& after, const StageInfo& info) {
  std::vector<MaskRule> rules;
  const StageValue* said = info.Find("threshold");
  const bool has_threshold = said != nullptr && said->numbers.size() == 1;
  for (const Convention* resize : ResizesOfMasks(all.pictures, after)) {
    for (const bool sigmoid : {true, false}) {
      std::vector<float> thresholds = {sigmoid ? 0.5f : 0.0f};
      if (has_threshold) thresholds.insert(thresholds.begin(), static_cast<float>(said->numbers[0]));
      for (const float threshold : thresholds) {
        MaskRule rule{sigmoid, threshold, CropTime::kNever, CornerRule::kReal, resize, false};
        for (const bool cut_first : {false, true}) {
          rule.cut_first = cut_first;
          if (cut_first && resize == nullptr) continue;
          rule.crop = CropTime::kNever;
          rules.push_back(rule);
          for (const CropTime time : {CropTime::kBefore, CropTime::kBehind}) {
            if (!all.boxes.has_value() || (resize == nullptr && time == CropTime::kBefore)) continue;
            for (const CornerRule corners : {CornerRule::kReal, CornerRule::kCutOff, CornerRule::kRounded}) {
              rule.crop = time, rule.corners = corners;
              rules.push_back(rule);
            }
          }
        }
      }
    }
  }
  return rules;
}

// The mask that has the most pixels: the one that tells rules apart.
int64_t LargestMask(const Picture& masks) {
  int64_t best = 0, most = -1;
  for (int64_t n = 0; n < masks.batch; ++n) {
    const float* from = masks.Row(n * masks.height);
    const int64_t set = std::count_if(from, from + masks.height * masks.width, [](float value) { return value != 0; });
    if (set > most) best = n, most = set;
  }
  return best;
}

}  // namespace

std::vector<Convention> FindPrototypeMasks(const std::vector<Tensor>& read, const Picture& after,
                                           const StageInfo& info) {
  const std::optional<Prototypes> all = PrototypesOf(read);
  if (!all.has_value() || after.channels != 1 || all->coefficients.height != after.batch) return {};
  const float one = *std::max_element(after.values.begin(), after.values.end());
  if (!(one > 0)) return {};
  const PictureTarget target = {after.height, after.width, 1, after.bytes, &info};
  const int64_t shown = LargestMask(after);
  const Picture wanted = PictureAt(after, shown);
  struct Fit {
    int64_t differing;
    MaskRule rule;
  };
  std::vector<Fit> fits;
  for (const MaskRule& rule : RulesOfMasks(*all, after, info)) {
    const std::optional<Picture> mask = MasksOf(*all, rule, target, one, shown);
    if (mask.has_value()) fits.push_back({ComparePictures(PictureAt(*mask, 0), wanted).differing, rule});
  }
  std::stable_sort(fits.begin(), fits.end(), [](const Fit& a, const Fit& b) { return a.differing < b.differing; });
  constexpr size_t kTried = 4;  // on all masks
  std::vector<Convention> found;
  for (const Fit& fit : fits) {
    if (found.size() >= kTried) break;
    Convention convention{WordsOfMasks(fit.rule), WordsOfMasks(fit.rule), CodeOfMasks(fit.rule), {}, 0, false, true};
    convention.of_several = [rule = fit.rule, one](const std::vector<Tensor>& of,
                                                   const PictureTarget& to) -> std::optional<Picture> {
      const std::optional<Prototypes> parts = PrototypesOf(of);
      if (!parts.has_value() || (rule.crop != CropTime::kNever && !parts->boxes.has_value())) return std::nullopt;
      return MasksOf(*parts, rule, to, one, -1);
    };
    found.push_back(std::move(convention));
  }
  return found;
}

}  // namespace plumb
