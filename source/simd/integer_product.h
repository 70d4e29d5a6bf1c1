// SPDX-License-Identifier: Apache-2.0
// Products of matrices of whole numbers of up to 16 bits. Every sum is exact modulo 2^32 on every instruction set:
// products of neighbours are added in 32 bits (pmaddwd), never in 16, where vpmaddubsw saturates.
#ifndef PLUMB_SIMD_INTEGER_PRODUCT_H_
#define PLUMB_SIMD_INTEGER_PRODUCT_H_

#include <cstddef>
#include <cstdint>

namespace plumb::simd {

// b [k][n] lies in panels of so many columns, two rows side by side: [n / 16][k / 2][16][2], rounded up; what lies
// behind the last row or column is 0.
constexpr int64_t kPanelColumns = 16;
constexpr int64_t NumPanels(int64_t n) { return (n + kPanelColumns - 1) / kPanelColumns; }
constexpr int64_t PairsOf(int64_t k) { return (k + 1) / 2; }
constexpr int64_t PanelValues(int64_t k) { return PairsOf(k) * kPanelColumns * 2; }  // of one panel

// The pairs of rows [first_pair, last_pair) of b, of which only they are read.
void PackPanels(const int16_t* b, int64_t k, int64_t n, int64_t first_pair, int64_t last_pair, int16_t* panels);

// The panels in 8 bits, each column less a shift of its own (as many as the panels have columns), or false when a
// column's numbers lie too far apart. What the shifts take away is row_sum * shift (IntegerFactors).
bool NarrowPanels(const int16_t* wide, int64_t k, int64_t n, int8_t* narrow, int32_t* shifts);

// dst = src - zero, as 16 bits; false when one of them does not fit.
bool LessZero(const int64_t* src, int64_t zero, int16_t* dst, size_t n);

// dst = src + offset as bytes; false when one of them is none.
bool ToBytes(const int64_t* src, int64_t offset, uint8_t* dst, size_t n);

// Rows of a, pairs of them beside panels of b: a row is padded to whole pairs, rows are a_stride apart.
struct IntegerFactors {
  const int16_t* a = nullptr;
  int64_t a_stride = 0, rows = 0, pairs = 0;
  const int16_t* wide = nullptr;      // the panels; or, where this is null,
  const int8_t* narrow = nullptr;     // those of NarrowPanels, with
  const int32_t* shifts = nullptr;    // its shifts (null: all are 0) and
  const int32_t* row_sums = nullptr;  // the sum of each row of a
  int64_t n = 0;                      // columns of b
};

// One number for each sum of a row and column; 0 as a step: the same for all of them.
struct SumFactor {
  const float* values = nullptr;
  int64_t step = 0, row_step = 0;
};

// What becomes of the sums: float(sum) * scale + shift, rounded after each step. Without values: without that step.
struct SumTail {
  SumFactor scale, shift;
};

// The columns of panels [first, last): y [rows][n]. `scratch`: PanelValues of the panels' k, for narrow panels.
void MultiplyIntegers(const IntegerFactors& f, int64_t first, int64_t last, int16_t* scratch, int32_t* y);
void MultiplyIntegers(const IntegerFactors& f, int64_t first, int64_t last, int16_t* scratch, const SumTail& tail,
                      float* y);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_INTEGER_PRODUCT_H_
