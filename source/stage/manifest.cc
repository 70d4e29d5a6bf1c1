// SPDX-License-Identifier: Apache-2.0
#include "stage/manifest.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"

namespace plumb {
namespace {

using Json = FileJson;

constexpr size_t kMaxNumbers = 4096;  // of a parameter
constexpr int64_t kMaxStageValues = int64_t{1} << 40;

Json ValueJson(const StageValue& value) {
  if (value.is_text) return value.text;
  if (value.numbers.size() == 1) return value.numbers[0];
  return value.numbers;
}

// An entry of `files`, read field by field; the first problem stays.
class EntryReader {
 public:
  EntryReader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  void Text(const char* key, bool required, std::string* value) {
    const Json* field = Find(key, required, "a text");
    if (field == nullptr) return;
    if (!field->is_string()) return Wrong(key, "a text");
    *value = field->get<std::string>();
  }

  void FileName(std::string* value) {
    Text("file", true, value);
    const bool plain = !value->empty() && *value != ".." && *value != "." &&
                       value->find_first_of(std::string_view("/\0", 2)) == std::string::npos;
    if (status_.ok() && !plain) Wrong("file", "the name of a file beside the manifest");
  }

  void Dims(Shape* shape) {
    const Json* field = Find("shape", true, "a list of whole numbers");
    if (field == nullptr) return;
    if (!field->is_array() || field->size() > 8) return Wrong("shape", "a list of at most 8 whole numbers");
    for (const Json& dim : *field) {
      if (!dim.is_number_unsigned() || dim.get<uint64_t>() > static_cast<uint64_t>(kMaxStageValues))
        return Wrong("shape", "whole numbers from 0 to 2^40");
      shape->dims().push_back(static_cast<int64_t>(dim.get<uint64_t>()));
    }
    if (!shape->Validate().ok()) Wrong("shape", "at most 2^40 values");
  }

  void Type(DType* dtype) {
    std::string name;
    Text("dtype", true, &name);
    if (!status_.ok()) return;
    const std::optional<DType> found = ParseDType(name);
    if (!found.has_value()) return Wrong("dtype", "f32 f16 bf16 f64 i8 u8 i16 u16 i32 u32 i64 or bool");
    *dtype = *found;
  }

  void Parameters(StageInfo* info) {
    const Json* field = Find("parameters", false, "");
    if (field == nullptr) return;
    if (!field->is_object()) return Wrong("parameters", "an object of texts and numbers");
    for (const auto& [name, json] : field->items()) {
      StageValue value;
      if (json.is_string()) {
        value.text = json.get<std::string>();
      } else {
        value.is_text = false;
        if (!Numbers(json, &value.numbers)) return Wrong("parameters", "an object of texts and numbers");
      }
      info->parameters.emplace_back(name, std::move(value));
    }
  }

  const Status& status() const { return status_; }

 private:
  static bool Numbers(const Json& json, std::vector<double>* numbers) {
    if (json.is_number()) return numbers->push_back(json.get<double>()), true;
    if (json.is_boolean()) return numbers->push_back(json.get<bool>() ? 1 : 0), true;
    if (!json.is_array() || json.size() > kMaxNumbers) return false;
    for (const Json& one : json) {
      if (!one.is_number()) return false;
      numbers->push_back(one.get<double>());
    }
    return true;
  }

  const Json* Find(const char* key, bool required, const char* expected) {
    if (!status_.ok()) return nullptr;
    if (!json_.is_object()) {
      status_ = Status::CorruptModel(where_ + ": expected an object");
      return nullptr;
    }
    const auto found = json_.find(key);
    if (found != json_.end() && !found->is_null()) return &*found;
    if (required)
      status_ = Status::CorruptModel(fmt::format("{}: '{}' is missing, expected {}", where_, key, expected));
    return nullptr;
  }

  void Wrong(const char* key, const char* expected) {
    if (!status_.ok()) return;
    std::string found = json_.at(key).dump(-1, ' ', true, Json::error_handler_t::replace);
    if (found.size() > 60) found = found.substr(0, 60) + "...";
    status_ = Status::CorruptModel(fmt::format("{}: '{}' is {}, expected {}", where_, key, found, expected));
  }

