// SPDX-License-Identifier: Apache-2.0
// Reads a manifest: ours, which has every field, or one by hand, for which four fields per file are enough. What is
// missing or of the wrong kind is said of all entries in one sentence, with the smallest manifest that works.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/file.h"
#include "base/json.h"
#include "dump/manifest.h"

namespace plumb {
namespace {

using Json = FileJson;

constexpr uint64_t kMaxManifestBytes = uint64_t{1} << 30;
constexpr size_t kMaxProblems = 5;    // that are told
constexpr size_t kMaxValueText = 60;  // of a value that is told
constexpr const char* kSmallest =
    "; enough is {\"files\": [{\"file\": \"conv1.npy\", \"blob\": \"conv1\", \"shape\": [1, 64, 112, 112], \"dtype\": "
    "\"f32\"}]} "
    "(doc/dump_format.md)";

// A name: a string, or {"hex": "..."} when its bytes are no UTF-8.
struct ManifestName {
  std::string* text;
};

std::string Quoted(const std::string& text) { return fmt::format("'{}'", text); }

// Of a file beside the manifest. The system would read a name up to its first zero byte.
bool IsPlainFileName(const std::string& name) {
  return name != ".." && name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

bool Read(const Json& json, bool* value) {
  if (json.is_boolean()) *value = json.get<bool>();
  return json.is_boolean();
}

bool Read(const Json& json, std::string* value) {
  if (json.is_string()) *value = json.get<std::string>();
  return json.is_string();
}

bool Read(const Json& json, int64_t* value) {
  if (!json.is_number_integer()) return false;
  if (json.is_number_unsigned() && json.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()}) return false;
  *value = json.get<int64_t>();
  return true;
}

bool Read(const Json& json, uint64_t* value) {
  if (json.is_number_unsigned()) *value = json.get<uint64_t>();
  return json.is_number_unsigned();
}

bool Read(const Json& json, int* value) {
  int64_t wide = 0;
  if (!Read(json, &wide) || wide < 0 || wide > std::numeric_limits<int>::max()) return false;
  *value = static_cast<int>(wide);
  return true;
}

bool Read(const Json& json, double* value) {
  if (json.is_number()) *value = json.get<double>();
  return json.is_number();
}

bool Read(const Json& json, ManifestName name) {
  if (json.is_string()) return Read(json, name.text);
  const auto hex = json.is_object() ? json.find("hex") : json.end();
  std::string digits;
  if (!json.is_object() || hex == json.end() || !Read(*hex, &digits) || digits.size() % 2 != 0 ||
      digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
    return false;
  }
  auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; };
  name.text->clear();
  for (size_t i = 0; i < digits.size(); i += 2) {
    *name.text += static_cast<char>(digit(digits[i]) * 16 + digit(digits[i + 1]));
  }
  return true;
}

bool Read(const Json& json, std::vector<std::string>* names) {
  if (!json.is_array()) return false;
  for (const Json& item : json) {
    names->emplace_back();
    if (!Read(item, ManifestName{&names->back()})) return false;
  }
  return true;
}

template <class T>
bool Read(const Json& json, std::vector<T>* values) {
  if (!json.is_array()) return false;
  for (const Json& item : json) {
    values->emplace_back();
    if (!Read(item, &values->back())) return false;
  }
  return true;
}

bool Read(const Json& json, Shape* shape) {
  if (!json.is_array()) return false;
  for (const Json& item : json) {
    shape->dims().emplace_back();
    if (!Read(item, &shape->dims().back())) return false;
  }
  return shape->Validate().ok();
}

// The fields of one object. What is not there, or null, keeps the value it has; what is wrong is noted.
class Fields {
 public:
  Fields(const Json& json, std::string where, std::vector<std::string>* problems)
      : json_(json), where_(std::move(where)), problems_(problems) {
    if (!json_.is_object()) Note(fmt::format("{} is {}, expected an object", where_, Text(json_)));
  }

