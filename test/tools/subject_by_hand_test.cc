// SPDX-License-Identifier: Apache-2.0
// model_check --subject with what a program of one's own writes: raw files that are named by blob and dims, flat
// arrays, a manifest of four fields per file. Through the real command line.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "dump/file_name.h"
#include "interop/tensor_set.h"
#include "plumb/tensor_file.h"
#include "tools/blobs_of_naive.h"
#include "tools/command.h"

namespace plumb {
namespace {

const std::string kModel = PLUMB_EXAMPLES "/digits/digits.tnnproto";

class ByHand : public testing::Test {
 protected:
  ByHand() { std::filesystem::create_directories(folder_ + "/hand"); }
  static std::string Bytes(const Tensor& tensor) { return {static_cast<const char*>(tensor.raw()), tensor.bytes()}; }
  CommandResult Check() const { return RunTool("model_check", "-m " + kModel + " --subject " + folder_ + "/hand"); }
  void ExpectAligned(const std::string& note) const {
    const auto run = Check();
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_NE(run.out.find(", 0 wrong, 0 not tested"), std::string::npos) << run.out;
    EXPECT_NE(run.out.find(note), std::string::npos) << run.out;
  }

  std::string folder_ = TestFolder("subject_by_hand");
  std::vector<NamedTensor> blobs_ = BlobsOfNaive(kModel);
};

TEST_F(ByHand, RawFilesNeedNoManifest) {
  for (const NamedTensor& blob : blobs_) {
    std::string dims;
    for (const int64_t dim : blob.tensor.shape().dims()) dims += "-" + std::to_string(dim);
    WriteText(folder_ + "/hand/" + NameInFiles(blob.name) + "-dims" + dims + ".raw", Bytes(blob.tensor));
  }
  ExpectAligned("folder, " + std::to_string(blobs_.size()) + " tensors");
}

TEST_F(ByHand, FlatArraysAreTakenWithANote) {
  for (const NamedTensor& blob : blobs_) {
    const Tensor flat = blob.tensor.Reshaped({blob.tensor.NumElements()}).value();
    ASSERT_TRUE(WriteTensors(folder_ + "/hand/" + NameInFiles(blob.name) + ".npy", {{"", flat}}).ok());
  }
  ExpectAligned("flat arrays are taken in the shape that the model says: '");
}

TEST_F(ByHand, ManifestOfFourFields) {
  std::string manifest;
  for (const NamedTensor& blob : blobs_) {
    const std::string file = std::to_string(manifest.size()) + ".raw";
    WriteText(folder_ + "/hand/" + file, Bytes(blob.tensor));
    manifest += (manifest.empty() ? "{\"files\": [" : ", ") + std::string("{\"file\": \"") + file + "\", \"blob\": \"" +
                blob.name + "\", \"shape\": " + blob.tensor.shape().ToString() + ", \"dtype\": \"f32\"}";
  }
  WriteText(folder_ + "/hand/manifest.json", manifest + "]}");
  ExpectAligned("dump by hand, " + std::to_string(blobs_.size()) + " tensors");
  WriteText(folder_ + "/hand/manifest.json", "{\"files\": [{\"file\": \"0.raw\"}]}");
  const auto run = Check();
  EXPECT_EQ(run.exit_code, 2) << run.out;
  EXPECT_NE(run.out.find("entry 1 of 'files' ('0.raw') lacks 'blob', 'shape' and 'dtype'"), std::string::npos)
      << run.out;
}

// Integers on a grid of their own, as a quantised copy of a network holds them, with what they stand for.
TEST_F(ByHand, IntegersAreWhatTheyStandFor) {
  const std::string model = folder_ + "/relu.tnnproto";
  WriteText(model,
            "\"1 1 1 4206624772 ,\"\n\"x 4 1 2 2 2 0 ,\"\n\" x y ,\"\n\"y ,\"\n\" 1 ,\"\n"
            "\"ReLU relu 1 1 x y ,\"\n");
  const auto write = [&](const std::string& scales, const std::string& order) {
    WriteText(folder_ + "/hand/x.raw", std::string("\x80\x90\x05\x7f\x10\x00\xff\x01", 8));
    WriteText(folder_ + "/hand/y.raw", std::string("\x03\x03\x05\x7f\x10\x03\x03\x03", 8));
    std::string files;
    for (const char* name : {"x", "y"}) {
      files += fmt::format("{}{{\"file\": \"{}.raw\", \"blob\": \"{}\", \"shape\": [1, 2, 2, 2], \"dtype\": \"i8\"",
                           files.empty() ? "" : ", ", name, name);
      files += fmt::format("{}, \"quantisation\": {}, \"stands_for\": \"{}\"}}", order, scales, name);
    }
    WriteText(folder_ + "/hand/manifest.json", "{\"files\": [" + files + "]}");
    return RunTool("model_check", "-m " + model + " --subject " + folder_ + "/hand -v");
  };
  const auto right = write("{\"scale\": [0.25], \"zero_point\": [3]}", "");
  EXPECT_EQ(right.exit_code, 0) << right.out;
  EXPECT_NE(right.out.find("1 of 1 steps, 8 values"), std::string::npos) << right.out;
  EXPECT_NE(right.out.find("layout NCHW (taken for granted: no shape tells)"), std::string::npos) << right.out;
  const auto last = write("{\"scale\": [0.25], \"zero_point\": [3]}", ", \"order\": \"NHWC\"");
  EXPECT_EQ(last.exit_code, 0) << last.out;
  EXPECT_NE(last.out.find("layout NHWC (the dump says so)"), std::string::npos) << last.out;
  const auto moved = write("{\"scale\": [0.25], \"zero_point\": [40]}", "");
  EXPECT_EQ(moved.exit_code, 1) << "the ReLU of negatives is not 0 any more: " << moved.out;
  const auto two = write("{\"scale\": [0.25, 1], \"zero_point\": [3], \"axis\": 3}", "");
  EXPECT_EQ(two.exit_code, 2) << two.out;
  EXPECT_NE(two.out.find("as many zero points as scales, one or one per entry of 'axis'"), std::string::npos)
      << two.out;
}

// [n,c,h,w] in the order of NHWC, what is negative made 0 where `activated`.
Tensor ChannelsLast(const Tensor& x, bool activated) {
  const Shape s = x.shape();
  Tensor y = Tensor::Create(DType::kF32, {s[0], s[2], s[3], s[1]}).value();
  const int64_t pixels = s[2] * s[3];
  for (int64_t i = 0; i < x.NumElements(); ++i) {
    const int64_t n = i / (s[1] * pixels), c = i / pixels % s[1], p = i % pixels;
    const float value = x.data<float>()[i];
    y.data<float>()[(n * pixels + p) * s[1] + c] = activated && value < 0 ? 0 : value;
  }
  return y;
}

// As tf2onnx writes the .onnx of a .tflite: the input stays in NHWC and is turned by a layer of the model, and the
// result of Convolution+ReLU bears the convolution's name. With `fault` one value of it is another.
CommandResult CheckConverted(const std::string& folder, const std::string& input, const std::string& channels,
                             float fault) {
  const std::string model = folder + "/net.tnnproto";
  WriteText(model, "\"1 5 1 4206624772 ,\"\n\"input 4 " + input +
                       " 0 ,\"\n\" conv input last relu turned ,\"\n\"last ,\"\n\" 4 ,\"\n"
                       "\"Permute turned 1 1 input turned 4 0 3 1 2 ,\"\n"
                       "\"Convolution conv 1 1 turned conv 1 " +
                       channels +
                       " 3 3 1 1 1 1 1 -1 1 1 0 ,\"\n"
                       "\"ReLU relu 1 1 conv relu ,\"\n"
                       "\"Convolution last 1 1 relu last 1 " +
                       channels.substr(2) + " 4 3 3 1 1 1 1 1 -1 1 1 0 ,\"\n");
  std::filesystem::create_directories(folder + "/hand");
  for (const auto& [name, blob] : BlobsOfNaive(model)) {
    if (name == "relu" || name == "turned") continue;
    Tensor value = name == "input" ? blob : ChannelsLast(blob, name == "conv");
    if (name == "conv") value.data<float>()[17] += fault;
    EXPECT_TRUE(WriteTensors(folder + "/hand/" + name + ".npy", {{"", value}}).ok());
  }
  return RunTool("model_check", "-m " + model + " --subject " + folder + "/hand -v");
}

TEST(ConvertedSubject, LayoutsOfBothKindsAndNamesOfFusedLayers) {
  const auto right = CheckConverted(TestFolder("subject_converted"), "1 6 5 3", "3 8", 0);
  EXPECT_EQ(right.exit_code, 0) << right.out;
  EXPECT_NE(right.out.find("0 wrong, 0 not tested of 2 steps"), std::string::npos) << right.out;
  EXPECT_NE(right.out.find("say otherwise, as the model has both"), std::string::npos) << right.out;
  EXPECT_NE(
      right.out.find("1 of its tensors hold the result of the ReLU or Clip behind the layer whose name they bear"),
      std::string::npos)
      << right.out;
  // Cubes, whose shape tells nothing, in the layout of what they follow from: all but 'last'.
  const auto cubes = CheckConverted(TestFolder("subject_converted"), "1 6 6 6", "6 6", 0);
  EXPECT_EQ(cubes.exit_code, 0) << cubes.out;
  EXPECT_NE(cubes.out.find("0 wrong, 0 not tested of 2 steps"), std::string::npos) << cubes.out;
  const auto wrong = CheckConverted(TestFolder("subject_converted"), "1 6 5 3", "3 8", 0.01f);
  EXPECT_EQ(wrong.exit_code, 1) << wrong.out;
  EXPECT_NE(wrong.out.find("wrong at 'relu'"), std::string::npos) << wrong.out;
}

}  // namespace
}  // namespace plumb
