// SPDX-License-Identifier: Apache-2.0
// Stages written down, read back and compared; what the image options of a network do is written down, too.
#include "plumb/stage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "plumb/inputs.h"
#include "plumb/tool/file.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

Tensor Bytes(const Shape& shape, int step) {
  Tensor tensor = Tensor::Create(DType::kU8, shape).value();
  for (int64_t i = 0; i < tensor.NumElements(); ++i) tensor.data<uint8_t>()[i] = static_cast<uint8_t>(i * step);
  return tensor;
}

class StageTest : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = WorkFolder::Make("stage_test").value(); }
  void TearDown() override { ::unsetenv("DUMP_STAGE_DIR"); }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  WorkFolder folder_;
};

TEST_F(StageTest, OffNothingIsLookedAt) {
  ::unsetenv("DUMP_STAGE_DIR");
  EXPECT_FALSE(StagesWanted());
  EXPECT_TRUE(Stage("", Tensor()).ok());  // on, both would be errors
  EXPECT_TRUE(BeginSample("x").ok());
}

TEST_F(StageTest, WhatIsWrittenIsRead) {
  ::setenv("DUMP_STAGE_DIR", path("stages").c_str(), 1);
  StageInfo info;
  info.parameters = {{"method", "bilinear"}, {"size", {2, 3}}, {"factor", 0.5}};
  info.layout = "HWC", info.color = "BGR", info.library = "OpenCV 4.6.0";
  ASSERT_TRUE(BeginSample("a cat/1.jpg").ok());
  ASSERT_TRUE(Stage("resize", Bytes({2, 3, 3}, 5), info).ok());
  EXPECT_FALSE(Stage("", Bytes({1}, 1)).ok());
  EXPECT_FALSE(Stage("empty", Tensor()).ok());
  const auto samples = ReadStages(path("stages"));
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  ASSERT_EQ(samples->size(), 1u);
  const StageSample& sample = (*samples)[0];
  EXPECT_EQ(sample.name, "a cat/1.jpg");
  EXPECT_EQ(fs::path(sample.folder).filename(), "a_cat_1.jpg");
  ASSERT_EQ(sample.stages.size(), 1u);
  const StageRecord& stage = sample.stages[0];
  EXPECT_EQ(stage.kind, "resize");
  EXPECT_EQ(stage.info.color, "BGR");
  EXPECT_EQ(stage.info.library, "OpenCV 4.6.0");
  ASSERT_NE(stage.info.Find("size"), nullptr);
  EXPECT_EQ(stage.info.Find("size")->numbers, (std::vector<double>{2, 3}));
  EXPECT_EQ(stage.info.Find("method")->text, "bilinear");
  EXPECT_EQ(stage.info.Find("none"), nullptr);
  const auto values = LoadStage(stage);
  ASSERT_TRUE(values.ok()) << values.status().message();
  EXPECT_EQ(values->ValueAt(17), 85);
}

TEST_F(StageTest, KindsAreReadOutOfNames) {
  EXPECT_EQ(StageKind("Resize_2"), "resize");
  EXPECT_EQ(StageKind("Normalize"), "normalise");
  EXPECT_EQ(StageKind("decode_boxes"), "boxes");
  EXPECT_EQ(StageKind("letterbox"), "letterbox");
  EXPECT_EQ(StageKind("imread"), "decode");
  EXPECT_EQ(StageKind("magic"), "");
}

void WriteSample(const std::string& folder, const std::string& manifest, const std::vector<Tensor>& tensors) {
  fs::create_directories(folder);
  for (size_t i = 0; i < tensors.size(); ++i)
    ASSERT_TRUE(WriteTensors(folder + "/" + std::to_string(i) + ".npy", {{"", tensors[i]}}).ok());
  std::ofstream(folder + "/manifest.json") << manifest;
}

constexpr const char* kTwoStages =
    R"({"files": [{"file": "0.npy", "blob": "decode", "shape": [4, 4, 3], "dtype": "u8"},
                  {"file": "1.npy", "blob": "crop", "shape": [3, 3, 3], "dtype": "u8"}]})";

Tensor Part(const Tensor& tensor, int64_t top, int64_t left) {
  Tensor part = Tensor::Create(DType::kU8, {3, 3, 3}).value();
  for (int64_t h = 0; h < 3; ++h) {
    for (int64_t i = 0; i < 9; ++i)
      part.data<uint8_t>()[h * 9 + i] = tensor.data<uint8_t>()[(h + top) * 12 + left * 3 + i];
  }
  return part;
}

