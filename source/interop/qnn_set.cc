// SPDX-License-Identifier: Apache-2.0
// Raw outputs of Qualcomm's qnn-net-run and snpe-net-run: Result_0/<tensor>.raw (f32, or the tensor's own integers),
// Result_0/<tensor>_native.raw (as the device holds them), with --debug of every tensor.
//
// Format: Qualcomm's page of the QNN tools (qnn-net-run: --debug, --output_data_type, --use_native_output_files); files
// have no header: what the values are is taken from JSON beside them, or in the folder above Result_0:
//   MODEL_net.json (qnn-onnx-converter; QnnTypes.h has the data types)
//     graph.tensors.NAME: dims, data_type, permute_order_to_src, quant_params.scale_offset {scale, offset,
//     is_symmetric}
//   *encodings* (AIMET, quantization overrides): activation_encodings, an object NAME: [{bitwidth, scale, offset,
//     is_symmetric}], or of version 1.0.0 a list [{name, bw, scale: [], offset: [], is_sym}]
// A value is scale * (q + offset). Without them a file is taken as f32 in the model's shape.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <regex>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "dump/file_name.h"
#include "interop/foreign_bytes.h"
#include "interop/foreign_formats.h"
#include "interop/pairing.h"
#include "plumb/tensor_file.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;
using QnnJson = FileJson;

constexpr int kQnnFolders = 16;  // below Result_0: SNPE makes folders of the '/' in names
constexpr size_t kQnnMaxRank = 8;

// Qnn_DataType_t: plain and fixed-point integers of one size are stored alike.
const std::map<int64_t, DType> kQnnTypes = {
    {0x0008, DType::kI8},  {0x0016, DType::kI16}, {0x0032, DType::kI32}, {0x0064, DType::kI64}, {0x0108, DType::kU8},
    {0x0116, DType::kU16}, {0x0132, DType::kU32}, {0x0216, DType::kF16}, {0x0232, DType::kF32}, {0x0264, DType::kF64},
    {0x0308, DType::kI8},  {0x0316, DType::kI16}, {0x0332, DType::kI32}, {0x0408, DType::kU8},  {0x0416, DType::kU16},
    {0x0432, DType::kU32}, {0x0508, DType::kBool}};

struct QnnInfo {
  std::optional<Shape> shape;
  std::vector<int> to_source;    // numpy's transpose from dims to the source model's order; empty: none
  std::optional<DType> dtype;    // of the native values
  double scale = 0, offset = 0;  // scale 0: not quantised
};
using QnnInfos = std::map<std::string, QnnInfo>;  // by the name as file names have it

// A number, or the first of a list of one; NaN where there is none.
double QnnNumber(const QnnJson& json, const char* key) {
  if (!json.is_object() || !json.contains(key)) return std::nan("");
  const QnnJson& value = json[key];
  if (value.is_number()) return value.get<double>();
  return value.is_array() && value.size() == 1 && value[0].is_number() ? value[0].get<double>() : std::nan("");
}

bool QnnFlag(const QnnJson& json, const char* key) {  // true, or "True" as AIMET writes it
  if (!json.is_object() || !json.contains(key)) return false;
  return json[key].is_boolean() ? json[key].get<bool>()
                                : json[key].is_string() && Lower(json[key].get<std::string>()) == "true";
}

class QnnDescriptions {
 public:
  QnnInfos infos;

  // Nothing where the JSON is of something else.
  Status Parse(std::string_view text, const std::string& path) {
    path_ = path;
    PLUMB_RETURN_IF_ERROR(CheckJsonDepth(text, path));
    const QnnJson json = QnnJson::parse(text, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) return Status::CorruptModel(fmt::format("'{}', beside QNN's raw files, is no JSON", path));
    if (!json.is_object()) return Status::Ok();
    if (json.contains("graph") && json["graph"].is_object() && json["graph"].contains("tensors")) {
      for (const auto& [name, entry] : json["graph"]["tensors"].items()) PLUMB_RETURN_IF_ERROR(AddNet(name, entry));
    }
    const auto encodings = json.find("activation_encodings");
    if (encodings == json.end()) return Status::Ok();
    for (const auto& [key, entry] : encodings->items()) {
      const bool named = entry.is_object() && entry.contains("name") && entry["name"].is_string();
      const QnnJson& encoding = entry.is_array() && entry.size() == 1 ? entry[0] : entry;
      PLUMB_RETURN_IF_ERROR(AddEncoding(named ? entry["name"].get<std::string>() : key, encoding));
    }
    return Status::Ok();
  }

