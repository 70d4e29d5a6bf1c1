// SPDX-License-Identifier: Apache-2.0
// Resizing by formula in floats, as PyTorch, TensorFlow, TFLite and ONNX define it: where a target pixel lies in the
// source (its centre, its corner, corner to corner), the filter, and, of bytes, how the result becomes a byte.
//   half pixel        (x + 0.5) * from / to - 0.5      PyTorch, TF2, ONNX half_pixel
//   asymmetric        x * from / to                    TF1 without align_corners, ONNX asymmetric
//   align corners     x * (from - 1) / (to - 1)        align_corners=True everywhere
#include <algorithm>
#include <cmath>

#include "stage/resample.h"

namespace plumb {
namespace {

enum class ByteRule { kRound, kTruncate };

Picture Finished(Picture picture, bool bytes, ByteRule rule) {
  picture.bytes = bytes;
  if (!bytes) return picture;
  for (float& value : picture.values) {
    const float limited = std::min(255.0f, std::max(0.0f, value));
    value = rule == ByteRule::kRound ? ToByte(limited) : std::floor(limited);
  }
  return picture;
}

std::optional<Picture> ByFormula(const Picture& before, const PictureTarget& target, Place place, Method method,
                                 ByteRule rule, bool in_float32 = true) {
  if (before.channels != target.channels || (rule == ByteRule::kTruncate && !target.bytes)) return std::nullopt;
  Picture exact = before;
  exact.bytes = false;
  exact = ResampleRows(exact, FormulaTaps(place, method, before.width, target.width, in_float32));
  exact = ResampleColumns(exact, FormulaTaps(place, method, before.height, target.height, in_float32));
  return Finished(std::move(exact), target.bytes, rule);
}

std::optional<Picture> Antialiased(const Picture& before, const PictureTarget& target, const ResampleFilter& filter) {
  if (before.channels != target.channels) return std::nullopt;
  Picture exact = before;
  exact.bytes = false;
  exact = ResampleRows(exact, FilterTaps(filter, before.width, target.width, true));
  exact = ResampleColumns(exact, FilterTaps(filter, before.height, target.height, true));
  return Finished(std::move(exact), target.bytes, ByteRule::kRound);
}

// Means of blocks whose edges are rounded outwards (PyTorch's adaptive_avg_pool2d, interpolate(mode='area')).
std::optional<Picture> BlocksOutwards(const Picture& before, const PictureTarget& target) {
  if (before.channels != target.channels) return std::nullopt;
  const auto taps = [](int64_t from, int64_t to) {
    std::vector<ResampleTaps> all;
    for (int64_t x = 0; x < to; ++x) {
      const int64_t first = x * from / to, end = ((x + 1) * from + to - 1) / to;
      all.push_back(
          {first, std::vector<double>(static_cast<size_t>(end - first), 1.0 / static_cast<double>(end - first))});
    }
    return all;
  };
  Picture exact = before;
  exact.bytes = false;
  exact = ResampleRows(exact, taps(before.width, target.width));
  exact = ResampleColumns(exact, taps(before.height, target.height));
  return Finished(std::move(exact), target.bytes, ByteRule::kRound);
}

struct FormulaRow {
  const char* name;
  const char* code;
  Place place;
  Method method;
  ByteRule rule;
};

const FormulaRow kFormulaRows[] = {
    {"bilinear on pixel centres (PyTorch, TF2), no antialias",
     "torch.nn.functional.interpolate(x, (h, w), mode='bilinear', antialias=False)", Place::kHalfPixel, Method::kLinear,
     ByteRule::kRound},
    {"bilinear with align_corners=True",
     "torch.nn.functional.interpolate(x, (h, w), mode='bilinear', align_corners=True)", Place::kCorners,
     Method::kLinear, ByteRule::kRound},
    {"bilinear on pixel corners (TensorFlow 1)", "tf.compat.v1.image.resize_bilinear(x, (h, w))", Place::kAsymmetric,
     Method::kLinear, ByteRule::kRound},
    {"bicubic on pixel centres (PyTorch), no antialias",
     "torch.nn.functional.interpolate(x, (h, w), mode='bicubic', antialias=False)", Place::kHalfPixel, Method::kCubic,
     ByteRule::kRound},
    {"bicubic with align_corners=True",
     "torch.nn.functional.interpolate(x, (h, w), mode='bicubic', align_corners=True)", Place::kCorners, Method::kCubic,
     ByteRule::kRound},
    {"bicubic on pixel corners (TensorFlow 1)", "", Place::kAsymmetric, Method::kCubic, ByteRule::kRound},
    {"bilinear on pixel centres, cut off to bytes", "", Place::kHalfPixel, Method::kLinear, ByteRule::kTruncate},
    {"bilinear with align_corners=True, cut off to bytes", "", Place::kCorners, Method::kLinear, ByteRule::kTruncate},
    {"bilinear on pixel corners, cut off to bytes", "", Place::kAsymmetric, Method::kLinear, ByteRule::kTruncate},
};

}  // namespace

void AddResizeTorch(std::vector<Convention>* list) {
  constexpr double kTies = 0.002;  // sums in float32 that lie at half a byte
  for (const FormulaRow& row : kFormulaRows) {
    list->push_back({row.name, row.name, row.code,
                     [row](const Picture& before, const PictureTarget& target) {
                       return ByFormula(before, target, row.place, row.method, row.rule);
                     },
                     kTies, true});
  }
  list->push_back({"OpenCV's INTER_CUBIC in floats (OpenCV 5)", "OpenCV INTER_CUBIC",
                   "cv2.resize(x, (w, h), interpolation=cv2.INTER_CUBIC)",
                   [](const Picture& before, const PictureTarget& target) {
                     return ByFormula(before, target, Place::kHalfPixel, Method::kCubic, ByteRule::kRound, false);
                   },
                   kTies, true});
  list->push_back(
      {"bilinear with antialias in floats (PyTorch)", "torchvision bilinear antialias=True",
       "torch.nn.functional.interpolate(x, (h, w), mode='bilinear', antialias=True)",
       [](const Picture& before, const PictureTarget& target) { return Antialiased(before, target, kTriangleFilter); },
       kTies, true});
  list->push_back({"bicubic with antialias in floats (PyTorch)", "torchvision bicubic antialias=True",
                   "torch.nn.functional.interpolate(x, (h, w), mode='bicubic', antialias=True)",
                   [](const Picture& before, const PictureTarget& target) {
                     return Antialiased(before, target, kCatmullRomFilter);
                   },
                   kTies, true});
  list->push_back({"PyTorch's area", "PyTorch area", "torch.nn.functional.interpolate(x, (h, w), mode='area')",
                   BlocksOutwards, kTies, true});
}

}  // namespace plumb
