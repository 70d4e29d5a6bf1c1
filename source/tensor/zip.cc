// SPDX-License-Identifier: Apache-2.0
// The layout is PKWARE's APPNOTE 6.3: local headers and data, then the central directory, then its end record (and, for
// zip64, a locator and a record in front of that). Only the directory is believed; the local header is looked at for
// the place of its data, since writers that stream leave the sizes out of it.
#include "tensor/zip.h"

#include <fmt/core.h>

#include <zlib.h>

#include <algorithm>
#include <climits>

#include "base/memory_budget.h"
#include "tensor/unpacked_limit.h"

namespace plumb {
namespace {

constexpr uint32_t kLocalMagic = 0x04034B50;
constexpr uint32_t kDirectoryMagic = 0x02014B50;
constexpr uint32_t kEndMagic = 0x06054B50;
constexpr uint32_t kEnd64Magic = 0x06064B50;
constexpr uint32_t kLocator64Magic = 0x07064B50;
constexpr size_t kLocalSize = 30;
constexpr size_t kDirectorySize = 46;
constexpr size_t kEndSize = 22;
constexpr size_t kEnd64Size = 56;
constexpr size_t kLocator64Size = 20;
constexpr uint32_t kSeeZip64 = 0xFFFFFFFF;
// A deflated byte stands for 1032 bytes at most: 258 in each of at least two bits (zlib's technical details).
constexpr uint64_t kMaxDeflateRatio = 1032;

// REQUIRES: the bytes are there.
uint64_t Read(std::string_view bytes, uint64_t offset, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;) value = (value << 8) | static_cast<uint8_t>(bytes[static_cast<size_t>(offset) + i]);
  return value;
}

void Append(std::string* out, uint64_t value, size_t count) {
  for (size_t i = 0; i < count; ++i) *out += static_cast<char>(value >> (8 * i));
}

// An archive as its bytes are asked for: some more each time, where it is a file.
class Archive {
 public:
  Archive(const FileSource& source, size_t at_once) : source_(source), at_once_(at_once) {}

  uint64_t size() const { return source_.size(); }
  // Why bytes could not be read; from then on they are zeros.
  const Status& status() const { return status_; }
  // REQUIRES: the bytes are there. Until the next call.
  std::string_view Text(uint64_t offset, uint64_t count) {
    const auto begin = static_cast<size_t>(offset), size = static_cast<size_t>(count);
    if (source_.memory() != nullptr) return {reinterpret_cast<const char*>(source_.memory()) + begin, size};
    if (begin < begin_ || begin - begin_ > window_.size() || size > window_.size() - (begin - begin_)) {
      begin_ = begin;
      window_.assign(std::min(source_.size() - begin, std::max(size, at_once_)), '\0');
      if (status_.ok()) status_ = source_.Read(begin, window_.size(), window_.data());
    }
    return std::string_view(window_).substr(begin - begin_, size);
  }

