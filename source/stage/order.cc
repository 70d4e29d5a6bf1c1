// SPDX-License-Identifier: Apache-2.0
// The same values in other places: channels exchanged, mirrored, turned, memory of one layout read as another.
#include "stage/picture.h"

namespace plumb {
namespace {

using SourceAt = void (*)(const Picture& before, int64_t* row, int64_t* column);

// A picture of the same channels whose pixel at (row, column) is the one of `before` that `source` says.
Picture Moved(const Picture& before, int64_t height, int64_t width, SourceAt source) {
  Picture after = MakePicture(height, width, before.channels, before.bytes);
  float* to = after.values.data();
  for (int64_t h = 0; h < height; ++h) {
    for (int64_t w = 0; w < width; ++w) {
      int64_t row = h, column = w;
      source(before, &row, &column);
      const float* from = before.Row(row) + column * before.channels;
      for (int64_t c = 0; c < before.channels; ++c) *to++ = from[c];
    }
  }
  return after;
}

void Mirror(const Picture& before, int64_t*, int64_t* column) { *column = before.width - 1 - *column; }
void UpsideDown(const Picture& before, int64_t* row, int64_t*) { *row = before.height - 1 - *row; }
void HalfTurn(const Picture& before, int64_t* row, int64_t* column) {
  *row = before.height - 1 - *row;
  *column = before.width - 1 - *column;
}
void Transpose(const Picture&, int64_t* row, int64_t* column) { std::swap(*row, *column); }
void Transverse(const Picture& before, int64_t* row, int64_t* column) {
  std::swap(*row, *column);
  HalfTurn(before, row, column);
}
void Clockwise(const Picture& before, int64_t* row, int64_t* column) {
  const int64_t from_row = before.height - 1 - *column;
  *column = *row;
  *row = from_row;
}
void Anticlockwise(const Picture& before, int64_t* row, int64_t* column) {
  const int64_t from_row = *column;
  *column = before.width - 1 - *row;
  *row = from_row;
}

bool SameSize(const Picture& before, const PictureTarget& target) {
  return before.channels == target.channels && before.height == target.height && before.width == target.width;
}

Convention MovedRow(const char* name, const char* code, bool turned, SourceAt source) {
  return {name, name, code,
          [turned, source](const Picture& before, const PictureTarget& target) -> std::optional<Picture> {
            const int64_t height = turned ? before.width : before.height, width = turned ? before.height : before.width;
            if (before.channels != target.channels || height != target.height || width != target.width)
              return std::nullopt;
            return Moved(before, height, width, source);
          }};
}

// Rows of pixels of channels, whose memory is read as planes; and the other way round.
Picture ReadAsPlanes(const Picture& before) {
  Picture after = before;
  const int64_t pixels = before.height * before.width;
  for (int64_t i = 0; i < pixels; ++i) {
    for (int64_t c = 0; c < before.channels; ++c)
      after.values[static_cast<size_t>(i * before.channels + c)] = before.values[static_cast<size_t>(c * pixels + i)];
  }
  return after;
}

Picture PlanesReadAsPixels(const Picture& before) {
  Picture after = before;
  const int64_t pixels = before.height * before.width;
  for (int64_t i = 0; i < pixels; ++i) {
    for (int64_t c = 0; c < before.channels; ++c)
      after.values[static_cast<size_t>(c * pixels + i)] = before.values[static_cast<size_t>(i * before.channels + c)];
  }
  return after;
}

template <class Function>
Convention SameSizeRow(const char* name, const char* code, Function function) {
  return {name, name, code, [function](const Picture& before, const PictureTarget& target) -> std::optional<Picture> {
            if (!SameSize(before, target) || before.channels < 2) return std::nullopt;
            return function(before);
          }};
}

}  // namespace

void AddOrder(std::vector<Convention>* list) {
  list->push_back({"the values as they are", "the values as they are", "",
                   [](const Picture& before, const PictureTarget& target) -> std::optional<Picture> {
                     return SameSize(before, target) ? std::optional<Picture>(before) : std::nullopt;
                   }});
  list->push_back(
      SameSizeRow(kSwapped, "x = x[..., ::-1]", [](const Picture& before) { return ChannelsSwapped(before); }));
  list->push_back(SameSizeRow("a reshape in place of a transpose (HWC memory read as CHW)", "x = x.transpose(2, 0, 1)",
                              ReadAsPlanes));
  list->push_back(SameSizeRow("a reshape in place of a transpose (CHW memory read as HWC)", "x = x.transpose(1, 2, 0)",
                              PlanesReadAsPixels));
  list->push_back(MovedRow("mirrored left to right", "x = x[:, ::-1]", false, Mirror));
  list->push_back(MovedRow("upside down", "x = x[::-1]", false, UpsideDown));
  list->push_back(MovedRow("turned by 180 degrees", "x = x[::-1, ::-1]", false, HalfTurn));
  list->push_back(MovedRow("height and width exchanged", "x = x.transpose(1, 0, 2)", true, Transpose));
  list->push_back(MovedRow("height and width exchanged and turned by 180 degrees",
                           "image = ImageOps.exif_transpose(image)", true, Transverse));
  list->push_back(
      MovedRow("turned by 90 degrees clockwise", "image = ImageOps.exif_transpose(image)", true, Clockwise));
  list->push_back(
      MovedRow("turned by 90 degrees anticlockwise", "image = ImageOps.exif_transpose(image)", true, Anticlockwise));
}

}  // namespace plumb
