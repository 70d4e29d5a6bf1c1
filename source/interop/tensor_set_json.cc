// SPDX-License-Identifier: Apache-2.0
// Tensors described or held by JSON: Polygraphy's saved runs, and the description beside input_ref_data.dat.
//
// Polygraphy writes an array as {"array": "<base64 of an .npy>", ...}, possibly inside {"values": ...}; the key outside
// of these is the tensor's name. Runs, iterations and other fields around are walked through.
#include <fmt/core.h>

#include <set>

#include "base/json.h"
#include "interop/tensor_set.h"
#include "tensor/npy.h"

namespace plumb {
namespace {

using Json = FileJson;

constexpr int kMaxDepth = 64;

Result<std::string> DecodeBase64(const std::string& text, const std::string& where) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t bits = 0;
  int held = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    if (c == '=' || c == '\n') continue;
    if (value < 0) return Status::CorruptModel(fmt::format("{}: byte {} is no base64", where, i));
    bits = (bits << 6 | static_cast<uint32_t>(value)) & 0xFFFFFF;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 0xFF);
  }
  return bytes;
}

class Walker {
 public:
  explicit Walker(const std::string& path) : path_(path) {}

  Status Walk(const Json& json, const std::string& name, int depth) {
    if (depth > kMaxDepth)
      return Status::CorruptModel(fmt::format("file '{}' is nested deeper than {}", path_, kMaxDepth));
    if (json.is_array()) {
      for (const Json& item : json) PLUMB_RETURN_IF_ERROR(Walk(item, name, depth + 1));
      return Status::Ok();
    }
    if (!json.is_object()) return Status::Ok();
    const auto array = json.find("array");
    if (array != json.end() && array->is_string()) return Add(array->get_ref<const Json::string_t&>(), name);
    for (const auto& [key, value] : json.items())
      PLUMB_RETURN_IF_ERROR(Walk(value, key == "values" ? name : key, depth + 1));
    return Status::Ok();
  }

  std::vector<NamedTensor> tensors;

 private:
  Status Add(const std::string& base64, const std::string& name) {
    if (!names_.insert(name).second) return Status::Ok();  // a later run or iteration
    PLUMB_ASSIGN_OR_RETURN(const std::string npy,
                           DecodeBase64(base64, fmt::format("file '{}', tensor '{}'", path_, name)));
    NamedTensor named{name, {}};
    PLUMB_ASSIGN_OR_RETURN(named.tensor, ParseNpy(npy, fmt::format("{}#{}", path_, name)));
    tensors.push_back(std::move(named));
    return Status::Ok();
  }

  const std::string& path_;
  std::set<std::string> names_;
};

}  // namespace

Result<std::vector<NamedTensor>> ParsePolygraphy(std::string_view text, const std::string& path) {
  PLUMB_RETURN_IF_ERROR(CheckJsonDepth(text, path));
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return Status::CorruptModel(fmt::format("file '{}' is no JSON", path));
  Walker walker(path);
  PLUMB_RETURN_IF_ERROR(walker.Walk(json, "", 0));
  if (!walker.tensors.empty()) return std::move(walker.tensors);
  return Status::InvalidArgument(
      fmt::format("file '{}' holds no tensor; expected outputs or inputs that Polygraphy saved", path));
}

Result<std::vector<TensorSpec>> ParseIoDescription(std::string_view text, const std::string& path) {
  PLUMB_RETURN_IF_ERROR(CheckJsonDepth(text, path));
  std::vector<TensorSpec> specs;
  try {
    const Json json = Json::parse(text);
    uint64_t offset = 0;
    for (const Json& tensor : json.at("tensors")) {
      TensorSpec spec;
      const Json& name = tensor.at("name");
      spec.name = name.is_object() ? name.at("hex").get<std::string>() : name.get<std::string>();
      const auto dtype = ParseDType(tensor.at("dtype").get<std::string>());
      if (!dtype) return Status::CorruptModel(fmt::format("'{}': tensor '{}' has an unknown dtype", path, spec.name));
      spec.dtype = *dtype;
      for (const Json& dim : tensor.at("shape")) {
        if (!dim.is_number_integer())  // a number beyond 64 bits is read as a real
          return Status::CorruptModel(fmt::format("'{}': tensor '{}' has the dim {}", path, spec.name, dim.dump()));
        spec.shape.dims().push_back(dim.get<int64_t>());
      }
      PLUMB_RETURN_IF_ERROR(spec.shape.Validate().AddContext(fmt::format("'{}': tensor '{}'", path, spec.name)));
      if (!tensor.at("offset").is_number_unsigned() || tensor.at("offset").get<uint64_t>() != offset) {
        return Status::CorruptModel(
            fmt::format("'{}': tensor '{}' does not begin at byte {}", path, spec.name, offset));
      }
      offset += static_cast<uint64_t>(spec.shape.NumElements()) * DTypeSize(spec.dtype);
      specs.push_back(std::move(spec));
    }
  } catch (const nlohmann::json::exception& error) {
    return Status::CorruptModel(fmt::format("'{}' cannot be read: {}", path, error.what()));
  }
  return specs;
}

}  // namespace plumb