 private:
  const FileSource& source_;
  const size_t at_once_;
  size_t begin_ = 0;
  std::string window_;
  Status status_;
};

uint64_t Read(Archive* archive, uint64_t offset, size_t count) { return Read(archive->Text(offset, count), 0, count); }

bool Fits(uint64_t size, uint64_t offset, uint64_t count) { return offset <= size && count <= size - offset; }

Status Corrupt(const std::string& path, uint64_t offset, const std::string& what) {
  return Status::CorruptModel(fmt::format("zip archive '{}', byte {}: {}", path, offset, what));
}

struct Directory {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t members = 0;
};

Result<Directory> ReadEnd64(Archive* bytes, const std::string& path, uint64_t end) {
  const uint64_t locator = end - std::min<uint64_t>(end, kLocator64Size);
  if (end < kLocator64Size || Read(bytes, locator, 4) != kLocator64Magic) {
    return Corrupt(path, end, "the zip64 locator in front of the directory's end is missing");
  }
  const uint64_t record = Read(bytes, locator + 8, 8);
  if (!Fits(bytes->size(), record, kEnd64Size) || Read(bytes, record, 4) != kEnd64Magic) {
    return Corrupt(path, locator, fmt::format("the zip64 end record is not where its locator says (byte {})", record));
  }
  return Directory{Read(bytes, record + 48, 8), Read(bytes, record + 40, 8), Read(bytes, record + 32, 8)};
}

Result<Directory> FindDirectory(Archive* bytes, const std::string& path) {
  // The archive's comment may follow, of that length at most.
  const uint64_t longest = std::min<uint64_t>(bytes->size(), kEndSize + 0xFFFF);
  (void)bytes->Text(bytes->size() - longest, longest);
  for (uint64_t back = kEndSize; back <= longest; ++back) {
    const uint64_t end = bytes->size() - back;
    if (Read(bytes, end, 4) != kEndMagic || Read(bytes, end + 20, 2) != back - kEndSize) continue;
    if (Read(bytes, end + 4, 2) != Read(bytes, end + 6, 2)) {
      return Status::NotSupported(fmt::format("zip archive '{}' is split over several files", path));
    }
    Directory directory{Read(bytes, end + 16, 4), Read(bytes, end + 12, 4), Read(bytes, end + 10, 2)};
    if (directory.offset == kSeeZip64 || directory.size == kSeeZip64 || directory.members == 0xFFFF) {
      PLUMB_ASSIGN_OR_RETURN(directory, ReadEnd64(bytes, path, end));
    }
    if (!Fits(end, directory.offset, directory.size)) {
      return Corrupt(path, end, "the directory reaches past the end of the archive");
    }
    return directory;
  }
  return Corrupt(path, bytes->size(), "no end of a zip directory; the file is truncated or no zip archive");
}

// Replaces the sizes and the offset that are kSeeZip64 with those of the extra field 1, in the order of the
// specification.
Status ReadZip64Extra(std::string_view extra, const std::string& path, uint64_t at, uint64_t* size,
                      uint64_t* stored_size, uint64_t* offset) {
  for (size_t i = 0; i + 4 <= extra.size();) {
    const uint64_t id = Read(extra, i, 2);
    const size_t length = static_cast<size_t>(Read(extra, i + 2, 2));
    if (length > extra.size() - i - 4) break;
    if (id == 1) {
      size_t next = i + 4;
      for (uint64_t* field : {size, stored_size, offset}) {
        if (*field != kSeeZip64) continue;
        if (next + 8 > i + 4 + length) return Corrupt(path, at, "a zip64 field is too short");
        *field = Read(extra, next, 8);
        next += 8;
      }
      return Status::Ok();
    }
    i += 4 + length;
  }
  return *size == kSeeZip64 || *stored_size == kSeeZip64 || *offset == kSeeZip64
             ? Corrupt(path, at, "a size or offset of 4 GiB without its zip64 field")
             : Status::Ok();
}

// Where the member's bytes begin and how many there are; `local`: where its own header is.
Status FindStored(Archive* locals, const std::string& path, uint64_t at, uint64_t local, uint64_t stored_size,
                  ZipMember* member) {
  if (!Fits(locals->size(), local, kLocalSize) || Read(locals, local, 4) != kLocalMagic) {
    return Corrupt(path, at, fmt::format("member '{}' is not where the directory says (byte {})", member->name, local));
  }
  const uint64_t data = local + kLocalSize + Read(locals, local + 26, 2) + Read(locals, local + 28, 2);
  const bool possible = member->deflated ? member->size / kMaxDeflateRatio <= stored_size : member->size == stored_size;
  if (!Fits(locals->size(), data, stored_size) || !possible) {
    return Corrupt(path, at, fmt::format("the sizes of member '{}' do not fit the archive", member->name));
  }
  member->begin = static_cast<size_t>(data);
  member->stored_size = static_cast<size_t>(stored_size);
  return Status::Ok();
}

// The directory's entry at `at`; *next becomes the place of the one after it.
Result<ZipMember> ReadEntry(Archive* bytes, Archive* locals, const std::string& path, uint64_t at, uint64_t end,
                            uint64_t* next) {
  if (!Fits(end, at, kDirectorySize) || Read(bytes, at, 4) != kDirectoryMagic) {
    return Corrupt(path, at, "expected an entry of the directory");
  }
  const uint64_t name_size = Read(bytes, at + 28, 2);
  const uint64_t extra_size = Read(bytes, at + 30, 2);
  *next = at + kDirectorySize + name_size + extra_size + Read(bytes, at + 32, 2);
  if (*next > end) return Corrupt(path, at, "an entry of the directory is cut off");
  ZipMember member;
  member.name = std::string(bytes->Text(at + kDirectorySize, name_size));
  const uint64_t flags = Read(bytes, at + 8, 2);
  const uint64_t method = Read(bytes, at + 10, 2);
  if ((flags & 1) != 0)
    return Status::NotSupported(fmt::format("zip archive '{}': member '{}' is encrypted", path, member.name));
  if (method != 0 && method != 8) {
    return Status::NotSupported(
        fmt::format("zip archive '{}': member '{}' uses compression method {}, expected 0 (stored) or 8 (deflate)",
                    path, member.name, method));
  }
  member.deflated = method == 8;
  member.crc = static_cast<uint32_t>(Read(bytes, at + 16, 4));
  member.size = Read(bytes, at + 24, 4);
  uint64_t stored_size = Read(bytes, at + 20, 4);
  uint64_t local = Read(bytes, at + 42, 4);
  const std::string_view extra = bytes->Text(at + kDirectorySize + name_size, extra_size);
  PLUMB_RETURN_IF_ERROR(ReadZip64Extra(extra, path, at, &member.size, &stored_size, &local));
  PLUMB_RETURN_IF_ERROR(FindStored(locals, path, at, local, stored_size, &member));
  return member;
}

// Members that share bytes would let a small archive unpack to any size: no writer makes such ones.
Status CheckApart(const std::vector<ZipMember>& members, const std::string& path) {
  std::vector<const ZipMember*> order;
  for (const ZipMember& member : members) {
    if (member.stored_size > 0) order.push_back(&member);
  }
  std::sort(order.begin(), order.end(), [](const ZipMember* a, const ZipMember* b) { return a->begin < b->begin; });
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i - 1]->begin + order[i - 1]->stored_size <= order[i]->begin) continue;
    return Status::CorruptModel(fmt::format("zip archive '{}': members '{}' and '{}' lie in each other", path,
                                            order[i - 1]->name, order[i]->name));
  }
  return Status::Ok();
}

