// SPDX-License-Identifier: Apache-2.0
// OpenVINO's blob dump: #<order>_<Type>_<node>_out<port>.ieb files, which the CPU plugin of a build with
// ENABLE_DEBUG_CAPS=ON writes into OV_CPU_BLOB_DUMP_DIR.
//
// Format: src/plugins/intel_cpu/docs/debug_capabilities/blob_dumping.md and, for the header, the plugin's
// src/utils/blob_dump.cpp and node_dumper.cpp: little-endian, magic "IEB0", version 0.1, precision (1 byte), rank (1),
// seven u32 dims, scaling axis (1, 0xFF: none), three bytes, then as u64 offset and size of the values and of scales;
// values dense in the order of the logical dims. The precision is the plugin's own enumeration, of which there were
// three; the element size and the other files of the folder tell which.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "interop/foreign_bytes.h"
#include "interop/foreign_formats.h"
#include "plumb/tensor_file.h"

namespace plumb {
namespace {

constexpr std::string_view kIebMagic = "IEB0";
constexpr size_t kIebHeader = 72;

struct IebHeader {
  int precision = 0;
  Shape shape;
  uint64_t offset = 0, size = 0, element = 0;  // element: bytes of one value, 0 when there is none
};

using IebTypes = std::map<int, DType>;
// The newest first: ov::element::Type_t since 2025 (without `undefined`), before, and InferenceEngine::Precision.
const IebTypes kIebEnumerations[] = {{{1, DType::kBool},
                                      {2, DType::kBF16},
                                      {3, DType::kF16},
                                      {4, DType::kF32},
                                      {5, DType::kF64},
                                      {7, DType::kI8},
                                      {8, DType::kI16},
                                      {9, DType::kI32},
                                      {10, DType::kI64},
                                      {16, DType::kU8},
                                      {17, DType::kU16},
                                      {18, DType::kU32}},
                                     {{2, DType::kBool},
                                      {3, DType::kBF16},
                                      {4, DType::kF16},
                                      {5, DType::kF32},
                                      {6, DType::kF64},
                                      {8, DType::kI8},
                                      {9, DType::kI16},
                                      {10, DType::kI32},
                                      {11, DType::kI64},
                                      {17, DType::kU8},
                                      {18, DType::kU16},
                                      {19, DType::kU32}},
                                     {{10, DType::kF32},
                                      {11, DType::kF16},
                                      {12, DType::kBF16},
                                      {13, DType::kF64},
                                      {30, DType::kI16},
                                      {40, DType::kU8},
                                      {41, DType::kBool},
                                      {50, DType::kI8},
                                      {60, DType::kU16},
                                      {70, DType::kI32},
                                      {72, DType::kI64},
                                      {74, DType::kU32}}};

template <class T>
T IebNumber(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// `bytes`: the file's first ones, at least the header where it has one.
Result<IebHeader> ParseIeb(std::string_view bytes, size_t file_size, const std::string& path) {
  const auto corrupt = [&](const std::string& what) {
    return Result<IebHeader>(Status::CorruptModel(fmt::format("OpenVINO's blob file '{}': {}", path, what)));
  };
  if (bytes.size() < kIebHeader)
    return corrupt(fmt::format("it has {} bytes, its header {}", bytes.size(), kIebHeader));
  if (bytes.substr(0, 4) != kIebMagic) return corrupt("expected 'IEB0' in front");
  const int major = bytes[4], minor = bytes[5];
  if (major != 0 || minor != 1) return corrupt(fmt::format("expected version 0.1, found {}.{}", major, minor));
  IebHeader header;
  header.precision = static_cast<uint8_t>(bytes[6]);
  const size_t rank = static_cast<uint8_t>(bytes[7]);
  if (rank > 7) return corrupt(fmt::format("expected at most 7 dims, found {}", rank));
  for (size_t i = 0; i < rank; ++i) header.shape.dims().push_back(IebNumber<uint32_t>(bytes, 8 + 4 * i));
  PLUMB_RETURN_IF_ERROR(header.shape.Validate().AddContext(fmt::format("OpenVINO's blob file '{}'", path)));
  if (static_cast<uint8_t>(bytes[36]) != 0xFF) return corrupt("it has scales, which no version of OpenVINO writes");
  header.offset = IebNumber<uint64_t>(bytes, 40);
  header.size = IebNumber<uint64_t>(bytes, 48);
  if (header.offset > file_size || header.size > file_size - header.offset) {
    return corrupt(fmt::format("its header says {} bytes of values from byte {} on, the file has {}", header.size,
                               header.offset, file_size));
  }
  const auto count = static_cast<uint64_t>(header.shape.NumElements());
  if (count == 0 ? header.size != 0 : header.size % count != 0) {
    return corrupt(fmt::format("{} bytes are no {} values {}", header.size, count, header.shape.ToString()));
  }
  header.element = count == 0 ? 0 : header.size / count;
  return header;
}

Result<IebHeader> ReadIeb(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const FileSource file, OpenSource(path));
  PLUMB_ASSIGN_OR_RETURN(const FileBytes head, file.Piece(0, std::min(file.size(), kIebHeader)));
  return ParseIeb(head.text(), file.size(), path);
}

bool IebFits(const IebTypes& types, const IebHeader& header) {
  const auto type = types.find(header.precision);
  return type != types.end() && (header.element == 0 || DTypeSize(type->second) == header.element);
}

// The enumeration in which each file's precision has its element size; of several the one with more floats, since no
// network computes in integers alone, then the newest. Null: none has them all.
const IebTypes* FindIebTypes(const std::vector<IebHeader>& headers) {
  const IebTypes* best = nullptr;
  int64_t best_floats = -1;
  for (const IebTypes& types : kIebEnumerations) {
    int64_t floats = 0;
    bool fits = true;
    for (const IebHeader& header : headers) {
      fits = fits && IebFits(types, header);
      floats += fits && IsFloat(types.at(header.precision));
    }
    if (!fits || floats <= best_floats) continue;
    best = &types;
    best_floats = floats;
  }
  return best;
}

Result<Tensor> IebValues(std::string_view bytes, const std::string& path, const IebHeader& header, DType dtype) {
  TensorHints hints;
  hints.dtype = dtype;
  hints.shape = header.shape;
  PLUMB_ASSIGN_OR_RETURN(const std::vector<NamedTensor> read,
                         ParseTensors(bytes.substr(header.offset, header.size), path + ".raw", hints));
  return read.front().tensor;
}

Result<Tensor> LoadIeb(const std::string& path, DType dtype) {
  PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFile(path));
  PLUMB_ASSIGN_OR_RETURN(const IebHeader header, ParseIeb(bytes.text(), bytes.size(), path));
  return IebValues(bytes.text(), path, header, dtype);
}

Status UnknownPrecision(const std::string& place, const std::string& first, const IebHeader& header) {
  return Status::CorruptModel(fmt::format(
      "OpenVINO's blob files in '{}': no version of OpenVINO has the precisions of their headers in the sizes that "
      "their values have (the first, '{}': precision {}, {} bytes per value)",
      place, first, header.precision, header.element));
}

struct IebName {
  std::string node;
  bool input = false;
  int port = 0;
};

// #12_Convolution_conv1_out0.ieb; false: a packed weight (blb) or a name of another pattern.
bool ParseIebName(const std::string& file, IebName* name) {
  static const std::regex pattern("#[0-9]+_[A-Za-z0-9]+_(.*?)(_iter[0-9]+)?_(in|out)([0-9]{1,6})\\.ieb");
  std::smatch match;
  if (file.size() > 400 || !std::regex_match(file, match, pattern)) return false;
  *name = {match[1], match[3] == "in", std::stoi(match[4])};
  return true;
}

// The ONNX frontend splits a Conv or Gemm with a bias into NODE/WithoutBiases and the sum NODE, and the plugin puts the
// sum back into the first, under the first's name: then that is NODE.
void NameBiasedNodes(std::vector<StoredTensor>* tensors) {
  constexpr std::string_view kWithout = "_WithoutBiases";
  std::set<std::string> nodes;
  for (const StoredTensor& tensor : *tensors) {
    if (!tensor.is_read) nodes.insert(tensor.layer);
  }
  for (StoredTensor& tensor : *tensors) {
    if (!EndsWith(tensor.layer, kWithout)) continue;
    const std::string node = tensor.layer.substr(0, tensor.layer.size() - kWithout.size());
    if (nodes.count(node) != 0) continue;
    tensor.layer = node;
    if (!tensor.is_read) tensor.name = node;
  }
}

}  // namespace

