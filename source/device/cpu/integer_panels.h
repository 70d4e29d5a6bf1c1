// SPDX-License-Identifier: Apache-2.0
// Operands of a product of whole numbers in the form that simd multiplies fastest: bytes four at a time where the CPU
// does that (simd/byte_product.h), else numbers of up to 16 bits in pairs (simd/integer_product.h). The panels decide;
// the rows follow them.
#ifndef PLUMB_DEVICE_CPU_INTEGER_PANELS_H_
#define PLUMB_DEVICE_CPU_INTEGER_PANELS_H_

#include <vector>

#include "simd/byte_product.h"

namespace plumb::cpu {

// Rows of the first operand, each padded by 0.
struct IntegerRows {
  int64_t length = 0;            // numbers of a row
  std::vector<int16_t> numbers;  // beside pairs; or
  std::vector<uint8_t> bytes;    // beside quads of i8: u8; beside those of u8: i8. Of each row its numbers are
  std::vector<int32_t> lows;     // so much more than its bytes.
  std::vector<int32_t> sums;     // of each row's numbers, where the panels are shifted

  int64_t Padded() const { return 4 * simd::QuadsOf(length); }
  void SumRows(int64_t first, int64_t last, bool i8);
};

// Where sums go: to `sums`, or to `real` by way of `tail`. Of the first row and column that are multiplied.
struct IntegerOutput {
  int32_t* sums = nullptr;
  float* real = nullptr;
  simd::SumTail tail;
};

// Matrices of the second operand, all k x n: pairs, of whose numbers some may be too large for a byte, or quads.
class IntegerPanels {
 public:
  // Pairs of rows [first, last) of one matrix b [k][n]. When all are there and will not change, Narrow() packs them as
  // tightly as they allow, perhaps as quads of i8.
  void Resize(int64_t matrices, int64_t k, int64_t n);
  void PackPairs(const int16_t* b, int64_t matrix, int64_t first, int64_t last);
  void Narrow();

  // Instead: the panels [first, last) of one matrix as quads of u8. shifts: what is added to the bytes of each column,
  // or of all. REQUIRES: simd::MultipliesBytes().
  void ResizeQuads(int64_t matrices, int64_t k, int64_t n, const std::vector<int32_t>& shifts);
  void PackQuads(const uint8_t* b, int64_t matrix, int64_t first, int64_t last);

  bool quads() const { return !quads_.empty(); }
  bool quads_are_u8() const { return quads_are_u8_; }
  bool shifted() const { return !shifts_.empty(); }  // then rows need their sums
  int64_t NumPanels() const { return simd::NumPanels(n_); }

  // Rows [row, row + rows) of a beside the panels [first, last) of one matrix; y [rows][n]. scratch: room for
  // simd::PanelValues(k) numbers of this thread's own.
  void Multiply(const IntegerRows& a, int64_t row, int64_t rows, int64_t matrix, int64_t first, int64_t last,
                int16_t* scratch, const IntegerOutput& y) const;

 private:
  int64_t Columns() const { return NumPanels() * simd::kPanelColumns; }
  int64_t PairSize() const { return NumPanels() * simd::PanelValues(k_); }  // of one matrix
  int64_t QuadSize() const { return NumPanels() * simd::QuadPanelValues(k_); }

  int64_t matrices_ = 0, k_ = 0, n_ = 0;
  std::vector<int16_t> wide_;  // pairs, or
  std::vector<int8_t> narrow_;
  std::vector<uint8_t> quads_;
  bool quads_are_u8_ = false;  // else of i8
  std::vector<int32_t> shifts_, column_sums_;
};

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_INTEGER_PANELS_H_