TEST_F(StageTest, TheGuiltyStageIsNamedAndTheRestInherits) {
  const Tensor image = Bytes({4, 4, 3}, 5), other = Bytes({4, 4, 3}, 7);
  WriteSample(path("original"), kTwoStages, {image, Part(image, 0, 0)});
  WriteSample(path("crop"), kTwoStages, {image, Part(image, 1, 1)});
  WriteSample(path("decode"), kTwoStages, {other, Part(other, 0, 0)});
  const auto crop = DiffStages(path("original"), path("crop"));
  ASSERT_TRUE(crop.ok()) << crop.status().message();
  EXPECT_EQ(crop->different, 1);
  EXPECT_EQ(crop->samples[0].first_guilty, 1);
  EXPECT_EQ(crop->samples[0].rows[0].verdict, StageVerdict::kAligned);
  EXPECT_NE(crop->samples[0].rows[1].cause.find("rounded down"), std::string::npos);
  EXPECT_NE(FormatStageSummary(*crop).find("first guilty stage 'crop'"), std::string::npos);
  const auto decode = DiffStages(path("original"), path("decode"));
  ASSERT_TRUE(decode.ok()) << decode.status().message();
  EXPECT_EQ(decode->samples[0].rows[0].verdict, StageVerdict::kIntroduced);
  EXPECT_EQ(decode->samples[0].rows[1].verdict, StageVerdict::kInherited);
  EXPECT_NE(FormatStageText(*decode).find("inherited"), std::string::npos);
  EXPECT_NE(FormatStageJson(*decode).find("\"first_guilty\": 0"), std::string::npos);
}

TEST_F(StageTest, ASampleThatLostItsManifestIsNotPassedOver) {
  const Tensor image = Bytes({4, 4, 3}, 5);
  for (const char* sample : {"/a", "/b"}) WriteSample(path("whole") + sample, kTwoStages, {image, Part(image, 0, 0)});
  fs::copy(path("whole"), path("lost"), fs::copy_options::recursive);
  fs::remove(path("lost/b/manifest.json"));
  const Status status = ReadStages(path("lost")).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("/lost/b' has values, but no file manifest.json"), std::string::npos);
  const auto report = DiffStages(path("whole"), path("lost"));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->aligned, 1);
  EXPECT_EQ(report->broken, 1);
}

TEST_F(StageTest, AnotherSizeOfTheSameCropIsIntroduced) {
  const Tensor image = Bytes({4, 4, 3}, 5);
  Tensor small = Tensor::Create(DType::kU8, {2, 2, 3}).value();
  for (int64_t h = 0; h < 2; ++h) std::copy_n(image.data<uint8_t>() + h * 12, 6, small.data<uint8_t>() + h * 6);
  WriteSample(path("a"), kTwoStages, {image, Part(image, 0, 0)});
  std::string manifest = kTwoStages;
  manifest.replace(manifest.find("[3, 3, 3]"), 9, "[2, 2, 3]");
  WriteSample(path("b"), manifest, {image, small});
  const auto report = DiffStages(path("a"), path("b"));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->different, 1);
  EXPECT_EQ(report->samples[0].rows[1].verdict, StageVerdict::kIntroduced);
  EXPECT_NE(report->samples[0].rows[1].cause.find("the size: the original's is 3 x 3"), std::string::npos)
      << report->samples[0].rows[1].cause;
}

TEST_F(StageTest, StagesOfOtherNamesArePairedByKind) {
  const Tensor image = Bytes({4, 4, 3}, 5);
  WriteSample(path("a"), kTwoStages, {image, Part(image, 0, 0)});
  std::string renamed = kTwoStages;
  renamed.replace(renamed.find("crop"), 4, "center_crop_3");
  WriteSample(path("b"), renamed, {image, Part(image, 0, 0)});
  const auto report = DiffStages(path("a"), path("b"));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->samples[0].rows.size(), 2u);
  EXPECT_EQ(report->aligned, 1);
}

constexpr const char* kPyramid =
    R"({"files": [{"file": "0.npy", "blob": "decode", "shape": [4, 4, 3], "dtype": "u8"},
                  {"file": "1.npy", "blob": "crop_0", "shape": [3, 3, 3], "dtype": "u8"},
                  {"file": "2.npy", "blob": "crop_1", "shape": [3, 3, 3], "dtype": "u8",
                   "parameters": {"of": "decode"}}]})";