 private:
  Status AddNet(const std::string& name, const QnnJson& entry) {
    const std::string where = fmt::format("'{}': tensor '{}'", path_, name);
    if (!entry.is_object()) return Status::CorruptModel(where + ": expected an object");
    QnnInfo& info = infos[LettersAndDigits(name)];
    const auto dims = entry.find(entry.contains("dims") ? "dims" : "current_dims");
    if (dims != entry.end()) {
      PLUMB_ASSIGN_OR_RETURN(info.shape, ShapeOfJson(*dims, where + ", dims"));
    }
    if (entry.contains("permute_order_to_src") && info.shape) {
      PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> order,
                             NumbersOfJson(entry["permute_order_to_src"], where + ", permute_order_to_src"));
      PLUMB_RETURN_IF_ERROR(TakeOrder(order, where, &info));
    }
    const auto type = kQnnTypes.find(
        entry.contains("data_type") && entry["data_type"].is_number_integer() ? entry["data_type"].get<int64_t>() : -1);
    if (type != kQnnTypes.end()) info.dtype = type->second;
    if (!entry.contains("quant_params") || !entry["quant_params"].is_object()) return Status::Ok();
    const QnnJson& quant = entry["quant_params"];
    if (!quant.contains("scale_offset")) return Status::Ok();
    return TakeScale(quant["scale_offset"], where, &info);
  }

  Status AddEncoding(const std::string& name, const QnnJson& encoding) {
    const std::string where = fmt::format("'{}': encoding of '{}'", path_, name);
    QnnInfo& info = infos[LettersAndDigits(name)];
    double bits = QnnNumber(encoding, "bitwidth");
    if (std::isnan(bits)) bits = QnnNumber(encoding, "bw");
    if (bits != 8 && bits != 16 && bits != 32) {
      return Status::CorruptModel(fmt::format("{}: expected a bitwidth of 8, 16 or 32, found {}", where,
                                              std::isnan(bits) ? "none" : Number(bits, 6)));
    }
    const bool is_float = encoding.contains("dtype") && encoding["dtype"].is_string() &&
                          Lower(encoding["dtype"].get<std::string>()) == "float";
    if (is_float) {
      if (!info.dtype) info.dtype = bits == 16 ? DType::kF16 : DType::kF32;
      return Status::Ok();
    }
    if (info.scale == 0) PLUMB_RETURN_IF_ERROR(TakeScale(encoding, where, &info));
    // Symmetric ones are signed integers around zero, the others unsigned.
    const bool is_signed = (QnnFlag(encoding, "is_symmetric") || QnnFlag(encoding, "is_sym")) && info.offset == 0;
    if (info.dtype) return Status::Ok();
    info.dtype = bits == 8    ? is_signed ? DType::kI8 : DType::kU8
                 : bits == 16 ? is_signed ? DType::kI16 : DType::kU16
                              : DType::kI32;
    return Status::Ok();
  }

  static Status TakeScale(const QnnJson& json, const std::string& where, QnnInfo* info) {
    const double scale = QnnNumber(json, "scale"), offset = QnnNumber(json, "offset");
    if (std::isfinite(scale) && scale > 0 && std::isfinite(offset)) {
      info->scale = scale;
      info->offset = offset;
      return Status::Ok();
    }
    return Status::CorruptModel(
        fmt::format("{}: expected one positive scale and one offset, found {} and {}", where,
                    json.is_object() && json.contains("scale") ? json["scale"].dump().substr(0, 40) : "none",
                    json.is_object() && json.contains("offset") ? json["offset"].dump().substr(0, 40) : "none"));
  }

  static Status TakeOrder(const std::vector<int64_t>& order, const std::string& where, QnnInfo* info) {
    std::vector<bool> seen(order.size());
    bool fits = (order.empty() || order.size() == info->shape->dims().size()) && order.size() <= kQnnMaxRank;
    for (const int64_t axis : order) {
      fits = fits && axis >= 0 && static_cast<size_t>(axis) < order.size() && !seen[static_cast<size_t>(axis)];
      if (fits) seen[static_cast<size_t>(axis)] = true;
      if (fits) info->to_source.push_back(static_cast<int>(axis));
    }
    if (fits) return Status::Ok();
    return Status::CorruptModel(
        fmt::format("{}: permute_order_to_src is no order of its {} dims", where, info->shape->rank()));
  }

  std::string path_;
};

