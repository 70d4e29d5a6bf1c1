// SPDX-License-Identifier: Apache-2.0
// Network outputs have the dtype that the model says, whatever carries them while they are computed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "format/onnx/onnx_model.h"
#include "plumb/dump.h"

namespace plumb {
namespace {

constexpr int kU8 = 2, kF16 = 10, kBF16 = 16;

Tensor Numbers(const std::vector<float>& values) {
  Tensor tensor = Tensor::Create(DType::kF32, {static_cast<int64_t>(values.size())}).value();
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

std::unique_ptr<Network> Made(const OnnxModel& m) {
  const auto imported = m.Import();
  EXPECT_TRUE(imported.ok()) << imported.status().ToString();
  auto network = CreateNetwork(std::make_shared<const Graph>(*imported), "NAIVE", {});
  EXPECT_TRUE(network.ok()) << network.status().ToString();
  return std::move(*network);
}

TEST(OnnxDtypesTest, SmallIntegersComeOutAsWhatTheyAre) {
  OnnxModel m;
  m.Input("x", {2}).Output("y").Output("largest").Floats("scale", {}, {1});
  ::onnx::TensorProto& zero = m.Ints("zero", {}, {});
  zero.set_data_type(kU8);
  zero.add_int32_data(100);
  m.Node("QuantizeLinear", {"x", "scale", "zero"}, {"y"});
  OnnxModel::SetInt(&m.Node("ArgMax", {"y"}, {"largest"}), "axis", 0);
  const auto network = Made(m);
  ASSERT_TRUE(network->SetInput("x", Numbers({-3, 400})).ok());
  ASSERT_TRUE(network->Forward().ok());
  const Tensor y = network->GetOutput("y").value();
  ASSERT_EQ(y.dtype(), DType::kU8);
  EXPECT_EQ(y.data<uint8_t>()[0], 97);
  EXPECT_EQ(y.data<uint8_t>()[1], 255);
  EXPECT_EQ(network->GetCarriedOutput("y")->dtype(), DType::kI64);
  EXPECT_EQ(network->GetOutput("largest")->dtype(), DType::kI64);
}

TEST(OnnxDtypesTest, HalfFloatsAreRoundedOnTheirWayOut) {
  for (const int type : {kF16, kBF16}) {
    const DType half = type == kF16 ? DType::kF16 : DType::kBF16;
    OnnxModel m;
    m.Input("x", {2}, type).Output("y").Node("Exp", {"x"}, {"y"});
    const auto network = Made(m);
    ASSERT_TRUE(network->SetInput("x", Numbers({1, 2}).ConvertedTo(half).value()).ok());
    ASSERT_TRUE(network->Forward().ok());
    const Tensor y = network->GetOutput("y").value(), carried = network->GetCarriedOutput("y").value();
    EXPECT_EQ(y.dtype(), half);
    EXPECT_EQ(carried.dtype(), DType::kF32);
    EXPECT_EQ(y.ValueAt(0), carried.ConvertedTo(half)->ValueAt(0));
    EXPECT_NE(y.ValueAt(0), carried.ValueAt(0));
  }
}

// Small integers are dumped as what they are; half floats as they were computed, with a word about the model.
TEST(OnnxDtypesTest, ADumpSaysTheModelsDtype) {
  OnnxModel m;
  m.Input("x", {2}, kF16).Input("n", {2}, kU8).Output("y").Output("k");
  m.Node("Exp", {"x"}, {"y"});
  m.Node("Not", {"yes"}, {"no"});
  OnnxModel::SetInt(&m.Node("Cast", {"n"}, {"yes"}), "to", 9);
  OnnxModel::SetInt(&m.Node("Cast", {"no"}, {"k"}), "to", kU8);
  const auto network = Made(m);
  DumpOptions options;
  options.outputs = true;
  options.folder = (std::filesystem::temp_directory_path() / ("plumb_dtypes_" + std::to_string(::getpid()))).string();
  ASSERT_TRUE(AddDump(network.get(), options).ok());
  ASSERT_TRUE(network->SetInput("x", Numbers({1, 2}).ConvertedTo(DType::kF16).value()).ok());
  ASSERT_TRUE(network->SetInput("n", Numbers({0, 2}).ConvertedTo(DType::kU8).value()).ok());
  ASSERT_TRUE(network->Forward().ok());
  std::ifstream file(options.folder + "/manifest.json");
  const std::string manifest((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto entry = [&](const std::string& blob) {
    const size_t at = manifest.find("\"blob\":\"" + blob + "\"");
    return at == std::string::npos ? "" : manifest.substr(at, manifest.find("\"constant\"", at) - at);
  };
  EXPECT_NE(entry("k").find("\"dtype\":\"u8\""), std::string::npos) << manifest;
  EXPECT_NE(entry("y").find("\"dtype\":\"f32\""), std::string::npos) << manifest;
  EXPECT_NE(entry("y").find("\"model_dtype\":\"f16\""), std::string::npos) << manifest;
  std::filesystem::remove_all(options.folder);
}

TEST(OnnxDtypesTest, AnInputTakesItsOwnDtypeAndTheOneThatCarriesIt) {
  OnnxModel m;
  m.Input("x", {2}, kU8).Output("y").Node("Identity", {"x"}, {"y"});
  const auto network = Made(m);
  const Tensor x = Numbers({7, 200});
  EXPECT_TRUE(network->SetInput("x", x.ConvertedTo(DType::kI64).value()).ok());
  EXPECT_TRUE(network->SetInput("x", x.ConvertedTo(DType::kU8).value()).ok());
  EXPECT_FALSE(network->SetInput("x", x.ConvertedTo(DType::kI8).value()).ok());
  ASSERT_TRUE(network->Forward().ok());
  EXPECT_EQ(network->GetOutput("y")->dtype(), DType::kU8);
  EXPECT_EQ(network->GetOutput("y")->ValueAt(1), 200);
}

}  // namespace
}  // namespace plumb
