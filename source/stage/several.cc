// SPDX-License-Identifier: Apache-2.0
#include "stage/several.h"

#include <algorithm>

namespace plumb {
namespace {

constexpr int64_t kMostRowValues = int64_t{1} << 26;
constexpr double kMaskTies = 2e-4;  // pixels whose score lies at the threshold

bool ReproducesSeveral(const Explained& one, const StageInfo& info, const Picture& after, DType dtype) {
  if (info.kind != "mask") return Reproduces(one.convention, one.difference, after, after, dtype);
  return static_cast<double>(one.difference.differing) <= kMaskTies * static_cast<double>(one.difference.count);
}

}  // namespace

std::optional<Picture> RowsOfTensor(const Tensor& tensor) {
  if (tensor.NumElements() == 0 || tensor.NumElements() > kMostRowValues) return std::nullopt;
  Shape shape;
  for (int axis = 0; axis < tensor.shape().rank(); ++axis) {
    const bool last = axis + 1 == tensor.shape().rank();
    if (tensor.shape()[axis] != 1 || last) shape.dims().push_back(tensor.shape()[axis]);
  }
  if (shape.rank() == 1) shape = Shape{1, shape[0]};
  if (shape.rank() != 2) return std::nullopt;
  const auto rows = tensor.Reshaped(shape);
  return rows.ok() ? PictureOf(*rows, LayoutOf(shape, "HW")) : std::nullopt;
}

std::vector<Explained> ExplainSeveral(const std::vector<Tensor>& read, const Picture& after, const StageInfo& info,
                                      DType dtype) {
  std::vector<Convention> all;
  if (info.kind == "mask" && read.size() > 1) all = FindPrototypeMasks(read, after, info);
  if (info.kind == "boxes") all = FindBoxDecoding(read, after, info);
  const PictureTarget target = {after.height, after.width, after.channels, after.bytes, &info};
  std::vector<Explained> found;
  for (const Convention& convention : all) {
    const std::optional<Picture> made = convention.of_several(read, target);
    if (!made.has_value()) continue;
    Explained one{convention, ComparePictures(*made, after), false};
    if (!one.difference.comparable) continue;
    one.reproduces = ReproducesSeveral(one, info, after, dtype);
    found.push_back(std::move(one));
  }
  std::stable_sort(found.begin(), found.end(), [](const Explained& a, const Explained& b) {
    return a.reproduces != b.reproduces ? a.reproduces : a.difference.sum_abs < b.difference.sum_abs;
  });
  return found;
}

}  // namespace plumb