  template <class T>
  bool Take(const char* key, T value, const char* expected) const {
    const Json* field = Find(key);
    if (field == nullptr) return false;
    if (!Read(*field, value)) Wrong(key, expected);
    return true;
  }
  // Null: not there.
  const Json* Find(const char* key) const {
    if (!json_.is_object()) return nullptr;
    const auto it = json_.find(key);
    return it == json_.end() || it->is_null() ? nullptr : &*it;
  }
  bool Has(const char* key) const { return json_.is_object() && json_.contains(key); }
  void Wrong(const char* key, const std::string& expected) const {
    Note(fmt::format("{}: {} is {}, expected {}", where_, Quoted(key), Text(json_.at(key)), expected));
  }

 private:
  static std::string Text(const Json& json) {
    const std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
    return text.size() <= kMaxValueText ? text : text.substr(0, kMaxValueText) + "...";
  }
  void Note(std::string problem) const { problems_->push_back(std::move(problem)); }

  const Json& json_;
  std::string where_;
  std::vector<std::string>* problems_;
};

class Reader {
 public:
  explicit Reader(Manifest* manifest) : m_(*manifest) {}

  Status Read(const Json& json) {
    const Fields top(json, "it", &problems_);
    std::string format = kManifestFormat;
    int version = kManifestVersion;
    top.Take("format", &format, "\"plumb-dump\"");
    if (format != kManifestFormat)
      return Status::CorruptModel("it is no manifest of a dump: its format is " + Quoted(format));
    top.Take("version", &version, "1");
    if (version != kManifestVersion) {
      return Status::NotSupported(fmt::format("manifest version {}, expected {}", version, kManifestVersion));
    }
    ReadHead(top);
    const Json* files = top.Find("files");
    if (files == nullptr) problems_.emplace_back("it has no list 'files'");
    if (files != nullptr && !files->is_array()) top.Wrong("files", "a list of objects");
    if (files != nullptr && files->is_array()) {
      for (const Json& entry : *files) ReadFileEntry(entry);
    }
    const Json* absent = top.Find("absent");
    if (absent != nullptr && !absent->is_array()) top.Wrong("absent", "a list of objects");
    if (absent != nullptr && absent->is_array()) {
      for (const Json& entry : *absent) ReadAbsent(entry);
    }
    return Verdict();
  }

 private:
  void ReadHead(const Fields& top) {
    top.Take("tool", &m_.tool, "a string");
    top.Take("created", &m_.created, "a string");
    top.Take("complete", &m_.complete, "true or false");
    top.Take("errors", &m_.errors, "a list of strings");
    top.Take("network", &m_.network, "an integer");
    top.Take("forward", &m_.forward, "an integer");
    top.Take("io_files", &m_.io_files, "a list of strings");
    if (!std::all_of(m_.io_files.begin(), m_.io_files.end(), IsPlainFileName)) {
      top.Wrong("io_files", "names without a folder, of files beside the manifest");
    }
    if (const Json* model = top.Find("model"); model != nullptr && model->is_string()) {
      m_.model = model->get<std::string>();
    } else if (model != nullptr) {
      const Fields fields(*model, "'model'", &problems_);
      fields.Take("source", ManifestName{&m_.model}, "a string");
      fields.Take("weights_generated", &m_.weights_generated, "true or false");
      fields.Take("weight_seed", &m_.weight_seed, "an integer");
    }
    if (const Json* device = top.Find("device"); device != nullptr && device->is_string()) {
      m_.device = device->get<std::string>();
    } else if (device != nullptr) {
      const Fields fields(*device, "'device'", &problems_);
      fields.Take("name", &m_.device, "a string");
      fields.Take("description", &m_.device_description, "a string");
      fields.Take("precision", &m_.precision, "a string");
    }
    if (const Json* probe = top.Find("probe")) ReadProbe(*probe);
    const Json* repeats = top.Find("repeats");
    if (repeats != nullptr && !repeats->is_array()) top.Wrong("repeats", "a list of objects");
    if (repeats == nullptr || !repeats->is_array()) repeats = nullptr;
    for (size_t i = 0; repeats != nullptr && i < repeats->size(); ++i) ReadRepeat((*repeats)[i]);
    if (const Json* options = top.Find("options")) {
      const Fields fields(*options, "'options'", &problems_);
      fields.Take("unfuse", &m_.unfuse, "true or false");
      fields.Take("order", &m_.order, "a string");
    }
  }

