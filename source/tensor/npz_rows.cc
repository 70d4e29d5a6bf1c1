// SPDX-License-Identifier: Apache-2.0
#include "tensor/npz_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "tensor/npz.h"

namespace plumb {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 42;
constexpr size_t kMostHeadBytes = 4096;  // numpy's are of 128; a longer one is read with its array

}  // namespace

Result<NpzRows> NpzRows::Open(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const FileSource source, OpenSource(path));
  return Of(source, path);
}

Result<NpzRows> NpzRows::Of(const FileSource& source, const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<ZipMember> members, ListZip(source, path, kMostBytes));
  NpzRows rows(source, path);
  for (const ZipMember& member : members) PLUMB_RETURN_IF_ERROR(rows.Add(member));
  return rows;
}

Status NpzRows::Add(const ZipMember& member) {
  Array array;
  array.name = NpzName(member.name);
  for (const Array& other : arrays_) {
    if (other.name == array.name)
      return Status::CorruptModel(fmt::format("npz file '{}' holds two arrays '{}'", path_, array.name));
  }
  const std::string origin = fmt::format("{}#{}", path_, member.name);
  const size_t some = std::min(member.stored_size, kMostHeadBytes);
  PLUMB_ASSIGN_OR_RETURN(const FileBytes begin, source_.Piece(member.begin, some));
  const auto head = ReadNpyHead(begin.text(), origin);
  const bool by_rows = !member.deflated && head.ok() && !head->fortran_order && head->shape.rank() > 0;
  if (!by_rows || head->ValueBytes() != member.stored_size - head->data_offset) {
    PLUMB_RETURN_IF_ERROR(AddWhole(member, &array));
  } else {
    PLUMB_RETURN_IF_ERROR(CheckSum(member));
    array.head = *head;
    array.shape = head->shape;
    array.begin = member.begin + head->data_offset;
  }
  arrays_.push_back(std::move(array));
  return Status::Ok();
}

Status NpzRows::AddWhole(const ZipMember& member, Array* array) const {
  PLUMB_ASSIGN_OR_RETURN(const FileBytes stored, source_.Piece(member.begin, member.stored_size));
  ZipMember in_memory = member;
  in_memory.stored = stored.text();
  std::string buffer;
  PLUMB_ASSIGN_OR_RETURN(const std::string_view npy, UnpackZipMember(in_memory, path_, &buffer));
  PLUMB_ASSIGN_OR_RETURN(array->whole, ParseNpy(npy, fmt::format("{}#{}", path_, member.name)));
  array->shape = array->whole->shape();
  return Status::Ok();
}

Status NpzRows::CheckSum(const ZipMember& member) const {
  constexpr size_t kPiece = size_t{1} << 20;
  uint32_t sum = 0;
  for (size_t at = 0; at < member.stored_size; at += kPiece) {
    PLUMB_ASSIGN_OR_RETURN(const FileBytes piece,
                           source_.Piece(member.begin + at, std::min(kPiece, member.stored_size - at)));
    sum = AddToZipChecksum(sum, piece.text());
  }
  return CheckZipChecksum(member, sum, path_);
}

Result<Tensor> NpzRows::Read(const Array& array, int64_t first, int64_t count) const {
  NpyHead rows = array.head;
  rows.shape = array.shape;
  rows.shape.dims()[0] = count;
  if (array.whole) {
    PLUMB_ASSIGN_OR_RETURN(Tensor part, Tensor::Create(array.whole->dtype(), rows.shape));
    const auto* from = static_cast<const uint8_t*>(array.whole->raw());
    const size_t begin = count > 0 ? part.bytes() / static_cast<size_t>(count) * static_cast<size_t>(first) : 0;
    std::copy_n(from + begin, part.bytes(), static_cast<uint8_t*>(part.raw()));
    return part;
  }
  const size_t bytes = static_cast<size_t>(rows.ValueBytes());
  const size_t begin = count > 0 ? bytes / static_cast<size_t>(count) * static_cast<size_t>(first) : 0;
  PLUMB_ASSIGN_OR_RETURN(const FileBytes values, source_.Piece(array.begin + begin, bytes));
  return ParseNpyValues(values.text(), rows, fmt::format("{}#{}", path_, array.name));
}

}  // namespace plumb
