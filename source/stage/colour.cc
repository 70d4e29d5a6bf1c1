// SPDX-License-Identifier: Apache-2.0
// Colours: grey of three channels, three of grey, alpha, and the video layouts of phones.
//   grey, OpenCV    weights of 15 bits (imgproc/src/color_rgb.simd.hpp)
//   grey, Pillow    weights of 16 bits of BT.601 (src/libImaging/Convert.c, L24)
//   grey, torch     0.2989, 0.587, 0.114 in float32 (torchvision/transforms/_functional_tensor.py)
//   NV12, NV21, I420 to RGB   BT.601 or BT.709, video range (16..235) or full (JPEG's); OpenCV's with 20 bits
#include <algorithm>
#include <array>
#include <cmath>

#include "stage/picture.h"

namespace plumb {
namespace {

float LimitedByte(double value) { return static_cast<float>(std::min(255.0, std::max(0.0, value))); }

using GreyOf = float (*)(float red, float green, float blue);

float GreyOpenCv(float red, float green, float blue) {
  const int64_t sum = 9798 * static_cast<int64_t>(red) + 19235 * static_cast<int64_t>(green) +
                      3735 * static_cast<int64_t>(blue) + (1 << 14);
  return static_cast<float>(sum >> 15);
}
float GreyOldOpenCv(float red, float green, float blue) {
  const int64_t sum = 4899 * static_cast<int64_t>(red) + 9617 * static_cast<int64_t>(green) +
                      1868 * static_cast<int64_t>(blue) + (1 << 13);
  return static_cast<float>(sum >> 14);
}
float GreyPillow(float red, float green, float blue) {
  const int64_t sum = 19595 * static_cast<int64_t>(red) + 38470 * static_cast<int64_t>(green) +
                      7471 * static_cast<int64_t>(blue) + 0x8000;
  return static_cast<float>(sum >> 16);
}
float GreyTorch(float red, float green, float blue) {
  return std::floor(0.2989f * red + 0.587f * green + 0.114f * blue);
}
float GreyHd(float red, float green, float blue) { return ToByte(0.2126f * red + 0.7152f * green + 0.0722f * blue); }
float GreyMean(float red, float green, float blue) { return std::floor((red + green + blue) / 3); }

Convention GreyRow(const std::string& name, const char* group, const char* code, bool bgr, GreyOf grey) {
  return {name, group, code, [bgr, grey](const Picture& before, const PictureTarget& target) -> std::optional<Picture> {
            const bool applies = before.bytes && (before.channels == 3 || before.channels == 4) &&
                                 before.height == target.height && before.width == target.width;
            if (!applies || (target.channels != 1 && target.channels != 3)) return std::nullopt;
            Picture after = MakePicture(target.height, target.width, target.channels, true);
            float* to = after.values.data();
            for (size_t i = 0; i < before.values.size(); i += static_cast<size_t>(before.channels)) {
              const float* pixel = before.values.data() + i;
              const float value = grey(pixel[bgr ? 2 : 0], pixel[1], pixel[bgr ? 0 : 2]);
              to = std::fill_n(to, target.channels, value);
            }
            return after;
          }};
}

// Of floats: a sum of weights.
Convention FloatGreyRow(const char* name, bool bgr, const std::array<float, 3>& weights) {
  const std::string words = std::string(name) + (bgr ? ", of BGR read as RGB" : "");
  return {
      words, words, "", [bgr, weights](const Picture& before, const PictureTarget& target) -> std::optional<Picture> {
        if (before.bytes || before.channels != 3 || target.channels != 1 || before.height != target.height ||
            before.width != target.width)
          return std::nullopt;
        Picture after = MakePicture(target.height, target.width, 1, false);
        for (size_t i = 0; i < after.values.size(); ++i) {
          const float* pixel = before.values.data() + i * 3;
          after.values[i] = weights[0] * pixel[bgr ? 2 : 0] + weights[1] * pixel[1] + weights[2] * pixel[bgr ? 0 : 2];
        }
        return after;
      }};
}

std::optional<Picture> WithoutAlpha(const Picture& before, const PictureTarget& target, float ground) {
  if (before.channels != 4 || target.channels != 3 || before.height != target.height || before.width != target.width)
    return std::nullopt;
  Picture after = MakePicture(target.height, target.width, 3, before.bytes);
  for (int64_t i = 0; i < before.height * before.width; ++i) {
    const float* pixel = before.values.data() + i * 4;
    const float alpha = pixel[3] / 255.0f;
    for (int64_t c = 0; c < 3; ++c) {
      const float value = ground < 0 ? pixel[c] : pixel[c] * alpha + ground * (1 - alpha);
      after.values[static_cast<size_t>(i * 3 + c)] = before.bytes ? ToByte(value) : value;
    }
  }
  return after;
}

std::optional<Picture> ThreeOfGrey(const Picture& before, const PictureTarget& target) {
  if (before.channels != 1 || target.channels != 3 || before.height != target.height || before.width != target.width)
    return std::nullopt;
  Picture after = MakePicture(target.height, target.width, 3, before.bytes);
  for (size_t i = 0; i < after.values.size(); ++i) after.values[i] = before.values[i / 3];
  return after;
}

// One frame: a plane of luma, then chroma at half size: in pairs (NV12: Cb first) or as two planes (I420).
struct Frame {
  enum Chroma { kNv12, kNv21, kI420, kYv12 } chroma;
  bool hd;    // BT.709
  bool full;  // luma 0..255
};

float ChromaAt(const Picture& frame, const Frame& kind, bool red, int64_t row, int64_t column, int64_t height,
               int64_t width) {
  const float* chroma = frame.values.data() + height * width;
  if (kind.chroma == Frame::kNv12 || kind.chroma == Frame::kNv21) {
    const bool second = (kind.chroma == Frame::kNv12) == red;
    return chroma[row / 2 * width + column / 2 * 2 + (second ? 1 : 0)];
  }
  const bool second = (kind.chroma == Frame::kI420) == red;
  const int64_t plane = (height / 2) * (width / 2);
  return chroma[(second ? plane : 0) + row / 2 * (width / 2) + column / 2];
}

std::optional<Picture> FromFrame(const Picture& frame, const PictureTarget& target, const Frame& kind) {
  const int64_t height = target.height, width = target.width;
  const bool applies = frame.bytes && frame.channels == 1 && target.channels == 3 && frame.width == width &&
                       frame.height * 2 == height * 3 && height % 2 == 0 && width % 2 == 0;
  if (!applies) return std::nullopt;
  const double red_weight = kind.hd ? 0.2126 : 0.299, blue_weight = kind.hd ? 0.0722 : 0.114;
  const double luma = kind.full ? 1.0 : 255.0 / 219.0, chroma = kind.full ? 1.0 : 255.0 / 224.0;
  const double to_red = 2 * (1 - red_weight) * chroma, to_blue = 2 * (1 - blue_weight) * chroma;
  const double green_weight = 1 - red_weight - blue_weight;
  const double green_of_red = -to_red * red_weight / green_weight;
  const double green_of_blue = -to_blue * blue_weight / green_weight;
  Picture after = MakePicture(height, width, 3, true);
  float* to = after.values.data();
  for (int64_t h = 0; h < height; ++h) {
    for (int64_t w = 0; w < width; ++w) {
      const double raw = static_cast<double>(frame.Row(h)[w]);
      const double light = kind.full ? raw : std::max(0.0, raw - 16) * luma;
      const double blue = static_cast<double>(ChromaAt(frame, kind, false, h, w, height, width)) - 128;
      const double red = static_cast<double>(ChromaAt(frame, kind, true, h, w, height, width)) - 128;
      *to++ = LimitedByte(std::floor(light + to_red * red + 0.5));
      *to++ = LimitedByte(std::floor(light + green_of_red * red + green_of_blue * blue + 0.5));
      *to++ = LimitedByte(std::floor(light + to_blue * blue + 0.5));
    }
  }
  return after;
}

void AddFrames(std::vector<Convention>* list) {
  const std::pair<const char*, Frame::Chroma> layouts[] = {
      {"NV12", Frame::kNv12}, {"NV21", Frame::kNv21}, {"I420", Frame::kI420}, {"YV12", Frame::kYv12}};
  for (const auto& [name, chroma] : layouts) {
    for (const bool hd : {false, true}) {
      for (const bool full : {false, true}) {
        const std::string what =
            std::string(name) + " to RGB by " + (hd ? "BT.709" : "BT.601") + (full ? ", full range" : ", video range");
        const bool opencv = !hd && !full;
        const std::string code =
            opencv ? std::string("cv2.cvtColor(frame, cv2.COLOR_YUV2RGB_") + name + ")" : std::string();
        const Frame kind = {chroma, hd, full};
        list->push_back(
            {what, what, code,
             [kind](const Picture& before, const PictureTarget& target) { return FromFrame(before, target, kind); },
             0.1});
      }
    }
  }
}

}  // namespace

void AddColour(std::vector<Convention>* list) {
  struct Row {
    const char* name;
    const char* group;
    const char* code;
    GreyOf grey;
  };
  const Row rows[] = {
      {"grey as OpenCV computes it", "OpenCV grey", "cv2.cvtColor(x, cv2.COLOR_RGB2GRAY)", GreyOpenCv},
      {"grey as OpenCV before 4 computed it", "OpenCV grey", "cv2.cvtColor(x, cv2.COLOR_RGB2GRAY)", GreyOldOpenCv},
      {"grey as Pillow computes it", "Pillow grey", "image.convert('L')", GreyPillow},
      {"grey as torchvision computes it", "torchvision grey", "torchvision.transforms.functional.rgb_to_grayscale(x)",
       GreyTorch},
      {"grey by BT.709", "grey BT.709", "", GreyHd},
      {"grey as the mean of the channels", "grey mean", "x.mean(axis=2).astype('uint8')", GreyMean},
  };
  for (const Row& row : rows) list->push_back(GreyRow(row.name, row.group, row.code, false, row.grey));
  for (const Row& row : rows)
    list->push_back(GreyRow(std::string(row.name) + ", of BGR read as RGB", row.group, row.code, true, row.grey));
  for (const bool bgr : {false, true}) {
    list->push_back(FloatGreyRow("grey of floats by BT.601", bgr, {0.299f, 0.587f, 0.114f}));
    list->push_back(FloatGreyRow("grey of floats as torchvision computes it", bgr, {0.2989f, 0.587f, 0.114f}));
    list->push_back(FloatGreyRow("grey of floats by BT.709", bgr, {0.2126f, 0.7152f, 0.0722f}));
  }
  list->push_back(
      {"alpha dropped", "alpha dropped", "x = x[..., :3]",
       [](const Picture& before, const PictureTarget& target) { return WithoutAlpha(before, target, -1); }});
  list->push_back({"alpha over black", "alpha over black", "",
                   [](const Picture& before, const PictureTarget& target) { return WithoutAlpha(before, target, 0); },
                   0.5});
  list->push_back({"alpha over white", "alpha over white", "",
                   [](const Picture& before, const PictureTarget& target) { return WithoutAlpha(before, target, 255); },
                   0.5});
  list->push_back({"grey in all three channels", "grey in three", "x = np.repeat(x[..., None], 3, 2)", ThreeOfGrey});
  AddFrames(list);
}

}  // namespace plumb