  void ReadProbe(const Json& json) {
    const Fields fields(json, "'probe'", &problems_);
    fields.Take("unwatched", &m_.probe.unwatched, "a string");
    const Json* outputs = fields.Find("outputs");
    if (outputs != nullptr && !outputs->is_array()) fields.Wrong("outputs", "a list of objects");
    if (outputs == nullptr || !outputs->is_array()) return;
    for (const Json& one : *outputs) {
      const Fields entry(one, fmt::format("entry {} of 'probe'", m_.probe.outputs.size() + 1), &problems_);
      m_.probe.outputs.emplace_back();
      ProbedOutput& output = m_.probe.outputs.back();
      std::string result = ProbeResultName(ProbeResult::kDifferent);
      entry.Take("blob", ManifestName{&output.blob}, "a string");
      entry.Take("result", &result, "a string");
      output.relative = std::numeric_limits<double>::quiet_NaN();
      entry.Take("relative", &output.relative, "a number");
      entry.Take("reason", &output.reason, "a string");
      TakeResult(result, &output.result, &output.reason);
    }
  }

  static void TakeResult(const std::string& word, ProbeResult* result, std::string* reason) {
    const auto known = {ProbeResult::kSameBits, ProbeResult::kWithinRounding, ProbeResult::kDifferent};
    const auto* found =
        std::find_if(known.begin(), known.end(), [&](ProbeResult r) { return word == ProbeResultName(r); });
    *result = found == known.end() ? ProbeResult::kDifferent : *found;
    if (found == known.end()) *reason = fmt::format("'{}', which this version does not know", word);
  }

  void ReadRepeat(const Json& json) {
    const std::string where = fmt::format("entry {} of 'repeats'", m_.probe.repeats.size() + 1);
    const Fields entry(json, where, &problems_);
    m_.probe.repeats.emplace_back();
    RepeatedRun& run = m_.probe.repeats.back();
    std::string result = ProbeResultName(ProbeResult::kDifferent);
    entry.Take("how", &run.how, "a string");
    entry.Take("runs", &run.runs, "a whole number");
    entry.Take("tensors", &run.tensors, "a whole number");
    entry.Take("changed", &run.changed, "a whole number");
    entry.Take("result", &result, "a string");
    run.relative = std::numeric_limits<double>::quiet_NaN();
    entry.Take("relative", &run.relative, "a number");
    entry.Take("reason", &run.reason, "a string");
    TakeResult(result, &run.result, &run.reason);
    const Json* first = entry.Find("first");
    if (first == nullptr) return;
    const Fields place(*first, where + ", 'first'", &problems_);
    place.Take("blob", ManifestName{&run.first}, "a string");
    place.Take("type", &run.first_type, "a string");
  }

  void ReadPlace(const Fields& fields, BlobPlace* place) {
    fields.Take("layer_index", &place->layer_index, "an integer from 0");
    fields.Take("layer", ManifestName{&place->layer}, "a string");
    fields.Take("type", &place->type, "a string");
    fields.Take("slot", &place->slot, "an integer from 0");
    fields.Take("blob", ManifestName{&place->blob}, "a string");
  }

  // True when it is there.
  bool ReadDirection(const Fields& fields, bool* output) {
    std::string direction;
    if (!fields.Take("direction", &direction, "\"in\" or \"out\"")) return false;
    if (direction != "in" && direction != "out") fields.Wrong("direction", "\"in\" or \"out\"");
    *output = direction == "out";
    return true;
  }

  void ReadFileEntry(const Json& json) {
    const size_t number = m_.files.size() + 1;
    m_.files.emplace_back();
    DumpedBlob& blob = m_.files.back();
    std::string where = fmt::format("entry {} of 'files'", number);
    if (json.is_object() && json.contains("file") && json["file"].is_string()) {
      where += fmt::format(" ({})", Quoted(json["file"].get<std::string>()));
    }
    const Fields fields(json, where, &problems_);
    blob.place.layer_index = static_cast<int>(number) - 1;
    ReadPlace(fields, &blob.place);
    blob.place.output = true;
    blob.has_direction = ReadDirection(fields, &blob.place.output);
    fields.Take("file", &blob.file, "a string");
    if (!IsPlainFileName(blob.file)) fields.Wrong("file", "a name without a folder, of a file beside the manifest");
    fields.Take("shape", &blob.shape, "a list of sizes such as [1, 3, 224, 224]");
    std::string dtype;
    if (fields.Take("dtype", &dtype, "a string") && !ParseDType(dtype)) {
      fields.Wrong("dtype", "f32, f16, bf16, f64, i8, u8, i16, u16, i32, u32, i64 or bool");
    }
    blob.dtype = ParseDType(dtype).value_or(DType::kF32);
    ReadRest(fields, &blob);
    if (json.is_object()) NoteMissing(fields, where);
  }

