// SPDX-License-Identifier: Apache-2.0
// Conventions beside values that were computed by hand from each library's definition. Real packages:
// test/tools/stage/planted_test.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stage/boxes.h"
#include "stage/classes.h"
#include "stage/conventions.h"
#include "stage/explain.h"
#include "stage/masks.h"
#include "stage/resample.h"
#include "stage/several.h"
#include "stage/size.h"

namespace plumb {
namespace {

Picture RowOf(std::vector<float> values, bool bytes = true) {
  return {1, static_cast<int64_t>(values.size()), 1, bytes, std::move(values)};
}

std::vector<float> Made(const std::string& name, const Picture& before, const PictureTarget& target) {
  for (const Convention& convention : AllConventions()) {
    if (convention.name != name) continue;
    const auto after = convention.run(before, target);
    return after.has_value() ? after->values : std::vector<float>{-1};
  }
  ADD_FAILURE() << "no convention is called " << name;
  return {};
}

using Values = std::vector<float>;

TEST(Conventions, NearestTakesThePixelsThatEachLibraryTakes) {
  const Picture three = RowOf({10, 20, 30});
  const PictureTarget two = {1, 2, 1, true, nullptr};
  EXPECT_EQ(Made("OpenCV's INTER_NEAREST", three, two), (Values{10, 20}));  // floor(x * 1.5)
  EXPECT_EQ(Made("PyTorch's nearest", three, two), (Values{10, 20}));
  EXPECT_EQ(Made("Pillow's NEAREST", three, two), (Values{10, 30}));  // floor(0.75), floor(2.25)
  EXPECT_EQ(Made("PyTorch's nearest-exact", three, two), (Values{10, 30}));
  EXPECT_EQ(Made("nearest with align_corners (TensorFlow 1)", three, two), (Values{10, 30}));
}

TEST(Conventions, LinearOfOpenCvIsInFixedPoint) {
  const Picture two = RowOf({0, 255});
  // Places -0.25, 0.25, 0.75, 1.25; 255 * 512 = 130560; (130560 >> 4) * 2048 >> 16 = 255; (255 + 2) >> 2 = 64.
  EXPECT_EQ(Made("OpenCV's INTER_LINEAR", two, {1, 4, 1, true, nullptr}), (Values{0, 64, 191, 255}));
  // 8 bits: 255 * 64 * 256 + 32768 >> 16 = 64, and 255 * 192 the same way 191.
  EXPECT_EQ(Made("OpenCV's INTER_LINEAR_EXACT", two, {1, 4, 1, true, nullptr}), (Values{0, 64, 191, 255}));
  const Picture four = {2, 2, 1, true, {1, 2, 4, 8}};
  EXPECT_EQ(Made("OpenCV's INTER_LINEAR", four, {1, 1, 1, true, nullptr}), (Values{4}));  // (15 + 2) / 4
}

TEST(Conventions, AreaOfOpenCvIsTheMeanOfWhatAPixelCovers) {
  EXPECT_EQ(Made("OpenCV's INTER_AREA", RowOf({0, 90, 180}), {1, 1, 1, true, nullptr}), (Values{90}));
  // 1.5 source pixels each: (0 + 90 / 2) / 1.5 = 30, (90 / 2 + 180) / 1.5 = 150.
  EXPECT_EQ(Made("OpenCV's INTER_AREA", RowOf({0, 90, 180}), {1, 2, 1, true, nullptr}), (Values{30, 150}));
}

TEST(Conventions, PillowsFilterGrowsWithTheStep) {
  const Picture four = RowOf({0, 100, 200, 40});
  // Weights 3/7, 3/7, 1/7 and 1/7, 3/7, 3/7.
  EXPECT_EQ(Made("Pillow's antialiased BILINEAR", four, {1, 2, 1, true, nullptr}), (Values{71, 117}));
  EXPECT_EQ(Made("Pillow's antialiased BOX", four, {1, 2, 1, true, nullptr}), (Values{50, 120}));
  // Without antialias the places are 0.5 and 2.5: (0 + 100) / 2, (200 + 40) / 2.
  EXPECT_EQ(Made("torchvision's bilinear on uint8, antialias=False", four, {1, 2, 1, true, nullptr}),
            (Values{50, 120}));
}

TEST(Conventions, PlacesByFormula) {
  const Picture three = RowOf({0, 100, 200}, false);
  const PictureTarget two = {1, 2, 1, false, nullptr};
  EXPECT_EQ(Made("bilinear with align_corners=True", three, two), (Values{0, 200}));
  EXPECT_EQ(Made("bilinear on pixel corners (TensorFlow 1)", three, two), (Values{0, 150}));
  EXPECT_EQ(Made("bilinear on pixel centres (PyTorch, TF2), no antialias", three, two), (Values{25, 175}));
  EXPECT_EQ(Made("PyTorch's area", three, two), (Values{50, 150}));
}

TEST(Conventions, GreyAndAlpha) {
  const Picture red = {1, 1, 3, true, {255, 0, 0}};
  EXPECT_EQ(Made("grey as OpenCV computes it", red, {1, 1, 1, true, nullptr}), (Values{76}));  // 76.245
  EXPECT_EQ(Made("grey by BT.709", red, {1, 1, 1, true, nullptr}), (Values{54}));              // 54.213
  EXPECT_EQ(Made("grey as the mean of the channels", red, {1, 1, 1, true, nullptr}), (Values{85}));
  EXPECT_EQ(Made("grey as OpenCV computes it, of BGR read as RGB", red, {1, 1, 1, true, nullptr}), (Values{29}));
  const Picture half = {1, 1, 4, true, {200, 100, 0, 51}};
  EXPECT_EQ(Made("alpha over black", half, {1, 1, 3, true, nullptr}), (Values{40, 20, 0}));
  EXPECT_EQ(Made("alpha over white", half, {1, 1, 3, true, nullptr}), (Values{244, 224, 204}));
  EXPECT_EQ(Made("alpha dropped", half, {1, 1, 3, true, nullptr}), (Values{200, 100, 0}));
}

TEST(Conventions, VideoRange) {
  const Picture frame = {3, 2, 1, true, {16, 16, 235, 235, 128, 128}};
  const PictureTarget target = {2, 2, 3, true, nullptr};
  EXPECT_EQ(Made("NV12 to RGB by BT.601, video range", frame, target),
            (Values{0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255}));
  EXPECT_EQ(Made("NV12 to RGB by BT.601, full range", frame, target),
            (Values{16, 16, 16, 16, 16, 16, 235, 235, 235, 235, 235, 235}));
}

TEST(Conventions, CropsRoundTheirOffset) {
  const Picture six = RowOf({0, 1, 2, 3, 4, 5});
  const PictureTarget three = {1, 3, 1, true, nullptr};
  EXPECT_EQ(Made("a centre crop whose offset is rounded down", six, three), (Values{1, 2, 3}));
  EXPECT_EQ(Made("a centre crop whose offset is rounded half to even (torchvision)", six, three), (Values{2, 3, 4}));
  EXPECT_EQ(Made("a crop of the top left", six, three), (Values{0, 1, 2}));
}

TEST(Conventions, AWrongChannelCountIsNoCandidate) {
  const Picture grey = RowOf({1, 2, 3, 4});
  EXPECT_EQ(Made("OpenCV's INTER_LINEAR", grey, {1, 2, 3, true, nullptr}), (Values{-1}));
  EXPECT_EQ(Made("a crop of the top left", grey, {2, 2, 1, true, nullptr}), (Values{-1}));
}

TEST(Suppression, ThresholdAndClass) {
  // Two boxes of IoU 1/3, the third apart, the fourth of another class on top of the first.
  const Picture rows = {
      4, 6, 1, false, {0, 0, 10, 10, 0.9f, 0, 5, 0, 15, 10, 0.8f, 0, 50, 50, 60, 60, 0.7f, 0, 0, 0, 10, 10, 0.6f, 1}};
  EXPECT_NEAR(BoxOverlap(rows.Row(0), rows.Row(1), 0), 1.0 / 3, 1e-9);
  EXPECT_NEAR(BoxOverlap(rows.Row(0), rows.Row(1), 1), 66.0 / (121 + 121 - 66), 1e-9);
  const auto kept = [&rows](std::initializer_list<int64_t> which) {
    Picture after = MakePicture(static_cast<int64_t>(which.size()), 6, 1, false);
    int64_t next = 0;
    for (const int64_t row : which) std::copy_n(rows.Row(row), 6, after.Row(next++));
    return after;
  };
  const auto by_class = FindSuppression(rows, kept({0, 2, 3}), StageInfo());
  ASSERT_FALSE(by_class.empty());
  EXPECT_EQ(by_class[0].name, "NMS class by class, IoU > 0.3");
  const auto together = FindSuppression(rows, kept({0, 1, 2}), StageInfo());
  ASSERT_FALSE(together.empty());
  EXPECT_EQ(together[0].name, "NMS of all classes together, IoU > 0.5");
  EXPECT_TRUE(FindSuppression(rows, kept({2, 0}), StageInfo()).empty());
}

TEST(Suppression, AThresholdThatNobodySaysLiesBetweenTwoOverlaps) {
  // IoUs with the first: 8/12 and 9/11; the second goes, the third stays away from both.
  const Picture rows = {3, 5, 1, false, {0, 0, 10, 10, 0.9f, 1, 0, 11, 10, 0.8f, 0, 2, 10, 12, 0.7f}};
  Picture after = MakePicture(2, 5, 1, false);
  std::copy_n(rows.Row(0), 5, after.Row(0));
  std::copy_n(rows.Row(2), 5, after.Row(1));
  const auto found = FindSuppression(rows, after, StageInfo());
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].name, "NMS of all classes together, IoU > 0.7");  // 0.667 <= t < 0.818
  StageInfo said;
  said.parameters = {{"iou", 0.75}};
  EXPECT_EQ(FindSuppression(rows, after, said)[0].name, "NMS of all classes together, IoU > 0.75");
}

