// SPDX-License-Identifier: Apache-2.0
// Picture: the values of a stage as an image, height by width by channels, whatever layout they were written in; and
// Convention: one way to make a picture of another, as some library does it.
#ifndef PLUMB_STAGE_PICTURE_H_
#define PLUMB_STAGE_PICTURE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plumb/stage.h"

namespace plumb {

struct Picture {
  int64_t height = 0, width = 0, channels = 0;
  bool bytes = false;         // whole numbers 0..255, and what is computed of them is rounded to such
  std::vector<float> values;  // rows of pixels of channels
  int64_t batch = 1;          // pictures of this size, one behind the other

  int64_t count() const { return batch * height * width * channels; }
  const float* Row(int64_t row) const { return values.data() + row * width * channels; }
  float* Row(int64_t row) { return values.data() + row * width * channels; }
};

Picture MakePicture(int64_t height, int64_t width, int64_t channels, bool bytes);

// How a tensor is a picture: where its axes are.
struct PictureLayout {
  int height = -1, width = -1, channels = -1;  // axes; -1: there is none (one channel)
  bool ok = false;
  int batch = -1;
};
// By the words of a layout ("HWC", "NCHW"), or by the shape where there are none: the axis of 1, 3 or 4 is the
// channels, the first of four the batch.
PictureLayout LayoutOf(const Shape& shape, const std::string& words);
// The same, of a stage: several masks are a batch.
PictureLayout LayoutOf(const StageRecord& stage);
// Nothing: it is no picture (no three axes, more than 2^28 values).
std::optional<Picture> PictureOf(const Tensor& tensor, const PictureLayout& layout);
// The same, of a stage: a text of one axis is a row.
std::optional<Picture> PictureOf(const Tensor& tensor, const StageRecord& stage);
// One picture of a batch.
Picture PictureAt(const Picture& batch, int64_t place);
// Channels the other way round (three or four of them: alpha stays).
Picture ChannelsSwapped(const Picture& picture);
// Rows and columns of a part. REQUIRES: it lies within.
Picture PartOf(const Picture& picture, int64_t top, int64_t left, int64_t height, int64_t width);

struct PictureTarget {
  int64_t height = 0, width = 0, channels = 0;
  bool bytes = false;
  const StageInfo* info = nullptr;
};

struct Convention {
  std::string name;   // "OpenCV's INTER_AREA"
  std::string group;  // what versions and builds of one library compute of the same call has one group
  std::string code;   // a line of Python
  // Of one picture. Nothing: it does not apply to such.
  std::function<std::optional<Picture>(const Picture& before, const PictureTarget& target)> of_one;
  // Bytes: this share of the values may be off by one, where a library's builds differ in their last bit.
  double off_by_one = 0;
  bool in_float32 = false;  // places in the source are computed in float32, whose last bits differ by library
  bool any_size = false;    // a program chooses the size of what comes out: a resize, a crop, a letterbox
  // What reads several stages: all of them in place of one picture.
  std::function<std::optional<Picture>(const std::vector<Tensor>& read, const PictureTarget& target)> of_several = {};

  // Of each picture of a batch.
  std::optional<Picture> run(const Picture& before, const PictureTarget& target) const;
};

// Half to even, within 0..255: what a cast of OpenCV and torch.round().clamp() do.
float ToByte(double value);

// The name of the commonest mistake.
inline constexpr const char* kSwapped = "red and blue exchanged (RGB for BGR)";

// One list per family; each file says whose algorithm it is.
void AddResizeNearest(std::vector<Convention>* list);
void AddResizeOpenCv(std::vector<Convention>* list);
void AddResizePillow(std::vector<Convention>* list);
void AddResizeTorch(std::vector<Convention>* list);
void AddResizeTensorFlow(std::vector<Convention>* list);
void AddCrop(std::vector<Convention>* list);
void AddColour(std::vector<Convention>* list);
void AddOrder(std::vector<Convention>* list);
void AddScores(std::vector<Convention>* list);

}  // namespace plumb

#endif  // PLUMB_STAGE_PICTURE_H_