Result<Tensor> ParseIebFile(std::string_view bytes, const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const IebHeader header, ParseIeb(bytes, bytes.size(), path));
  const IebTypes* types = FindIebTypes({header});
  if (types == nullptr) return UnknownPrecision(path, path, header);
  return IebValues(bytes, path, header, types->at(header.precision));
}

ForeignRead ReadOpenVino(const ForeignPlace& place) {
  std::vector<std::string> files = place.Ending(".ieb");
  if (!place.is_folder && EndsWith(place.path, ".ieb")) files = {place.path};
  if (files.empty()) return ForeignRead(std::nullopt);
  ForeignTensors found;
  std::vector<IebHeader> headers;
  size_t passed_over = 0;
  for (const std::string& file : files) {
    const std::string path = place.is_folder ? place.In(file) : file;
    IebName name;
    if (!ParseIebName(std::filesystem::path(path).filename().string(), &name)) {
      ++passed_over;
      continue;
    }
    PLUMB_ASSIGN_OR_RETURN(const IebHeader header, ReadIeb(path));
    headers.push_back(header);
    StoredTensor stored;
    stored.name = name.input       ? fmt::format("{} (input {})", name.node, name.port)
                  : name.port == 0 ? name.node
                                   : fmt::format("{}:{}", name.node, name.port);
    stored.origin = path;
    stored.layer = name.node;
    stored.slot = name.port;
    stored.is_read = name.input;
    found.tensors.push_back(std::move(stored));
  }
  const IebTypes* types = FindIebTypes(headers);
  if (types == nullptr) return UnknownPrecision(place.path, found.tensors[0].origin, headers[0]);
  for (size_t i = 0; i < headers.size(); ++i) {
    const std::string path = found.tensors[i].origin;
    const DType dtype = types->at(headers[i].precision);
    found.tensors[i].load = [path, dtype] { return LoadIeb(path, dtype); };
  }
  NameBiasedNodes(&found.tensors);
  found.description = "OpenVINO's blob dump" + AndPassedOver(passed_over, "files of packed weights or other names");
  return ForeignRead(std::move(found));
}

}  // namespace plumb
