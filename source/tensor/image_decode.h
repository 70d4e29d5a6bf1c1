// SPDX-License-Identifier: Apache-2.0
// The decoders behind image.h: 8-bit pixels, row by row, channels interleaved, as many channels as the file has.
#ifndef PLUMB_TENSOR_IMAGE_DECODE_H_
#define PLUMB_TENSOR_IMAGE_DECODE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plumb/status.h"

namespace plumb {

struct ImageSize {
  int64_t width = 0, height = 0;
  int64_t channels = 0;  // 1 gray, 2 gray and alpha, 3 rgb, 4 rgba
};

// Reads the header only, so that its size can be refused before anything is allocated. `file` begins each message;
// damaged or cut files are errors, never filled with grey.
Result<ImageSize> PngSize(std::string_view bytes, const std::string& file);
Result<ImageSize> JpegSize(std::string_view bytes, const std::string& file);
Result<ImageSize> BmpSize(std::string_view bytes, const std::string& file);

// pixels: width * height * channels bytes of the size that was read. PNG's gamma is not applied (nor is it by PIL or
// OpenCV).
Status DecodePng(std::string_view bytes, const std::string& file, const ImageSize& size, uint8_t* pixels);
Status DecodeJpeg(std::string_view bytes, const std::string& file, const ImageSize& size, uint8_t* pixels);
Status DecodeBmp(std::string_view bytes, const std::string& file, const ImageSize& size, uint8_t* pixels);

// How libjpeg-turbo may decode. DecodeJpeg: neither.
struct JpegWays {
  bool fast_dct = false;       // the ifast inverse DCT for islow
  bool plain_colours = false;  // colours of half size are repeated, not smoothed ("fancy upsampling" off)
};
// The size of a JPEG of any colours: 4 channels are CMYK.
Result<ImageSize> AnyJpegSize(std::string_view bytes, const std::string& file);
// `size`: that of the file, or one that the decoder scales to (an eighth to seven eighths, rounded up); 1 channel of a
// file of colours is its luma; 4 are the file's own CMYK.
Status DecodeJpegWith(std::string_view bytes, const std::string& file, const ImageSize& size, const JpegWays& ways,
                      uint8_t* pixels);

// A PNG in more ways than DecodePng has.
struct PngWays {
  bool indices = false;  // of a palette, not its colours
  bool whole = false;    // 16 bits as they are; else their high byte
};
struct PngPixels {
  ImageSize size;
  std::vector<uint16_t> values;
  int bits = 8;
  bool palette = false;
  double gamma = 0;  // what the file says; 0: nothing
};
Result<PngPixels> DecodePngWith(std::string_view bytes, const std::string& file, const PngWays& ways);

}  // namespace plumb

#endif  // PLUMB_TENSOR_IMAGE_DECODE_H_
