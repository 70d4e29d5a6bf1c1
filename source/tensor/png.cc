// SPDX-License-Identifier: Apache-2.0
// PNG by libpng. Its errors are longjmp()s: what they leave behind are the members of PngReader, and no function
// between setjmp and libpng holds anything that would have to be destroyed.
#include <fmt/core.h>

#include <png.h>

#include <cstring>

#include "tensor/image_decode.h"

namespace plumb {
namespace {

class PngReader {
 public:
  explicit PngReader(std::string_view bytes) : left_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, OnError, OnWarning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  // False after an error, which error() tells.
  bool ReadHeader(const PngWays* ways) {
    if (info_ == nullptr || setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, OnRead);
    png_set_user_limits(png_, 1 << 20, 1 << 20);
    png_read_info(png_, info_);
    bits_ = png_get_bit_depth(png_, info_);
    palette_ = png_get_color_type(png_, info_) == PNG_COLOR_TYPE_PALETTE;
    if (png_get_gAMA(png_, info_, &gamma_) == 0) gamma_ = 0;
    if (ways != nullptr && ways->indices) {
      png_set_packing(png_);
    } else {
      png_set_expand(png_);  // palettes to rgb, fewer bits to 8, a transparent colour to alpha
    }
    if (ways != nullptr && !ways->whole) png_set_strip_16(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  bool ReadPixels(uint8_t* pixels, size_t row_bytes, size_t rows) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    const int passes = png_get_interlace_type(png_, info_) == PNG_INTERLACE_NONE ? 1 : PNG_INTERLACE_ADAM7_PASSES;
    for (int pass = 0; pass < passes; ++pass) {
      for (size_t row = 0; row < rows; ++row) png_read_row(png_, pixels + row * row_bytes, nullptr);
    }
    png_read_end(png_, nullptr);  // a file that ends before its last chunk is not whole
    return true;
  }

  int bits() const { return bits_; }
  bool palette() const { return palette_; }
  double gamma() const { return gamma_; }
  size_t row_bytes() const { return png_get_rowbytes(png_, info_); }
  ImageSize size() const {
    return {png_get_image_width(png_, info_), png_get_image_height(png_, info_), png_get_channels(png_, info_)};
  }
  const char* error() const { return error_; }

 private:
  [[noreturn]] static void OnError(png_structp png, png_const_charp text) {
    auto* self = static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(self->error_, text, sizeof(self->error_) - 1);
    png_longjmp(png, 1);
  }
  static void OnWarning(png_structp, png_const_charp) {}  // of chunks that do not touch the pixels
  static void OnRead(png_structp png, png_bytep to, size_t count) {
    auto* self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > self->left_.size()) png_error(png, "the file ends too early");
    std::memcpy(to, self->left_.data(), count);
    self->left_.remove_prefix(count);
  }

  std::string_view left_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int bits_ = 0;
  bool palette_ = false;
  double gamma_ = 0;
  char error_[128] = "no memory";
};

Status PngError(const std::string& file, const PngReader& reader) {
  return Status::CorruptModel(fmt::format("{} cannot be decoded as PNG: {}", file, reader.error()));
}

}  // namespace

Result<ImageSize> PngSize(std::string_view bytes, const std::string& file) {
  PngReader reader(bytes);
  if (!reader.ReadHeader(nullptr)) return PngError(file, reader);
  if (reader.bits() == 16) {
    return Status::NotSupported(file + " has 16 bits per channel; expected 8, convert it first");
  }
  return reader.size();
}

Status DecodePng(std::string_view bytes, const std::string& file, const ImageSize& size, uint8_t* pixels) {
  PngReader reader(bytes);
  const auto row_bytes = static_cast<size_t>(size.width * size.channels);
  if (reader.ReadHeader(nullptr) && reader.ReadPixels(pixels, row_bytes, static_cast<size_t>(size.height)))
    return Status::Ok();
  return PngError(file, reader);
}

Result<PngPixels> DecodePngWith(std::string_view bytes, const std::string& file, const PngWays& ways) {
  constexpr int64_t kMostPixels = int64_t{1} << 26;
  PngReader reader(bytes);
  if (!reader.ReadHeader(&ways)) return PngError(file, reader);
  PngPixels pixels{reader.size(), {}, reader.bits(), reader.palette(), reader.gamma()};
  if (pixels.size.width > kMostPixels / pixels.size.height)
    return Status::NotSupported(file + " has more than 2^26 pixels");
  const bool wide = ways.whole && reader.bits() == 16;
  const size_t per_row = static_cast<size_t>(pixels.size.width * pixels.size.channels), row = reader.row_bytes();
  if (row != per_row * (wide ? 2 : 1)) return Status::NotSupported(file + " has rows of another size than its pixels");
  const auto rows = static_cast<size_t>(pixels.size.height);
  std::vector<uint8_t> raw(row * rows);
  if (!reader.ReadPixels(raw.data(), row, rows)) return PngError(file, reader);
  pixels.values.resize(per_row * rows);
  for (size_t i = 0; i < pixels.values.size(); ++i)
    pixels.values[i] = wide ? static_cast<uint16_t>(raw[2 * i] << 8 | raw[2 * i + 1]) : raw[i];
  return pixels;
}

}  // namespace plumb