TEST(Sizes, WhichSideIsToldAndHowTheOtherIsRounded) {
  const PictureSize photo = {427, 640};
  EXPECT_EQ(DescribeSizes({photo, {256, 383}}, {photo, {256, 384}}, false),
            "the size: the original's is 256 x 383 (h x w; short side 256, the long one cut off), the port's is 256 x "
            "384 (short side 256, the long one rounded)");
  EXPECT_EQ(DescribeSizes({photo, {320, 320}}, {photo, {224, 320}}, true),
            "the size: the original's is 320 x 320 (h x w; a square of 320), the port's is 224 x 320 (a rectangle, "
            "sides multiples of 32)");
  EXPECT_EQ(DescribeSizes({photo, {256, 383}}, {photo, {256, 383}}, false), "");
  EXPECT_EQ(DescribeSizes({photo, {256, 383}}, {{640, 427}, {383, 256}}, false), "");  // one rule of a turned photo
}

TEST(Explain, EachPictureOfABatchIsDoneAgain) {
  Picture two = {2, 2, 1, true, {1, 2, 3, 4, 50, 60, 70, 80}, 2},
          mirrored = {2, 2, 1, true, {2, 1, 4, 3, 60, 50, 80, 70}, 2};
  const auto found = ExplainPicture(two, mirrored, StageInfo(), DType::kU8);
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(found[0].reproduces);
  EXPECT_EQ(found[0].convention.name, "mirrored left to right");
  mirrored.values[7] = 71;  // the second picture is another
  EXPECT_FALSE(ExplainPicture(two, mirrored, StageInfo(), DType::kU8)[0].reproduces);
}

