// SPDX-License-Identifier: Apache-2.0
#include "tensor/npy.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <system_error>
#include <vector>

#include "base/file.h"

namespace plumb {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kNpyMaxRank = 32;  // numpy's own limit

struct DTypeRow {
  DType dtype;
  const char* code;  // kind and size
};
constexpr DTypeRow kNpyDTypes[] = {{DType::kF32, "f4"}, {DType::kF16, "f2"},  {DType::kF64, "f8"},
                                   {DType::kI8, "i1"},  {DType::kU8, "u1"},   {DType::kI16, "i2"},
                                   {DType::kU16, "u2"}, {DType::kI32, "i4"},  {DType::kU32, "u4"},
                                   {DType::kI64, "i8"}, {DType::kBool, "b1"}, {DType::kBF16, "V2"}};

// Reads the header's Python dictionary: three known keys in any order.
class HeaderParser {
 public:
  HeaderParser(std::string_view bytes, size_t begin, size_t end, const std::string& path)
      : bytes_(bytes.substr(0, end)), position_(begin), path_(path) {}

  Status Parse(NpyHead* header) {
    PLUMB_RETURN_IF_ERROR(Expect('{'));
    int seen = 0;  // one bit per key
    while (!Accept('}')) {
      PLUMB_ASSIGN_OR_RETURN(const std::string key, ReadString());
      PLUMB_RETURN_IF_ERROR(Expect(':'));
      const int bit = key == "descr" ? 1 : key == "fortran_order" ? 2 : key == "shape" ? 4 : 0;
      if (bit == 0 || (seen & bit) != 0) return Error(fmt::format("unexpected key '{}'", key));
      seen |= bit;
      PLUMB_RETURN_IF_ERROR(bit == 1 ? ReadDescr(header) : bit == 2 ? ReadOrder(header) : ReadShape(header));
      if (!Accept(',') && Peek() != '}') return Error("expected ',' or '}'");
    }
    SkipSpace();
    if (position_ != bytes_.size()) return Error("expected the end of the header");
    return seen == 7 ? Status::Ok() : Error("the keys descr, fortran_order and shape are not all there");
  }

  Status Error(const std::string& what) const {
    return Status::CorruptModel(fmt::format("npy file '{}', byte {}: {}", path_, position_, what));
  }

 private:
  void SkipSpace() {
    while (position_ < bytes_.size() && (bytes_[position_] == ' ' || bytes_[position_] == '\n')) ++position_;
  }
  char Peek() {
    SkipSpace();
    return position_ < bytes_.size() ? bytes_[position_] : '\0';
  }
  bool Accept(char c) {
    if (Peek() != c) return false;
    ++position_;
    return true;
  }
  Status Expect(char c) { return Accept(c) ? Status::Ok() : Error(fmt::format("expected '{}'", c)); }
  bool AcceptWord(std::string_view word) {
    SkipSpace();
    if (bytes_.substr(position_, word.size()) != word) return false;
    position_ += word.size();
    return true;
  }

  Result<std::string> ReadString() {
    const char quote = Peek();
    if (quote != '\'' && quote != '"') return Error("expected a quoted word");
    const size_t end = bytes_.find(quote, position_ + 1);
    if (end == std::string_view::npos || end - position_ > 40)
      return Error("expected a quoted word of at most 40 bytes");
    std::string word(bytes_.substr(position_ + 1, end - position_ - 1));
    for (char& c : word) c = c >= ' ' && c <= '~' ? c : '?';
    position_ = end + 1;
    return word;
  }
  Status ReadDescr(NpyHead* header) {
    if (Peek() == '[') return Error("arrays of records are not supported; save each field as an array of its own");
    PLUMB_ASSIGN_OR_RETURN(header->descr, ReadString());
    return Status::Ok();
  }
  Status ReadOrder(NpyHead* header) {
    header->fortran_order = AcceptWord("True");
    return header->fortran_order || AcceptWord("False") ? Status::Ok() : Error("expected True or False");
  }
  Status ReadShape(NpyHead* header) {
    PLUMB_RETURN_IF_ERROR(Expect('('));
    while (!Accept(')')) {
      SkipSpace();
      int64_t dim = 0;
      const char* begin = bytes_.data() + position_;
      const auto result = std::from_chars(begin, bytes_.data() + bytes_.size(), dim);
      if (result.ec != std::errc() || dim < 0) return Error("expected a dim of the shape, a whole number");
      position_ += static_cast<size_t>(result.ptr - begin);
      header->shape.dims().push_back(dim);
      if (header->shape.dims().size() > kNpyMaxRank) return Error("the shape has more than 32 dims");
      if (!Accept(',') && Peek() != ')') return Error("expected ',' or ')' in the shape");
    }
    return Status::Ok();
  }

