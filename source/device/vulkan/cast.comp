#version 450
// SPDX-License-Identifier: Apache-2.0
// The same values in another dtype (op/cast.h). kFrom and kTo: 0 f32 1 f16 2 bf16 3 f64 4 i8 5 u8 6 i16 7 u16 8 i32 9
// u32 10 i64 11 bool. Whole numbers travel as i64, others as f64; the buffers are seen as words of each width.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "half.glslh"

layout(constant_id = 0) const int kFrom = 0;
layout(constant_id = 1) const int kTo = 0;
layout(std430, binding = 0) writeonly buffer Dst1 { uint8_t dst1[]; };
layout(std430, binding = 0) writeonly buffer Dst2 { uint16_t dst2[]; };
layout(std430, binding = 0) writeonly buffer Dst4 { uint dst4[]; };
layout(std430, binding = 0) writeonly buffer Dst8 { uvec2 dst8[]; };
layout(std430, binding = 1) readonly buffer Src1 { uint8_t src1[]; };
layout(std430, binding = 1) readonly buffer Src2 { uint16_t src2[]; };
layout(std430, binding = 1) readonly buffer Src4 { uint src4[]; };
layout(std430, binding = 1) readonly buffer Src8 { uvec2 src8[]; };
layout(push_constant) uniform Params { uint count; };

const bool kFromFloat = kFrom <= 3;

bool IsNaN64(double v) {
  const uvec2 bits = unpackDouble2x32(v);
  const uint high = bits.y & 0x7fffffffu;
  return high > 0x7ff00000u || (high == 0x7ff00000u && bits.x != 0u);
}

uint FloatToBFloat16(float value) {
  const uint bits = floatBitsToUint(value);
  if (IsNaN(value)) return (bits >> 16) | 0x40u;
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

// f64 to a half through f32 rounds twice; odd rounding of the first step makes the result right.
float RoundToOdd(double value) {
  const float nearest = float(value);
  if (IsNaN64(value) || !IsFinite(nearest) || double(nearest) == value) return nearest;
  uint bits = floatBitsToUint(nearest);
  if (abs(double(nearest)) > abs(value)) bits -= 1u;
  return uintBitsToFloat(bits | 1u);
}

int64_t LoadWhole(uint i) {
  switch (kFrom) {
    case 4: return int64_t(int8_t(src1[i]));
    case 5: case 11: return int64_t(src1[i]);
    case 6: return int64_t(int16_t(src2[i]));
    case 7: return int64_t(src2[i]);
    case 8: return int64_t(int(src4[i]));
    case 9: return int64_t(src4[i]);
    default: return int64_t(packUint2x32(src8[i]));
  }
}

double LoadReal(uint i) {
  switch (kFrom) {
    case 0: return double(uintBitsToFloat(src4[i]));
    case 1: return double(HalfToFloat(uint(src2[i])));
    case 2: return double(uintBitsToFloat(uint(src2[i]) << 16));
    default: return packDouble2x32(src8[i]);
  }
}

// The whole number that a float becomes: truncated, cut to the target's ends; NaN gives 0.
int64_t Truncated(double v) {
  if (IsNaN64(v)) return int64_t(0);
  const double low[] = double[](-128.0lf, 0.0lf, -32768.0lf, 0.0lf, -2147483648.0lf, 0.0lf);
  const double high[] = double[](127.0lf, 255.0lf, 32767.0lf, 65535.0lf, 2147483647.0lf, 4294967295.0lf);
  if (kTo < 10) {
    const int t = clamp(kTo - 4, 0, 5);
    return int64_t(v <= low[t] ? low[t] : (v >= high[t] ? high[t] : v));
  }
  if (v <= -9223372036854775808.0lf) return int64_t(1) << 63;
  if (v >= 9223372036854775808.0lf) return ~(int64_t(1) << 63);
  return int64_t(v);
}

void StoreWhole(uint i, int64_t v) {
  switch (kTo) {
    case 4: case 5: dst1[i] = uint8_t(v); break;
    case 6: case 7: dst2[i] = uint16_t(v); break;
    case 8: case 9: dst4[i] = uint(v); break;
    default: dst8[i] = unpackUint2x32(uint64_t(v)); break;
  }
}

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  const int64_t whole = kFromFloat ? int64_t(0) : LoadWhole(i);
  const double real = kFromFloat ? LoadReal(i) : double(whole);
  switch (kTo) {
    case 0: dst4[i] = floatBitsToUint(kFromFloat ? float(real) : float(whole)); break;
    case 1: dst2[i] = uint16_t(FloatToHalf(RoundToOdd(real))); break;
    case 2: dst2[i] = uint16_t(FloatToBFloat16(RoundToOdd(real))); break;
    case 3: dst8[i] = unpackDouble2x32(real); break;
    case 11: dst1[i] = (kFromFloat ? real != 0.0lf : whole != int64_t(0)) ? uint8_t(1) : uint8_t(0); break;
    default: StoreWhole(i, kFromFloat ? Truncated(real) : whole); break;
  }
}
