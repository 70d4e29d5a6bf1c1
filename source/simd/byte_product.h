// SPDX-License-Identifier: Apache-2.0
// Products of matrices of bytes on CPUs that add four of them in one instruction (x86's VNNI: vpdpbusd, which neither
// saturates nor rounds). Sums are exact modulo 2^32, as in integer_product.h, of which this is the faster form.
#ifndef PLUMB_SIMD_BYTE_PRODUCT_H_
#define PLUMB_SIMD_BYTE_PRODUCT_H_

#include "simd/integer_product.h"

namespace plumb::simd {

// Whether MultiplyBytes may be called: asked when panels are packed, since their layout depends on it.
bool MultipliesBytes();

// Four rows of b side by side: [n / 16][k / 4][16][4], rounded up.
constexpr int64_t QuadsOf(int64_t k) { return (k + 3) / 4; }
constexpr int64_t QuadPanelValues(int64_t k) { return QuadsOf(k) * kPanelColumns * 4; }

// From NarrowPanels, with the sum of each column (as many as the panels have columns).
void QuadPanels(const int8_t* narrow, int64_t k, int64_t n, int8_t* quads, int32_t* column_sums);

// The panels [first, last) of b [k][n], of u8, and the sums of their columns. REQUIRES: MultipliesBytes().
void PackQuads(const uint8_t* b, int64_t k, int64_t n, int64_t first, int64_t last, uint8_t* quads,
               int32_t* column_sums);

int64_t LeastOf(const int64_t* src, size_t n);  // INT64_MAX of none

// Rows of a, quads of them beside panels of b: a row is padded to whole quads, rows are a_stride apart. The bytes of
// one are u8, those of the other i8.
struct ByteFactors {
  const void *a = nullptr, *panels = nullptr;
  bool panels_are_u8 = false;
  int64_t a_stride = 0, rows = 0, quads = 0;
  const int32_t* lows = nullptr;         // of each row: a's numbers are its bytes plus this (null: plus 0); it needs
  const int32_t* column_sums = nullptr;  // those of the panels
  const int32_t* shifts = nullptr;       // of each column: b's numbers are the panels' plus this (null: plus 0), with
  const int32_t* row_sums = nullptr;     // the sum of a's numbers in each row
  int64_t n = 0;                         // columns of b
};

// The columns of panels [first, last): y [rows][n]. REQUIRES: MultipliesBytes().
void MultiplyBytes(const ByteFactors& f, int64_t first, int64_t last, int32_t* y);
void MultiplyBytes(const ByteFactors& f, int64_t first, int64_t last, const SumTail& tail, float* y);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_BYTE_PRODUCT_H_