  std::string_view bytes_;
  size_t position_;
  const std::string& path_;
};

uint32_t ReadLittle(std::string_view bytes, size_t offset, size_t count) {
  uint32_t value = 0;
  for (size_t i = count; i-- > 0;) value = (value << 8) | static_cast<uint8_t>(bytes[offset + i]);
  return value;
}

Result<NpyHead> ParseHeader(std::string_view bytes, const std::string& path) {
  const std::string file = fmt::format("npy file '{}'", path);
  if (bytes.substr(0, kMagic.size()) != kMagic) {
    return Status::CorruptModel(file + ", byte 0: expected the bytes 93 'NUMPY' of an .npy file");
  }
  const int version = bytes.size() > 7 ? static_cast<uint8_t>(bytes[6]) : 0;
  if (bytes.size() > 7 && (version < 1 || version > 3 || bytes[7] != 0)) {
    return Status::NotSupported(fmt::format("{}, byte 6: expected version 1.0, 2.0 or 3.0, found {}.{}", file, version,
                                            static_cast<uint8_t>(bytes[7])));
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t begin = 8 + length_bytes;
  if (bytes.size() < begin)
    return Status::CorruptModel(fmt::format("{} ends inside its header, after {} bytes", file, bytes.size()));
  const size_t length = ReadLittle(bytes, 8, length_bytes);
  if (length > bytes.size() - begin) {
    return Status::CorruptModel(fmt::format("{}, byte 8: the header should have {} bytes, only {} are left", file,
                                            length, bytes.size() - begin));
  }
  NpyHead header;
  header.data_offset = begin + length;
  PLUMB_RETURN_IF_ERROR(HeaderParser(bytes, begin, header.data_offset, path).Parse(&header));
  return header;
}

struct Element {
  DType dtype;
  bool swapped;  // stored big endian
  bool is_u64 = false;
};

Result<Element> ParseDescr(const std::string& descr, const std::string& path, std::optional<DType> expected) {
  const char order = descr.empty() ? '\0' : descr[0];
  const bool has_order = order == '<' || order == '>' || order == '=' || order == '|';
  const std::string code = has_order ? descr.substr(1) : descr;
  for (const DTypeRow& row : kNpyDTypes) {
    if (code != row.code) continue;
    const bool as_bf16 = row.dtype == DType::kU16 && expected == DType::kBF16;
    return Element{as_bf16 ? DType::kBF16 : row.dtype, order == '>' && DTypeSize(row.dtype) > 1};
  }
  if (code == "u8") return Element{DType::kI64, order == '>', true};
  return Status::NotSupported(fmt::format(
      "npy file '{}': dtype '{}' is not supported; expected f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8, b1 or V2 (bf16)", path,
      descr));
}

void SwapBytes(uint8_t* data, size_t count, size_t size) {
  for (size_t i = 0; i < count; ++i) std::reverse(data + i * size, data + (i + 1) * size);
}

// Copies a Fortran-ordered array (first dim fastest) into C order.
template <class Word>
void FromFortranOrder(const Word* src, const Shape& shape, Word* dst) {
  const int rank = shape.rank();
  std::vector<int64_t> stride(static_cast<size_t>(rank), 1);
  for (int i = 1; i < rank; ++i) stride[static_cast<size_t>(i)] = stride[static_cast<size_t>(i - 1)] * shape[i - 1];
  std::vector<int64_t> index(static_cast<size_t>(rank), 0);
  const int64_t count = shape.NumElements();
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    dst[i] = src[offset];
    for (int d = rank - 1; d >= 0; --d) {
      const size_t at = static_cast<size_t>(d);
      offset += stride[at];
      if (++index[at] < shape[d]) break;
      offset -= stride[at] * shape[d];
      index[at] = 0;
    }
  }
}

Result<Tensor> ToCOrder(const Tensor& stored) {
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(stored.dtype(), stored.shape()));
  switch (DTypeSize(stored.dtype())) {
    case 1: FromFortranOrder(stored.data<uint8_t>(), stored.shape(), tensor.data<uint8_t>()); break;
    case 2: FromFortranOrder(stored.data<uint16_t>(), stored.shape(), tensor.data<uint16_t>()); break;
    case 4: FromFortranOrder(stored.data<uint32_t>(), stored.shape(), tensor.data<uint32_t>()); break;
    default: FromFortranOrder(stored.data<uint64_t>(), stored.shape(), tensor.data<uint64_t>()); break;
  }
  return tensor;
}

}  // namespace