  const Json& json_;
  std::string where_;
  Status status_;
};

Status ReadStageEntry(const Json& json, const std::string& where, StageRecord* stage) {
  EntryReader entry(json, where);
  entry.FileName(&stage->path);
  entry.Text("blob", true, &stage->name);
  entry.Dims(&stage->shape);
  entry.Type(&stage->dtype);
  entry.Text("stage", false, &stage->kind);
  entry.Text("layout", false, &stage->info.layout);
  entry.Text("color", false, &stage->info.color);
  entry.Text("library", false, &stage->info.library);
  entry.Parameters(&stage->info);
  if (stage->kind.empty()) stage->kind = StageKind(stage->name);
  stage->info.kind = stage->kind;
  return entry.status();
}

}  // namespace

Result<std::vector<int>> PlacesRead(const std::vector<StageRecord>& before, const StageInfo& info) {
  const StageValue* of = info.Find("of");
  const int last = static_cast<int>(before.size()) - 1;
  if (of == nullptr) return last < 0 ? std::vector<int>() : std::vector<int>{last};
  if (!of->is_text || of->text.empty()) return Status::CorruptModel("its parameter 'of' is not the name of a stage");
  constexpr size_t kMostRead = 256;
  std::vector<int> places;
  for (size_t begin = 0; begin <= of->text.size();) {
    const size_t end = std::min(of->text.find(", ", begin), of->text.size());
    const std::string name = of->text.substr(begin, end - begin);
    int at = last;
    while (at >= 0 && before[static_cast<size_t>(at)].name != name) --at;
    if (at < 0)
      return Status::CorruptModel(
          fmt::format("its parameter 'of' says '{}', and no stage before it is called so", name));
    if (places.size() >= kMostRead || std::find(places.begin(), places.end(), at) != places.end())
      return Status::CorruptModel(
          fmt::format("its parameter 'of' names '{}' twice, or more than {} stages", name, kMostRead));
    places.push_back(at);
    begin = end + 2;
  }
  return places;
}

std::string FormatStageManifest(const StageSample& sample, const std::vector<std::string>& errors) {
  Json json{{"format", "plumb-dump"}, {"version", 1}, {"sample", sample.name}, {"complete", errors.empty()}};
  json["errors"] = errors;
  json["files"] = Json::array();
  for (const StageRecord& stage : sample.stages) {
    const auto index = json["files"].size();
    Json entry{
        {"file", stage.path}, {"layer_index", index}, {"layer", stage.name},         {"direction", "out"},
        {"slot", 0},          {"blob", stage.name},   {"shape", stage.shape.dims()}, {"dtype", DTypeName(stage.dtype)}};
    entry["stage"] = stage.kind;
    if (!stage.info.layout.empty()) entry["layout"] = stage.info.layout;
    if (!stage.info.color.empty()) entry["color"] = stage.info.color;
    if (!stage.info.library.empty()) entry["library"] = stage.info.library;
    entry["parameters"] = Json::object();
    for (const auto& [name, value] : stage.info.parameters) entry["parameters"][name] = ValueJson(value);
    json["files"].push_back(std::move(entry));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<StageSample> ParseStageManifest(std::string_view text, const std::string& path) {
  const std::string file = fmt::format("stage manifest '{}'", path);
  PLUMB_RETURN_IF_ERROR(CheckJsonDepth(text, path));
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return Status::CorruptModel(file + ": expected a JSON object");
  const auto format = json.find("format");
  if (format != json.end() && *format != "plumb-dump")
    return Status::CorruptModel(file + ": 'format' is not \"plumb-dump\"");
  const auto files = json.find("files");
  if (files == json.end() || !files->is_array())
    return Status::CorruptModel(file + ": expected a list 'files' of stages (doc/pipeline.md)");
  if (files->size() > kMaxStages)
    return Status::CorruptModel(fmt::format("{}: {} stages, expected at most {}", file, files->size(), kMaxStages));
  StageSample sample;
  const auto name = json.find("sample");
  if (name != json.end() && name->is_string()) sample.name = name->get<std::string>();
  const auto complete = json.find("complete");
  sample.complete = complete == json.end() || !complete->is_boolean() || complete->get<bool>();
  for (const Json& entry : *files) {
    StageRecord stage;
    const std::string where = fmt::format("{}, entry {}", file, sample.stages.size() + 1);
    PLUMB_RETURN_IF_ERROR(ReadStageEntry(entry, where, &stage));
    auto reads = PlacesRead(sample.stages, stage.info);
    if (!reads.ok()) return reads.status().AddContext(where);
    stage.reads = *std::move(reads);
    sample.stages.push_back(std::move(stage));
  }
  return sample;
}

}  // namespace plumb
