// SPDX-License-Identifier: Apache-2.0
#include "tensor/tnn_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <system_error>

#include "base/file.h"
#include "base/from_chars.h"
#include "tensor/values_text.h"

namespace plumb {
namespace {

constexpr int64_t kTnnTextMaxRank = 32;
constexpr DType kTnnTextDTypes[] = {DType::kF32,  DType::kF16, DType::kI8, DType::kI32,
                                    DType::kBF16, DType::kI64, DType::kU32};
constexpr int64_t kNumDTypes = static_cast<int64_t>(sizeof(kTnnTextDTypes) / sizeof(kTnnTextDTypes[0]));

std::optional<int64_t> ParseCount(std::string_view token) {
  int64_t value = 0;
  const auto result = std::from_chars(token.data(), token.data() + token.size(), value);
  if (token.empty() || result.ec != std::errc() || result.ptr != token.data() + token.size() || value < 0) return {};
  return value;
}

bool IsNumber(std::string_view token) {
  double value = 0;
  const auto result = FromChars(token.data(), token.data() + token.size(), &value);
  return result.ec != std::errc::invalid_argument && result.ptr == token.data() + token.size();
}

// Reads the next token as a whole number in [0, max].
Result<int64_t> ReadCount(TextScanner* scanner, const std::string& what, int64_t max) {
  const std::string_view token = scanner->Next();
  if (token.empty()) return scanner->Error(fmt::format("the file ends where {} is expected", what));
  const std::optional<int64_t> value = ParseCount(token);
  if (!value.has_value() || *value > max) {
    return scanner->Error(
        fmt::format("expected {}, a whole number from 0 to {}, found {}", what, max, TextScanner::Quote(token)));
  }
  return *value;
}

// TNNTest's output file has all headers first: "prob mat_type: 32 dims: 4 1 10 1 1", 32 for f32 and 33 for i32.
constexpr std::string_view kMatType = "mat_type:", kDims = "dims:";

bool IsTnnTest(std::string_view text) {
  const size_t first = text.find('\n'), second = std::min(text.find('\n', first + 1), text.size());
  return first < second && text.substr(first, second - first).find(kMatType) != std::string_view::npos;
}

struct TnnTestHead {
  std::string name;
  DType dtype;
  Shape shape;
};

Result<TnnTestHead> ReadTnnTestHead(TextScanner* scanner) {
  constexpr int64_t kFloatMat = 32, kIntMat = 33;
  TnnTestHead head;
  std::string_view token = scanner->Next();
  for (; !token.empty() && token != kMatType; token = scanner->Next())
    head.name += (head.name.empty() ? "" : " ") + std::string(token);
  const std::string of = " of tensor " + TextScanner::Quote(head.name);
  PLUMB_ASSIGN_OR_RETURN(const int64_t type, ReadCount(scanner, "the mat_type" + of, 1000));
  if (type != kFloatMat && type != kIntMat)
    return scanner->Error(fmt::format("expected mat_type 32 (f32) or 33 (i32){}, found {}", of, type));
  head.dtype = type == kFloatMat ? DType::kF32 : DType::kI32;
  if (scanner->Next() != kDims) return scanner->Error(fmt::format("expected '{}'{}", kDims, of));
  PLUMB_ASSIGN_OR_RETURN(const int64_t rank, ReadCount(scanner, "the rank" + of, kTnnTextMaxRank));
  for (int64_t i = 0; i < rank; ++i) {
    PLUMB_ASSIGN_OR_RETURN(const int64_t dim, ReadCount(scanner, fmt::format("dim {}{}", i, of), INT32_MAX));
    head.shape.dims().push_back(dim);
  }
  return head;
}

// Memory is taken tensor by tensor, as much as the rest of the file has room for.
Result<NamedTensor> ReadTnnTestValues(TextScanner* scanner, const TnnTestHead& head) {
  const std::string name = TextScanner::Quote(head.name);
  if (!head.shape.Validate().ok() || head.shape.NumElements() > static_cast<int64_t>(scanner->bytes_left() / 2))
    return scanner->Error(fmt::format("tensor {} has the shape {}, but the rest of the file has no room for its values",
                                      name, head.shape.ToString()));
  NamedTensor named{head.name, {}};
  PLUMB_ASSIGN_OR_RETURN(named.tensor, Tensor::Create(head.dtype, head.shape));
  const Status read = scanner->ReadValues(head.dtype, head.shape.NumElements(), named.tensor.raw());
  if (!read.ok()) return Status(read.code(), fmt::format("{}, in tensor {}", read.message(), name));
  return named;
}

Result<std::vector<NamedTensor>> ParseTnnTest(TextScanner* scanner, int64_t count) {
  std::vector<TnnTestHead> heads;
  std::set<std::string> names;
  for (int64_t i = 0; i < count; ++i) {
    PLUMB_ASSIGN_OR_RETURN(TnnTestHead head, ReadTnnTestHead(scanner));
    if (!names.insert(head.name).second) return scanner->Error("a second tensor " + TextScanner::Quote(head.name));
    heads.push_back(std::move(head));
  }
  std::vector<NamedTensor> tensors;
  for (const TnnTestHead& head : heads) {
    PLUMB_ASSIGN_OR_RETURN(NamedTensor named, ReadTnnTestValues(scanner, head));
    tensors.push_back(std::move(named));
  }
  PLUMB_RETURN_IF_ERROR(scanner->ExpectEnd());
  return tensors;
}

Result<NamedTensor> ReadTensor(TextScanner* scanner) {
  NamedTensor named;
  named.name = std::string(scanner->Next());
  if (named.name.empty()) return scanner->Error("the file ends where a tensor's name is expected");
  const std::string of = " of tensor " + TextScanner::Quote(named.name);
  PLUMB_ASSIGN_OR_RETURN(const int64_t rank, ReadCount(scanner, "the rank" + of, kTnnTextMaxRank));
  Shape shape;
  for (int64_t i = 0; i < rank; ++i) {
    PLUMB_ASSIGN_OR_RETURN(const int64_t dim, ReadCount(scanner, fmt::format("dim {}{}", i, of), INT32_MAX));
    shape.dims().push_back(dim);
  }
  PLUMB_ASSIGN_OR_RETURN(const int64_t dtype, ReadCount(scanner, "the dtype" + of, kNumDTypes - 1));
  // Each value takes a byte and a separator, which bounds the memory by the file's size.
  const int64_t most = static_cast<int64_t>(scanner->bytes_left() / 2);
  if (!shape.Validate().ok() || shape.NumElements() > most) {
    return scanner->Error(
        fmt::format("tensor {} has the shape {}, but the rest of the file has room for at most {} values",
                    TextScanner::Quote(named.name), shape.ToString(), most));
  }
  PLUMB_ASSIGN_OR_RETURN(named.tensor, Tensor::Create(kTnnTextDTypes[dtype], shape));
  const Status read = scanner->ReadValues(kTnnTextDTypes[dtype], shape.NumElements(), named.tensor.raw());
  if (!read.ok())
    return Status(read.code(), fmt::format("{}, in tensor {}", read.message(), TextScanner::Quote(named.name)));
  return named;
}

Result<int> DTypeNumber(const NamedTensor& named) {
  if (named.tensor.dtype() == DType::kBool) return 2;
  for (int i = 0; i < kNumDTypes; ++i) {
    if (kTnnTextDTypes[i] == named.tensor.dtype()) return i;
  }
  return Status::InvalidArgument(
      fmt::format("tensor '{}': TNN's text form has no dtype {}; write .npz or .npy, or convert the tensor first",
                  named.name, DTypeName(named.tensor.dtype())));
}

Status CheckName(const std::string& name) {
  for (const char c : name) {
    if (c != ' ' && (c < '\t' || c > '\r')) continue;
    return Status::InvalidArgument(
        fmt::format("tensor '{}': TNN's text form cannot hold a name with white space; write .npz", name));
  }
  return name.empty() ? Status::InvalidArgument("TNN's text form cannot hold a tensor without a name") : Status::Ok();
}

Result<std::string> HeaderLine(const NamedTensor& named) {
  PLUMB_RETURN_IF_ERROR(CheckName(named.name));
  PLUMB_ASSIGN_OR_RETURN(const int dtype, DTypeNumber(named));
  std::string line = fmt::format("{} {}", named.name, named.tensor.shape().rank());
  for (const int64_t dim : named.tensor.shape().dims()) line += " " + std::to_string(dim);
  return fmt::format("{} {}\n", line, dtype);
}

}  // namespace

bool LooksLikeTnnText(std::string_view text) {
  const std::string path;
  TextScanner scanner(text, path);
  const std::string_view first = scanner.Next();
  if (!ParseCount(first).has_value()) return false;
  const std::string_view second = scanner.Next();
  if (second.empty()) return first == "0";
  if (!IsNumber(second)) return true;
  const size_t line_end = std::min(text.find('\n', static_cast<size_t>(second.data() - text.data())), text.size());
  const std::string_view between = text.substr(0, static_cast<size_t>(second.data() - text.data()));
  const std::string_view rest = text.substr(0, line_end).substr(static_cast<size_t>(second.data() - text.data()));
  TextScanner line(rest, path);
  int tokens = 0;
  while (tokens < 3 && !line.Next().empty()) ++tokens;
  return between.find('\n') != std::string_view::npos && tokens == 3;
}

Result<std::vector<NamedTensor>> ParseTnnText(std::string_view text, const std::string& path) {
  TextScanner scanner(text, path);
  // The shortest tensor, "a 0 0 1", takes eight bytes with its separator.
  PLUMB_ASSIGN_OR_RETURN(const int64_t count,
                         ReadCount(&scanner, "the number of tensors", static_cast<int64_t>(text.size() / 8 + 1)));
  if (IsTnnTest(text)) return ParseTnnTest(&scanner, count);
  std::vector<NamedTensor> tensors;
  for (int64_t i = 0; i < count; ++i) {
    PLUMB_ASSIGN_OR_RETURN(NamedTensor named, ReadTensor(&scanner));
    for (const NamedTensor& other : tensors) {
      if (other.name == named.name) return scanner.Error("a second tensor " + TextScanner::Quote(named.name));
    }
    tensors.push_back(std::move(named));
  }
  PLUMB_RETURN_IF_ERROR(scanner.ExpectEnd());
  return tensors;
}

Status WriteTnnText(const std::string& path, const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> headers;
  for (const NamedTensor& named : tensors) {
    PLUMB_ASSIGN_OR_RETURN(std::string line, HeaderLine(named));
    headers.push_back(std::move(line));
  }
  PLUMB_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  PLUMB_RETURN_IF_ERROR(file.Write(std::to_string(tensors.size()) + "\n"));
  for (size_t i = 0; i < tensors.size(); ++i) {
    PLUMB_RETURN_IF_ERROR(file.Write(headers[i]));
    PLUMB_RETURN_IF_ERROR(StreamValuesText(tensors[i].tensor, TextStyle::kShortest,
                                           [&](std::string_view text) { return file.Write(text); }));
  }
  return file.Commit();
}

}  // namespace plumb