TEST_F(StageTest, AStageMayReadAnotherThanTheOneBeforeIt) {
  const Tensor image = Bytes({4, 4, 3}, 5);
  WriteSample(path("a"), kPyramid, {image, Part(image, 0, 0), Part(image, 1, 0)});
  WriteSample(path("b"), kPyramid, {image, Part(image, 0, 1), Part(image, 1, 1)});
  const auto samples = ReadStages(path("a"));
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  EXPECT_EQ((*samples)[0].stages[1].reads, std::vector<int>{0});
  EXPECT_EQ((*samples)[0].stages[2].reads, std::vector<int>{0});
  const auto report = DiffStages(path("a"), path("b"));
  ASSERT_TRUE(report.ok()) << report.status().message();
  // Both had the same picture: the second does not inherit from the first.
  EXPECT_EQ(report->samples[0].rows[1].verdict, StageVerdict::kIntroduced);
  EXPECT_EQ(report->samples[0].rows[2].verdict, StageVerdict::kIntroduced);
  std::string unknown = kPyramid;
  unknown.replace(unknown.find("\"of\": \"decode\""), 14, "\"of\": \"crop_1\"");
  WriteSample(path("c"), unknown, {image, Part(image, 0, 0), Part(image, 1, 0)});
  const Status status = ReadStages(path("c")).status();
  EXPECT_EQ(status.code(), StatusCode::kCorruptModel);
  EXPECT_NE(status.message().find("entry 3: its parameter 'of' says 'crop_1'"), std::string::npos) << status.message();
  for (const char* wrong : {"\"of\": \"decode, decode\"", "\"of\": 3", "\"of\": \"\"", "\"of\": [1, 2]"}) {
    std::string text = kPyramid;
    text.replace(text.find("\"of\": \"decode\""), 14, wrong);
    WriteSample(path("d"), text, {image, Part(image, 0, 0), Part(image, 1, 0)});
    EXPECT_EQ(ReadStages(path("d")).status().code(), StatusCode::kCorruptModel) << wrong;
  }
  ::setenv("DUMP_STAGE_DIR", path("written").c_str(), 1);
  ASSERT_TRUE(BeginSample("one").ok());
  ASSERT_TRUE(Stage("decode", image).ok());
  StageInfo info;
  info.parameters = {{"of", "decod"}};
  EXPECT_EQ(Stage("crop", image, info).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(Stage("resize", image).ok());
  info.parameters = {{"of", "decode, resize"}};
  ASSERT_TRUE(Stage("blend", image, info).ok());
  EXPECT_EQ((*ReadStages(path("written")))[0].stages[2].reads, (std::vector<int>{0, 1}));
}

constexpr const char* kText =
    R"({"files": [{"file": "0.npy", "blob": "logit", "shape": [4, 3], "dtype": "f32"},
                  {"file": "1.npy", "blob": "text", "shape": [SIZE], "dtype": "u8"}]})";

Tensor TextOf(const std::string& text) {
  Tensor tensor = Tensor::Create(DType::kU8, {static_cast<int64_t>(text.size())}).value();
  std::copy(text.begin(), text.end(), tensor.data<uint8_t>());
  return tensor;
}

TEST_F(StageTest, TextsAreComparedByEditDistance) {
  Tensor scores = Tensor::Create(DType::kF32, {4, 3}).value();
  const float values[] = {0, 9, 1, 0, 8, 0, 7, 0, 0, 0, 9, 0};  // 1 1 0 1: "aa" where 0 is the blank
  std::copy(std::begin(values), std::end(values), scores.data<float>());
  const auto write = [&](const std::string& name, const std::string& text) {
    std::string manifest = kText;
    manifest.replace(manifest.find("SIZE"), 4, std::to_string(text.size()));
    WriteSample(path(name), manifest, {scores, TextOf(text)});
  };
  write("a", "kitten");
  write("b", "sitting");
  const auto report = DiffStages(path("a"), path("b"));
  ASSERT_TRUE(report.ok()) << report.status().message();
  const StageSampleReport& sample = report->samples[0];
  EXPECT_EQ(sample.rows[1].reason, "edit distance 3 of 6: 'kitten' and 'sitting'");
  EXPECT_TRUE(sample.answer.known);
  EXPECT_FALSE(sample.answer.top);
  EXPECT_EQ(sample.answer.port, "'sitting'");
  EXPECT_NE(FormatStageText(*report).find("answer: 'text' 'kitten' -> 'sitting'"), std::string::npos);
}

