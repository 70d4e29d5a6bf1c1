// SPDX-License-Identifier: Apache-2.0
#include "stage/picture.h"

#include <algorithm>
#include <cmath>

namespace plumb {
namespace {

constexpr int64_t kMaxPictureValues = int64_t{1} << 28;

// Where letters and axes are as many, each letter is an axis.
PictureLayout LayoutByWords(const Shape& shape, const std::string& words) {
  PictureLayout layout;
  if (static_cast<int>(words.size()) != shape.rank()) return layout;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    switch (words[static_cast<size_t>(axis)]) {
      case 'H': layout.height = axis; break;
      case 'W': layout.width = axis; break;
      case 'C': layout.channels = axis; break;
      case 'N': layout.batch = axis; break;
      default: return PictureLayout();
    }
  }
  layout.ok = layout.height >= 0 && layout.width >= 0;
  return layout;
}

}  // namespace

Picture MakePicture(int64_t height, int64_t width, int64_t channels, bool bytes) {
  Picture picture{height, width, channels, bytes, {}};
  picture.values.resize(static_cast<size_t>(picture.count()));
  return picture;
}

PictureLayout LayoutOf(const Shape& shape, const std::string& words) {
  if (!words.empty()) {
    const PictureLayout layout = LayoutByWords(shape, words);
    if (layout.ok) return layout;
  }
  const int rank = shape.rank();
  if (rank == 2) return {0, 1, -1, true};
  const int first = rank == 4 ? 1 : 0, batch = first - 1;
  if (rank - first != 3) return {};
  const auto few = [](int64_t dim) { return dim == 1 || dim == 3 || dim == 4; };
  if (few(shape[first + 2]) && !(few(shape[first]) && shape[first + 1] > 4))
    return {first, first + 1, first + 2, true, batch};
  if (few(shape[first])) return {first + 1, first + 2, first, true, batch};
  return {};
}

PictureLayout LayoutOf(const StageRecord& stage) {
  const PictureLayout layout = LayoutOf(stage.shape, stage.info.layout);
  const bool rows = (stage.kind == "boxes" || stage.kind == "detections") && stage.shape.rank() == 3;
  if (rows && stage.shape[0] == 1) return LayoutOf(stage.shape, "NHW");
  const bool masks = stage.kind == "mask" && stage.shape.rank() == 3 && stage.info.layout.empty();
  return masks && (!layout.ok || stage.reads.size() > 1) ? LayoutOf(stage.shape, "NHW") : layout;
}

std::optional<Picture> PictureOf(const Tensor& tensor, const PictureLayout& layout) {
  const Shape& shape = tensor.shape();
  if (!layout.ok || tensor.NumElements() == 0 || tensor.NumElements() > kMaxPictureValues) return std::nullopt;
  const auto wide = tensor.ConvertedTo(DType::kF32);
  if (!wide.ok()) return std::nullopt;
  const int64_t channels = layout.channels < 0 ? 1 : shape[layout.channels];
  const int64_t batch = layout.batch < 0 ? 1 : shape[layout.batch];
  Picture picture{shape[layout.height], shape[layout.width], channels, tensor.dtype() == DType::kU8, {}, batch};
  if (picture.count() != tensor.NumElements()) return std::nullopt;
  picture.values.resize(static_cast<size_t>(picture.count()));
  const int64_t per_picture = layout.batch < 0 ? 0 : shape.CountFrom(layout.batch + 1);
  const int64_t per_row = shape.CountFrom(layout.height + 1), per_column = shape.CountFrom(layout.width + 1);
  const int64_t per_channel = layout.channels < 0 ? 0 : shape.CountFrom(layout.channels + 1);
  const float* from = wide->data<float>();
  float* to = picture.values.data();
  for (int64_t n = 0; n < batch; ++n, from += per_picture) {
    for (int64_t h = 0; h < picture.height; ++h) {
      for (int64_t w = 0; w < picture.width; ++w) {
        for (int64_t c = 0; c < channels; ++c) *to++ = from[h * per_row + w * per_column + c * per_channel];
      }
    }
  }
  return picture;
}

std::optional<Picture> PictureOf(const Tensor& tensor, const StageRecord& stage) {
  if (stage.kind == "text" && tensor.shape().rank() == 1) {
    const auto row = tensor.Reshaped(Shape{1, tensor.NumElements()});
    return row.ok() ? PictureOf(*row, LayoutOf(row->shape(), "HW")) : std::nullopt;
  }
  return PictureOf(tensor, LayoutOf(stage));
}

Picture PictureAt(const Picture& batch, int64_t place) {
  Picture one = MakePicture(batch.height, batch.width, batch.channels, batch.bytes);
  std::copy_n(batch.Row(place * batch.height), one.count(), one.values.begin());
  return one;
}

std::optional<Picture> Convention::run(const Picture& before, const PictureTarget& target) const {
  if (!of_one) return std::nullopt;
  if (before.batch == 1) return of_one(before, target);
  std::optional<Picture> all;
  for (int64_t n = 0; n < before.batch; ++n) {
    std::optional<Picture> one = of_one(PictureAt(before, n), target);
    if (!one.has_value()) return std::nullopt;
    if (!all.has_value()) {
      all = std::move(one);
    } else {
      all->values.insert(all->values.end(), one->values.begin(), one->values.end());
    }
  }
  all->batch = before.batch;
  return all;
}

Picture ChannelsSwapped(const Picture& picture) {
  Picture swapped = picture;
  if (picture.channels < 3) return swapped;
  for (int64_t i = 0; i < picture.count() / picture.channels; ++i) {
    std::swap(swapped.values[static_cast<size_t>(i * picture.channels)],
              swapped.values[static_cast<size_t>(i * picture.channels + 2)]);
  }
  return swapped;
}

Picture PartOf(const Picture& picture, int64_t top, int64_t left, int64_t height, int64_t width) {
  Picture part = MakePicture(height, width, picture.channels, picture.bytes);
  for (int64_t h = 0; h < height; ++h) {
    const float* from = picture.Row(top + h) + left * picture.channels;
    std::copy(from, from + width * picture.channels, part.Row(h));
  }
  return part;
}

float ToByte(double value) { return static_cast<float>(std::min(255.0, std::max(0.0, std::nearbyint(value)))); }

}  // namespace plumb
