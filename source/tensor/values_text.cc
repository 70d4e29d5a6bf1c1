// SPDX-License-Identifier: Apache-2.0
#include "tensor/values_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <type_traits>
#include <vector>

#include "base/file.h"
#include "base/from_chars.h"
#include "base/half.h"
#include "tensor/float_text.h"

namespace plumb {
namespace {

constexpr int64_t kBlock = 512;               // values formatted at once: their text stays in the first-level cache
constexpr int64_t kPiece = int64_t{1} << 14;  // values that one thread formats before the pieces are handed over

// Longest text of one value with its newline; %.9f of a double has up to 309 digits in front of the point.
constexpr size_t kFloatRoom = kFixed9FloatRoom + 1;
constexpr size_t kDoubleRoom = 336;
constexpr size_t kIntegerRoom = 22;

template <class T, size_t kRoom, class Write>
void AppendBlocks(const T* values, int64_t count, std::string* out, Write&& write) {
  char text[kBlock * kRoom];
  for (int64_t done = 0; done < count; done += kBlock) {
    const int64_t batch = std::min(kBlock, count - done);
    out->append(text, static_cast<size_t>(write(values + done, batch, text) - text));
  }
}

char* WriteFloats(const float* values, int64_t count, TextStyle style, char* out) {
  if (style == TextStyle::kShortest) return WriteShortestLines(values, static_cast<size_t>(count), out);
  for (int64_t i = 0; i < count; ++i) {
    out = WriteFixed9(values[i], out);
    *out++ = '\n';
  }
  return out;
}

template <float (*Convert)(uint16_t)>
void AppendHalves(const uint16_t* values, int64_t count, TextStyle style, std::string* out) {
  AppendBlocks<uint16_t, kFloatRoom>(values, count, out, [style](const uint16_t* from, int64_t batch, char* text) {
    float floats[kBlock];
    for (int64_t i = 0; i < batch; ++i) floats[i] = Convert(from[i]);
    return WriteFloats(floats, batch, style, text);
  });
}

void AppendDoubles(const double* values, int64_t count, TextStyle style, std::string* out) {
  AppendBlocks<double, kDoubleRoom>(values, count, out, [style](const double* from, int64_t batch, char* text) {
    for (int64_t i = 0; i < batch; ++i) {
      char* const end = text + kDoubleRoom;
      text = style == TextStyle::kShortest ? std::to_chars(text, end, from[i]).ptr
                                           : std::to_chars(text, end, from[i], std::chars_format::fixed, 9).ptr;
      *text++ = '\n';
    }
    return text;
  });
}

template <class T>
void AppendIntegers(const T* values, int64_t count, std::string* out) {
  AppendBlocks<T, kIntegerRoom>(values, count, out, [](const T* from, int64_t batch, char* text) {
    for (int64_t i = 0; i < batch; ++i) {
      text = std::to_chars(text, text + kIntegerRoom, static_cast<std::conditional_t<(sizeof(T) < 4), int, T>>(from[i]))
                 .ptr;
      *text++ = '\n';
    }
    return text;
  });
}

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

enum class Parsed { kOk, kNotANumber, kTooLarge };

template <class T>
Parsed ParseNumber(const char* begin, const char* end, T* value) {
  if (end - begin > 1 && *begin == '+' && begin[1] != '-') ++begin;
  const std::from_chars_result result = FromChars(begin, end, value);
  if (result.ptr != end || result.ec == std::errc::invalid_argument) return Parsed::kNotANumber;
  if (result.ec == std::errc()) return Parsed::kOk;
  if constexpr (std::is_floating_point_v<T>) {
    // Too large or too small? A double tells for f32; beyond it the text itself does.
    double wide = 0;
    const bool in_double = FromChars(begin, end, &wide).ec == std::errc();
    const std::string_view text(begin, static_cast<size_t>(end - begin));
    const size_t exponent = text.find_first_of("eE");
    const bool small = in_double                            ? std::fabs(wide) < 1
                       : exponent != std::string_view::npos ? text.substr(exponent + 1, 1) == "-"
                                                            : text.find_first_of("123456789") > text.find('.');
    if (small) {
      *value = *begin == '-' ? -T(0) : T(0);
      return Parsed::kOk;
    }
  }
  return Parsed::kTooLarge;
}

// One value as a file holds it; f16 and bf16 go through float32.
struct HalfBits {
  uint16_t bits;
};
struct BFloat16Bits {
  uint16_t bits;
};

template <uint16_t (*Convert)(float)>
Parsed ParseHalf(const char* begin, const char* end, uint16_t infinity, uint16_t* bits) {
  float value;
  const Parsed parsed = ParseNumber(begin, end, &value);
  if (parsed != Parsed::kOk) return parsed;
  *bits = Convert(value);
  return (*bits & 0x7FFFu) == infinity && !std::isinf(value) ? Parsed::kTooLarge : Parsed::kOk;
}
Parsed ParseNumber(const char* begin, const char* end, HalfBits* value) {
  return ParseHalf<FloatToHalf>(begin, end, 0x7C00, &value->bits);
}
Parsed ParseNumber(const char* begin, const char* end, BFloat16Bits* value) {
  return ParseHalf<FloatToBFloat16>(begin, end, 0x7F80, &value->bits);
}
Parsed ParseNumber(const char* begin, const char* end, bool* value) {
  if (end - begin != 1 || (*begin != '0' && *begin != '1')) return Parsed::kNotANumber;
  *value = *begin == '1';
  return Parsed::kOk;
}

int64_t CountTokens(std::string_view text) {
  int64_t count = 0;
  bool inside = false;
  for (const char c : text) {
    const bool space = IsSpace(c);
    count += !space && !inside ? 1 : 0;
    inside = !space;
  }
  return count;
}

}  // namespace

void AppendValuesText(const Tensor& tensor, int64_t begin, int64_t end, TextStyle style, std::string* out) {
  const int64_t count = end - begin;
  switch (tensor.dtype()) {
    case DType::kF32:
      return AppendBlocks<float, kFloatRoom>(
          tensor.data<float>() + begin, count, out,
          [style](const float* from, int64_t batch, char* text) { return WriteFloats(from, batch, style, text); });
    case DType::kF16: return AppendHalves<HalfToFloat>(tensor.data<uint16_t>() + begin, count, style, out);
    case DType::kBF16: return AppendHalves<BFloat16ToFloat>(tensor.data<uint16_t>() + begin, count, style, out);
    case DType::kF64: return AppendDoubles(tensor.data<double>() + begin, count, style, out);
    case DType::kI8: return AppendIntegers(tensor.data<int8_t>() + begin, count, out);
    case DType::kU8: return AppendIntegers(tensor.data<uint8_t>() + begin, count, out);
    case DType::kI16: return AppendIntegers(tensor.data<int16_t>() + begin, count, out);
    case DType::kU16: return AppendIntegers(tensor.data<uint16_t>() + begin, count, out);
    case DType::kI32: return AppendIntegers(tensor.data<int32_t>() + begin, count, out);
    case DType::kU32: return AppendIntegers(tensor.data<uint32_t>() + begin, count, out);
    case DType::kI64: return AppendIntegers(tensor.data<int64_t>() + begin, count, out);
    case DType::kBool: return AppendIntegers(tensor.data<bool>() + begin, count, out);
  }
}

Status StreamValuesText(const Tensor& tensor, TextStyle style, FunctionRef<Status(std::string_view)> sink) {
  const int64_t count = tensor.NumElements();
  const int64_t threads = std::min<int64_t>(NumThreads(), (count + kPiece - 1) / kPiece);
  std::vector<std::string> pieces(static_cast<size_t>(std::max<int64_t>(threads, 1)));
  for (int64_t done = 0; done < count; done += kPiece * threads) {
    const int64_t now = std::min<int64_t>(threads, (count - done + kPiece - 1) / kPiece);
    ParallelFor(now, 1, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        std::string& piece = pieces[static_cast<size_t>(i)];
        piece.clear();
        const int64_t begin = done + i * kPiece;
        AppendValuesText(tensor, begin, std::min(begin + kPiece, count), style, &piece);
      }
    });
    for (int64_t i = 0; i < now; ++i) PLUMB_RETURN_IF_ERROR(sink(pieces[static_cast<size_t>(i)]));
  }
  return Status::Ok();
}

