// SPDX-License-Identifier: Apache-2.0
#include "dump/blob_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "dump/checksum.h"
#include "plumb/tensor_file.h"
#include "tensor/npy.h"
#include "tensor/unpacked_limit.h"
#include "tensor/values_text.h"
#include "tensor/zstd.h"

namespace plumb {
namespace {

constexpr size_t kRawPiece = size_t{256} << 10;   // still in the second-level cache when it is written
constexpr int64_t kTextPiece = int64_t{1} << 14;  // values
constexpr size_t kFlushFrom = size_t{128} << 10;

constexpr uint64_t kMaxUnpackedBytes = uint64_t{1} << 34;
constexpr uint64_t kMostPerValue = 64, kMostHeader = 1024;  // of any format, as text, too

// Compresses or not, adds up the checksum, writes.
class Sink {
 public:
  Sink(AtomicFile* file, bool zstd) : file_(file) {
    if (zstd) compressor_.emplace();
  }
  Status Put(const void* data, size_t size) {
    if (!compressor_) return Emit(data, size);
    PLUMB_RETURN_IF_ERROR(compressor_->Append(data, size, &packed_));
    return packed_.size() >= kFlushFrom ? EmitPacked() : Status::Ok();
  }
  Status Finish(BlobFileResult* result) {
    if (compressor_) {
      PLUMB_RETURN_IF_ERROR(compressor_->Finish(&packed_));
      PLUMB_RETURN_IF_ERROR(EmitPacked());
    }
    result->bytes = file_->bytes_written();
    result->checksum = checksum_.Text();
    return Status::Ok();
  }

 private:
  Status Emit(const void* data, size_t size) {
    checksum_.Add(data, size);
    return file_->Write(data, size);
  }
  Status EmitPacked() {
    PLUMB_RETURN_IF_ERROR(Emit(packed_.data(), packed_.size()));
    packed_.clear();
    return Status::Ok();
  }

  AtomicFile* file_;
  Checksum checksum_;
  std::optional<ZstdCompressor> compressor_;
  std::string packed_;
};

Status PutText(const Tensor& tensor, TextStyle style, Sink* sink) {
  std::string text;
  const int64_t count = tensor.NumElements();
  for (int64_t begin = 0; begin < count; begin += kTextPiece) {
    text.clear();
    AppendValuesText(tensor, begin, std::min(begin + kTextPiece, count), style, &text);
    PLUMB_RETURN_IF_ERROR(sink->Put(text.data(), text.size()));
  }
  return Status::Ok();
}

// Measures and puts piece by piece, while a piece is in the second-level cache; `sink` may be null.
Status PutRaw(const Tensor& tensor, Sink* sink, BlobFileResult* result) {
  const char* data = static_cast<const char*>(tensor.raw());
  const bool floats = tensor.dtype() == DType::kF32;
  FloatStatistics statistics;
  Checksum values;
  for (size_t begin = 0; begin < tensor.bytes(); begin += kRawPiece) {
    const size_t size = std::min(kRawPiece, tensor.bytes() - begin);
    if (floats)
      statistics.Add(reinterpret_cast<const float*>(data + begin), static_cast<int64_t>(size / sizeof(float)));
    values.Add(data + begin, size);
    if (sink != nullptr) PLUMB_RETURN_IF_ERROR(sink->Put(data + begin, size));
  }
  result->statistics = floats ? statistics.Finish() : ComputeStatistics(tensor);
  result->values_checksum = values.Text();
  return Status::Ok();
}

}  // namespace

Status WriteBlobFile(const Tensor& tensor, const std::string& path, DumpOptions::Format format, bool zstd,
                     BlobFileResult* result) {
  using Format = DumpOptions::Format;
  const bool text = format == Format::kText || format == Format::kTextFixed9;
  if (text || path.empty()) PLUMB_RETURN_IF_ERROR(PutRaw(tensor, nullptr, result));
  if (path.empty()) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  Sink sink(&file, zstd);
  if (text) {
    const TextStyle style = format == Format::kText ? TextStyle::kShortest : TextStyle::kFixed9;
    PLUMB_RETURN_IF_ERROR(PutText(tensor, style, &sink));
  } else {
    const std::string header = format == Format::kNpy ? NpyHeader(tensor.dtype(), tensor.shape()) : "";
    PLUMB_RETURN_IF_ERROR(sink.Put(header.data(), header.size()));
    PLUMB_RETURN_IF_ERROR(PutRaw(tensor, &sink, result));
  }
  PLUMB_RETURN_IF_ERROR(sink.Finish(result));
  return file.Commit();
}

Result<std::string> UnpackBlobFile(std::string_view bytes, const std::string& path, const Shape& shape) {
  const uint64_t said =
      kMostHeader + kMostPerValue * std::min(static_cast<uint64_t>(shape.NumElements()), MemoryBudget());
  const uint64_t limit = std::max(UnpackedLimit(bytes.size(), kMaxUnpackedBytes), std::min(said, MemoryBudget()));
  return DecompressZstd(bytes, path, limit);
}

Result<Tensor> ParseBlobFile(std::string_view bytes, const std::string& path, DType dtype, const Shape& shape) {
  std::string_view name = path;
  std::string unpacked;
  if (EndsWith(name, ".zst")) {
    PLUMB_ASSIGN_OR_RETURN(unpacked, UnpackBlobFile(bytes, path, shape));
    bytes = unpacked;
    name.remove_suffix(4);
  }
  if (EndsWith(name, ".txt")) return ParseValuesText(bytes, path, dtype, shape);
  TensorHints hints;
  hints.dtype = dtype;
  hints.shape = shape;
  PLUMB_ASSIGN_OR_RETURN(std::vector<NamedTensor> tensors, ParseTensors(bytes, std::string(name), hints));
  if (tensors.size() != 1) {
    return Status::CorruptModel(fmt::format("'{}' holds {} tensors, expected one of {} {}", path, tensors.size(),
                                            DTypeName(dtype), shape.ToString()));
  }
  const Tensor& tensor = tensors[0].tensor;
  const bool flat = tensor.shape().rank() == 1 && tensor.NumElements() == shape.NumElements();
  if (tensor.dtype() == dtype && (flat || tensor.shape() == shape)) return tensor.Reshaped(shape);
  return Status::CorruptModel(fmt::format("'{}' holds {} {}, expected {} {}", path, DTypeName(tensor.dtype()),
                                          tensor.shape().ToString(), DTypeName(dtype), shape.ToString()));
}

}  // namespace plumb
