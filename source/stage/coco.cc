// SPDX-License-Identifier: Apache-2.0
#include "stage/coco.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "base/json.h"

namespace plumb {
namespace {

using Json = FileJson;

constexpr int64_t kRow = 6;
constexpr const char* kScores = "scores";  // a parameter of rows without scores
constexpr double kLargest = 1e9;           // of a corner
constexpr double kMostClasses = 1 << 24;   // what a float tells apart

// What an image's rows become.
StageSample SampleOf(const std::string& image, const std::vector<float>& rows, bool scored) {
  StageSample sample;
  sample.name = image;
  StageRecord stage;
  stage.name = stage.kind = stage.info.kind = "detections";
  stage.info.layout = "HW";
  if (!scored) stage.info.parameters.emplace_back(kScores, "none");
  stage.shape = Shape{static_cast<int64_t>(rows.size()) / kRow, kRow};
  const auto held = std::make_shared<std::vector<float>>(rows);
  stage.values = Tensor::View(DType::kF32, stage.shape, held->data(), held);
  if (rows.empty()) stage.values = Tensor::Zeros(DType::kF32, stage.shape).value();
  sample.stages.push_back(std::move(stage));
  return sample;
}

// The number of that field; `missing`: what stands for one that is not there.
Result<double> NumberOf(const Json& entry, const char* key, const double* missing) {
  const auto found = entry.find(key);
  if (found == entry.end() && missing != nullptr) return *missing;
  if (found == entry.end() || !found->is_number() || !std::isfinite(found->get<double>()))
    return Status::CorruptModel(
        fmt::format("'{}' is {}, expected a number", key, found == entry.end() ? "missing" : "something else"));
  return found->get<double>();
}

Result<std::string> ImageOf(const Json& entry) {
  const auto found = entry.find("image_id");
  if (found != entry.end() && found->is_string()) return found->get<std::string>();
  if (found != entry.end() && found->is_number_integer()) return found->dump();
  return Status::CorruptModel("'image_id' is no whole number and no text");
}

Status ReadDetection(const Json& entry, bool scored, std::vector<float>* rows) {
  const auto box = entry.find("bbox");
  if (box == entry.end() || !box->is_array() || box->size() != 4)
    return Status::CorruptModel(
        "'bbox' is not four numbers (x, y, width, height); masks and keypoints are not compared");
  double corners[4];
  for (size_t i = 0; i < 4; ++i) {
    if (!(*box)[i].is_number() || !(std::fabs((*box)[i].get<double>()) < kLargest))
      return Status::CorruptModel("'bbox' is not four numbers (x, y, width, height) below 1e9");
    corners[i] = (*box)[i].get<double>() + (i < 2 ? 0 : corners[i - 2]);
  }
  const double one = 1;
  if (!scored && entry.contains("score"))
    return Status::CorruptModel("it has a 'score', and those before it have none; expected it of all or of none");
  PLUMB_ASSIGN_OR_RETURN(const double score, NumberOf(entry, "score", scored ? nullptr : &one));
  PLUMB_ASSIGN_OR_RETURN(const double category, NumberOf(entry, "category_id", nullptr));
  if (category != std::floor(category) || std::fabs(category) > kMostClasses)
    return Status::CorruptModel("'category_id' is no whole number of at most 2^24");
  for (const double value : {corners[0], corners[1], corners[2], corners[3], score, category})
    rows->push_back(static_cast<float>(value));
  return Status::Ok();
}

}  // namespace

Result<std::vector<StageSample>> ParseCoco(std::string_view text, const std::string& path) {
  const std::string file = fmt::format("COCO detections '{}'", path);
  PLUMB_RETURN_IF_ERROR(CheckJsonDepth(text, path));
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return Status::CorruptModel(file + ": it is no JSON");
  const bool results = json.is_array();
  if (!results && (!json.is_object() || !json.contains("annotations") || !json["annotations"].is_array()))
    return Status::CorruptModel(file + ": expected a list of detections, or an object with a list 'annotations'");
  std::map<std::string, std::vector<float>> rows;
  std::vector<std::string> order;
  size_t at = 0;
  const Json& entries = results ? json : json["annotations"];
  // Results have scores; annotations may, where a program writes its detections so.
  const bool scored = results || (!entries.empty() && entries[0].is_object() && entries[0].contains("score"));
  for (const Json& entry : entries) {
    const std::string where = fmt::format("{}, entry {}", file, ++at);
    if (!entry.is_object()) return Status::CorruptModel(where + ": expected an object");
    auto image = ImageOf(entry);
    if (!image.ok()) return image.status().AddContext(where);
    const auto [of_image, is_new] = rows.try_emplace(*image);
    if (is_new) order.push_back(*image);
    const Status status = ReadDetection(entry, scored, &of_image->second);
    if (!status.ok()) return status.AddContext(where);
  }
  std::vector<StageSample> samples;
  for (const std::string& image : order) samples.push_back(SampleOf(image, rows[image], scored));
  return samples;
}

bool LeaveScoresOut(std::vector<StageSample>* a, std::vector<StageSample>* b) {
  const auto lacks = [](const std::vector<StageSample>& samples) {
    return std::any_of(samples.begin(), samples.end(),
                       [](const StageSample& one) { return one.stages[0].info.Find(kScores) != nullptr; });
  };
  const auto of_coco = [](const std::vector<StageSample>& samples) {
    return !samples.empty() && !samples[0].stages.empty() && !samples[0].stages[0].values.empty();
  };
  if (!of_coco(*a) || !of_coco(*b) || lacks(*a) == lacks(*b)) return false;
  for (StageSample& sample : lacks(*a) ? *b : *a) {
    auto* row = static_cast<float*>(sample.stages[0].values.raw());
    for (int64_t i = 0; i < sample.stages[0].shape[0]; ++i) row[i * kRow + 4] = 1;
  }
  return true;
}

void AddImagesWithout(const std::vector<StageSample>& other, std::vector<StageSample>* samples) {
  std::set<std::string> names;
  for (const StageSample& sample : *samples) names.insert(sample.name);
  for (const StageSample& sample : other) {
    if (names.count(sample.name) == 0) samples->push_back(SampleOf(sample.name, {}, true));
  }
}

}  // namespace plumb