Status WriteValuesText(const std::string& path, const Tensor& tensor, TextStyle style) {
  PLUMB_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  PLUMB_RETURN_IF_ERROR(StreamValuesText(tensor, style, [&](std::string_view text) { return file.Write(text); }));
  return file.Commit();
}

Result<Tensor> ParseValuesText(std::string_view text, const std::string& path, DType dtype,
                               const std::optional<Shape>& shape) {
  const int64_t count = shape.has_value() ? shape->NumElements() : CountTokens(text);
  if (shape.has_value()) {
    PLUMB_RETURN_IF_ERROR(shape->Validate().AddContext(fmt::format("text file '{}'", path)));
    // Each value takes a byte and a separator, which bounds the memory by the file's size.
    const int64_t most = static_cast<int64_t>(text.size() / 2 + 1);
    if (count > most) {
      return Status::CorruptModel(
          fmt::format("text file '{}' has room for at most {} values, expected {} for the shape {}", path, most, count,
                      shape->ToString()));
    }
  }
  if (!shape.has_value() && count == 0) return Status::CorruptModel(fmt::format("text file '{}' holds no value", path));
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, shape.value_or(Shape{count})));
  TextScanner scanner(text, path);
  PLUMB_RETURN_IF_ERROR(scanner.ReadValues(dtype, count, tensor.raw()));
  PLUMB_RETURN_IF_ERROR(scanner.ExpectEnd());
  return tensor;
}

