// SPDX-License-Identifier: Apache-2.0
// The powers of ten that turn a float32's binary exponent into a decimal one, made at compile time.
#ifndef PLUMB_TENSOR_FLOAT_POWERS_H_
#define PLUMB_TENSOR_FLOAT_POWERS_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace plumb {

// A 192-bit number, least significant part first: enough for 10^45 and for 2^168 / 10^31 with 64 good bits.
struct WideNumber {
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
constexpr uint64_t ScaledPowerOfTen(int i) {
  WideNumber number;
  number.part[i < 0 ? 5 : 0] = i < 0 ? 256 : 1;  // 2^168 or 1
  for (; i > 0; --i) number.Times10();
  for (; i < 0; ++i) number.Over10();
  return number.Leading64() + 1;
}

// By the biased exponent of a normal float, plus 256 when the value is a power of two: its lower neighbour is closer.
// With value = c * 2^q (c of 24 bits), k = floor(log10(2^q)), or of 3/4 * 2^q in the second case.
struct FloatPowers {
  static constexpr int kDecimalBias = 64;

  std::array<uint64_t, 512> power{};     // 10^-k, scaled
  std::array<uint64_t, 512> exponent{};  // (k + kDecimalBias) << 8 | shift, shift = q + floor(log2(10^-k)) + 1
};

constexpr FloatPowers MakeFloatPowers() {
  FloatPowers powers;
  std::array<uint64_t, 77> scaled{};  // 10^-31 .. 10^45
  for (int i = 0; i < 77; ++i) scaled[static_cast<size_t>(i)] = ScaledPowerOfTen(i - 31);
  for (int index = 0; index < 512; ++index) {
    const int biased = index % 256 == 0 ? 1 : index % 256;
    const int q = biased - 150;
    const int k = (q * 1262611 - (index < 256 ? 0 : 524031)) >> 22;
    if (-k < -31 || -k > 45) continue;  // the exponent of infinity
    powers.power[static_cast<size_t>(index)] = scaled[static_cast<size_t>(31 - k)];
    const int shift = q + ((-k * 1741647) >> 19) + 1;
    powers.exponent[static_cast<size_t>(index)] = static_cast<uint64_t>((k + FloatPowers::kDecimalBias) << 8 | shift);
  }
  return powers;
}

}  // namespace plumb

#endif  // PLUMB_TENSOR_FLOAT_POWERS_H_
