// SPDX-License-Identifier: Apache-2.0
// A photo in RGB beside one that says BGR: floats that say no order are read in both.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "plumb/stage.h"
#include "plumb/tool/file.h"

namespace plumb {
namespace {

constexpr int64_t kSide = 8, kPixels = kSide * kSide;
using Means = std::array<float, 3>;
constexpr Means kMeans = {0.485f, 0.456f, 0.406f}, kOneMean = {0.5f, 0.5f, 0.5f};

Tensor PhotoOf() {
  Tensor photo = Tensor::Create(DType::kU8, {kSide, kSide, 3}).value();
  for (int64_t i = 0; i < photo.NumElements(); ++i) photo.data<uint8_t>()[i] = static_cast<uint8_t>(i * i * 7 + i * 11);
  return photo;
}

// Red and blue exchanged.
Tensor TurnedOf(const Tensor& pixels) {
  Tensor turned = Tensor::Create(pixels.dtype(), pixels.shape()).value();
  for (int64_t i = 0; i < pixels.NumElements(); ++i) {
    const int64_t from = i - i % 3 + 2 - i % 3;
    if (pixels.dtype() == DType::kU8) {
      turned.data<uint8_t>()[i] = pixels.data<uint8_t>()[from];
    } else {
      turned.data<float>()[i] = pixels.data<float>()[from];
    }
  }
  return turned;
}

Tensor NormalisedOf(const Tensor& photo, const Means& means) {
  Tensor floats = Tensor::Create(DType::kF32, photo.shape()).value();
  for (int64_t i = 0; i < photo.NumElements(); ++i)
    floats.data<float>()[i] = static_cast<float>(photo.data<uint8_t>()[i]) / 255 - means[static_cast<size_t>(i % 3)];
  return floats;
}

Tensor PlanesOf(const Tensor& pixels) {
  Tensor planes = Tensor::Create(DType::kF32, {1, 3, kSide, kSide}).value();
  for (int64_t i = 0; i < pixels.NumElements(); ++i)
    planes.data<float>()[i % 3 * kPixels + i / 3] = pixels.data<float>()[i];
  return planes;
}

class ChannelOrderTest : public ::testing::Test {
 protected:
  using Stages = std::vector<std::pair<std::string, Tensor>>;
  void TearDown() override { ::unsetenv("DUMP_STAGE_DIR"); }

  // Only the photo, the first, says its order.
  static void Write(const std::string& folder, const std::string& color, const Stages& stages) {
    ::setenv("DUMP_STAGE_DIR", folder.c_str(), 1);
    ASSERT_TRUE(BeginSample("photo").ok());
    StageInfo info;
    info.color = color;
    for (const auto& [name, values] : stages) {
      ASSERT_TRUE(Stage(name, values, info).ok());
      info.color.clear();
    }
  }
  static std::vector<StageRow> Rows(const Stages& original, const Stages& port) {
    const WorkFolder folder = WorkFolder::Make("channel_order_test").value();
    Write(folder.path() + "/original", "RGB", original);
    Write(folder.path() + "/port", "BGR", port);
    const auto report = DiffStages(folder.path() + "/original", folder.path() + "/port");
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? report->samples[0].rows : std::vector<StageRow>();
  }
  static void ExpectAligned(const std::vector<StageRow>& rows, size_t count) {
    EXPECT_EQ(rows.size(), count);
    for (const StageRow& row : rows) EXPECT_EQ(row.verdict, StageVerdict::kAligned) << row.stage << ": " << row.cause;
  }

  const Tensor photo_ = PhotoOf();
};

TEST_F(ChannelOrderTest, TurnedWhereTheMeansAreSubtractedIsHealthy) {
  const Tensor floats = NormalisedOf(photo_, kMeans), planes = PlanesOf(floats);
  const auto rows = Rows({{"decode", photo_}, {"normalise", floats}, {"input", planes}},
                         {{"decode", TurnedOf(photo_)}, {"normalise", floats}, {"input", planes}});
  ExpectAligned(rows, 3);
}

TEST_F(ChannelOrderTest, NotTurnedIsNamedAndTheRestInherits) {
  const Tensor ours = NormalisedOf(photo_, kMeans), theirs = NormalisedOf(TurnedOf(photo_), kMeans);
  const auto rows = Rows({{"decode", photo_}, {"normalise", ours}, {"input", PlanesOf(ours)}},
                         {{"decode", TurnedOf(photo_)}, {"normalise", theirs}, {"input", PlanesOf(theirs)}});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].verdict, StageVerdict::kAligned);
  EXPECT_EQ(rows[1].verdict, StageVerdict::kIntroduced);
  EXPECT_NE(rows[1].port_does.find("red and blue exchanged"), std::string::npos) << rows[1].port_does;
  EXPECT_EQ(rows[2].verdict, StageVerdict::kInherited) << rows[2].cause;
}

TEST_F(ChannelOrderTest, OneMeanTurnedInTheLastStageIsHealthy) {
  const Tensor floats = NormalisedOf(photo_, kOneMean), planes = PlanesOf(floats);
  const auto rows = Rows({{"decode", photo_}, {"normalise", floats}, {"input", planes}},
                         {{"decode", TurnedOf(photo_)}, {"normalise", TurnedOf(floats)}, {"input", planes}});
  ExpectAligned(rows, 3);
}

// Three classes per pixel are no colours: the first and the last exchanged are another answer.
TEST_F(ChannelOrderTest, WhatANetworkSaysHasNoOrder) {
  const Tensor input = PlanesOf(NormalisedOf(photo_, kMeans)), one_mean = NormalisedOf(photo_, kOneMean);
  const Tensor scores = PlanesOf(one_mean), exchanged = PlanesOf(TurnedOf(one_mean));
  const Stages original = {{"decode", photo_}, {"input", input}, {"model", scores}, {"scores", scores}};
  Stages port = {{"decode", TurnedOf(photo_)}, {"input", input}, {"model", scores}, {"scores", scores}};
  ExpectAligned(Rows(original, port), 4);
  port[2].second = port[3].second = exchanged;
  const auto rows = Rows(original, port);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1].verdict, StageVerdict::kAligned);
  EXPECT_EQ(rows[2].verdict, StageVerdict::kIntroduced);
  EXPECT_EQ(rows[3].verdict, StageVerdict::kInherited) << rows[3].reason;
}

}  // namespace
}  // namespace plumb