TEST(Suppression, SetsAreComparedWithoutTheirOrder) {
  const Picture a = {2, 5, 1, false, {0, 0, 10, 10, 0.9f, 50, 50, 60, 60, 0.7f}};
  const Picture b = {2, 5, 1, false, {50, 50, 60, 60, 0.7f, 0, 0, 10, 10, 0.9f}};
  const auto same = CompareDetections(a, b);
  ASSERT_TRUE(same.has_value());
  EXPECT_EQ(same->pairs, 2);
  EXPECT_FALSE(same->same_order);
  const auto fewer = CompareDetections(a, Picture{1, 5, 1, false, {0, 0, 10, 10, 0.9f}});
  ASSERT_TRUE(fewer.has_value());
  EXPECT_EQ(fewer->only_a, 1);
}

Tensor Filled(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor = Tensor::Create(DType::kF32, shape).value();
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

std::string BestOf(const std::vector<Tensor>& read, const Picture& after, const char* kind) {
  StageInfo info;
  info.kind = kind;
  const auto found = ExplainSeveral(read, after, info, DType::kF32);
  return found.empty() || !found[0].reproduces ? "" : found[0].convention.name;
}

TEST(Several, MasksAreCutFromSumsOfPrototypes) {
  // One prototype of 2 x 2, two masks of factors 1 and -1; the box of the first holds the left column.
  const std::vector<Tensor> read = {Filled({2, 1}, {1, -1}), Filled({1, 2, 2}, {3, 2, -1, -2}),
                                    Filled({2, 4}, {0, 0, 1, 2, 0, 0, 2, 2})};
  const Picture boxed = {2, 2, 1, false, {1, 0, 0, 0, 0, 0, 1, 1}, 2},
                whole = {2, 2, 1, false, {1, 1, 0, 0, 0, 0, 1, 1}, 2};
  EXPECT_EQ(BestOf(read, boxed, "mask"), "masks of prototypes: sigmoid, cropped to the box, > 0.5");
  EXPECT_EQ(BestOf(read, whole, "mask"), "masks of prototypes: sigmoid, not cropped, > 0.5");
  EXPECT_EQ(BestOf({read[1], read[2], read[0]}, boxed, "mask"), BestOf(read, boxed, "mask"));  // in any order
  EXPECT_EQ(BestOf({read[0], read[0]}, boxed, "mask"), "");
  EXPECT_EQ(BestOf({Filled({3, 1}, {1, 1, 1}), read[1]}, boxed, "mask"), "");  // three factors, two masks
}

TEST(Several, BoxesAreDecodedFromCells) {
  // One stride of 16 on 32 x 32: four cells; the sides of each are half a stride away.
  const Tensor rows = Filled({4, 4}, std::vector<float>(16, 0.5f));
  const Picture from_middle = {4, 4, 1, false, {0, 0, 16, 16, 16, 0, 32, 16, 0, 16, 16, 32, 16, 16, 32, 32}};
  EXPECT_EQ(BestOf({rows}, from_middle, "boxes"),
            "boxes decoded from distances to the sides (FCOS, YOLOv8), as corners");
  Picture from_corner = from_middle;
  for (float& value : from_corner.values) value -= 8;
  EXPECT_EQ(BestOf({rows}, from_corner, "boxes"),
            "boxes decoded from distances to the sides (FCOS, YOLOv8), half a cell before, as corners");
  const Tensor anchors = Filled({4, 4}, {8, 8, 16, 16, 24, 8, 16, 16, 8, 24, 16, 16, 24, 24, 16, 16});
  EXPECT_EQ(BestOf({Filled({4, 4}, std::vector<float>(16, 0.0f)), anchors}, from_middle, "boxes"),
            "boxes decoded from SSD's shifts of anchors (variances 0.1 and 0.2), as corners");
}

TEST(Classes, NearTiesAreExcusedAndMarginsSaid) {
  const Tensor scores = Filled({1, 4}, {0.5f, 3, 3.0001f, 1});
  const auto numbers = [](std::vector<int32_t> values) {
    Tensor tensor = Tensor::Create(DType::kI32, {static_cast<int64_t>(values.size())}).value();
    std::copy(values.begin(), values.end(), tensor.data<int32_t>());
    return tensor;
  };
  const auto tie = CompareClasses(numbers({2, 1}), numbers({1, 2}), scores);
  ASSERT_TRUE(tie.has_value());
  EXPECT_TRUE(tie->near_ties);
  const auto far = CompareClasses(numbers({2, 3}), numbers({2, 0}), scores);
  EXPECT_FALSE(far->near_ties);
  EXPECT_EQ(far->text, "rank 2: class 3 and 0, whose scores differ by 0.5 in the original");
  EXPECT_EQ(CompareClasses(numbers({2}), numbers({3}), Tensor())->cause,
            "each class number is one more: one side counts a background class");
  EXPECT_FALSE(CompareClasses(numbers({2}), numbers({-7}), scores)->near_ties);  // no score has that number
  EXPECT_FALSE(CompareClasses(numbers({2}), numbers({2}), scores).has_value());
  EXPECT_FALSE(CompareClasses(numbers({2}), numbers({2, 1}), scores).has_value());
}

TEST(Explain, ACropMayLieAnywhere) {
  Picture before = MakePicture(4, 5, 1, true);
  for (size_t i = 0; i < before.values.size(); ++i) before.values[i] = static_cast<float>(i);
  EXPECT_EQ(FindCrop(before, PartOf(before, 1, 2, 2, 3))[0].name, "a crop at top 1, left 2");
  Picture other = PartOf(before, 1, 2, 2, 3);
  other.values[5] = 255;
  EXPECT_TRUE(FindCrop(before, other).empty());
}

TEST(Explain, AMeanAndStdFusedIntoAQuantisation) {
  Picture before = MakePicture(16, 16, 3, true), after = MakePicture(16, 16, 3, false);
  const double mean[] = {0.485, 0.456, 0.406}, std[] = {0.229, 0.224, 0.225};
  for (size_t i = 0; i < before.values.size(); ++i) {
    before.values[i] = static_cast<float>(i * 7 % 256);
    const double unit = static_cast<double>(before.values[i]) / 255;
    const double value = std::nearbyint((unit - mean[i % 3]) / std[i % 3] / 0.02);
    after.values[i] = static_cast<float>(std::min(127.0, value));
  }
  const auto found = ExplainPicture(before, after, StageInfo(), DType::kI8);
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(found[0].reproduces);
  EXPECT_EQ(found[0].convention.name, "ImageNet's mean and std, then / 0.02, rounded half to even");
}

TEST(Boxes, ALetterboxIsUndone) {
  const Picture before = {3, 4, 1, false, {10, 22, 30, 52, 40, 32, 60, 92, 5, 17, 45, 112}};
  Picture after = before;
  for (size_t i = 0; i < 12; ++i) after.values[i] = (before.values[i] - (i % 2 == 1 ? 12.0f : 0.0f)) / 0.5f;
  ASSERT_EQ(FindBoxLines(before, after).size(), 1u);
  EXPECT_EQ(FindBoxLines(before, after)[0].name, "boxes at x / 0.5, (y - 12) / 0.5");
  for (float& value : after.values) value = std::min(value, 100.0f);
  EXPECT_EQ(FindBoxLines(before, after)[0].name,
            "boxes at x / 0.5 cut off at 0 and 100, (y - 12) / 0.5 cut off at 0 and 100");
  after.values[0] = 33;
  EXPECT_TRUE(FindBoxLines(before, after).empty());
}

TEST(Explain, NamesTheLineOfANormalisation) {
  Picture before = MakePicture(4, 4, 3, true), after = MakePicture(4, 4, 3, false);
  for (size_t i = 0; i < before.values.size(); ++i) {
    before.values[i] = static_cast<float>((i * 37) % 256);
    after.values[i] = before.values[i] / 127.5f - 1;
  }
  const std::vector<Explained> found = ExplainPicture(before, after, StageInfo(), DType::kF32);
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(found[0].reproduces);
  EXPECT_EQ(found[0].convention.name, "mean 0.5 and std 0.5");
}

TEST(Explain, NoConventionIsNamedForNoise) {
  Picture before = MakePicture(8, 8, 3, true), after = MakePicture(4, 4, 3, true);
  for (size_t i = 0; i < before.values.size(); ++i) before.values[i] = static_cast<float>((i * 37) % 256);
  for (size_t i = 0; i < after.values.size(); ++i) after.values[i] = static_cast<float>((i * 101 + 13) % 256);
  for (const Explained& one : ExplainPicture(before, after, StageInfo(), DType::kU8)) EXPECT_FALSE(one.reproduces);
}

TEST(Conventions, DetectionsThatAreNoNumbersAreNotTheSame) {
  const auto rows = [](std::vector<float> values) { return Picture{1, 5, 1, false, std::move(values)}; };
  const auto nan = CompareDetections(rows({0, 0, 9, 9, 0.5f}), rows({0, 0, 9, 9, NAN}));
  ASSERT_TRUE(nan.has_value());
  EXPECT_TRUE(std::isinf(nan->largest_score));
  EXPECT_EQ(CompareDetections(rows({3, 4, 3, 4, 0.5f}), rows({3, 4, 3, 4, 0.5f}))->pairs, 1) << "an empty box";
}

TEST(Conventions, MasksOverlapByTheirPixels) {
  const auto overlap = CompareMasks(RowOf({0, 1, 1, 0, 1}), RowOf({0, 1, 0, 1, 1}));
  ASSERT_TRUE(overlap.has_value());
  EXPECT_EQ(overlap->both, 2);
  EXPECT_EQ(overlap->only_a, 1);
  EXPECT_EQ(overlap->only_b, 1);
  EXPECT_DOUBLE_EQ(overlap->share(), 0.5);
  EXPECT_DOUBLE_EQ(CompareMasks(RowOf({0, 0}), RowOf({0, 0}))->share(), 1);
  EXPECT_EQ(CompareMasks(RowOf({1, 2}), RowOf({1, 1}))->both, 1);  // another class is no overlap
  EXPECT_FALSE(CompareMasks(RowOf({1}), RowOf({1, 1})).has_value());
  EXPECT_DOUBLE_EQ(CompareMasks(RowOf({-1, -1}, false), RowOf({0, 0}, false))->share(), 0);  // "ignore" is a number
  EXPECT_DOUBLE_EQ(CompareMasks(RowOf({NAN, NAN}, false), RowOf({0, 0}, false))->share(), 0);
}

TEST(Conventions, GreedyCtcMakesRepeatsOneAndThenRemovesBlanks) {
  // The likeliest of each step: 1 1 0 1 2.
  const Picture scores = {5, 3, 1, false, {0, 9, 0, 0, 9, 0, 9, 0, 0, 0, 9, 0, 0, 0, 9}};
  StageInfo info;
  info.kind = "text";
  const auto name_of = [&](const Picture& after, const StageInfo& said) {
    const auto found = ExplainPicture(scores, after, said, after.bytes ? DType::kU8 : DType::kI64);
    return found.empty() || !found[0].reproduces ? "" : found[0].convention.name;
  };
  EXPECT_EQ(name_of(RowOf({1, 1, 2}, false), info), "CTC's greedy decoding, blank 0");
  EXPECT_EQ(name_of(RowOf({1, 1, 1, 2}, false), info), "CTC's greedy decoding, blank 0, repeats not made one");
  EXPECT_EQ(name_of(RowOf({1, 2}, false), info),
            "CTC's greedy decoding, blank 0, blanks removed before repeats are made one");
  EXPECT_EQ(name_of(RowOf({1, 0, 1}, false), info), "CTC's greedy decoding, blank 2");
  info.parameters = {{"charset", "a\xC3\xA9"}};  // a, e with an acute accent
  EXPECT_EQ(name_of(RowOf({'a', 'a', 0xC3, 0xA9}), info), "CTC's greedy decoding, blank 0");
}

}  // namespace
}  // namespace plumb
