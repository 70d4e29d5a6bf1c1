// SPDX-License-Identifier: Apache-2.0
#include "interop/safetensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/file.h"
#include "base/json.h"
#include "interop/foreign_formats.h"
#include "plumb/tensor_file.h"

namespace plumb {
namespace {

constexpr uint64_t kLengthBytes = 8, kMaxHeader = uint64_t{100} << 20;  // what the format's own reader takes

std::optional<DType> SafetensorsDType(const std::string& name) {
  constexpr std::pair<const char*, DType> kDTypes[] = {
      {"F64", DType::kF64}, {"F32", DType::kF32}, {"F16", DType::kF16}, {"BF16", DType::kBF16},
      {"I64", DType::kI64}, {"I32", DType::kI32}, {"I16", DType::kI16}, {"I8", DType::kI8},
      {"U32", DType::kU32}, {"U16", DType::kU16}, {"U8", DType::kU8},   {"BOOL", DType::kBool}};
  for (const auto& [word, dtype] : kDTypes) {
    if (name == word) return dtype;
  }
  return std::nullopt;
}

// `values`: where in the file they begin.
Result<SafetensorsEntry> ReadEntry(const std::string& path, const std::string& name, const FileJson& entry,
                                   uint64_t values, uint64_t file_size) {
  const std::string where = fmt::format("'{}', tensor '{}'", path, name);
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() || !entry.contains("shape") ||
      !entry.contains("data_offsets"))
    return Status::CorruptModel(where + ": expected dtype, shape and data_offsets");
  const std::string word = entry["dtype"].get<std::string>();
  const std::optional<DType> dtype = SafetensorsDType(word);
  if (!dtype) return Status::NotSupported(fmt::format("{}: dtype {} is not read; save it as F32", where, word));
  PLUMB_ASSIGN_OR_RETURN(const Shape shape, ShapeOfJson(entry["shape"], where));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> place, NumbersOfJson(entry["data_offsets"], where));
  const uint64_t size = static_cast<uint64_t>(shape.NumElements()) * DTypeSize(*dtype);
  const bool fits = place.size() == 2 && place[0] >= 0 && place[1] >= place[0] &&
                    static_cast<uint64_t>(place[1]) <= file_size - values &&
                    static_cast<uint64_t>(place[1] - place[0]) == size;
  if (!fits)
    return Status::CorruptModel(
        fmt::format("{}: data_offsets do not hold {} of {} within the file", where, shape.ToString(), word));
  return SafetensorsEntry{name, *dtype, shape, values + static_cast<uint64_t>(place[0]), size};
}

}  // namespace

Result<std::vector<SafetensorsEntry>> ParseSafetensorsHeader(std::string_view text, uint64_t file_size,
                                                             const std::string& path) {
  PLUMB_RETURN_IF_ERROR(CheckJsonDepth(text, path));
  const FileJson json = FileJson::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object())
    return Status::CorruptModel(fmt::format("'{}' is no safetensors file: its header is no JSON object", path));
  std::vector<SafetensorsEntry> entries;
  for (const auto& [name, entry] : json.items()) {
    if (name == "__metadata__") continue;
    PLUMB_ASSIGN_OR_RETURN(SafetensorsEntry one, ReadEntry(path, name, entry, kLengthBytes + text.size(), file_size));
    entries.push_back(std::move(one));
  }
  return entries;
}

Result<std::vector<StoredTensor>> ListSafetensors(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const FileSource file, OpenSource(path));
  const Status no = Status::CorruptModel(fmt::format("'{}' is no safetensors file: its header is cut off", path));
  if (file.size() < kLengthBytes) return no;
  PLUMB_ASSIGN_OR_RETURN(const FileBytes head, file.Piece(0, kLengthBytes));
  uint64_t length = 0;
  for (size_t i = kLengthBytes; i-- > 0;) length = length << 8 | static_cast<uint8_t>(head.text()[i]);
  if (length > kMaxHeader || length > file.size() - kLengthBytes) return no;
  PLUMB_ASSIGN_OR_RETURN(const FileBytes text, file.Piece(kLengthBytes, length));
  PLUMB_ASSIGN_OR_RETURN(const auto entries, ParseSafetensorsHeader(text.text(), file.size(), path));
  std::vector<StoredTensor> tensors;
  for (const SafetensorsEntry& entry : entries) {
    tensors.push_back({entry.name, path, true, true, false, [file, path, entry]() -> Result<Tensor> {
                         TensorHints hints;
                         hints.dtype = entry.dtype;
                         hints.shape = entry.shape;
                         PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, file.Piece(entry.begin, entry.size));
                         PLUMB_ASSIGN_OR_RETURN(const std::vector<NamedTensor> read,
                                                ParseTensors(bytes.text(), path + ".raw", hints));
                         return read.front().tensor;
                       }});
  }
  return tensors;
}

}  // namespace plumb
