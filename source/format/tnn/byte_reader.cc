// SPDX-License-Identifier: Apache-2.0
#include "format/tnn/byte_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/threads.h"
#include "format/tnn/types.h"
#include "graph/resources.h"

namespace plumb::tnn {
namespace {

constexpr int32_t kByteReaderMaxRank = 16;
constexpr size_t kCopyAtOnce = size_t{16} << 20;  // bytes that are put off before all threads read them
constexpr size_t kCopyPiece = size_t{1} << 20;    // that a thread reads at a time: first touches take unequal times
constexpr size_t kWindow = size_t{32} << 10;      // read at once where fields and small weights are

bool IsNoBool(uint8_t byte) { return byte > 1; }

std::string Field(const char* field) { return fmt::format("field '{}'", field); }

}  // namespace

Status ByteReader::Corrupt(size_t offset, const std::string& message) const {
  return Status::CorruptModel(fmt::format("byte {}: {}", offset, message));
}

Status ByteReader::Need(size_t size, const char* field) const {
  if (size <= left()) return Status::Ok();
  return Corrupt(offset_, fmt::format("{} expects {} bytes, found {} before the end of the file: it is cut short or "
                                      "corrupt; copy or convert it again",
                                      Field(field), size, left()));
}

Result<const uint8_t*> ByteReader::Look(size_t size, const char* field) {
  PLUMB_RETURN_IF_ERROR(Need(size, field));
  if (source_.memory() != nullptr) return source_.memory() + offset_;
  const size_t into = offset_ - window_begin_;
  if (offset_ < window_begin_ || into > window_.size() || size > window_.size() - into) {
    window_.resize(std::min(left(), std::max(size, kWindow)));
    window_begin_ = offset_;
    PLUMB_RETURN_IF_ERROR(source_.Read(offset_, window_.size(), window_.data()));
    return window_.data();
  }
  return window_.data() + into;
}

Result<uint32_t> ByteReader::U32(const char* field) {
  PLUMB_ASSIGN_OR_RETURN(const uint8_t* at, Look(4, field));
  offset_ += 4;
  return static_cast<uint32_t>(at[0]) | static_cast<uint32_t>(at[1]) << 8 | static_cast<uint32_t>(at[2]) << 16 |
         static_cast<uint32_t>(at[3]) << 24;
}

Result<int32_t> ByteReader::I32(const char* field) {
  PLUMB_ASSIGN_OR_RETURN(const uint32_t value, U32(field));
  return static_cast<int32_t>(value);
}

Result<std::string> ByteReader::String(const char* field) {
  const size_t start = offset_;
  PLUMB_ASSIGN_OR_RETURN(const int32_t length, I32(field));
  if (length < 0) return Corrupt(start, fmt::format("{} has the length {}", Field(field), length));
  PLUMB_ASSIGN_OR_RETURN(const uint8_t* at, Look(static_cast<size_t>(length), field));
  std::string text(reinterpret_cast<const char*>(at), static_cast<size_t>(length));
  offset_ += static_cast<size_t>(length);
  return text;
}

Result<bool> ByteReader::Bool8(const char* field) {
  PLUMB_ASSIGN_OR_RETURN(const uint8_t* at, Look(1, field));
  const uint8_t value = *at;
  if (value > 1) return Corrupt(offset_, fmt::format("{} expects 0 or 1, found {}", Field(field), value));
  ++offset_;
  return value != 0;
}

Result<bool> ByteReader::Bool32(const char* field) {
  const size_t start = offset_;
  PLUMB_ASSIGN_OR_RETURN(const int32_t value, I32(field));
  if (value != 0 && value != 1) return Corrupt(start, fmt::format("{} expects 0 or 1, found {}", Field(field), value));
  return value != 0;
}

Result<Shape> ByteReader::Dims(const char* field) {
  const size_t start = offset_;
  PLUMB_ASSIGN_OR_RETURN(const int32_t rank, I32(field));
  if (rank < 0 || rank > kByteReaderMaxRank) {
    return Corrupt(start,
                   fmt::format("{} expects a rank from 0 to {}, found {}", Field(field), kByteReaderMaxRank, rank));
  }
  Shape shape;
  for (int32_t i = 0; i < rank; ++i) {
    PLUMB_ASSIGN_OR_RETURN(const int32_t dim, I32(field));
    shape.dims().push_back(dim);
  }
  const Status valid = shape.Validate();
  if (!valid.ok()) return Corrupt(start, fmt::format("{}: {}", Field(field), valid.message()));
  return shape;
}

Result<Tensor> ByteReader::Raw(const char* field) {
  const size_t start = offset_;
  PLUMB_ASSIGN_OR_RETURN(const uint32_t magic, U32(field));
  if (magic != kMagicV1 && magic != kMagicV2) {
    return Corrupt(start, fmt::format("{} expects a buffer that begins with 0xFABC0002 or 0xFABC0004, found {}",
                                      Field(field), magic));
  }
  PLUMB_ASSIGN_OR_RETURN(const int32_t type, I32(field));
  PLUMB_ASSIGN_OR_RETURN(const int32_t length, I32(field));
  if (length < 0) return Corrupt(start, fmt::format("{} has the length {} bytes", Field(field), length));
  const std::optional<DType> dtype = FindDataType(type);
  if (length == 0) return Tensor::Create(dtype.value_or(DType::kF32), {0});
  if (!dtype) return Corrupt(start, fmt::format("{} has the unknown data type {}", Field(field), type));
  const size_t size = static_cast<size_t>(length);
  if (size % DTypeSize(*dtype) != 0) {
    return Corrupt(start, fmt::format("{}: {} bytes are no whole number of {}", Field(field), size, DTypeName(*dtype)));
  }
  const auto count = static_cast<int64_t>(size / DTypeSize(*dtype));
  Shape shape;
  if (magic == kMagicV2) {
    PLUMB_ASSIGN_OR_RETURN(shape, Dims(field));
  }
  if (shape.rank() == 0 && (magic == kMagicV1 || count != 1)) shape = Shape{count};
  if (shape.NumElements() != count) {
    return Corrupt(start, fmt::format("{}: the dims {} and the {} elements of {} do not agree", Field(field),
                                      shape.ToString(), count, DTypeName(*dtype)));
  }
  PLUMB_RETURN_IF_ERROR(Need(size, field));
  if (skip_weights_ && IsSkippedWeight(*dtype, shape)) {
    offset_ += size;
    return UntouchedZeros(*dtype, shape);
  }
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(*dtype, std::move(shape)));
  if (size <= kWindow || *dtype == DType::kBool) {
    PLUMB_ASSIGN_OR_RETURN(const uint8_t* from, Look(size, field));
    if (*dtype == DType::kBool && std::any_of(from, from + size, IsNoBool))
      return Corrupt(offset_, Field(field) + " expects bytes 0 or 1");
    if (size > 0) std::memcpy(tensor.raw(), from, size);
    offset_ += size;
    return tensor;
  }
  copies_.push_back({tensor, offset_, size});
  offset_ += size;
  put_off_ += size;
  if (put_off_ >= kCopyAtOnce) PLUMB_RETURN_IF_ERROR(Settle());
  return tensor;
}

Status ByteReader::Settle() {
  struct Piece {
    uint8_t* to;
    size_t from, size;
    Status status;
  };
  std::vector<Piece> pieces;
  for (Copy& copy : copies_) {
    auto* to = static_cast<uint8_t*>(copy.to.raw());
    for (size_t at = 0; at < copy.size; at += kCopyPiece)
      pieces.push_back({to + at, copy.from + at, std::min(kCopyPiece, copy.size - at), Status::Ok()});
  }
  std::atomic<size_t> next{0};
  const int tasks = static_cast<int>(std::max<size_t>(1, put_off_ / kCopyPiece));
  ParallelRegion(tasks, [&](int, int) {
    for (size_t i = next++; i < pieces.size(); i = next++)
      pieces[i].status = source_.Read(pieces[i].from, pieces[i].size, pieces[i].to);
  });
  copies_.clear();
  put_off_ = 0;
  for (const Piece& piece : pieces) PLUMB_RETURN_IF_ERROR(piece.status);
  return Status::Ok();
}

}  // namespace plumb::tnn
