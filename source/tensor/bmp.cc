// SPDX-License-Identifier: Apache-2.0
// BMP: what other programs write, uncompressed rows of 24 or 32 bits (BITMAPINFOHEADER, Windows SDK, wingdi.h). No
// library of a distribution reads BMP alone, so these few lines do. The fourth byte of 32 bits means nothing without
// masks.
#include <fmt/core.h>

#include <cstring>

#include "tensor/image_decode.h"

namespace plumb {
namespace {

struct Bmp {
  ImageSize size;
  size_t pixels_at = 0, row_bytes = 0, pixel_bytes = 0;
  bool top_first = false;
};

template <class T>
T Field(std::string_view bytes, size_t at) {  // little-endian
  T value = 0;
  for (size_t i = sizeof(T); i-- > 0;) value = static_cast<T>(value << 8 | static_cast<uint8_t>(bytes[at + i]));
  return value;
}

Result<Bmp> ReadHeader(std::string_view bytes, const std::string& file) {
  if (bytes.size() < 54) return Status::CorruptModel(file + " ends inside the BMP's header");
  const auto width = static_cast<int32_t>(Field<uint32_t>(bytes, 18));
  const auto height = static_cast<int32_t>(Field<uint32_t>(bytes, 22));
  const int bits = Field<uint16_t>(bytes, 28);
  const auto compression = Field<uint32_t>(bytes, 30);
  if (Field<uint32_t>(bytes, 14) < 40 || compression != 0 || (bits != 24 && bits != 32)) {
    return Status::NotSupported(
        fmt::format("{} is a BMP of {} bits and compression {}; expected 24 or 32 and 0, convert it to PNG", file, bits,
                    compression));
  }
  if (width <= 0 || height == 0 || height == INT32_MIN) {
    return Status::CorruptModel(fmt::format("{} is a BMP of {} x {} pixels", file, width, height));
  }
  Bmp bmp;
  bmp.size = {width, height < 0 ? -int64_t{height} : height, 3};
  bmp.top_first = height < 0;
  bmp.pixels_at = Field<uint32_t>(bytes, 10);
  bmp.pixel_bytes = static_cast<size_t>(bits / 8);
  bmp.row_bytes = (static_cast<size_t>(width) * bmp.pixel_bytes + 3) / 4 * 4;
  const size_t have = bmp.pixels_at < bytes.size() ? bytes.size() - bmp.pixels_at : 0;
  if (static_cast<size_t>(bmp.size.height) > have / bmp.row_bytes) {
    return Status::CorruptModel(fmt::format("{} ends inside the BMP's pixels, after {} bytes", file, bytes.size()));
  }
  return bmp;
}

}  // namespace

Result<ImageSize> BmpSize(std::string_view bytes, const std::string& file) {
  PLUMB_ASSIGN_OR_RETURN(const Bmp bmp, ReadHeader(bytes, file));
  return bmp.size;
}

Status DecodeBmp(std::string_view bytes, const std::string& file, const ImageSize& size, uint8_t* pixels) {
  PLUMB_ASSIGN_OR_RETURN(const Bmp bmp, ReadHeader(bytes, file));
  for (int64_t y = 0; y < size.height; ++y) {
    const auto row = static_cast<size_t>(bmp.top_first ? y : size.height - 1 - y);
    const char* from = bytes.data() + bmp.pixels_at + row * bmp.row_bytes;
    for (int64_t x = 0; x < size.width; ++x, from += bmp.pixel_bytes) {
      for (int c = 0; c < 3; ++c) *pixels++ = static_cast<uint8_t>(from[2 - c]);  // stored blue first
    }
  }
  return Status::Ok();
}

}  // namespace plumb
