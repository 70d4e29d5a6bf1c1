// SPDX-License-Identifier: Apache-2.0
// Nearest neighbour: which source pixel each library takes.
//   OpenCV INTER_NEAREST        floor(x * (1 / (to / from))), in float64        (imgproc, resizeNN)
//   OpenCV INTER_NEAREST_EXACT  OpenCV 5: as Pillow's; 4.13: 16 bits of fraction, pixel centres; 4.6: 2^-16 before them
//                               (measured: places of 4,000 pairs of sizes in each version)
//   Pillow NEAREST              x + 0.5 times the step, summed up in float64    (Geometry.c, ImagingScaleAffine)
//   PyTorch nearest             floor(x * scale) in float32                     (UpSample.h, nearest_neighbor_compute)
//   PyTorch nearest-exact       floor((x + 0.5) * scale) in float32             (the same file)
//   TF1 align_corners           round(x * (from - 1) / (to - 1))                (resize_nearest_neighbor_op.cc)
#include <algorithm>
#include <cmath>

#include "stage/picture.h"

namespace plumb {
namespace {

using SourceOf = std::vector<int64_t> (*)(int64_t from, int64_t to);

int64_t Within(int64_t place, int64_t size) { return std::min(std::max<int64_t>(place, 0), size - 1); }

std::vector<int64_t> NearestOpenCv(int64_t from, int64_t to) {
  std::vector<int64_t> places;
  const double step = 1.0 / (static_cast<double>(to) / static_cast<double>(from));
  for (int64_t x = 0; x < to; ++x)
    places.push_back(Within(static_cast<int64_t>(std::floor(static_cast<double>(x) * step)), from));
  return places;
}

// `less`: how far the middle of the step was missed.
std::vector<int64_t> NearestBySteps(int64_t from, int64_t to, int64_t less) {
  std::vector<int64_t> places;
  const int64_t step = ((from << 16) + to / 2) / to;
  for (int64_t x = 0; x < to; ++x) places.push_back(Within((step * x + step / 2 - less) >> 16, from));
  return places;
}
std::vector<int64_t> NearestExact46(int64_t from, int64_t to) { return NearestBySteps(from, to, 1); }
std::vector<int64_t> NearestExact413(int64_t from, int64_t to) { return NearestBySteps(from, to, 0); }

std::vector<int64_t> NearestPillow(int64_t from, int64_t to) {
  std::vector<int64_t> places;
  const double step = static_cast<double>(from) / static_cast<double>(to);
  double place = step * 0.5;
  for (int64_t x = 0; x < to; ++x, place += step) places.push_back(Within(static_cast<int64_t>(place), from));
  return places;
}

std::vector<int64_t> NearestTorch(int64_t from, int64_t to) {
  std::vector<int64_t> places;
  const float step = static_cast<float>(from) / static_cast<float>(to);
  for (int64_t x = 0; x < to; ++x)
    places.push_back(Within(static_cast<int64_t>(std::floor(static_cast<float>(x) * step)), from));
  return places;
}

std::vector<int64_t> NearestExactTorch(int64_t from, int64_t to) {
  std::vector<int64_t> places;
  const float step = static_cast<float>(from) / static_cast<float>(to);
  for (int64_t x = 0; x < to; ++x)
    places.push_back(Within(static_cast<int64_t>(std::floor((static_cast<float>(x) + 0.5f) * step)), from));
  return places;
}

std::vector<int64_t> NearestCorners(int64_t from, int64_t to) {
  std::vector<int64_t> places;
  const float step = to > 1 ? static_cast<float>(from - 1) / static_cast<float>(to - 1) : 0.0f;
  for (int64_t x = 0; x < to; ++x)
    places.push_back(Within(static_cast<int64_t>(std::round(static_cast<float>(x) * step)), from));
  return places;
}

std::optional<Picture> TakeNearest(SourceOf source, const Picture& before, const PictureTarget& target) {
  if (before.channels != target.channels) return std::nullopt;
  const std::vector<int64_t> rows = source(before.height, target.height), columns = source(before.width, target.width);
  Picture after = MakePicture(target.height, target.width, before.channels, before.bytes);
  for (int64_t h = 0; h < after.height; ++h) {
    const float* from = before.Row(rows[static_cast<size_t>(h)]);
    float* to = after.Row(h);
    for (const int64_t column : columns) to = std::copy_n(from + column * before.channels, before.channels, to);
  }
  return after;
}

Convention NearestRow(const char* name, const char* group, const char* code, SourceOf source) {
  return {name, group, code,
          [source](const Picture& before, const PictureTarget& target) { return TakeNearest(source, before, target); }};
}

}  // namespace

void AddResizeNearest(std::vector<Convention>* list) {
  list->push_back(NearestRow("OpenCV's INTER_NEAREST", "OpenCV INTER_NEAREST",
                             "cv2.resize(x, (w, h), interpolation=cv2.INTER_NEAREST)", NearestOpenCv));
  const std::pair<const char*, SourceOf> exact[] = {{"OpenCV's INTER_NEAREST_EXACT", NearestPillow},
                                                    {"OpenCV's INTER_NEAREST_EXACT (OpenCV 4.13)", NearestExact413},
                                                    {"OpenCV's INTER_NEAREST_EXACT (OpenCV 4.6)", NearestExact46}};
  for (const auto& [name, source] : exact)
    list->push_back(NearestRow(name, "OpenCV INTER_NEAREST_EXACT",
                               "cv2.resize(x, (w, h), interpolation=cv2.INTER_NEAREST_EXACT)", source));
  list->push_back(NearestRow("Pillow's NEAREST", "Pillow NEAREST", "image.resize((w, h), Image.Resampling.NEAREST)",
                             NearestPillow));
  list->push_back(NearestRow("PyTorch's nearest", "PyTorch nearest",
                             "torch.nn.functional.interpolate(x, (h, w), mode='nearest')", NearestTorch));
  list->push_back(NearestRow("PyTorch's nearest-exact", "PyTorch nearest-exact",
                             "torch.nn.functional.interpolate(x, (h, w), mode='nearest-exact')", NearestExactTorch));
  list->push_back(NearestRow("nearest with align_corners (TensorFlow 1)", "TF1 nearest corners",
                             "tf.compat.v1.image.resize_nearest_neighbor(x, (h, w), align_corners=True)",
                             NearestCorners));
}

}  // namespace plumb