Result<std::vector<ZipMember>> List(Archive* bytes, Archive* locals, const std::string& path, uint64_t max_bytes) {
  PLUMB_ASSIGN_OR_RETURN(const Directory directory, FindDirectory(bytes, path));
  std::vector<ZipMember> members;
  uint64_t at = directory.offset;
  const uint64_t end = directory.offset + directory.size;
  uint64_t total = 0;
  while (at < end) {
    PLUMB_ASSIGN_OR_RETURN(ZipMember member, ReadEntry(bytes, locals, path, at, end, &at));
    if (member.size > max_bytes - total) {
      return Status::InvalidArgument(
          fmt::format("zip archive '{}' would unpack to more than the limit of {} bytes with member '{}' {}", path,
                      max_bytes, member.name, kUnpackedRule));
    }
    total += member.size;
    members.push_back(std::move(member));
  }
  if (members.size() != directory.members) {
    return Corrupt(path, end,
                   fmt::format("the directory has {} entries, its end says {}", members.size(), directory.members));
  }
  PLUMB_RETURN_IF_ERROR(CheckApart(members, path));
  return members;
}

}  // namespace

Result<std::vector<ZipMember>> ListZip(const FileSource& source, const std::string& path, uint64_t max_bytes) {
  Archive directory(source, size_t{64} << 10), locals(source, kLocalSize);
  auto members = List(&directory, &locals, path, max_bytes);
  PLUMB_RETURN_IF_ERROR(directory.status());
  PLUMB_RETURN_IF_ERROR(locals.status());
  return members;
}

Result<std::vector<ZipMember>> ListZip(std::string_view bytes, const std::string& path, uint64_t max_bytes) {
  const FileBytes file(std::shared_ptr<void>(const_cast<char*>(bytes.data()), [](void*) {}), bytes.size());
  PLUMB_ASSIGN_OR_RETURN(std::vector<ZipMember> members, ListZip(FileSource(file), path, max_bytes));
  for (ZipMember& member : members) member.stored = bytes.substr(member.begin, member.stored_size);
  return members;
}