TEST_F(StageTest, DetectionsOfCocoAreComparedImageByImage) {
  const auto write = [&](const std::string& name, const std::string& text) { std::ofstream(path(name)) << text; };
  write("a.json",
        R"([{"image_id": 7, "category_id": 1, "bbox": [10, 20, 30, 40], "score": 0.5},
            {"image_id": 8, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.75}])");
  write("b.json", R"([{"image_id": 7, "category_id": 1, "bbox": [10, 20, 30, 40], "score": 0.5}])");
  const auto same = DiffStages(path("a.json"), path("a.json"));
  ASSERT_TRUE(same.ok()) << same.status().message();
  EXPECT_EQ(same->aligned, 2);
  const auto report = DiffStages(path("a.json"), path("b.json"));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->aligned, 1);
  EXPECT_EQ(report->different, 1);
  EXPECT_EQ(report->samples[1].original, "8");
  EXPECT_EQ(report->samples[1].answer.original, "1 box, the best 0.75");
  EXPECT_EQ(report->samples[1].answer.port, "no box");
  write("moved.json", R"([{"image_id": 7, "category_id": 1, "bbox": [10, 20, 30, 20], "score": 0.5}])");
  const auto moved = DiffStages(path("b.json"), path("moved.json"));
  ASSERT_TRUE(moved.ok()) << moved.status().message();
  EXPECT_EQ(moved->different, 1);  // half of the box: an IoU of 0.5 is no partner
  write("none.json", "[]");
  const auto none = DiffStages(path("none.json"), path("none.json"));
  ASSERT_TRUE(none.ok()) << none.status().message();
  EXPECT_TRUE(none->both_empty);
  EXPECT_EQ(FormatStageSummary(*none), "ALIGNED: neither list has a detection\n");
  write("annotated.json", R"({"annotations": [{"image_id": 7, "category_id": 1, "bbox": [10, 20, 30, 40]}]})");
  const auto unscored = DiffStages(path("b.json"), path("annotated.json"));
  ASSERT_TRUE(unscored.ok()) << unscored.status().message();
  EXPECT_EQ(unscored->aligned, 1);
  EXPECT_EQ(unscored->notes, std::vector<std::string>{"one side has no scores: they are not compared"});
  for (const char* broken : {"[1]",
                             R"({"annotations": [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 1},
                                {"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}]})",
                             R"({"annotations": [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]},
                                {"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 1}]})",
                             "{}", "[", R"([{"image_id": 1, "category_id": 1, "score": 1}])",
                             R"([{"image_id": 1, "bbox": [1, 2, 3, 4], "score": 1}])",
                             R"([{"image_id": 1, "category_id": 1, "bbox": [1e300, 2, 3, 4], "score": 1}])",
                             R"([{"image_id": 1, "category_id": 16777217, "bbox": [1, 2, 3, 4], "score": 1}])",
                             R"([{"image_id": null, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 1}])"}) {
    write("broken.json", broken);
    EXPECT_EQ(ReadStages(path("broken.json")).status().code(), StatusCode::kCorruptModel) << broken;
  }
}

TEST_F(StageTest, WhatANetworksImageOptionsDoIsWrittenDown) {
  ::setenv("DUMP_STAGE_DIR", path("image").c_str(), 1);
  Graph graph;
  graph.inputs.push_back({"input", DType::kF32, Shape{1, 1, 8, 8}});
  InputOptions options;
  options.files = {PLUMB_EXAMPLES "/digits/images/digit_3.png"};
  options.image.bias = {120};
  options.image.scale = {0.0078125f};
  const auto inputs = PrepareInputs(options, graph);
  ASSERT_TRUE(inputs.ok()) << inputs.status().message();
  const auto samples = ReadStages(path("image"));
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  const StageSample& sample = samples->back();
  ASSERT_EQ(sample.stages.size(), 2u);
  EXPECT_EQ(sample.stages[0].name, "decode");
  EXPECT_EQ(sample.stages[0].shape, (Shape{8, 8, 1}));
  EXPECT_EQ(sample.stages[1].name, "normalise");
  EXPECT_EQ(LoadStage(sample.stages[1])->ValueAt(0), (LoadStage(sample.stages[0])->ValueAt(0) - 120) / 128);
}

}  // namespace
}  // namespace plumb
