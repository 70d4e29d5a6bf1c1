// The images hold, by rows of three pixels: red, green, blue; (10,20,30), (40,50,60), (70,80,90). The JPEG is one
// colour.
#include "tensor/image.h"

#include <gtest/gtest.h>

#include <cmath>

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

// stb_image 2.27 would write past its tables: one code of each length declared 255 times.
TEST(Image, JpegWithTooManyHuffmanCodesIsRefused) {
  std::string bytes("\xFF\xD8\xFF\xC4\x10\x00\x00", 7);
  bytes += std::string(16, '\xFF') + std::string(4096, '\1') + "\xFF\xD9";
  const Status status = ParseTensors(bytes, "x.jpg").status();
  EXPECT_EQ(status.code(), StatusCode::kCorruptModel);
  EXPECT_NE(status.message().find("byte 2: a Huffman table has 4080 codes"), std::string::npos) << status.message();
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