Result<std::string_view> UnpackZipMember(const ZipMember& member, const std::string& path, std::string* buffer) {
  std::string_view bytes = member.stored;
  if (member.deflated) {
    PLUMB_RETURN_IF_ERROR(CheckMemory(
        2 * member.size, fmt::format("unpacking member '{}' of '{}'", member.name, path)));  // and its tensor
    buffer->resize(static_cast<size_t>(member.size));
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return Status::OutOfMemory("no memory for zlib");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(member.stored.data()));
    stream.next_out = reinterpret_cast<Bytef*>(buffer->data());
    uint64_t in_left = member.stored.size();
    uint64_t out_left = member.size;
    int code = Z_OK;
    while (code == Z_OK) {  // zlib counts with 32 bits
      const uInt in = static_cast<uInt>(std::min<uint64_t>(in_left, INT_MAX));
      const uInt out = static_cast<uInt>(std::min<uint64_t>(out_left, INT_MAX));
      stream.avail_in = in;
      stream.avail_out = out;
      code = inflate(&stream, Z_NO_FLUSH);
      in_left -= in - stream.avail_in;
      out_left -= out - stream.avail_out;
    }
    inflateEnd(&stream);
    if (code != Z_STREAM_END || out_left != 0 || in_left != 0) {
      return Status::CorruptModel(
          fmt::format("zip archive '{}': member '{}' does not unpack to {} bytes; the archive is damaged", path,
                      member.name, member.size));
    }
    bytes = *buffer;
  }
  PLUMB_RETURN_IF_ERROR(CheckZipChecksum(member, AddToZipChecksum(0, bytes), path));
  return bytes;
}

uint32_t AddToZipChecksum(uint32_t sum, std::string_view bytes) {
  return static_cast<uint32_t>(crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

Status CheckZipChecksum(const ZipMember& member, uint32_t sum, const std::string& path) {
  return sum == member.crc ? Status::Ok()
                           : Status::CorruptModel(fmt::format(
                                 "zip archive '{}': the checksum of member '{}' is wrong; the archive is damaged", path,
                                 member.name));
}

Status ZipWriter::Add(const std::string& name, std::string_view head, const void* data, size_t size) {
  const uint64_t offset = file_->bytes_written();
  const uint64_t total = head.size() + size;
  const bool big = total >= kSeeZip64 || offset >= kSeeZip64;
  uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(head.data()), head.size());
  crc = crc32_z(crc, static_cast<const Bytef*>(data), size);

  std::string common;  // version needed .. extra size: the same in both headers
  Append(&common, big ? 45 : 20, 2);
  Append(&common, 0x800, 2);       // the name is UTF-8
  Append(&common, 0, 2);           // stored
  Append(&common, 0x00210000, 4);  // 1 January 1980: the same values give the same file
  Append(&common, crc, 4);
  Append(&common, big ? kSeeZip64 : total, 4);
  Append(&common, big ? kSeeZip64 : total, 4);
  Append(&common, name.size(), 2);

  std::string extra;
  if (big) {
    Append(&extra, 1, 2);
    Append(&extra, 24, 2);
    for (const uint64_t value : {total, total, offset}) Append(&extra, value, 8);
  }
  std::string local;
  Append(&local, kLocalMagic, 4);
  local += common;
  Append(&local, extra.size(), 2);
  local += name + extra;

  Append(&directory_, kDirectoryMagic, 4);
  Append(&directory_, 0x0300 | 45, 2);  // made on Unix
  directory_ += common;
  Append(&directory_, extra.size(), 2);
  Append(&directory_, 0, 6);           // comment, disk, internal attributes
  Append(&directory_, 0x81A40000, 4);  // -rw-r--r--
  Append(&directory_, big ? kSeeZip64 : offset, 4);
  directory_ += name + extra;
  ++members_;
  PLUMB_RETURN_IF_ERROR(file_->Write(local));
  PLUMB_RETURN_IF_ERROR(file_->Write(head));
  return file_->Write(data, size);
}

Status ZipWriter::Finish() {
  const uint64_t offset = file_->bytes_written();
  const uint64_t size = directory_.size();
  std::string end;
  if (offset >= kSeeZip64 || size >= kSeeZip64 || members_ >= 0xFFFF) {
    Append(&end, kEnd64Magic, 4);
    Append(&end, kEnd64Size - 12, 8);
    Append(&end, 45 | uint64_t{45} << 16, 4);
    Append(&end, 0, 8);
    for (const uint64_t value : {members_, members_, size, offset}) Append(&end, value, 8);
    Append(&end, kLocator64Magic, 4);
    Append(&end, 0, 4);
    Append(&end, offset + size, 8);
    Append(&end, 1, 4);
  }
  Append(&end, kEndMagic, 4);
  Append(&end, 0, 4);
  for (int i = 0; i < 2; ++i) Append(&end, std::min<uint64_t>(members_, 0xFFFF), 2);
  Append(&end, std::min<uint64_t>(size, kSeeZip64), 4);
  Append(&end, std::min<uint64_t>(offset, kSeeZip64), 4);
  Append(&end, 0, 2);
  PLUMB_RETURN_IF_ERROR(file_->Write(directory_));
  return file_->Write(end);
}

}  // namespace plumb
