// SPDX-License-Identifier: Apache-2.0
// Manifest and description of input/output tensors as JSON, written. manifest_reader.cc reads.
#include "dump/manifest.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/file.h"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

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

// A name is a JSON string, or {"hex": "..."} when its bytes are no UTF-8.
Json NameManifest(const std::string& name) {
  if (IsUtf8(name)) return name;
  return Json{{"hex", ToHex(name)}};
}

Json Names(const std::vector<std::string>& names) {
  Json list = Json::array();
  for (const std::string& name : names) list.push_back(NameManifest(name));
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
  (*json)["layer"] = NameManifest(place.layer);
  (*json)["type"] = place.type;
  (*json)["direction"] = place.output ? "out" : "in";
  (*json)["slot"] = place.slot;
  (*json)["blob"] = NameManifest(place.blob);
}

// Null for direct sums in f32.
Json NumericsJson(const Numerics& numerics) {
  Json json;
  if (numerics.algorithm == Numerics::kWinograd) {
    json["winograd"] = {{"tile", numerics.tile}, {"points", numerics.points}, {"dimensions", numerics.dimensions}};
    if (numerics.stride > 1) json["winograd"]["stride"] = numerics.stride;
  }
  if (numerics.accumulator != DType::kF32) json["accumulator"] = DTypeName(numerics.accumulator);
  if (numerics.storage != DType::kF32) json["operands"] = DTypeName(numerics.storage);
  return json;
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
  if (blob.model_dtype != blob.dtype) json["model_dtype"] = DTypeName(blob.model_dtype);
  json["constant"] = blob.constant;
  if (!blob.stands_for.empty()) json["stands_for"] = blob.stands_for;
  if (!blob.order.empty()) json["order"] = blob.order;
  if (!blob.integers.empty()) {
    json["quantisation"] = {
        {"scale", blob.integers.scale}, {"zero_point", blob.integers.zero_point}, {"axis", blob.integers.axis}};
  }
  json["device"] = blob.device;
  json["layout"] = blob.layout;
  json["kernel"] = blob.kernel;
  json["kernel_detail"] = blob.detail;
  if (Json numerics = NumericsJson(blob.numerics); !numerics.is_null()) json["numerics"] = std::move(numerics);
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
    json["fused_into"] = {{"index", blob.fused_into}, {"layer", NameManifest(blob.fused_into_name)}};
  }
  json["reason"] = blob.reason;
  return json;
}

Json ManifestJson(const Manifest& m) {
  Json json{{"format", kManifestFormat}, {"version", kManifestVersion}, {"tool", m.tool}, {"created", m.created}};
  json["complete"] = m.complete;
  json["errors"] = Names(m.errors);
  json["model"] = {{"source", NameManifest(m.model)}, {"weights_generated", m.weights_generated}};
  json["model"]["weight_seed"] = m.weights_generated ? Json(m.weight_seed) : Json(nullptr);
  json["device"] = {{"name", m.device},
                    {"description", m.device_description},
                    {"precision", m.precision},
                    {"threads", m.num_threads}};
  json["network"] = m.network;
  json["forward"] = m.forward;
  json["forwards_note"] = m.forwards_note;
  json["options"] = {{"inputs", m.inputs},
                     {"outputs", m.outputs},
                     {"format", m.format},
                     {"compress", m.compress},
                     {"order", m.order},
                     {"layers", NameManifest(m.layers)},
                     {"types", NameManifest(m.types)},
                     {"forwards", m.forwards},
                     {"statistics_only", m.statistics_only},
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
    text += fmt::format(" {}: ", Json(it.key()).dump());
    const bool list = it->is_array() && !it->empty() && it->front().is_object();
    if (list) {
      text += "[\n";
      for (size_t i = 0; i < it->size(); ++i)
        text += fmt::format("  {}{}", (*it)[i].dump(), i + 1 < it->size() ? ",\n" : "\n");
      text += " ]";
    } else {
      text += it->dump();
    }
    text += std::next(it) == json.end() ? "\n" : ",\n";
  }
  return text + "}\n";
}

}  // namespace

Status WriteManifest(const std::string& path, const Manifest& manifest) {
  return WriteFile(path, ToText(ManifestJson(manifest)));
}

Status WriteIoDescription(const std::string& path, const std::string& data_file, const std::vector<IoTensor>& tensors) {
  Json json{{"data", data_file}, {"tensors", Json::array()}};
  for (const IoTensor& tensor : tensors) {
    json["tensors"].push_back({{"name", NameManifest(tensor.name)},
                               {"offset", tensor.offset},
                               {"shape", tensor.shape.dims()},
                               {"dtype", DTypeName(tensor.dtype)}});
  }
  return WriteFile(path, ToText(json));
}

}  // namespace plumb
