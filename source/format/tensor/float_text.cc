// Shortest digits by the Schubfach method (Raffaello Giulietti, "The Schubfach way to render doubles", 2020), for
// float32: with value = c * 2^q, one 64-bit approximation of 10^-k scales the value and both ends of its rounding
// interval so that the interval holds one or two integers, or one multiple of ten; that integer times 10^k is the
// answer. %.9f needs no such thing: c * 10^9 has 54 bits, so a shift with ties to even is exact. Digits are made eight
// at a time in one 64-bit word.
#include "format/tensor/float_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "base/half.h"

namespace plumb {
namespace {

constexpr int kMinPower = -31;  // the powers of ten that float32 needs: -k for the k of every exponent
constexpr int kMaxPower = 45;
constexpr uint64_t kTenTo9 = 1000000000;

// A 192-bit number, least significant part first: enough for 10^45 and for 2^168 / 10^31 with 64 good bits.
struct Wide {
  std::array<uint32_t, 6> part{};

  constexpr void Times10() {
    uint64_t carry = 0;
    for (size_t i = 0; i < part.size(); ++i) {
      carry += uint64_t{part[i]} * 10;
      part[i] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
  }
  constexpr void Over10() {
    uint64_t rest = 0;
    for (size_t i = part.size(); i-- > 0;) {
      rest = (rest << 32) | part[i];
      part[i] = static_cast<uint32_t>(rest / 10);
      rest %= 10;
    }
  }
  // The 64 bits from the leading one on.
  constexpr uint64_t Leading64() const {
    int top = 191;
    while (((part[static_cast<size_t>(top / 32)] >> (top % 32)) & 1) == 0) --top;
    uint64_t value = 0;
    for (int bit = top; bit > top - 64; --bit) {
      value = (value << 1) | (bit < 0 ? 0 : (part[static_cast<size_t>(bit / 32)] >> (bit % 32)) & 1);
    }
    return value;
  }
};

// 10^i scaled into [2^63, 2^64), rounded down, plus one.
constexpr auto MakePowers() {
  std::array<uint64_t, kMaxPower - kMinPower + 1> powers{};
  Wide up;
  up.part[0] = 1;
  for (int i = 0; i <= kMaxPower; ++i, up.Times10()) powers[static_cast<size_t>(i - kMinPower)] = up.Leading64() + 1;
  Wide down;
  down.part[5] = 256;  // 2^168
  for (int i = -1; i >= kMinPower; --i) {
    down.Over10();
    powers[static_cast<size_t>(i - kMinPower)] = down.Leading64() + 1;
  }
  return powers;
}
constexpr auto kPowers = MakePowers();

constexpr std::array<uint32_t, 10> kTenTo = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};

struct Decimal {
  uint32_t digits;
  int exponent;  // value = digits * 10^exponent
};

// The high part of power * scaled with the lost bits gathered in the last one, so that comparisons stay right.
inline uint32_t ScaleToOdd(uint64_t power, uint32_t scaled) {
  const unsigned __int128 product = static_cast<unsigned __int128>(power) * scaled;
  return static_cast<uint32_t>(product >> 64) | (static_cast<uint32_t>(product >> 32) > 1 ? 1u : 0u);
}

// REQUIRES: magnitude is the bits of a finite float above zero.
inline Decimal ShortestDecimal(uint32_t magnitude) {
  const uint32_t fraction = magnitude & 0x7FFFFFu;
  const int biased = static_cast<int>(magnitude >> 23);
  const uint32_t c = biased != 0 ? fraction | 0x800000u : fraction;
  const int q = (biased != 0 ? biased : 1) - 150;
  if (static_cast<unsigned>(-q) <= static_cast<unsigned>(__builtin_ctz(c))) return {c >> -q, 0};  // a whole number

  // Below a power of two the lower neighbour is only half as far away.
  const bool lower_is_closer = fraction == 0 && biased > 1;
  const int k = (q * 1262611 - (lower_is_closer ? 524031 : 0)) >> 22;  // floor(log10(2^q)), or of 3/4 of it
  const int h = q + ((-k * 1741647) >> 19) + 1;                        // floor(log2(10^-k))
  const uint64_t power = kPowers[static_cast<size_t>(-k - kMinPower)];
  const uint32_t odd = c & 1;  // an even significand also owns the ends of its interval
  const uint32_t low = ScaleToOdd(power, (4 * c - 2 + (lower_is_closer ? 1 : 0)) << h) + odd;
  const uint32_t middle = ScaleToOdd(power, (4 * c) << h);
  const uint32_t high = ScaleToOdd(power, (4 * c + 2) << h) - odd;

  // Which candidate lies inside is a coin toss for real data, so both are computed and nothing is branched on.
  const uint32_t s = middle / 4;
  const uint32_t tens = s / 10;
  const bool tens_below = low <= 40 * tens;
  const bool tens_above = 40 * tens + 40 <= high;
  const bool use_tens = (tens_below != tens_above) & (s >= 10);
  const bool below = low <= 4 * s;
  const bool above = 4 * s + 4 <= high;
  const uint32_t half = 4 * s + 2;
  const bool nearer_above = (middle > half) | ((middle == half) & ((s & 1) != 0));
  const bool up = ((below != above) & above) | ((below == above) & nearer_above);
  const uint32_t take_tens = 0u - static_cast<uint32_t>(use_tens);
  const uint32_t digits = ((tens + tens_above) & take_tens) | ((s + up) & ~take_tens);
  return {digits, k + static_cast<int>(use_tens)};
}

inline int NumDigits(uint32_t value) {  // value > 0
  const int guess = (32 - __builtin_clz(value)) * 1233 >> 12;
  return guess + (value >= kTenTo[static_cast<size_t>(guess)] ? 1 : 0);
}

// Eight decimal digits as bytes 0..9, the first digit in the lowest byte. REQUIRES: value < 10^8.
inline uint64_t EightDigits(uint32_t value) {
  const uint64_t fours = (value / 10000) | (uint64_t{value % 10000} << 32);
  const uint64_t hundreds = ((fours * 10486) >> 20) & 0x0000007F0000007Full;
  const uint64_t pairs = ((fours - 100 * hundreds) << 16) + hundreds;
  const uint64_t tens = ((pairs * 103) >> 10) & 0x000F000F000F000Full;
  return ((pairs - 10 * tens) << 8) + tens;
}
constexpr uint64_t kAsciiZeros = 0x3030303030303030ull;
using WideWord = unsigned __int128;
constexpr WideWord kWideZeros = (WideWord{kAsciiZeros} << 64) | kAsciiZeros;

inline void StoreEight(uint64_t digits, char* out) {
  const uint64_t text = digits + kAsciiZeros;  // x86-64 and aarch64 are little endian
  std::memcpy(out, &text, 8);
}

inline char* WriteSpecial(uint32_t magnitude, char* out) {
  std::memcpy(out, magnitude == 0x7F800000u ? "inf" : "nan", 3);
  return out + 3;
}

// REQUIRES: below 2^24, so that nine digits hold every digit in front of the point.
inline char* WriteDecimal(Decimal decimal, char* out) {
  const int made = NumDigits(decimal.digits);
  const uint32_t nine = decimal.digits * kTenTo[static_cast<size_t>(9 - made)];
  const uint64_t first = nine / 100000000;
  const uint64_t rest = EightDigits(nine % 100000000);
  const int count = rest == 0 ? 1 : 9 - __builtin_clzll(rest) / 8;  // significant digits: no trailing zeros
  const int point = made + decimal.exponent;                        // value = 0.d1d2d3... * 10^point
  const int mantissa_chars = count + (count > 1 ? 1 : 0);

  const bool is_fixed = point <= 0 ? 2 - point + count <= mantissa_chars + 4  // 0.00123
                                   : point <= mantissa_chars + 4 || point < count;
  if (is_fixed) {  // point is -3 .. 9: everything stands in 16 bytes
    const int whole = point > 0 ? point : 1;
    const WideWord digits = (WideWord{rest} << 8 | first) << (8 * (whole - point));
    const WideWord split = WideWord{1} << (8 * whole);
    const WideWord low = digits & (split - 1);
    const WideWord text = low + ((digits - low) << 8) + kWideZeros - (split << 1);  // '.' is '0' - 2
    std::memcpy(out, &text, 16);
    return out + (point >= count ? point : whole + 1 + count - point);
  }
  out[0] = static_cast<char>('0' + first);  // 1.23e-07
  out[1] = '.';
  StoreEight(rest, out + 2);
  out += mantissa_chars;
  const int exponent = point - 1;
  const int size = exponent < 0 ? -exponent : exponent;
  out[0] = 'e';
  out[1] = exponent < 0 ? '-' : '+';
  out[2] = static_cast<char>('0' + size / 10);
  out[3] = static_cast<char>('0' + size % 10);
  return out + 4;
}

}  // namespace

char* WriteShortest(float value, char* out) {
  const uint32_t bits = FloatToBits(value);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  // Whole numbers from 2^24 on: std::to_chars may write more digits than the shortest there.
  if (magnitude >= 0x4B800000u && magnitude < 0x7F800000u) return std::to_chars(out, out + 32, value).ptr;
  *out = '-';
  out += bits >> 31;
  if (magnitude == 0) {
    *out = '0';
    return out + 1;
  }
  if (magnitude >= 0x7F800000u) return WriteSpecial(magnitude, out);

  return WriteDecimal(ShortestDecimal(magnitude), out);
}

char* WriteShortestLines(const float* values, size_t count, char* out) {
  constexpr size_t kBatch = 32;
  Decimal decimals[kBatch];
  for (size_t done = 0; done < count; done += kBatch) {
    const size_t batch = std::min(kBatch, count - done);
    for (size_t i = 0; i < batch; ++i) {
      const uint32_t magnitude = FloatToBits(values[done + i]) & 0x7FFFFFFFu;
      decimals[i] = magnitude == 0 || magnitude >= 0x4B800000u ? Decimal{0, 0} : ShortestDecimal(magnitude);
    }
    for (size_t i = 0; i < batch; ++i) {
      const float value = values[done + i];
      if (decimals[i].digits == 0) {
        out = WriteShortest(value, out);
      } else {
        *out = '-';
        out = WriteDecimal(decimals[i], out + (FloatToBits(value) >> 31));
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
