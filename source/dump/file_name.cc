// SPDX-License-Identifier: Apache-2.0
#include "dump/file_name.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <vector>

#include "dump/checksum.h"

namespace plumb {
namespace {

// 6 (index) + 80 + 11 ("-out-12345-") + 80 + 5 ("-dims") + 48, a 7-digit index, ".txt.zst" and ".part": below 255.
constexpr size_t kMaxPart = 80;
constexpr size_t kMaxDims = 48;

bool IsPlain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         std::string_view("-_.+=@#$%&(){}[]!,;^'~").find(c) != std::string_view::npos;
}

std::string Part(const std::string& name, size_t max_size) {
  std::string part = TnnName(name);
  bool changed = false;
  for (char& c : part) {
    if (IsPlain(c)) continue;
    c = '_';
    changed = true;
  }
  if (!changed && part.size() <= max_size) return part;
  const std::string suffix = "~" + ChecksumOf(name.data(), name.size()).substr(0, 8);
  part.resize(std::min(part.size(), max_size - suffix.size()));
  return part + suffix;
}

// Takes digits from the front of *text.
std::optional<int64_t> TakeNumber(std::string_view* text) {
  int64_t value = 0;
  if (text->empty() || (*text)[0] < '0' || (*text)[0] > '9') return {};
  const auto result = std::from_chars(text->data(), text->data() + text->size(), value);
  if (result.ec != std::errc()) return {};
  text->remove_prefix(static_cast<size_t>(result.ptr - text->data()));
  return value;
}

// "-1-3-224-224" or "".
std::optional<Shape> ParseDims(std::string_view text) {
  std::vector<int64_t> dims;
  while (!text.empty()) {
    if (text[0] != '-') return {};
    text.remove_prefix(1);
    const auto dim = TakeNumber(&text);
    if (!dim) return {};
    dims.push_back(*dim);
  }
  Shape shape(std::move(dims));
  if (!shape.Validate().ok()) return {};
  return shape;
}

// Takes the ending from the back of *name. False: it has none of `endings`.
bool TakeEnding(std::string_view* name, std::initializer_list<std::string_view> endings) {
  const auto take = [&](std::string_view ending) {
    const bool has = name->size() > ending.size() && name->substr(name->size() - ending.size()) == ending;
    if (has) name->remove_suffix(ending.size());
    return has;
  };
  take(".zst");
  return std::any_of(endings.begin(), endings.end(), take);
}

// Takes "-dims-1-3-224-224" from the back of *name.
std::optional<Shape> TakeDims(std::string_view* name) {
  const size_t at = name->rfind("-dims");
  if (at == std::string_view::npos) return {};
  const auto shape = ParseDims(name->substr(at + 5));
  if (shape) *name = name->substr(0, at);
  return shape;
}

// Splits "<layer>-in-<k>-<blob>" at the first place that has this form.
bool SplitBody(std::string_view body, TnnFileName* result) {
  for (size_t at = body.find('-'); at != std::string_view::npos; at = body.find('-', at + 1)) {
    std::string_view rest = body.substr(at);
    const bool in = rest.substr(0, 4) == "-in-";
    if (!in && rest.substr(0, 5) != "-out-") continue;
    rest.remove_prefix(in ? 4 : 5);
    const auto slot = TakeNumber(&rest);
    if (!slot || *slot > 1000000 || rest.empty() || rest[0] != '-') continue;
    result->layer = body.substr(0, at);
    result->output = !in;
    result->slot = static_cast<int>(*slot);
    result->blob = rest.substr(1);
    return true;
  }
  return false;
}

}  // namespace

std::string TnnName(std::string name) {
  for (char& c : name) {
    if (c == '/' || c == ':') c = '_';
  }
  return name;
}

std::string NameInFiles(const std::string& name) { return Part(name, kMaxPart); }

std::string BlobFileName(int layer_index, const std::string& layer, bool output, int slot, const std::string& blob,
                         const Shape& shape) {
  char index[16];
  std::snprintf(index, sizeof(index), "%05d-", layer_index);
  std::string dims;
  for (int64_t dim : shape.dims()) dims += "-" + std::to_string(dim);
  return fmt::format("{}{}{}{}-{}-dims{}", index, Part(layer, kMaxPart), output ? "-out-" : "-in-", slot,
                     Part(blob, kMaxPart), Part(dims, kMaxDims));
}

std::string BlobFileEnding(DumpOptions::Format format, bool zstd) {
  std::string ending = ".txt";
  if (format == DumpOptions::Format::kNpy) ending = ".npy";
  if (format == DumpOptions::Format::kRaw) ending = ".raw";
  return zstd ? ending + ".zst" : ending;
}

std::optional<TnnFileName> ParseTnnFileName(std::string_view name) {
  TnnFileName result;
  if (!TakeEnding(&name, {".txt", ".npy", ".raw", ".bin", ".dat"})) return {};
  const auto index = TakeNumber(&name);
  if (!index || *index > 100000000 || name.empty() || name[0] != '-') return {};
  name.remove_prefix(1);
  result.layer_index = static_cast<int>(*index);
  const auto shape = TakeDims(&name);
  if (!shape || !SplitBody(name, &result)) return {};
  result.shape = *shape;
  return result;
}

std::optional<NamedShape> ParseNamedShape(std::string_view name) {
  if (!TakeEnding(&name, {".txt", ".npy", ".raw", ".bin", ".dat", ".bmrt"})) return {};
  const auto shape = TakeDims(&name);
  if (!shape || name.empty()) return {};
  return NamedShape{std::string(name), *shape};
}

bool IsRawName(std::string_view name) { return TakeEnding(&name, {".raw", ".bin", ".dat", ".bmrt"}); }

}  // namespace plumb