std::string_view TextScanner::Next() {
  while (position_ < text_.size() && IsSpace(text_[position_])) ++position_;
  token_ = position_;
  while (position_ < text_.size() && !IsSpace(text_[position_])) ++position_;
  return text_.substr(token_, position_ - token_);
}

template <class T>
Status TextScanner::ReadTyped(DType dtype, int64_t count, T* values) {
  for (int64_t i = 0; i < count; ++i) {
    const std::string_view token = Next();
    if (token.empty()) {
      return Error(fmt::format("the text ends after {} of {} values", i, count));
    }
    const Parsed parsed = ParseNumber(token.data(), token.data() + token.size(), &values[i]);
    if (parsed == Parsed::kOk) continue;
    const std::string where = fmt::format("value {} ", i);
    return parsed == Parsed::kTooLarge
               ? Error(fmt::format("{}{} is out of the range of {}", where, Quote(token), DTypeName(dtype)))
               : Error(fmt::format("{}is {}, expected a number of dtype {}", where, Quote(token), DTypeName(dtype)));
  }
  return Status::Ok();
}

Status TextScanner::ReadValues(DType dtype, int64_t count, void* values) {
  switch (dtype) {
    case DType::kF32: return ReadTyped(dtype, count, static_cast<float*>(values));
    case DType::kF16: return ReadTyped(dtype, count, static_cast<HalfBits*>(values));
    case DType::kBF16: return ReadTyped(dtype, count, static_cast<BFloat16Bits*>(values));
    case DType::kF64: return ReadTyped(dtype, count, static_cast<double*>(values));
    case DType::kI8: return ReadTyped(dtype, count, static_cast<int8_t*>(values));
    case DType::kU8: return ReadTyped(dtype, count, static_cast<uint8_t*>(values));
    case DType::kI16: return ReadTyped(dtype, count, static_cast<int16_t*>(values));
    case DType::kU16: return ReadTyped(dtype, count, static_cast<uint16_t*>(values));
    case DType::kI32: return ReadTyped(dtype, count, static_cast<int32_t*>(values));
    case DType::kU32: return ReadTyped(dtype, count, static_cast<uint32_t*>(values));
    case DType::kI64: return ReadTyped(dtype, count, static_cast<int64_t*>(values));
    case DType::kBool: return ReadTyped(dtype, count, static_cast<bool*>(values));
  }
  return Status::Internal("a dtype without a text form");
}

Status TextScanner::ExpectEnd() {
  const std::string_view token = Next();
  return token.empty() ? Status::Ok() : Error("expected the end of the file, found " + Quote(token));
}

Status TextScanner::Error(const std::string& what) const {
  const auto begin = text_.begin();
  const int64_t line = 1 + std::count(begin, begin + static_cast<int64_t>(std::min(token_, text_.size())), '\n');
  return Status::CorruptModel(fmt::format("text file '{}', line {}: {}", path_, line, what));
}

std::string TextScanner::Quote(std::string_view token) {
  constexpr size_t kLongest = 40;
  std::string quoted = "'";
  for (const char c : token.substr(0, kLongest)) quoted += c >= ' ' && c <= '~' ? c : '?';
  return quoted + (token.size() > kLongest ? "...'" : "'");
}

}  // namespace plumb
