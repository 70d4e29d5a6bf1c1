// SPDX-License-Identifier: Apache-2.0
// Cast of every dtype to every other: floats round to nearest even, float to integer truncates and saturates (NaN gives
// 0), integers wrap, anything but 0 is true.
#include "common.clh"
#include "dtype.clh"

// Nearest even of a value that was rounded to odd keeps the value's own nearest even.
inline ushort bf16_bits(float v) {
  const uint bits = as_uint(v);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return (ushort)((bits >> 16) | 0x40u);
  return (ushort)((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

inline void store_float(global void* y, long i, int dtype, float v) {
  if (dtype == F32) STORE(v, (global stored*)y, i);
  if (dtype == F16) vstore_half_rte(v, i, (global half*)y);
  if (dtype == BF16) ((global ushort*)y)[i] = bf16_bits(v);
#ifdef PLUMB_F64
  if (dtype == F64) ((global double*)y)[i] = v;
#endif
}

inline void store_long(global void* y, long i, int dtype, long v) {
  if (dtype == I8) ((global char*)y)[i] = (char)v;
  if (dtype == U8) ((global uchar*)y)[i] = (uchar)v;
  if (dtype == I16) ((global short*)y)[i] = (short)v;
  if (dtype == U16) ((global ushort*)y)[i] = (ushort)v;
  if (dtype == I32) ((global int*)y)[i] = (int)v;
  if (dtype == U32) ((global uint*)y)[i] = (uint)v;
  if (dtype == I64) ((global long*)y)[i] = v;
}

// A truncated number cut to the dtype's range.
#define SATURATE(T)                                                                                \
  inline long saturate_##T(T v, int dtype) {                                                       \
    if (v != v) return 0;                                                                          \
    if (dtype == I64) {                                                                            \
      return v >= (T)0x1p63 ? LONG_MAX : v <= (T)-0x1p63 ? LONG_MIN : (long)v;                     \
    }                                                                                              \
    const long low = dtype == I8 ? -128 : dtype == I16 ? -32768 : dtype == I32 ? INT_MIN : 0;      \
    const long high = dtype == I8 ? 127 : dtype == U8 ? 255 : dtype == I16 ? 32767                 \
                      : dtype == U16 ? 65535 : dtype == I32 ? INT_MAX : (long)UINT_MAX;            \
    const long whole = v >= (T)0x1p62 ? LONG_MAX : v <= (T)-0x1p62 ? LONG_MIN : (long)v;           \
    return whole < low ? low : whole > high ? high : whole;                                        \
  }
SATURATE(float)
#ifdef PLUMB_F64
SATURATE(double)

// float64 -> f32 rounded to odd, for the narrower formats behind it.
inline float to_odd(double v) {
  const float nearest = (float)v;
  if ((double)nearest == v || isnan(v) || isinf(nearest)) return nearest;
  uint bits = as_uint(nearest);
  if (fabs((double)nearest) > fabs(v)) bits -= 1;
  return as_float(bits | 1u);
}

inline void cast_double(global void* y, long i, int to, double v) {
  if (to == BOOL) ((global uchar*)y)[i] = v != 0;
  else if (to == F64) ((global double*)y)[i] = v;
  else if (to == F32) STORE((float)v, (global stored*)y, i);
  else if (to < F64) store_float(y, i, to, to_odd(v));
  else store_long(y, i, to, saturate_double(v, to));
}
#endif

inline void cast_float(global void* y, long i, int to, float v) {
  if (to == BOOL) ((global uchar*)y)[i] = v != 0;
  else if (to <= F64) store_float(y, i, to, v);
  else store_long(y, i, to, saturate_float(v, to));
}

inline void cast_long(global void* y, long i, int to, long v) {
  if (to == BOOL) {
    ((global uchar*)y)[i] = v != 0;
  } else if (to == BF16 || to == F16) {
    const float nearest = (float)v;
    uint bits = as_uint(nearest);
    const ulong size = abs(v), rounded = (ulong)fabs(nearest);
    if (rounded != size) bits = (rounded > size ? bits - 1 : bits) | 1u;
    store_float(y, i, to, as_float(bits));
  } else if (to == F32) {
    store_float(y, i, to, (float)v);
#ifdef PLUMB_F64
  } else if (to == F64) {
    ((global double*)y)[i] = (double)v;
#endif
  } else {
    store_long(y, i, to, v);
  }
}

LINEAR void cast_any(global uchar* y, long y_at, global const uchar* x, long x_at, int count, int to, int from) {
  const int i = get_global_id(0);
  if (i >= count) return;
  const long in = x_at + i, out = y_at + i;
  if (from == F32) {
    cast_float(y, out, to, LOAD((global const stored*)x, in));
  } else if (from == F16) {
    cast_float(y, out, to, vload_half(in, (global const half*)x));
  } else if (from == BF16) {
    cast_float(y, out, to, as_float((uint)((global const ushort*)x)[in] << 16));
#ifdef PLUMB_F64
  } else if (from == F64) {
    cast_double(y, out, to, ((global const double*)x)[in]);
#endif
  } else {
    cast_long(y, out, to, load_long(x, in, from));
  }
}
