// The only file that knows JSON: manifest and description of input/output tensors, written and read.
#include "dump/manifest.h"

#include <nlohmann/json.hpp>

#include "base/file.h"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormatName = "plumb-dump";
constexpr uint64_t kMaxManifestBytes = uint64_t{1} << 30;

bool IsUtf8(const std::string& text) {
  try {
    return !Json(text).dump().empty();
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

std::string ToHex(const std::string& text) {
  std::string hex;
  for (unsigned char c : text) {
    hex += "0123456789abcdef"[c >> 4];
    hex += "0123456789abcdef"[c & 15];
  }
  return hex;
}

std::string FromHex(const std::string& hex) {
  std::string text;
  auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; };
  for (size_t i = 0; i + 1 < hex.size(); i += 2) text += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  return text;
}

// A name is a JSON string, or {"hex": "..."} when its bytes are no UTF-8.
Json Name(const std::string& name) {
  if (IsUtf8(name)) return name;
  return Json{{"hex", ToHex(name)}};
}

Json Names(const std::vector<std::string>& names) {
  Json list = Json::array();
  for (const std::string& name : names) list.push_back(Name(name));
  return list;
}

Json StatisticsJson(const Statistics& s) {
  Json json{{"count", s.count}};
  const bool some = s.finite > 0;
  auto number = [&](double value) { return some ? Json(value) : Json(nullptr); };
  json["min"] = some && s.integer ? Json(s.min_integer) : number(s.min);
  json["max"] = some && s.integer ? Json(s.max_integer) : number(s.max);
  json["mean"] = number(s.mean);
  json["std"] = number(s.std);
  json["sum"] = number(s.sum);
  json["zeros"] = s.zeros;
  json["subnormals"] = s.subnormals;
  json["nan"] = s.nans;
  json["inf"] = s.infinities;
  json["distinct"] = s.distinct < 0 ? Json(nullptr) : Json(s.distinct);
  return json;
}

void AddPlace(const BlobPlace& place, Json* json) {
  (*json)["layer_index"] = place.layer_index;
  (*json)["layer"] = Name(place.layer);
  (*json)["type"] = place.type;
  (*json)["direction"] = place.output ? "out" : "in";
  (*json)["slot"] = place.slot;
  (*json)["blob"] = Name(place.blob);
}

Json FileJson(const DumpedBlob& blob) {
  Json json;
  if (blob.file.empty()) {
    json["file"] = nullptr;
  } else {
    json["file"] = blob.file;
  }
  AddPlace(blob.place, &json);
  json["shape"] = blob.shape.dims();
  json["dtype"] = DTypeName(blob.dtype);
  json["constant"] = blob.constant;
  json["device"] = blob.device;
  json["layout"] = blob.layout;
  json["kernel"] = blob.kernel;
  json["kernel_detail"] = blob.detail;
  json["fallback"] = blob.fallback;
  json["group"] = blob.step_index;
  json["fused_layers"] = Names(blob.fused);
  json["nodes"] = Names(blob.nodes);
  json["bytes"] = blob.bytes;
  json["xxh64"] = blob.checksum;
  json["values_xxh64"] = blob.values_checksum;
  json["statistics"] = StatisticsJson(blob.statistics);
  return json;
}

Json AbsentJson(const AbsentBlob& blob) {
  Json json;
  AddPlace(blob.place, &json);
  if (blob.fused_into < 0) {
    json["fused_into"] = nullptr;
  } else {
    json["fused_into"] = {{"index", blob.fused_into}, {"layer", Name(blob.fused_into_name)}};
  }
  json["reason"] = blob.reason;
  return json;
}

Json ManifestJson(const Manifest& m) {
  Json json{{"format", kFormatName}, {"version", kManifestVersion}, {"tool", m.tool}, {"created", m.created}};
  json["complete"] = m.complete;
  json["errors"] = Names(m.errors);
  json["model"] = {{"source", Name(m.model)}, {"weights_generated", m.weights_generated}};
  json["model"]["weight_seed"] = m.weights_generated ? Json(m.weight_seed) : Json(nullptr);
  json["device"] = {{"name", m.device},
                    {"description", m.device_description},
                    {"precision", m.precision},
                    {"threads", m.num_threads}};
  json["network"] = m.network;
  json["forward"] = m.forward;
  json["forwards_note"] = m.forwards_note;
  json["options"] = {{"inputs", m.inputs},       {"outputs", m.outputs},
                     {"format", m.format},       {"compress", m.compress},
                     {"layers", Name(m.layers)}, {"types", Name(m.types)},
                     {"forwards", m.forwards},   {"statistics_only", m.statistics_only},
                     {"unfuse", m.unfuse}};
  json["io_files"] = Names(m.io_files);
  json["files"] = Json::array();
  for (const DumpedBlob& blob : m.files) json["files"].push_back(FileJson(blob));
  json["absent"] = Json::array();
  for (const AbsentBlob& blob : m.absent) json["absent"].push_back(AbsentJson(blob));
  return json;
}

// One value per line would make a manifest of 300 files 10,000 lines long: one line per file instead.
std::string ToText(const Json& json) {
  std::string text = "{\n";
  for (auto it = json.begin(); it != json.end(); ++it) {
    text += " " + Json(it.key()).dump() + ": ";
    const bool list = it->is_array() && !it->empty() && it->front().is_object();
    if (list) {
      text += "[\n";
      for (size_t i = 0; i < it->size(); ++i) text += "  " + (*it)[i].dump() + (i + 1 < it->size() ? ",\n" : "\n");
      text += " ]";
    } else {
      text += it->dump();
    }
    text += std::next(it) == json.end() ? "\n" : ",\n";
  }
  return text + "}\n";
}

std::string ReadName(const Json& json) {
  if (json.is_object()) return FromHex(json.at("hex").get<std::string>());
  return json.get<std::string>();
}

BlobPlace ReadPlace(const Json& json) {
  BlobPlace place;
  place.layer_index = json.at("layer_index").get<int>();
  place.layer = ReadName(json.at("layer"));
  place.type = json.at("type").get<std::string>();
  place.output = json.at("direction").get<std::string>() == "out";
  place.slot = json.at("slot").get<int>();
  place.blob = ReadName(json.at("blob"));
  return place;
}

Statistics ReadStatistics(const Json& json) {
  Statistics s;
  s.count = json.at("count").get<int64_t>();
  s.zeros = json.at("zeros").get<int64_t>();
  s.subnormals = json.at("subnormals").get<int64_t>();
  s.nans = json.at("nan").get<int64_t>();
  s.infinities = json.at("inf").get<int64_t>();
  s.distinct = json.at("distinct").is_null() ? -1 : json.at("distinct").get<int>();
  s.finite = s.count - s.nans - s.infinities;
  if (json.at("min").is_null()) return s;
  s.integer = json.at("min").is_number_integer();
  if (s.integer) {
    s.min_integer = json.at("min").get<int64_t>();
    s.max_integer = json.at("max").get<int64_t>();
  }
  // A sum of large f64 values may be infinite, which JSON writes as null.
  auto number = [&](const char* key) { return json.at(key).is_null() ? 0.0 : json.at(key).get<double>(); };
  s.min = number("min");
  s.max = number("max");
  s.mean = number("mean");
  s.std = number("std");
  s.sum = number("sum");
  return s;
}

Status ReadFile(const Json& json, DumpedBlob* blob) {
  blob->place = ReadPlace(json);
  if (!json.at("file").is_null()) blob->file = json.at("file").get<std::string>();
  if (blob->file.find('/') != std::string::npos || blob->file == "..") {
    return Status::CorruptModel("file '" + blob->file + "' lies outside of the dump folder");
  }
  const std::string dtype = json.at("dtype").get<std::string>();
  const auto parsed = ParseDType(dtype);
  if (!parsed) return Status::CorruptModel("file '" + blob->file + "' has the unknown dtype '" + dtype + "'");
  blob->dtype = *parsed;
  blob->shape = Shape(json.at("shape").get<std::vector<int64_t>>());
  const Status shape = blob->shape.Validate();
  if (!shape.ok()) return Status::CorruptModel("file '" + blob->file + "': " + shape.message());
  blob->constant = json.at("constant").get<bool>();
  blob->device = json.at("device").get<std::string>();
  blob->layout = json.at("layout").get<std::string>();
  blob->kernel = json.at("kernel").get<std::string>();
  blob->fallback = json.at("fallback").get<bool>();
  blob->step_index = json.at("group").get<int>();
  for (const Json& name : json.at("fused_layers")) blob->fused.push_back(ReadName(name));
  for (const Json& name : json.at("nodes")) blob->nodes.push_back(ReadName(name));
  blob->bytes = json.at("bytes").get<uint64_t>();
  blob->checksum = json.at("xxh64").get<std::string>();
  blob->values_checksum = json.at("values_xxh64").get<std::string>();
  blob->statistics = ReadStatistics(json.at("statistics"));
  return Status::Ok();
}

Status ReadBody(const Json& json, Manifest* m) {
  if (json.at("format").get<std::string>() != kFormatName) return Status::CorruptModel("this is no manifest of a dump");
  const int version = json.at("version").get<int>();
  if (version != kManifestVersion) {
    return Status::NotSupported("manifest version " + std::to_string(version) + ", expected " +
                                std::to_string(kManifestVersion));
  }
  m->tool = json.at("tool").get<std::string>();
  m->created = json.at("created").get<std::string>();
  m->complete = json.at("complete").get<bool>();
  for (const Json& error : json.at("errors")) m->errors.push_back(ReadName(error));
  m->model = ReadName(json.at("model").at("source"));
  m->weights_generated = json.at("model").at("weights_generated").get<bool>();
  if (m->weights_generated) m->weight_seed = json.at("model").at("weight_seed").get<uint64_t>();
  m->device = json.at("device").at("name").get<std::string>();
  m->device_description = json.at("device").at("description").get<std::string>();
  m->precision = json.at("device").at("precision").get<std::string>();
  m->network = json.at("network").get<int>();
  m->forward = json.at("forward").get<int>();
  m->unfuse = json.at("options").at("unfuse").get<bool>();
  for (const Json& name : json.at("io_files")) m->io_files.push_back(ReadName(name));
  for (const Json& entry : json.at("files")) {
    DumpedBlob blob;
    PLUMB_RETURN_IF_ERROR(ReadFile(entry, &blob));
    m->files.push_back(std::move(blob));
  }
  for (const Json& entry : json.at("absent")) {
    AbsentBlob blob;
    blob.place = ReadPlace(entry);
    if (!entry.at("fused_into").is_null()) {
      blob.fused_into = entry.at("fused_into").at("index").get<int>();
      blob.fused_into_name = ReadName(entry.at("fused_into").at("layer"));
    }
    blob.reason = entry.at("reason").get<std::string>();
    m->absent.push_back(std::move(blob));
  }
  return Status::Ok();
}

}  // namespace

Status WriteManifest(const std::string& path, const Manifest& manifest) {
  return WriteFile(path, ToText(ManifestJson(manifest)));
}

Result<Manifest> ReadManifest(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, plumb::ReadFile(path, kMaxManifestBytes));
  return ParseManifest(bytes.text(), path);
}

Result<Manifest> ParseManifest(std::string_view text, const std::string& path) {
  Manifest manifest;
  try {
    const Json json = Json::parse(text);
    PLUMB_RETURN_IF_ERROR(ReadBody(json, &manifest).AddContext("manifest '" + path + "'"));
  } catch (const nlohmann::json::exception& error) {
    return Status::CorruptModel("manifest '" + path + "' cannot be read: " + error.what());
  }
  return manifest;
}

Status WriteIoDescription(const std::string& path, const std::string& data_file, const std::vector<IoTensor>& tensors) {
  Json json{{"data", data_file}, {"tensors", Json::array()}};
  for (const IoTensor& tensor : tensors) {
    json["tensors"].push_back({{"name", Name(tensor.name)},
                               {"offset", tensor.offset},
                               {"shape", tensor.shape.dims()},
                               {"dtype", DTypeName(tensor.dtype)}});
  }
  return WriteFile(path, ToText(json));
}

}  // namespace plumb
