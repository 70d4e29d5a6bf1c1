// SPDX-License-Identifier: Apache-2.0
// IEEE binary16 and bfloat16 <-> binary32, round to nearest even, NaN kept quiet, subnormals kept.
#ifndef PLUMB_BASE_HALF_H_
#define PLUMB_BASE_HALF_H_

#include <cstdint>
#include <cstring>

namespace plumb {

inline float BitsToFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline uint32_t FloatToBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1Fu;
  const uint32_t mantissa = half & 0x3FFu;
  if (exponent == 31) return BitsToFloat(sign | 0x7F800000u | (mantissa << 13));
  if (exponent != 0) return BitsToFloat(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;  // subnormal or zero, exact
  return sign != 0 ? -magnitude : magnitude;
}

inline uint16_t FloatToHalf(float value) {
  const uint32_t bits = FloatToBits(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u);
  if (magnitude >= 0x477FF000u) return static_cast<uint16_t>(sign | 0x7C00u);  // rounds to 65536 or more
  if (magnitude < 0x38800000u) {  // below 2^-14: subnormal; adding 0.5 aligns and rounds in hardware
    const float shifted = BitsToFloat(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (FloatToBits(shifted) - 0x3F000000u));
  }
  const uint32_t rounded = magnitude + 0xFFFu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

inline float BFloat16ToFloat(uint16_t value) { return BitsToFloat(static_cast<uint32_t>(value) << 16); }

inline uint16_t FloatToBFloat16(float value) {
  const uint32_t bits = FloatToBits(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace plumb

#endif  // PLUMB_BASE_HALF_H_