  void ReadRest(const Fields& fields, DumpedBlob* blob) {
    fields.Take("constant", &blob->constant, "true or false");
    fields.Take("stands_for", &blob->stands_for, "a string");
    if (fields.Take("order", &blob->order, "a string") && blob->order != "NHWC" && blob->order != "NDHWC") {
      fields.Wrong("order", "\"NHWC\" or \"NDHWC\", or no such field");
    }
    if (const Json* json = fields.Find("quantisation")) ReadIntegers(*json, fields, blob);
    fields.Take("device", &blob->device, "a string");
    fields.Take("layout", &blob->layout, "a string");
    fields.Take("kernel", &blob->kernel, "a string");
    if (const Json* json = fields.Find("numerics")) ReadNumerics(*json, &blob->numerics);
    fields.Take("fallback", &blob->fallback, "true or false");
    fields.Take("group", &blob->step_index, "an integer from 0");
    fields.Take("fused_layers", &blob->fused, "a list of strings");
    fields.Take("nodes", &blob->nodes, "a list of strings");
    fields.Take("layer_inputs", &blob->layer_inputs, "a list of strings");
    fields.Take("attributes", &blob->attributes, "a list of strings: name, value, name, value ...");
    fields.Take("bytes", &blob->bytes, "an integer from 0");
    fields.Take("xxh64", &blob->checksum, "a string");
    fields.Take("values_xxh64", &blob->values_checksum, "a string");
    if (const Json* json = fields.Find("statistics")) ReadStatistics(*json, &blob->statistics);
  }

  void ReadIntegers(const Json& json, const Fields& fields, DumpedBlob* blob) {
    const Fields entry(json, fmt::format("entry {} of 'files', 'quantisation'", m_.files.size()), &problems_);
    entry.Take("scale", &blob->integers.scale, "a list of numbers");
    entry.Take("zero_point", &blob->integers.zero_point, "a list of integers, as many");
    entry.Take("axis", &blob->integers.axis, "an integer from 0");
    if (IsFloat(blob->dtype) || !blob->integers.Fits(blob->shape)) {
      fields.Wrong("quantisation", "of integers: as many zero points as scales, one or one per entry of 'axis'");
    }
  }

  void ReadNumerics(const Json& json, Numerics* numerics) {
    const std::string where = fmt::format("entry {} of 'files', 'numerics'", m_.files.size());
    const Fields fields(json, where, &problems_);
    if (const Json* winograd = fields.Find("winograd")) {
      const Fields form(*winograd, where + ", 'winograd'", &problems_);
      int tile = 0, dimensions = 2;
      std::vector<double> points;
      form.Take("tile", &tile, "an integer");
      form.Take("points", &points, "a list of numbers");
      form.Take("dimensions", &dimensions, "1 or 2");
      *numerics = Numerics::Winograd(tile, std::move(points), dimensions);
      form.Take("stride", &numerics->stride, "1 or 2");
      const Status usable = numerics->Validate();
      if (!usable.ok()) fields.Wrong("winograd", "a form with " + Numerics::ValidForms());
    }
    ReadNarrow(fields, "accumulator", &numerics->accumulator);
    ReadNarrow(fields, "operands", &numerics->storage);
  }

  static void ReadNarrow(const Fields& fields, const char* key, DType* dtype) {
    std::string name;
    if (!fields.Take(key, &name, "a string") || name.empty()) return;
    const std::optional<DType> parsed = ParseDType(name);
    if (parsed == DType::kF32 || parsed == DType::kF16 || parsed == DType::kBF16) {
      *dtype = *parsed;
    } else {
      fields.Wrong(key, "f32, f16 or bf16");
    }
  }

