// SPDX-License-Identifier: Apache-2.0
// JPEG by libjpeg-turbo (its TurboJPEG interface, which needs no setjmp).
#include <fmt/core.h>

#include <turbojpeg.h>

#include <memory>

#include "tensor/image_decode.h"

namespace plumb {
namespace {

struct TurboClose {
  void operator()(void* handle) const { tjDestroy(handle); }
};
using TurboHandle = std::unique_ptr<void, TurboClose>;

Status JpegError(const std::string& file, const TurboHandle& handle) {
  return Status::CorruptModel(fmt::format("{} cannot be decoded as JPEG: {}", file, tjGetErrorStr2(handle.get())));
}

const unsigned char* Bytes(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

}  // namespace

Result<ImageSize> AnyJpegSize(std::string_view bytes, const std::string& file) {
  const TurboHandle handle(tjInitDecompress());
  int width = 0, height = 0, subsampling = 0, colors = 0;
  if (tjDecompressHeader3(handle.get(), Bytes(bytes), bytes.size(), &width, &height, &subsampling, &colors) != 0) {
    return JpegError(file, handle);
  }
  const bool cmyk = colors == TJCS_CMYK || colors == TJCS_YCCK;
  return ImageSize{width, height, colors == TJCS_GRAY ? 1 : cmyk ? 4 : 3};
}

Result<ImageSize> JpegSize(std::string_view bytes, const std::string& file) {
  PLUMB_ASSIGN_OR_RETURN(const ImageSize size, AnyJpegSize(bytes, file));
  if (size.channels == 4)
    return Status::NotSupported(file + " is a CMYK image; expected gray or RGB, convert it first");
  return size;
}

Status DecodeJpeg(std::string_view bytes, const std::string& file, const ImageSize& size, uint8_t* pixels) {
  return DecodeJpegWith(bytes, file, size, JpegWays(), pixels);
}

Status DecodeJpegWith(std::string_view bytes, const std::string& file, const ImageSize& size, const JpegWays& ways,
                      uint8_t* pixels) {
  const TurboHandle handle(tjInitDecompress());
  // A warning is a cut or damaged file, whose rest would be grey. LIMITSCANS: a progressive file of 500 scans is a
  // bomb.
  const int flags = (ways.fast_dct ? TJFLAG_FASTDCT : TJFLAG_ACCURATEDCT) |
                    (ways.plain_colours ? TJFLAG_FASTUPSAMPLE : 0) | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS;
  const int format = size.channels == 1 ? TJPF_GRAY : size.channels == 4 ? TJPF_CMYK : TJPF_RGB;
  if (tjDecompress2(handle.get(), Bytes(bytes), bytes.size(), pixels, static_cast<int>(size.width), 0,
                    static_cast<int>(size.height), format, flags) != 0) {
    return JpegError(file, handle);
  }
  return Status::Ok();
}

}  // namespace plumb
