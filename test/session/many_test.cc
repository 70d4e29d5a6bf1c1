// SPDX-License-Identifier: Apache-2.0
// Many samples (plumb/tool/many.h): what a folder, a list and an archive hold, the ranking, and what is done before.
#include <algorithm>
#include <fstream>

#include "op/activation.h"
#include "plumb/plumb.h"
#include "plumb/tensor_file.h"
#include "plumb/tool/file.h"
#include "plumb/tool/many.h"
#include "session/session_test_util.h"
#include "util/make_layer.h"

namespace plumb {
namespace {

constexpr int kScores = 6;

Tensor Values(const std::vector<float>& values) {
  Tensor tensor = Tensor::Create(DType::kF32, {1, static_cast<int64_t>(values.size())}).value();
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

std::shared_ptr<const Graph> Relu() {
  auto graph = std::make_shared<Graph>();
  graph->inputs = {{"x", DType::kF32, {1, kScores}}};
  graph->outputs = {"y"};
  graph->layers = {MakeLayer(OpKind::kReLU, "relu", {"x"}, {"y"})};
  return graph;
}

class ManyTest : public ScratchFolder {
 protected:
  // Three samples in a folder; the second one is no array.
  std::string Folder() {
    const std::string folder = At("samples");
    std::filesystem::create_directories(folder);
    EXPECT_TRUE(WriteTensors(folder + "/a.npy", {{"", Values({1, 2, 3, 4, 5, 6})}}).ok());
    EXPECT_TRUE(WriteFile(folder + "/b.npy", "no array").ok());
    EXPECT_TRUE(WriteTensors(folder + "/c.npy", {{"", Values({6, 5, 4, 3, 2, 1})}}).ok());
    return folder;
  }
  ManyOptions Options() {
    ManyOptions options;
    options.device = "NAIVE";
    options.model = "net";
    options.results = At("results.jsonl");
    return options;
  }
  static std::vector<std::string> Names(const std::vector<Sample>& samples) {
    std::vector<std::string> names;
    for (const Sample& sample : samples) names.push_back(sample.name);
    return names;
  }
};

TEST_F(ManyTest, AFolderAListAndAnArchive) {
  const std::string folder = Folder(), list = At("list.txt"), archive = At("all.npz");
  EXPECT_EQ(Names(ListSamples(folder, 1).value()), (std::vector<std::string>{"a.npy", "b.npy", "c.npy"}));
  ASSERT_TRUE(WriteFile(list, "samples/c.npy\r\n\nsamples/a.npy").ok());
  const auto listed = ListSamples(list, 1).value();
  EXPECT_EQ(Names(listed), (std::vector<std::string>{"samples/c.npy", "samples/a.npy"}));
  EXPECT_EQ(listed[0].files[0], At("samples/c.npy"));
  Tensor rows = Tensor::Create(DType::kF32, {4, 3}).value();
  for (int i = 0; i < 12; ++i) rows.data<float>()[i] = static_cast<float>(i);
  ASSERT_TRUE(WriteTensors(archive, {{"x", rows}}).ok());
  const auto pairs = ListSamples(archive, 2).value();
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[1].values.at("x").shape(), Shape({2, 3}));
  EXPECT_EQ(pairs[1].values.at("x").ValueAt(0), 6);
  EXPECT_TRUE(Has(ListSamples(archive, 3).status().message(), "expected a first axis of samples, 3 in each"));
  EXPECT_EQ(ListSamples(At("nowhere"), 1).status().code(), StatusCode::kNotFound);
}

TEST_F(ManyTest, ABrokenSampleIsItsOwnResult) {
  const auto samples = ListSamples(Folder(), 1).value();
  const ManyReport report = CheckMany(Relu(), samples, Options()).value();
  EXPECT_EQ(report.ran, 2);
  EXPECT_EQ(report.agreed, 2);
  EXPECT_EQ(report.failed, 1);
  EXPECT_EQ(report.samples.back().name, "b.npy");
  const std::string text = FormatMany(report, "NAIVE", 10, 200);
  EXPECT_TRUE(Has(text, "the answer is the same for 2 (100.0 %, 95 % interval 34.2 to 100.0 %)")) << text;
  EXPECT_TRUE(Has(text, "'b.npy' could not be run: ")) << text;
}

// What stands in the file is not run again, and ranked with the rest; what failed is tried again.
TEST_F(ManyTest, WhatWasDoneIsKeptAndRanked) {
  const auto samples = ListSamples(Folder(), 1).value();
  const ManyOptions options = Options();
  ASSERT_TRUE(CheckMany(Relu(), samples, options).ok());
  std::string text = ReadWholeFile(options.results).value();
  const size_t line = text.find("{\"device\":\"NAIVE\",\"sample\":\"c.npy\"");
  text = text.substr(0, text.find('\n') + 1) + text.substr(line, text.find('\n', line) - line);
  const std::string same = "\"changed\":false";
  text.replace(text.find(same), same.size(), "\"changed\":true");
  ASSERT_TRUE(WriteFile(options.results, text + "\n{\"sample\":\"a.n").ok());  // killed while it wrote
  const ManyReport report = CheckMany(Relu(), samples, options).value();
  EXPECT_EQ(report.kept, 1);
  EXPECT_EQ(report.agreed, 1);
  EXPECT_EQ(report.samples[0].name, "c.npy");
  const std::string shown = FormatMany(report, "NAIVE", 10, 80);
  EXPECT_TRUE(Has(shown, "c.npy   y       #0 -> #0       0      0         0")) << shown;
  EXPECT_EQ(CheckMany(Relu(), samples, options).value().kept, 2);
}

// Several devices share a file; a sample with other values under its name is another one.
TEST_F(ManyTest, OfEachDeviceAndOfTheseValues) {
  std::vector<Sample> samples = {{"one", {}, {{"x", Values({1, 2, 3, 4, 5, 6})}}}};
  ManyOptions options = Options();
  EXPECT_EQ(CheckMany(Relu(), samples, options).value().kept, 0);
  if (OpenDevice("X86").ok()) {
    options.device = "X86";
    EXPECT_EQ(CheckMany(Relu(), samples, options).value().kept, 0);
    EXPECT_EQ(CheckMany(Relu(), samples, options).value().kept, 1);
    options.device = "NAIVE";
  }
  EXPECT_EQ(CheckMany(Relu(), samples, options).value().kept, 1);
  samples[0].values["x"].data<float>()[3] = 7;
  EXPECT_EQ(CheckMany(Relu(), samples, options).value().kept, 0);
}

TEST_F(ManyTest, ResultsOfAnotherRunAreRefused) {
  const auto samples = ListSamples(Folder(), 1).value();
  const ManyOptions options = Options();
  ASSERT_TRUE(CheckMany(Relu(), samples, options).ok());
  const std::string good = ReadWholeFile(options.results).value(), head = good.substr(0, good.find('\n') + 1);
  for (const std::string& text :
       {std::string("{\"format\":\"plumb-samples\",\"version\":1,\"model\":\"other\"}\n"), std::string("no JSON\n"),
        std::string("a picture"), std::string("[1]\n"), head + "{\"relative\":[1]}\n"}) {
    ASSERT_TRUE(WriteFile(options.results, text).ok());
    const auto refused = CheckMany(Relu(), samples, options);
    EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_TRUE(Has(refused.status().message(), "give another file, or remove it")) << refused.status().message();
    EXPECT_EQ(ReadWholeFile(options.results).value(), text) << "it is not written over";
  }
  // The same file with another network, and with another scale of images.
  ASSERT_TRUE(WriteFile(options.results, good).ok());
  auto other = std::make_shared<Graph>(*Relu());
  other->layers[0] = MakeLayer(OpKind::kAbs, "abs", {"x"}, {"y"});
  EXPECT_TRUE(Has(CheckMany(other, samples, options).status().message(), "found checksum "));
  ManyOptions scaled = options;
  scaled.inputs.image.scale = {0.5f};
  EXPECT_TRUE(Has(CheckMany(Relu(), samples, scaled).status().message(), "found scale [], here [0.5]"));
}

TEST_F(ManyTest, WilsonsInterval) {
  std::vector<Sample> samples;
  const ManyOptions options = Options();
  for (int i = 0; i < 10; ++i) samples.push_back({std::to_string(i), {}, {{"x", Values({1, 2, 3, 4, 5, 6})}}});
  ASSERT_TRUE(CheckMany(Relu(), samples, options).ok());
  std::string text = ReadWholeFile(options.results).value();
  const std::string same = "\"changed\":false";
  for (int i = 0; i < 2; ++i) text.replace(text.find(same), same.size(), "\"changed\":true");
  ASSERT_TRUE(WriteFile(options.results, text).ok());
  const ManyReport report = CheckMany(Relu(), samples, options).value();
  EXPECT_EQ(report.agreed, 8);
  EXPECT_NEAR(report.low, 0.4902, 1e-4);
  EXPECT_NEAR(report.high, 0.9433, 1e-4);
}

}  // namespace
}  // namespace plumb
