// SPDX-License-Identifier: Apache-2.0
#include "tensor/image.h"

#include <fmt/core.h>

#include <sstream>

#include "tensor/image_decode.h"
#include "tensor/unpacked_limit.h"

namespace plumb {
namespace {

float Pick(const std::vector<float>& values, int64_t channel, float otherwise) {
  if (values.empty()) return otherwise;
  return values.size() == 1 ? values[0] : values[static_cast<size_t>(channel)];
}

Status CheckList(const std::vector<float>& values, const char* name, int64_t channels) {
  if (values.size() <= 1 || values.size() == static_cast<size_t>(channels)) return Status::Ok();
  return Status::InvalidArgument(fmt::format("image {}: expected one value or one for each of {} channels, found {}",
                                             name, channels, values.size()));
}

Status CheckShape(const std::string& file, const Shape& found, const Shape& expected) {
  if (found == expected) return Status::Ok();
  const bool one_image = expected.rank() == 4 && expected[0] == 1;
  return Status::Mismatch(fmt::format(
      "{} is {} (batch, channels, height, width), but the input is {}{}", file, found.ToString(), expected.ToString(),
      one_image ? "; convert the image first, Plumb resizes nothing" : "; an image fits only an input [1,C,H,W]"));
}

struct ImageFormat {
  std::string_view magic;
  Result<ImageSize> (*size)(std::string_view bytes, const std::string& file);
  Status (*decode)(std::string_view bytes, const std::string& file, const ImageSize& size, uint8_t* pixels);
};
constexpr ImageFormat kImageFormats[] = {
    {"\x89PNG", PngSize, DecodePng}, {"\xFF\xD8", JpegSize, DecodeJpeg}, {"BM", BmpSize, DecodeBmp}};

const ImageFormat* ImageFormatOf(std::string_view bytes) {
  for (const ImageFormat& format : kImageFormats) {
    if (bytes.substr(0, format.magic.size()) == format.magic) return &format;
  }
  return nullptr;
}

}  // namespace

Result<std::string> DescribeImageOptions(const ImageOptions& options, int64_t channels) {
  PLUMB_RETURN_IF_ERROR(CheckList(options.bias, "bias", channels));
  PLUMB_RETURN_IF_ERROR(CheckList(options.scale, "scale", channels));
  std::ostringstream bias, scale;
  for (int64_t c = 0; c < channels; ++c) {
    bias << (c > 0 ? "," : "") << Pick(options.bias, c, 0);
    scale << (c > 0 ? "," : "") << Pick(options.scale, c, 1);
  }
  const char* order = channels == 1 ? "gray" : options.order == ChannelOrder::kRgb ? "rgb" : "bgr";
  return fmt::format("(x - bias) * scale, bias {}, scale {}, {}, NCHW", bias.str(), scale.str(), order);
}

Result<Tensor> ParseImage(std::string_view bytes, const std::string& path, const ImageOptions& options,
                          const std::optional<Shape>& expected, uint64_t max_bytes) {
  const std::string file = fmt::format("image '{}'", path);
  const ImageFormat* format = ImageFormatOf(bytes);
  if (format == nullptr) return Status::CorruptModel(file + ", byte 0: neither PNG, JPEG nor BMP");
  PLUMB_ASSIGN_OR_RETURN(const ImageSize size, format->size(bytes, file));
  const int64_t channels = size.channels;
  const Shape shape{1, channels, size.height, size.width};
  if (expected.has_value()) PLUMB_RETURN_IF_ERROR(CheckShape(file, shape, *expected));
  PLUMB_RETURN_IF_ERROR(shape.Validate().AddContext(file));
  const uint64_t need = static_cast<uint64_t>(shape.NumElements()) * sizeof(float);
  const uint64_t limit = expected.has_value() ? MemoryBudget() : max_bytes;  // expected: the network is so large
  if (need > limit) {
    return Status::InvalidArgument(
        fmt::format("{} of {} needs more than the limit of {} bytes {}", file, shape.ToString(), limit, kUnpackedRule));
  }
  PLUMB_RETURN_IF_ERROR(CheckList(options.bias, "bias", channels).AddContext(file));
  PLUMB_RETURN_IF_ERROR(CheckList(options.scale, "scale", channels).AddContext(file));

  std::vector<uint8_t> pixels(static_cast<size_t>(shape.NumElements()));
  PLUMB_RETURN_IF_ERROR(format->decode(bytes, file, size, pixels.data()));
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DType::kF32, shape));
  const int64_t plane = shape.CountFrom(2);
  for (int64_t c = 0; c < channels; ++c) {
    const bool swapped = options.order == ChannelOrder::kBgr && channels >= 3 && c < 3;  // alpha stays where it is
    const uint8_t* src = pixels.data() + (swapped ? 2 - c : c);
    const float bias = Pick(options.bias, c, 0);
    const float scale = Pick(options.scale, c, 1);
    float* dst = tensor.data<float>() + c * plane;
    for (int64_t i = 0; i < plane; ++i) dst[i] = (static_cast<float>(src[i * channels]) - bias) * scale;
  }
  return tensor;
}

}  // namespace plumb