  void ReadStatistics(const Json& json, Statistics* s) {
    const Fields fields(json, fmt::format("entry {} of 'files', 'statistics'", m_.files.size()), &problems_);
    fields.Take("count", &s->count, "an integer");
    fields.Take("zeros", &s->zeros, "an integer");
    fields.Take("subnormals", &s->subnormals, "an integer");
    fields.Take("nan", &s->nans, "an integer");
    fields.Take("inf", &s->infinities, "an integer");
    s->distinct = -1;
    fields.Take("distinct", &s->distinct, "an integer");
    s->finite = s->count - s->nans - s->infinities;
    const Json* least = fields.Find("min");
    if (least == nullptr) return;
    s->integer = least->is_number_integer();
    if (s->integer) {
      fields.Take("min", &s->min_integer, "a number");
      fields.Take("max", &s->max_integer, "an integer");
    }
    // A sum of large f64 values may be infinite, which JSON writes as null.
    fields.Take("min", &s->min, "a number");
    fields.Take("max", &s->max, "a number");
    fields.Take("mean", &s->mean, "a number");
    fields.Take("std", &s->std, "a number");
    fields.Take("sum", &s->sum, "a number");
  }

  void ReadAbsent(const Json& json) {
    const Fields fields(json, fmt::format("entry {} of 'absent'", m_.absent.size() + 1), &problems_);
    m_.absent.emplace_back();
    AbsentBlob& blob = m_.absent.back();
    ReadPlace(fields, &blob.place);
    ReadDirection(fields, &blob.place.output);
    if (const Json* group = fields.Find("fused_into")) {
      const Fields into(*group, "'fused_into'", &problems_);
      into.Take("index", &blob.fused_into, "an integer from 0");
      into.Take("layer", ManifestName{&blob.fused_into_name}, "a string");
    }
    fields.Take("reason", &blob.reason, "a string");
  }

  // Entries that lack the same fields are told together.
  void NoteMissing(const Fields& fields, const std::string& where) {
    std::vector<std::string> missing;
    for (const char* key : {"file", "blob", "shape", "dtype"}) {
      if (!fields.Has(key)) missing.push_back(Quoted(key));
    }
    if (missing.empty()) return;
    std::string list;
    for (size_t i = 0; i < missing.size(); ++i)
      list += (i == 0 ? "" : i + 1 < missing.size() ? ", " : " and ") + missing[i];
    for (auto& [what, entries] : missing_) {
      if (what == list) return entries.push_back(where);
    }
    missing_.push_back({list, {where}});
  }

  Status Verdict() {
    std::vector<std::string> told;
    for (const auto& [what, entries] : missing_) {
      const size_t others = entries.size() - 1;
      told.push_back(entries[0] + (others == 0 ? " lacks " : fmt::format(" and {} more lack ", others)) + what);
    }
    told.insert(told.end(), problems_.begin(), problems_.end());
    if (told.empty()) return Status::Ok();
    std::string text;
    for (size_t i = 0; i < std::min(told.size(), kMaxProblems); ++i) text += (i == 0 ? "" : "; ") + told[i];
    if (told.size() > kMaxProblems) text += fmt::format("; and {} more problems", told.size() - kMaxProblems);
    return Status::CorruptModel(text + kSmallest);
  }

  Manifest& m_;
  std::vector<std::string> problems_;
  std::vector<std::pair<std::string, std::vector<std::string>>> missing_;  // fields, and the entries that lack them
};

}  // namespace

Result<Manifest> ReadManifest(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFile(path, kMaxManifestBytes));
  return ParseManifest(bytes.text(), path);
}

Result<Manifest> ParseManifest(std::string_view text, const std::string& path) {
  PLUMB_RETURN_IF_ERROR(CheckJsonDepth(text, path).AddContext("the manifest"));
  Manifest manifest;
  try {
    const Json json = Json::parse(text);
    PLUMB_RETURN_IF_ERROR(Reader(&manifest).Read(json).AddContext(fmt::format("manifest '{}'", path)));
  } catch (const nlohmann::json::exception& error) {
    const std::string what = error.what();  // "[json.exception.parse_error.101] parse error at line 3, column 5: ..."
    const size_t words = what.find("] ");
    return Status::CorruptModel(
        fmt::format("manifest '{}' is no JSON: {}", path, what.substr(words == std::string::npos ? 0 : words + 2)));
  }
  return manifest;
}

}  // namespace plumb
