// SPDX-License-Identifier: Apache-2.0
// The digits come from shortest_digits.h; here they are put into place, 16 bytes at once. %.9f needs no such thing:
// significand * 10^9 has 54 bits, so a shift with ties to even is exact.
#include "tensor/float_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "base/half.h"
#include "tensor/shortest_digits.h"

namespace plumb {
namespace {

constexpr uint64_t kTenTo9 = 1000000000;
constexpr uint64_t kAsciiZeros = 0x3030303030303030ull;
using WideWord = unsigned __int128;
constexpr WideWord kWideZeros = (WideWord{kAsciiZeros} << 64) | kAsciiZeros;

// Eight decimal digits as bytes 0..9, the first digit in the lowest byte. REQUIRES: value < 10^8.
inline uint64_t EightDigits(uint32_t value) {
  const uint64_t fours = (value / 10000) | (uint64_t{value % 10000} << 32);
  const uint64_t hundreds = ((fours * 10486) >> 20) & 0x0000007F0000007Full;
  const uint64_t pairs = ((fours - 100 * hundreds) << 16) + hundreds;
  const uint64_t tens = ((pairs * 103) >> 10) & 0x000F000F000F000Full;
  return ((pairs - 10 * tens) << 8) + tens;
}

inline void StoreEight(uint64_t digits, char* out) {
  const uint64_t text = digits + kAsciiZeros;  // x86-64 and aarch64 are little endian
  std::memcpy(out, &text, 8);
}

inline char* WriteSpecial(uint32_t magnitude, char* out) {
  return std::copy_n(magnitude == 0x7F800000u ? "inf" : "nan", 3, out);
}

// 0.d1d2d3... * 10^point with `count` significant digits as 1.23e-07, `rest` being the digits after the first.
inline char* WriteScientific(uint64_t first, uint64_t rest, int count, int point, char* out) {
  out[0] = static_cast<char>('0' + first);
  out[1] = '.';
  StoreEight(rest, out + 2);
  out += count > 1 ? count + 1 : 1;
  const int exponent = point - 1;
  const int size = exponent < 0 ? -exponent : exponent;
  out[0] = 'e';
  out[1] = exponent < 0 ? '-' : '+';
  out[2] = static_cast<char>('0' + size / 10);
  out[3] = static_cast<char>('0' + size % 10);
  return out + 4;
}

// std::to_chars takes the shorter of the two forms, and 1234 rather than 1.234e+03 when they are as long.
inline char* WriteDigits(uint64_t head, uint64_t rest, char* out) {
  const uint64_t first = head & 0xFF;
  const int point = static_cast<int>(head >> 8) - ShortestDigits::kPointBias;
  const int count = 9 - __builtin_clzll(rest | 1) / 8 - (rest == 0 ? 1 : 0);  // significant digits
  const int scientific = count + (count > 1 ? 5 : 4);
  const int whole = point > 0 ? point : 1;  // digits in front of the point
  const int fixed =
      std::max(point, count) + (count > point ? 1 : 0) + (whole - point);  // no branch: zeros are frequent
  if (point < -3 || fixed > scientific) return WriteScientific(first, rest, count, point, out);
  const WideWord digits = (WideWord{rest} << 8 | first) << (8 * (whole - point));
  const WideWord split = WideWord{1} << (8 * whole);
  const WideWord low = digits & (split - 1);
  const WideWord text = low + ((digits - low) << 8) + kWideZeros - (split << 1);  // '.' is '0' - 2
  std::memcpy(out, &text, 16);
  return out + fixed;
}

}  // namespace

char* WriteShortestLines(const float* values, size_t count, char* out) {
  constexpr size_t kBatch = ShortestDigits::kBatch;
  ShortestDigits digits;
  float padded[kBatch] = {};
  for (size_t done = 0; done < count; done += kBatch) {
    const size_t batch = std::min(kBatch, count - done);
    const float* from = values + done;
    if (batch < kBatch) {
      std::memcpy(padded, from, batch * sizeof(float));
      from = padded;
    }
    ComputeShortestDigits(from, &digits);
    for (size_t i = 0; i < batch; ++i) {
      if (digits.head[i] == ShortestDigits::kNone) {
        out = std::to_chars(out, out + kShortestFloatRoom, from[i]).ptr;
      } else {
        *out = '-';
        out = WriteDigits(digits.head[i], digits.rest[i], out + (FloatToBits(from[i]) >> 31));
      }
      *out++ = '\n';
    }
  }
  return out;
}

char* WriteFixed9(float value, char* out) {
  const uint32_t bits = FloatToBits(value);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude >= 0x50000000u && magnitude < 0x7F800000u) {  // from 2^33 on value * 10^9 leaves 64 bits
    return std::to_chars(out, out + kFixed9FloatRoom, value, std::chars_format::fixed, 9).ptr;
  }
  *out = '-';
  out += bits >> 31;
  if (magnitude >= 0x7F800000u) return WriteSpecial(magnitude, out);
  const int biased = static_cast<int>(magnitude >> 23);
  const uint64_t c = (magnitude & 0x7FFFFFu) | (biased != 0 ? 0x800000u : 0u);
  const int right = 150 - (biased != 0 ? biased : 1);
  uint64_t scaled = c * kTenTo9;
  if (right > 55) {
    scaled = 0;  // below half of the last place
  } else if (right > 0) {
    const uint64_t lost = scaled & ((uint64_t{1} << right) - 1);
    const uint64_t half = uint64_t{1} << (right - 1);
    scaled >>= right;
    if (lost > half || (lost == half && (scaled & 1) != 0)) ++scaled;
  } else {
    scaled <<= -right;
  }
  const uint64_t whole = scaled / kTenTo9;
  const uint32_t nine = static_cast<uint32_t>(scaled % kTenTo9);
  if (whole < 10) {
    *out++ = static_cast<char>('0' + whole);
  } else {
    out = std::to_chars(out, out + 20, whole).ptr;
  }
  out[0] = '.';
  out[1] = static_cast<char>('0' + nine / 100000000);
  StoreEight(EightDigits(nine % 100000000), out + 2);
  return out + 10;
}

}  // namespace plumb
