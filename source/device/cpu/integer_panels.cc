// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/integer_panels.h"

#include <algorithm>
#include <utility>

namespace plumb::cpu {

void IntegerRows::SumRows(int64_t first, int64_t last, bool i8) {
  for (int64_t r = first; r < last; ++r) {
    const auto row = static_cast<size_t>(r), begin = row * static_cast<size_t>(Padded());
    uint32_t sum = bytes.empty() ? 0 : static_cast<uint32_t>(lows[row]) * static_cast<uint32_t>(length);
    for (size_t i = begin; i < begin + static_cast<size_t>(length); ++i)
      sum += static_cast<uint32_t>(bytes.empty() ? numbers[i] : i8 ? static_cast<int8_t>(bytes[i]) : bytes[i]);
    sums[row] = static_cast<int32_t>(sum);
  }
}

void IntegerPanels::Resize(int64_t matrices, int64_t k, int64_t n) {
  matrices_ = matrices, k_ = k, n_ = n;
  narrow_ = {};
  quads_ = {};
  quads_are_u8_ = false;
  shifts_ = {};
  column_sums_ = {};
  wide_.resize(static_cast<size_t>(matrices * PairSize()));
}

void IntegerPanels::PackPairs(const int16_t* b, int64_t matrix, int64_t first, int64_t last) {
  simd::PackPanels(b, k_, n_, first, last, wide_.data() + matrix * PairSize());
}

void IntegerPanels::Narrow() {
  std::vector<int8_t> narrow(wide_.size());
  std::vector<int32_t> shifts(static_cast<size_t>(matrices_ * Columns()));
  for (int64_t i = 0; i < matrices_; ++i) {
    if (!simd::NarrowPanels(wide_.data() + i * PairSize(), k_, n_, narrow.data() + i * PairSize(),
                            shifts.data() + i * Columns()))
      return;
  }
  wide_ = {};
  if (simd::MultipliesBytes()) {
    quads_.resize(static_cast<size_t>(matrices_ * QuadSize()));
    column_sums_.resize(shifts.size());
    for (int64_t i = 0; i < matrices_; ++i) {
      simd::QuadPanels(narrow.data() + i * PairSize(), k_, n_,
                       reinterpret_cast<int8_t*>(quads_.data()) + i * QuadSize(), column_sums_.data() + i * Columns());
    }
  } else {
    narrow_ = std::move(narrow);
  }
  if (!std::all_of(shifts.begin(), shifts.end(), [](int32_t v) { return v == 0; })) shifts_ = std::move(shifts);
}

void IntegerPanels::ResizeQuads(int64_t matrices, int64_t k, int64_t n, const std::vector<int32_t>& shifts) {
  matrices_ = matrices, k_ = k, n_ = n;
  wide_ = {};
  narrow_ = {};
  quads_are_u8_ = true;
  column_sums_.resize(static_cast<size_t>(matrices_ * Columns()));
  shifts_.assign(static_cast<size_t>(Columns()), shifts.size() == 1 ? shifts[0] : 0);
  if (shifts.size() > 1) std::copy(shifts.begin(), shifts.end(), shifts_.begin());
  quads_.resize(static_cast<size_t>(matrices_ * QuadSize()));
}

void IntegerPanels::PackQuads(const uint8_t* b, int64_t matrix, int64_t first, int64_t last) {
  simd::PackQuads(b, k_, n_, first, last, quads_.data() + matrix * QuadSize(),
                  column_sums_.data() + matrix * Columns());
}

void IntegerPanels::Multiply(const IntegerRows& a, int64_t row, int64_t rows, int64_t matrix, int64_t first,
                             int64_t last, int16_t* scratch, const IntegerOutput& y) const {
  const int32_t* shifts = shifted() ? shifts_.data() + (quads_are_u8_ ? 0 : matrix * Columns()) : nullptr;
  const int32_t* row_sums = shifted() ? a.sums.data() + row : nullptr;
  if (quads()) {
    simd::ByteFactors f;
    f.a = a.bytes.data() + row * a.Padded(), f.panels = quads_.data() + matrix * QuadSize();
    f.panels_are_u8 = quads_are_u8_;
    f.a_stride = a.Padded(), f.rows = rows, f.quads = simd::QuadsOf(k_), f.n = n_;
    f.lows = a.lows.data() + row, f.column_sums = column_sums_.data() + matrix * Columns();
    f.shifts = shifts, f.row_sums = row_sums;
    if (y.real == nullptr) return simd::MultiplyBytes(f, first, last, y.sums);
    return simd::MultiplyBytes(f, first, last, y.tail, y.real);
  }
  simd::IntegerFactors f;
  f.a = a.numbers.data() + row * a.Padded();
  f.a_stride = a.Padded(), f.rows = rows, f.pairs = simd::PairsOf(k_), f.n = n_;
  f.wide = wide_.empty() ? nullptr : wide_.data() + matrix * PairSize();
  f.narrow = narrow_.empty() ? nullptr : narrow_.data() + matrix * PairSize();
  f.shifts = shifts, f.row_sums = row_sums;
  if (y.real == nullptr) return simd::MultiplyIntegers(f, first, last, scratch, y.sums);
  simd::MultiplyIntegers(f, first, last, scratch, y.tail, y.real);
}

}  // namespace plumb::cpu