Result<Tensor> QnnTransposed(const Tensor& tensor, const std::vector<int>& order) {
  const Shape& from = tensor.shape();
  Shape shape;
  std::vector<int64_t> strides;
  for (const int axis : order) {
    shape.dims().push_back(from[axis]);
    strides.push_back(from.CountFrom(axis + 1));
  }
  PLUMB_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(tensor.dtype(), shape));
  const size_t size = DTypeSize(tensor.dtype());
  const auto* src = static_cast<const char*>(tensor.raw());
  auto* dst = static_cast<char*>(result.raw());
  std::vector<int64_t> at(order.size());
  for (int64_t i = 0; i < result.NumElements(); ++i, dst += size) {
    int64_t place = 0;
    for (size_t axis = 0; axis < at.size(); ++axis) place += at[axis] * strides[axis];
    std::memcpy(dst, src + static_cast<size_t>(place) * size, size);
    for (size_t axis = at.size(); axis-- > 0;) {
      if (++at[axis] < shape[static_cast<int>(axis)]) break;
      at[axis] = 0;
    }
  }
  return result;
}

Result<Tensor> QnnValues(std::string_view bytes, const std::string& path, const QnnInfo& info, DType dtype,
                         bool dequantise) {
  const size_t size = DTypeSize(dtype);
  if (bytes.size() % size != 0) {
    return Status::CorruptModel(fmt::format("QNN's raw file '{}' has {} bytes, which are no whole {} values", path,
                                            bytes.size(), DTypeName(dtype)));
  }
  TensorHints hints;
  hints.dtype = dtype;
  hints.shape = info.shape ? *info.shape : Shape{static_cast<int64_t>(bytes.size() / size)};
  PLUMB_ASSIGN_OR_RETURN(const std::vector<NamedTensor> read, ParseTensors(bytes, path, hints));
  Tensor tensor = read.front().tensor;
  if (dequantise) {
    PLUMB_ASSIGN_OR_RETURN(Tensor values, Tensor::Create(DType::kF32, tensor.shape()));
    auto* value = values.data<float>();
    for (int64_t i = 0; i < tensor.NumElements(); ++i) {
      value[i] = static_cast<float>(info.scale * (tensor.ValueAt(i) + info.offset));
    }
    tensor = values;
  }
  if (info.to_source.empty()) return tensor;
  return QnnTransposed(tensor, info.to_source);
}

// Result_0 below `place` where that is qnn-net-run's --output_dir; else `place`; empty: nothing of QNN.
Result<std::string> QnnFolder(const ForeignPlace& place) {
  static const std::regex result("Result_[0-9]+");
  std::vector<std::string> results;
  for (const std::string& name : place.names) {
    if (std::regex_match(name, result)) results.push_back(name);
  }
  if (results.size() > 1) {
    return Status::InvalidArgument(fmt::format("'{}' holds the outputs of {} inputs; name one: {}/{}", place.path,
                                               results.size(), place.path, results[0]));
  }
  return results.empty() ? place.path : place.In(results[0]);
}

// The .raw files at and below the folder, as paths relative to it.
Result<std::vector<std::string>> QnnFiles(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it.depth() >= kQnnFolders) it.disable_recursion_pending();
    if (it->path().extension() == ".raw") files.push_back(it->path().lexically_relative(folder).string());
  }
  if (error) return Status::IoError(fmt::format("cannot list '{}': {}", folder, error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> QnnJsonFiles(const ForeignPlace& place) {
  std::vector<std::string> paths;
  for (const std::string& name : place.names) {
    const bool encodings = name.find("encodings") != std::string::npos && EndsWith(name, ".json");
    if (encodings || EndsWith(name, ".encodings") || EndsWith(name, "_net.json")) paths.push_back(place.In(name));
  }
  return paths;
}

// Whether a file's bytes can be told, and as what.
Status CheckQnnNative(const std::string& path, const std::string& name, bool native, const QnnInfo& info) {
  if (!native || info.dtype) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("'{}' holds values as the device has them, and nothing says what they are: put the converter's "
                  "MODEL_net.json, or encodings that name '{}', beside it",
                  path, name));
}

DType QnnStoredDType(bool native, const QnnInfo& info) {
  const bool whole = info.dtype && !IsFloat(*info.dtype) && info.scale == 0;  // integers stay what they are
  return native || whole ? *info.dtype : DType::kF32;
}

// One tensor of a file; nullptr in `info`: nothing describes it.
Result<StoredTensor> QnnTensor(const std::string& path, const std::string& name, bool native, const QnnInfo* found) {
  const QnnInfo info = found == nullptr ? QnnInfo() : *found;
  PLUMB_RETURN_IF_ERROR(CheckQnnNative(path, name, native, info));
  const DType dtype = QnnStoredDType(native, info);
  StoredTensor stored;
  stored.name = name;
  stored.origin = path;
  stored.has_shape = info.shape.has_value();
  stored.has_dtype = info.dtype.has_value();
  stored.has_bits = !info.dtype;
  const bool dequantise = native && info.scale != 0;
  stored.load = [path, info, dtype, dequantise]() -> Result<Tensor> {
    PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFile(path));
    return QnnValues(bytes.text(), path, info, dtype, dequantise);
  };
  return stored;
}

