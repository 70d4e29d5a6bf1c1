// SPDX-License-Identifier: Apache-2.0
// The front of the tensor formats: which reader or writer a path means.
#include "plumb/tensor_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/file.h"
#include "base/memory_budget.h"
#include "base/text.h"
#include "tensor/image.h"
#include "tensor/npy.h"
#include "tensor/npz.h"
#include "tensor/tnn_text.h"
#include "tensor/unpacked_limit.h"
#include "tensor/values_text.h"
#include "tensor/zstd.h"

namespace plumb {
namespace {

enum class Format { kText, kNpy, kNpz, kRaw, kImage, kUnknown };

Format FormatOf(std::string_view path) {
  struct Row {
    const char* suffix;
    Format format;
  };
  constexpr Row kRows[] = {{".txt", Format::kText},   {".npy", Format::kNpy},   {".npz", Format::kNpz},
                           {".bin", Format::kRaw},    {".dat", Format::kRaw},   {".raw", Format::kRaw},
                           {".bmrt", Format::kRaw},   {".png", Format::kImage}, {".jpg", Format::kImage},
                           {".jpeg", Format::kImage}, {".bmp", Format::kImage}};
  for (const Row& row : kRows) {
    if (EndsWith(path, row.suffix)) return row.format;
  }
  return Format::kUnknown;
}

// For a path whose suffix says nothing.
Format FormatOfBytes(std::string_view bytes) {
  if (bytes.substr(0, 6) == std::string_view("\x93NUMPY", 6)) return Format::kNpy;
  if (bytes.substr(0, 4) == "PK\x03\x04") return Format::kNpz;
  if (bytes.substr(0, 4) == "\x89PNG" || bytes.substr(0, 3) == "\xFF\xD8\xFF") return Format::kImage;
  return Format::kUnknown;
}

Status UnknownFormat(const std::string& path) {
  return Status::InvalidArgument(fmt::format(
      "'{}' is no tensor file that can be told by its name; expected .txt .npy .npz .bin .dat .bmrt .raw .png "
      ".jpg .jpeg .bmp, or one of them followed by .zst",
      path));
}

Result<Tensor> ParseRaw(std::string_view bytes, const std::string& path, const TensorHints& hints) {
  if (!hints.shape.has_value()) {
    return Status::InvalidArgument(
        fmt::format("raw file '{}' holds nothing but values; give its shape (and dtype, if not f32)", path));
  }
  PLUMB_RETURN_IF_ERROR(hints.shape->Validate().AddContext(fmt::format("raw file '{}'", path)));
  const DType dtype = hints.dtype.value_or(DType::kF32);
  const uint64_t need = static_cast<uint64_t>(hints.shape->NumElements()) * DTypeSize(dtype);
  if (need != bytes.size()) {
    return Status::Mismatch(fmt::format("raw file '{}' has {} bytes, but {} of {} takes {}", path, bytes.size(),
                                        hints.shape->ToString(), DTypeName(dtype), need));
  }
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, *hints.shape));
  if (need > 0) std::memcpy(tensor.raw(), bytes.data(), bytes.size());
  if (dtype == DType::kBool) {  // any other bit pattern in a C++ bool is undefined
    auto* data = static_cast<uint8_t*>(tensor.raw());
    for (size_t i = 0; i < bytes.size(); ++i) data[i] = data[i] != 0 ? 1 : 0;
  }
  return tensor;
}

std::vector<NamedTensor> One(Tensor tensor) { return {NamedTensor{"", std::move(tensor)}}; }

Result<std::vector<NamedTensor>> ParseText(std::string_view bytes, const std::string& path, const TensorHints& hints) {
  if (LooksLikeTnnText(bytes)) return ParseTnnText(bytes, path);
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, ParseValuesText(bytes, path, hints.dtype.value_or(DType::kF32), hints.shape));
  return One(std::move(tensor));
}