Result<NpyHead> ReadNpyHead(std::string_view bytes, const std::string& path, std::optional<DType> expected) {
  PLUMB_ASSIGN_OR_RETURN(NpyHead head, ParseHeader(bytes, path));
  PLUMB_ASSIGN_OR_RETURN(const Element element, ParseDescr(head.descr, path, expected));
  PLUMB_RETURN_IF_ERROR(head.shape.Validate().AddContext(fmt::format("npy file '{}'", path)));
  head.element_bytes = DTypeSize(element.dtype);
  return head;
}

Result<Tensor> ParseNpy(std::string_view bytes, const std::string& path, std::optional<DType> expected) {
  PLUMB_ASSIGN_OR_RETURN(const NpyHead head, ReadNpyHead(bytes, path, expected));
  return ParseNpyValues(bytes.substr(head.data_offset), head, path, expected);
}

Result<Tensor> ParseNpyValues(std::string_view values, const NpyHead& header, const std::string& path,
                              std::optional<DType> expected) {
  PLUMB_ASSIGN_OR_RETURN(const Element element, ParseDescr(header.descr, path, expected));
  const uint64_t need = header.ValueBytes(), have = values.size();
  if (need != have) {
    return Status::CorruptModel(fmt::format("npy file '{}', byte {}: the shape {} of {} takes {} bytes, found {}", path,
                                            header.data_offset, header.shape.ToString(), DTypeName(element.dtype), need,
                                            have));
  }
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(element.dtype, header.shape));
  if (need > 0) std::memcpy(tensor.raw(), values.data(), need);
  uint8_t* const data = static_cast<uint8_t*>(tensor.raw());
  if (element.swapped) SwapBytes(data, static_cast<size_t>(tensor.NumElements()), DTypeSize(element.dtype));
  for (int64_t i = 0; element.is_u64 && i < tensor.NumElements(); ++i) {
    if (tensor.data<int64_t>()[i] >= 0) continue;
    return Status::NotSupported(fmt::format(
        "npy file '{}': element {} is {}; unsigned 64-bit integers are carried as i64 and must be below 2^63", path, i,
        tensor.data<uint64_t>()[i]));
  }
  if (element.dtype == DType::kBool) {  // any other bit pattern in a C++ bool is undefined
    for (uint64_t i = 0; i < need; ++i) data[i] = data[i] != 0 ? 1 : 0;
  }
  return header.fortran_order && header.shape.rank() > 1 ? ToCOrder(tensor) : Result<Tensor>(tensor);
}

std::string NpyHeader(DType dtype, const Shape& shape) {
  const char* code = "u2";  // bf16
  for (const DTypeRow& row : kNpyDTypes) {
    if (row.dtype == dtype && dtype != DType::kBF16) code = row.code;
  }
  std::string text =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': (", DTypeSize(dtype) == 1 ? "|" : "<", code);
  for (int i = 0; i < shape.rank(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  text += shape.rank() == 1 ? ",), }" : "), }";
  const bool is_long = text.size() + 75 > 0xFFFF;
  const size_t prefix = is_long ? 12 : 10;
  text.append(63 - (prefix + text.size()) % 64, ' ');
  text += '\n';
  std::string header(kMagic);
  header += is_long ? '\2' : '\1';
  header += '\0';
  for (size_t i = 0; i < prefix - 8; ++i) header += static_cast<char>(text.size() >> (8 * i));
  return header + text;
}

Status WriteNpy(const std::string& path, const Tensor& tensor) {
  PLUMB_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  PLUMB_RETURN_IF_ERROR(file.Write(NpyHeader(tensor.dtype(), tensor.shape())));
  PLUMB_RETURN_IF_ERROR(file.Write(tensor.raw(), tensor.bytes()));
  return file.Commit();
}

}  // namespace plumb