Result<ForeignTensors> QnnTensors(const std::string& folder, const std::vector<std::string>& files,
                                  const QnnInfos& infos) {
  ForeignTensors found;
  size_t twice = 0, unknown = 0;
  for (const std::string& file : files) {
    std::string name = file.substr(0, file.size() - 4);
    const bool native = EndsWith(name, "_native");
    if (native) name.resize(name.size() - 7);
    if (native && std::binary_search(files.begin(), files.end(), name + ".raw")) {
      ++twice;
      continue;
    }
    const auto info = infos.find(LettersAndDigits(name));
    const bool known = info != infos.end();
    unknown += !known || !info->second.shape;
    PLUMB_ASSIGN_OR_RETURN(StoredTensor stored,
                           QnnTensor(folder + "/" + file, name, native, known ? &info->second : nullptr));
    found.tensors.push_back(std::move(stored));
  }
  found.description =
      "raw outputs of QNN or SNPE" + AndPassedOver(twice, "native files of tensors that are there as f32");
  if (unknown == 0) return found;
  found.description += fmt::format(
      "; nobody says the shape of {} (MODEL_net.json would): taken in the model's order, unless the layout is declared "
      "NHWC, as QNN computes",
      unknown);
  return found;
}

}  // namespace

Result<Tensor> ParseQnnFile(std::string_view bytes, const std::string& path, std::string_view description,
                            const std::string& name, bool native) {
  QnnDescriptions descriptions;
  PLUMB_RETURN_IF_ERROR(descriptions.Parse(description, path));
  const QnnInfo info = descriptions.infos[LettersAndDigits(name)];
  PLUMB_RETURN_IF_ERROR(CheckQnnNative(path, name, native, info));
  return QnnValues(bytes, path, info, QnnStoredDType(native, info), native && info.scale != 0);
}

ForeignRead ReadQnn(const ForeignPlace& place) {
  if (!place.is_folder) return ForeignRead(std::nullopt);
  PLUMB_ASSIGN_OR_RETURN(const std::string folder, QnnFolder(place));
  const bool is_result = fs::path(folder).filename().string().rfind("Result_", 0) == 0;
  std::vector<std::string> described = QnnJsonFiles(place);
  if (!is_result && described.empty()) return ForeignRead(std::nullopt);
  if (is_result) {  // the descriptions may lie beside the values or above them
    const std::string other = folder == place.path ? fs::path(folder).parent_path().string() : folder;
    PLUMB_ASSIGN_OR_RETURN(const ForeignPlace more, ListForeignPlace(other.empty() ? "." : other));
    for (const std::string& path : QnnJsonFiles(more)) described.push_back(path);
  }
  PLUMB_ASSIGN_OR_RETURN(const std::vector<std::string> files, QnnFiles(folder));
  const bool by_hand = std::any_of(files.begin(), files.end(),
                                   [](const std::string& file) { return ParseNamedShape(file).has_value(); });
  if (files.empty() || by_hand) return ForeignRead(std::nullopt);
  QnnDescriptions descriptions;
  for (const std::string& path : described) {
    PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFile(path, uint64_t{1} << 32));
    PLUMB_RETURN_IF_ERROR(descriptions.Parse(bytes.text(), path));
  }
  PLUMB_ASSIGN_OR_RETURN(ForeignTensors found, QnnTensors(folder, files, descriptions.infos));
  return ForeignRead(std::move(found));
}

}  // namespace plumb
