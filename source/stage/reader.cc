// SPDX-License-Identifier: Apache-2.0
// ReadStages: folders of samples as Stage wrote them, or anybody by hand.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "plumb/tensor_file.h"
#include "stage/coco.h"
#include "stage/manifest.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxStageManifest = uint64_t{1} << 28;
constexpr size_t kMaxSamples = 1000000;

Result<StageSample> ReadSample(const std::string& folder) {
  const std::string path = folder + "/manifest.json";
  PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFile(path, kMaxStageManifest));
  PLUMB_ASSIGN_OR_RETURN(StageSample sample, ParseStageManifest(bytes.text(), path));
  sample.folder = folder;
  if (sample.name.empty()) sample.name = fs::path(folder).filename().string();
  for (StageRecord& stage : sample.stages) stage.path = folder + "/" + stage.path;
  return sample;
}

bool HasManifest(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / "manifest.json", error);
}

// A sample's folder whose manifest was lost.
bool HasOnlyValues(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".npy") return true;
  }
  return false;
}

}  // namespace

Result<std::vector<StageSample>> ReadStages(const std::string& folder) {
  std::vector<BrokenSample> broken;
  PLUMB_ASSIGN_OR_RETURN(std::vector<StageSample> samples, ReadWholeSamples(folder, &broken));
  if (!broken.empty()) return broken[0].status;
  return samples;
}

Result<std::vector<StageSample>> ReadWholeSamples(const std::string& folder, std::vector<BrokenSample>* broken) {
  std::error_code error;
  if (EndsWith(folder, ".json") && fs::is_regular_file(folder, error)) {
    PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFile(folder, kMaxStageManifest));
    return ParseCoco(bytes.text(), folder);
  }
  if (EndsWith(folder, ".json") && !fs::exists(folder, error))
    return Status::NotFound(fmt::format("there is no file '{}' of detections", folder));
  if (!fs::is_directory(folder, error))
    return Status::NotFound(fmt::format("there is no folder '{}' of stages (DUMP_STAGE_DIR makes one)", folder));
  std::vector<StageSample> samples;
  if (HasManifest(folder)) {
    PLUMB_ASSIGN_OR_RETURN(StageSample sample, ReadSample(folder));
    samples.push_back(std::move(sample));
    return samples;
  }
  std::vector<std::string> folders, lost;  // one level deep: a link that leads back to its own folder is not followed
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (HasManifest(it->path())) {
      folders.push_back(it->path().string());
    } else if (HasOnlyValues(it->path())) {
      lost.push_back(it->path().string());
    }
    if (folders.size() + lost.size() > kMaxSamples)
      return Status::CorruptModel(fmt::format("'{}' holds more than {} samples", folder, kMaxSamples));
  }
  if (error) return Status::IoError(fmt::format("cannot read the folder '{}': {}", folder, error.message()));
  if (folders.empty())
    return Status::NotFound(fmt::format(
        "'{}' holds no stages: neither a manifest.json nor folders with one; DUMP_STAGE_DIR={} in front of a program "
        "that calls plumb::Stage or plumbnn.stage writes them",
        folder, folder));
  std::sort(folders.begin(), folders.end());
  std::sort(lost.begin(), lost.end());
  for (const std::string& one : lost) {
    broken->push_back({fs::path(one).filename().string(),
                       Status::NotFound(fmt::format("sample '{}' has values, but no file manifest.json: run the "
                                                    "program again, or remove the folder",
                                                    one))});
  }
  for (const std::string& one : folders) {
    auto sample = ReadSample(one);
    if (sample.ok()) {
      samples.push_back(*std::move(sample));
    } else {
      broken->push_back({fs::path(one).filename().string(), sample.status()});
    }
  }
  return samples;
}

Result<Tensor> LoadStage(const StageRecord& stage) {
  if (!stage.values.empty()) return stage.values;
  TensorHints hints;
  hints.dtype = stage.dtype;
  hints.shape = stage.shape;
  PLUMB_ASSIGN_OR_RETURN(std::vector<NamedTensor> tensors, ReadTensors(stage.path, hints));
  if (tensors.size() != 1)
    return Status::CorruptModel(
        fmt::format("stage '{}': file '{}' holds {} tensors, expected one", stage.name, stage.path, tensors.size()));
  Tensor tensor = std::move(tensors[0].tensor);
  if (tensor.dtype() != stage.dtype || tensor.NumElements() != stage.shape.NumElements())
    return Status::CorruptModel(fmt::format("stage '{}': file '{}' is {} {}, and the manifest says {} {}", stage.name,
                                            stage.path, DTypeName(tensor.dtype()), tensor.shape().ToString(),
                                            DTypeName(stage.dtype), stage.shape.ToString()));
  return tensor.Reshaped(stage.shape);
}

}  // namespace plumb
