// SPDX-License-Identifier: Apache-2.0
// The images hold, by rows of three pixels: red, green, blue; (10,20,30), (40,50,60), (70,80,90). The JPEG is one
// colour.
#include "tensor/image.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>

#include "base/file.h"

namespace plumb {
namespace {

Result<Tensor> Read(const std::string& name, const ImageOptions& options = {}, std::optional<Shape> shape = {}) {
  TensorHints hints;
  hints.image = options;
  hints.shape = shape;
  auto tensors = ReadTensors(std::string(PLUMB_TEST_DATA) + "/tensor/" + name, hints);
  if (!tensors.ok()) return tensors.status();
  return tensors->front().tensor;
}

TEST(Image, PlanesOfChannels) {
  for (const char* name : {"rgb.png", "rgb.bmp"}) {
    const Result<Tensor> tensor = Read(name, {}, Shape{1, 3, 2, 3});
    ASSERT_TRUE(tensor.ok()) << tensor.status().ToString();
    const float want[] = {255, 0, 0, 10, 40, 70, 0, 255, 0, 20, 50, 80, 0, 0, 255, 30, 60, 90};
    for (int i = 0; i < 18; ++i) EXPECT_EQ(tensor->ValueAt(i), want[i]) << name << " " << i;
  }
}

TEST(Image, BiasAndScalePerChannelOfTheTensor) {
  ImageOptions options;
  options.bias = {1, 2, 3};
  options.scale = {0.5f, 1, 2};
  options.order = ChannelOrder::kBgr;
  const Result<Tensor> tensor = Read("rgb.png", options);
  ASSERT_TRUE(tensor.ok()) << tensor.status().ToString();
  EXPECT_EQ(tensor->ValueAt(3), (30 - 1) * 0.5);  // blue first
  EXPECT_EQ(tensor->ValueAt(9), 20 - 2);
  EXPECT_EQ(tensor->ValueAt(15), (10 - 3) * 2.);
  EXPECT_EQ(DescribeImageOptions(options, 3).value(), "(x - bias) * scale, bias 1,2,3, scale 0.5,1,2, bgr, NCHW");
  EXPECT_EQ(DescribeImageOptions({}, 1).value(), "(x - bias) * scale, bias 0, scale 1, gray, NCHW");
  options.bias = {1, 2};
  EXPECT_EQ(Read("rgb.png", options).status().code(), StatusCode::kInvalidArgument);
}

TEST(Image, GrayAndJpeg) {
  const Result<Tensor> gray = Read("gray.png", {}, Shape{1, 1, 2, 3});
  ASSERT_TRUE(gray.ok()) << gray.status().ToString();
  EXPECT_EQ(gray->ValueAt(3), 255);
  const Result<Tensor> jpeg = Read("rgb.jpg");
  ASSERT_TRUE(jpeg.ok()) << jpeg.status().ToString();
  EXPECT_EQ(jpeg->shape(), (Shape{1, 3, 8, 8}));
  EXPECT_NEAR(jpeg->ValueAt(0), 200, 3);
  EXPECT_NEAR(jpeg->ValueAt(64), 100, 3);
  EXPECT_NEAR(jpeg->ValueAt(128), 50, 3);
}

// Palettes, fewer bits and alpha are what the file says; 16 bits and CMYK are refused, nothing is converted in silence.
TEST(Image, FormsOfPng) {
  const Result<Tensor> palette = Read("palette.png", {}, Shape{1, 3, 2, 3});
  ASSERT_TRUE(palette.ok()) << palette.status().ToString();
  EXPECT_EQ(palette->ValueAt(5), 70);
  const Result<Tensor> rgba = Read("rgba.png", {}, Shape{1, 4, 2, 3});
  ASSERT_TRUE(rgba.ok()) << rgba.status().ToString();
  EXPECT_EQ(rgba->ValueAt(18), 0);  // transparent, and its colour as stored
  EXPECT_EQ(rgba->ValueAt(0), 255);
  EXPECT_EQ(rgba->ValueAt(23), 255);
  const Result<Tensor> bits = Read("one_bit.png", {}, Shape{1, 1, 2, 3});
  ASSERT_TRUE(bits.ok()) << bits.status().ToString();
  EXPECT_EQ(bits->ValueAt(1), 255);
  const Status deep = Read("gray16.png").status();
  EXPECT_EQ(deep.code(), StatusCode::kNotSupported);
  EXPECT_NE(deep.message().find("16 bits per channel"), std::string::npos) << deep.message();
}

// photo.npy is what PIL decodes, with libjpeg-turbo, too: users compare with it.
TEST(Image, ProgressiveSubsampledJpegIsAsPilReadsIt) {
  const Result<Tensor> jpeg = Read("photo.jpg", {}, Shape{1, 3, 20, 24});
  ASSERT_TRUE(jpeg.ok()) << jpeg.status().ToString();
  const auto want = ReadTensors(std::string(PLUMB_TEST_DATA) + "/tensor/photo.npy", {});
  ASSERT_TRUE(want.ok()) << want.status().ToString();
  for (int c = 0; c < 3; ++c) {
    for (int i = 0; i < 480; ++i) {
      ASSERT_NEAR(jpeg->ValueAt(c * 480 + i), want->front().tensor.ValueAt(i * 3 + c), 1) << c << " " << i;
    }
  }
  EXPECT_EQ(Read("cmyk.jpg").status().code(), StatusCode::kNotSupported);
}

TEST(Image, Bmp) {
  const Result<Tensor> wide = Read("bits32.bmp", {}, Shape{1, 3, 2, 3});
  ASSERT_TRUE(wide.ok()) << wide.status().ToString();
  EXPECT_EQ(wide->ValueAt(0), 255);
  EXPECT_EQ(wide->ValueAt(17), 90);
  const Status few = Read("bits8.bmp").status();
  EXPECT_EQ(few.code(), StatusCode::kNotSupported);
  EXPECT_NE(few.message().find("8 bits and compression 0; expected 24 or 32"), std::string::npos) << few.message();
}

// A cut or damaged file is never filled up with grey.
TEST(Image, CutAnywhereIsRefused) {
  for (const char* name : {"rgb.png", "rgba.png", "palette.png", "rgb.jpg", "photo.jpg", "rgb.bmp", "bits32.bmp"}) {
    const auto file = ReadFile(std::string(PLUMB_TEST_DATA) + "/tensor/" + name);
    ASSERT_TRUE(file.ok());
    const std::string whole(file->text());
    ASSERT_TRUE(ParseTensors(whole, name).ok()) << name;
    for (size_t size = 0; size < whole.size(); ++size) {
      const Status status = ParseTensors(whole.substr(0, size), name).status();
      ASSERT_EQ(status.code(), StatusCode::kCorruptModel) << name << " cut to " << size << ": " << status.ToString();
    }
  }
}

TEST(Image, DamagedPngIsRefused) {
  const auto file = ReadFile(std::string(PLUMB_TEST_DATA) + "/tensor/rgb.png");
  ASSERT_TRUE(file.ok());
  constexpr size_t kLastChecksum = 4;  // of the empty chunk at the end, which libpng 1.6.48 does not read
  for (size_t at = 8; at < file->text().size() - kLastChecksum; ++at) {
    std::string bytes(file->text());
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    EXPECT_FALSE(ParseTensors(bytes, "x.png").ok()) << at;
  }
}

TEST(Image, JpegWithTooManyHuffmanCodesIsRefused) {
  std::string bytes("\xFF\xD8\xFF\xC4\x10\x00\x00", 7);
  bytes += std::string(16, '\xFF') + std::string(4096, '\1') + "\xFF\xD9";
  const Status status = ParseTensors(bytes, "x.jpg").status();
  EXPECT_EQ(status.code(), StatusCode::kCorruptModel);
  EXPECT_NE(status.message().find("image 'x.jpg' cannot be decoded as JPEG: "), std::string::npos) << status.message();
}

// 12000 x 12000 in 70 bytes.
TEST(Image, ALargeClaimIsRefusedEarly) {
  std::string bytes = "\x89PNG\r\n\x1a\n";
  const auto number = [](size_t value) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift);
    return text;
  };
  for (const std::string& chunk : {"IHDR" + number(12000) + number(12000) + std::string("\x08\x02\0\0\0", 5),
                                   std::string("IDAT"), std::string("IEND")}) {
    const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(chunk.data()), chunk.size());
    bytes += number(chunk.size() - 4) + chunk + number(crc);
  }
  const Status status = ParseTensors(bytes, "x.png").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.ToString();
  EXPECT_NE(status.message().find("image 'x.png' of [1,3,12000,12000] needs more than the limit of 268435456 bytes"),
            std::string::npos)
      << status.message();
}

TEST(Image, NothingIsResizedOrConverted) {
  for (const Shape& shape : {Shape{1, 3, 3, 2}, Shape{1, 1, 2, 3}, Shape{2, 3, 2, 3}, Shape{3, 2, 3}}) {
    const Status status = Read("rgb.png", {}, shape).status();
    EXPECT_EQ(status.code(), StatusCode::kMismatch);
    EXPECT_NE(status.message().find("[1,3,2,3]"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(shape.ToString()), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace plumb