Result<std::vector<NamedTensor>> ParseAs(Format format, std::string_view bytes, const std::string& path,
                                         const TensorHints& hints, uint64_t max_bytes) {
  Result<Tensor> tensor = Tensor();
  switch (format) {
    case Format::kText: return ParseText(bytes, path, hints);
    case Format::kNpz: return ParseNpz(bytes, path, max_bytes, hints.dtype);
    case Format::kNpy: tensor = ParseNpy(bytes, path, hints.dtype); break;
    case Format::kRaw: tensor = ParseRaw(bytes, path, hints); break;
    case Format::kImage: tensor = ParseImage(bytes, path, hints.image, hints.shape, max_bytes); break;
    case Format::kUnknown: return UnknownFormat(path);
  }
  if (!tensor.ok()) return tensor.status();
  return One(std::move(tensor).value());
}

}  // namespace

Result<std::vector<NamedTensor>> ParseTensors(std::string_view bytes, const std::string& path,
                                              const TensorHints& hints) {
  std::string_view name = path;
  std::string unpacked;
  const uint64_t max_bytes =
      UnpackedLimit(bytes.size(), hints.max_bytes);  // an archive in a frame does not count twice
  if (EndsWith(name, ".zst")) {
    PLUMB_ASSIGN_OR_RETURN(unpacked, DecompressZstd(bytes, path, max_bytes));
    bytes = unpacked;
    name.remove_suffix(4);
  }
  Format format = FormatOf(name);
  if (format == Format::kUnknown) format = FormatOfBytes(bytes);
  return ParseAs(format, bytes, path, hints, max_bytes);
}

Result<std::vector<NamedTensor>> ReadTensors(const std::string& path, const TensorHints& hints) {
  PLUMB_ASSIGN_OR_RETURN(const FileBytes file, ReadFile(path));
  return ParseTensors(file.text(), path, hints);
}

Status WriteTensors(const std::string& path, const std::vector<NamedTensor>& tensors) {
  const Format format = FormatOf(path);
  if (format == Format::kText) return WriteTnnText(path, tensors);
  if (format == Format::kNpz) return WriteNpz(path, tensors);
  if (format != Format::kNpy && format != Format::kRaw) {
    return Status::InvalidArgument(fmt::format(
        "cannot write tensors to '{}'; expected a name that ends in .txt .npy .npz .bin .dat or .raw", path));
  }
  if (tensors.size() != 1) {
    return Status::InvalidArgument(
        fmt::format("'{}' holds one tensor, not {}; write .npz or .txt", path, tensors.size()));
  }
  const Tensor& tensor = tensors[0].tensor;
  if (format == Format::kNpy) return WriteNpy(path, tensor);
  return WriteFile(path, {static_cast<const char*>(tensor.raw()), tensor.bytes()});
}

Result<std::vector<NamedTensor>> ReadRawTensors(const std::string& path, const std::vector<TensorSpec>& specs) {
  PLUMB_ASSIGN_OR_RETURN(const FileBytes file, ReadFile(path));
  uint64_t need = 0;
  for (const TensorSpec& spec : specs) {
    PLUMB_RETURN_IF_ERROR(spec.shape.Validate().AddContext(fmt::format("raw file '{}', tensor '{}'", path, spec.name)));
    need += static_cast<uint64_t>(spec.shape.NumElements()) * DTypeSize(spec.dtype);
  }
  if (need != file.size()) {
    return Status::Mismatch(
        fmt::format("raw file '{}' has {} bytes, but its {} tensors take {}", path, file.size(), specs.size(), need));
  }
  std::vector<NamedTensor> tensors;
  std::string_view left = file.text();
  for (const TensorSpec& spec : specs) {
    const size_t size = static_cast<size_t>(spec.shape.NumElements()) * DTypeSize(spec.dtype);
    TensorHints hints;
    hints.dtype = spec.dtype;
    hints.shape = spec.shape;
    PLUMB_ASSIGN_OR_RETURN(Tensor tensor, ParseRaw(left.substr(0, size), path, hints));
    tensors.push_back({spec.name, std::move(tensor)});
    left.remove_prefix(size);
  }
  return tensors;
}

}  // namespace plumb
