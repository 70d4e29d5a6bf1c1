// SPDX-License-Identifier: Apache-2.0
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/winograd.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include <algorithm>

#include "hwy/highway.h"
#include "simd/cook_toom.h"
#include "simd/dispatch.h"
#include "simd/product_end-inl.h"
#include "simd/winograd.h"

#ifndef PLUMB_WINOGRAD_FORMS  // once for all targets: tile and kernel height, tile and kernel width
#define PLUMB_WINOGRAD_FORMS      \
  PLUMB_WINOGRAD_FORM(4, 3, 4, 3) \
  PLUMB_WINOGRAD_FORM(2, 3, 2, 3) \
  PLUMB_WINOGRAD_FORM(2, 5, 2, 5) \
  PLUMB_WINOGRAD_FORM(4, 4, 4, 4) \
  PLUMB_WINOGRAD_FORM(1, 1, 4, 3) \
  PLUMB_WINOGRAD_FORM(4, 3, 1, 1) \
  PLUMB_WINOGRAD_FORM(1, 1, 4, 5) \
  PLUMB_WINOGRAD_FORM(4, 5, 1, 1) \
  PLUMB_WINOGRAD_FORM(1, 1, 4, 7) \
  PLUMB_WINOGRAD_FORM(4, 7, 1, 1)

namespace plumb::simd {
inline bool IsForm(const WinogradShape& s, int tile_h, int kernel_h, int tile_w, int kernel_w) {
  return s.tile_h == tile_h && s.kernel_h == kernel_h && s.tile_w == tile_w && s.kernel_w == kernel_w;
}
}  // namespace plumb::simd
#endif

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

// Matrices as types, so that a row's zeros and ones cost nothing.
template <class Form>
struct InputMatrix {
  static constexpr auto value = Form::Input();
};
template <class Form>
struct OutputMatrix {
  static constexpr auto value = Form::Output();
};

template <class Form>
struct KernelMatrix {
  static constexpr auto value = Form::Kernel();
};

template <class M>
constexpr int FirstFactor(int row) {
  for (int j = 0; j < M::value.kColumns; ++j) {
    if (M::value.at[row][j] != 0) return j;
  }
  return 0;
}

// One row of the matrix times x, from factor j on.
template <class M, int row, int j, class D>
HWY_INLINE Vec<D> RowTimes(D d, const Vec<D>* x, Vec<D> sum) {
  if constexpr (j < M::value.kColumns) {
    constexpr double kFactor = M::value.at[row][j];
    constexpr bool kFirst = j == FirstFactor<M>(row);
    if constexpr (kFactor == 0)
      return RowTimes<M, row, j + 1>(d, x, sum);
    else if constexpr (kFirst && kFactor == 1)
      return RowTimes<M, row, j + 1>(d, x, x[j]);
    else if constexpr (kFirst)
      return RowTimes<M, row, j + 1>(d, x, Mul(x[j], Set(d, static_cast<TFromD<D>>(kFactor))));
    else if constexpr (kFactor == 1)
      return RowTimes<M, row, j + 1>(d, x, Add(sum, x[j]));
    else if constexpr (kFactor == -1)
      return RowTimes<M, row, j + 1>(d, x, Sub(sum, x[j]));
    else
      return RowTimes<M, row, j + 1>(d, x, MulAdd(x[j], Set(d, static_cast<TFromD<D>>(kFactor)), sum));
  }
  return sum;
}

// y[i * step] = row i of the matrix times x.
template <class M, int row, class D>
HWY_INLINE void MatrixTimes(D d, const Vec<D>* x, Vec<D>* y, int step) {
  if constexpr (row < M::value.kRows) {
    y[row * step] = RowTimes<M, row, 0>(d, x, Zero(d));
    MatrixTimes<M, row + 1>(d, x, y, step);
  }
}

// G g G^T of `filters` filters side by side, as many at a time as a vector of float64 has lanes.
template <class H, class W>
HWY_NOINLINE void TransformKernels(const float* taps, int64_t filters, float* transformed, const int64_t* at) {
  const ScalableTag<double> d;
  const Rebind<float, decltype(d)> narrow;
  for (int64_t first = 0; first < filters; first += static_cast<int64_t>(Lanes(d))) {
    Vec<decltype(d)> rows[H::kSize * W::kTaps];
    for (int l = 0; l < W::kTaps; ++l) {
      Vec<decltype(d)> x[H::kTaps];
#pragma GCC unroll 10
      for (int k = 0; k < H::kTaps; ++k) {
        x[k] = PromoteTo(d, LoadU(narrow, taps + (k * W::kTaps + l) * filters + first));
      }
      MatrixTimes<KernelMatrix<H>, 0>(d, x, rows + l, W::kTaps);
    }
    for (int i = 0; i < H::kSize; ++i) {
      Vec<decltype(d)> u[W::kSize];
      MatrixTimes<KernelMatrix<W>, 0>(d, rows + i * W::kTaps, u, 1);
#pragma GCC unroll 10
      for (int j = 0; j < W::kSize; ++j) {
        const int64_t to = at[i * W::kSize + j];
        if (to >= 0) StoreU(DemoteTo(narrow, u[j]), narrow, transformed + to + first);
      }
    }
  }
}

// H and W: the forms along the two axes; d: one vector of the block.
template <class H, class W, class D>
HWY_INLINE void InputTile(D d, const float* from, int64_t row_step, int64_t column_step, float* to, int64_t to_step) {
  Vec<D> rows[H::kSize * W::kSize];
  for (int y = 0; y < H::kSize; ++y) {
    Vec<D> x[W::kSize];
#pragma GCC unroll 10
    for (int i = 0; i < W::kSize; ++i) x[i] = LoadU(d, from + y * row_step + i * column_step);
    MatrixTimes<InputMatrix<W>, 0>(d, x, rows + y * W::kSize, 1);
  }
  for (int j = 0; j < W::kSize; ++j) {
    Vec<D> x[H::kSize], z[H::kSize];
#pragma GCC unroll 10
    for (int y = 0; y < H::kSize; ++y) x[y] = rows[y * W::kSize + j];
    MatrixTimes<InputMatrix<H>, 0>(d, x, z, 1);
#pragma GCC unroll 10
    for (int i = 0; i < H::kSize; ++i) StoreU(z[i], d, to + (i * W::kSize + j) * to_step);
  }
}

template <class H, class W, int kBlock>
HWY_NOINLINE void InputTiles(const WinogradShape& s, const float* plane, int64_t first, int64_t count, float* tiles,
                             int64_t position_step) {
  const CappedTag<float, kBlock> d;
  constexpr int kLanes = static_cast<int>(MaxLanes(d));
  const TileNumbers numbers(s);
  HWY_ALIGN float edge[H::kSize * W::kSize * kBlock];  // a tile that reaches beyond the map, zeros written out
  for (int64_t i = 0; i < count; ++i) {
    const WinogradTile tile = numbers.At(first + i);
    const int64_t y0 = tile.y * H::kOutputs - s.pad_top, x0 = tile.x * W::kOutputs - s.pad_left;
    const float* from = plane + (y0 * s.in_w + x0) * kBlock;
    int64_t row_step = s.in_w * kBlock;
    if (y0 < 0 || x0 < 0 || y0 + H::kSize > s.in_h || x0 + W::kSize > s.in_w) {
      for (int64_t y = 0; y < H::kSize; ++y) {
        for (int64_t x = 0; x < W::kSize; ++x) {
          const bool inside = y0 + y >= 0 && y0 + y < s.in_h && x0 + x >= 0 && x0 + x < s.in_w;
          float* to = edge + (y * W::kSize + x) * kBlock;
          for (int v = 0; v < kBlock; v += kLanes) {
            Store(inside ? LoadU(d, plane + ((y0 + y) * s.in_w + x0 + x) * kBlock + v) : Zero(d), d, to + v);
          }
        }
      }
      from = edge, row_step = W::kSize * kBlock;
    }
    for (int v = 0; v < kBlock; v += kLanes) {
      InputTile<H, W>(d, from + v, row_step, kBlock, tiles + i * kBlock + v, position_step);
    }
  }
}

template <class H, class W, class D>
HWY_INLINE void OutputTile(D d, const float* from, int64_t from_step, Vec<D>* out) {
  Vec<D> columns[H::kOutputs * W::kSize];
  for (int j = 0; j < W::kSize; ++j) {
    Vec<D> x[H::kSize];
#pragma GCC unroll 10
    for (int i = 0; i < H::kSize; ++i) x[i] = LoadU(d, from + (i * W::kSize + j) * from_step);
    MatrixTimes<OutputMatrix<H>, 0>(d, x, columns + j, W::kSize);
  }
  for (int y = 0; y < H::kOutputs; ++y) {
    MatrixTimes<OutputMatrix<W>, 0>(d, columns + y * W::kSize, out + y * W::kOutputs, 1);
  }
}

template <class H, class W, int kBlock>
HWY_NOINLINE void OutputTiles(const WinogradShape& s, const float* sums, int64_t position_step, int64_t first,
                              int64_t count, const ProductEnd& end, const float* addend, float* plane) {
  const CappedTag<float, kBlock> d;
  constexpr int kLanes = static_cast<int>(MaxLanes(d));
  const TileNumbers numbers(s);
  for (int64_t i = 0; i < count; ++i) {
    const WinogradTile tile = numbers.At(first + i);
    const int64_t y0 = tile.y * H::kOutputs, x0 = tile.x * W::kOutputs;
    const int64_t rows = std::min<int64_t>(H::kOutputs, s.out_h - y0);
    const int64_t columns = std::min<int64_t>(W::kOutputs, s.out_w - x0);
    for (int v = 0; v < kBlock; v += kLanes) {
      Vec<decltype(d)> out[H::kOutputs * W::kOutputs];
      OutputTile<H, W>(d, sums + i * kBlock + v, position_step, out);
      const auto bias = end.bias == nullptr ? Zero(d) : LoadU(d, end.bias + v);
      for (int64_t y = 0; y < rows; ++y) {
        const int64_t at = ((y0 + y) * s.out_w + x0) * kBlock + v;
        for (int64_t x = 0; x < columns; ++x) {
          auto sum = Add(out[y * W::kOutputs + x], bias);
          if (addend != nullptr) sum = Add(sum, LoadU(d, addend + at + x * kBlock));
          StoreU(EndOf(d, sum, end), d, plane + at + x * kBlock);
        }
      }
    }
  }
}

void RunWinogradKernels(const WinogradShape& s, const float* taps, int64_t filters, float* transformed,
                        const int64_t* at) {
#define PLUMB_WINOGRAD_FORM(mh, rh, mw, rw)                                                      \
  if (IsForm(s, mh, rh, mw, rw)) {                                                               \
    return TransformKernels<CookToom<mh, rh>, CookToom<mw, rw>>(taps, filters, transformed, at); \
  }
  PLUMB_WINOGRAD_FORMS
#undef PLUMB_WINOGRAD_FORM
}

void RunWinogradInput(const WinogradShape& s, const float* plane, int64_t first, int64_t count, float* tiles,
                      int64_t position_step) {
#define PLUMB_WINOGRAD_FORM(mh, rh, mw, rw)                                             \
  if (IsForm(s, mh, rh, mw, rw)) {                                                      \
    const auto run = s.block == 16 ? InputTiles<CookToom<mh, rh>, CookToom<mw, rw>, 16> \
                                   : InputTiles<CookToom<mh, rh>, CookToom<mw, rw>, 8>; \
    return run(s, plane, first, count, tiles, position_step);                           \
  }
  PLUMB_WINOGRAD_FORMS
#undef PLUMB_WINOGRAD_FORM
}

void RunWinogradOutput(const WinogradShape& s, const float* sums, int64_t position_step, int64_t first, int64_t count,
                       const ProductEnd& end, const float* addend, float* plane) {
#define PLUMB_WINOGRAD_FORM(mh, rh, mw, rw)                                              \
  if (IsForm(s, mh, rh, mw, rw)) {                                                       \
    const auto run = s.block == 16 ? OutputTiles<CookToom<mh, rh>, CookToom<mw, rw>, 16> \
                                   : OutputTiles<CookToom<mh, rh>, CookToom<mw, rw>, 8>; \
    return run(s, sums, position_step, first, count, end, addend, plane);                \
  }
  PLUMB_WINOGRAD_FORMS
#undef PLUMB_WINOGRAD_FORM
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunWinogradKernels);
HWY_EXPORT(RunWinogradInput);
HWY_EXPORT(RunWinogradOutput);

bool HasWinograd(const WinogradShape& s) {
#define PLUMB_WINOGRAD_FORM(mh, rh, mw, rw) \
  if (IsForm(s, mh, rh, mw, rw)) return true;
  PLUMB_WINOGRAD_FORMS
#undef PLUMB_WINOGRAD_FORM
  return false;
}

WinogradTiles TilesThatNeed(const WinogradShape& s, int64_t position) {
  const int64_t size_w = s.tile_w + s.kernel_w - 1, size_h = s.tile_h + s.kernel_h - 1;
  const bool cut_below = s.out_h % s.tile_h > 0;
  WinogradTiles tiles = {0, s.tiles()};
  if (position % size_w == size_w - 1 && s.cut_tiles() > 0) {
    tiles.first = s.cut_tiles();
    tiles.last -= cut_below ? 1 : 0;  // the last row ends with a tile of the last column
  }
  if (position / size_w == size_h - 1 && cut_below) tiles.last = s.tiles() - s.tiles_w();
  return tiles;
}

std::vector<double> WinogradPoints(const WinogradShape& s) {
  const int size = std::max(s.tile_h + s.kernel_h, s.tile_w + s.kernel_w) - 1;
  const auto points = [](const auto& value) { return std::vector<double>(std::begin(value), std::end(value)); };
  return size == 4   ? points(CookToomPoints<3>::value)
         : size == 6 ? points(CookToomPoints<5>::value)
         : size == 7 ? points(CookToomPoints<6>::value)
         : size == 8 ? points(CookToomPoints<7>::value)
                     : points(CookToomPoints<9>::value);
}

void WinogradKernels(const WinogradShape& shape, const float* taps, int64_t filters, float* transformed,
                     const int64_t* at) {
  PLUMB_SIMD_CALL(RunWinogradKernels)(shape, taps, filters, transformed, at);
}

void WinogradInput(const WinogradShape& shape, const float* plane, int64_t first, int64_t count, float* tiles,
                   int64_t position_step) {
  PLUMB_SIMD_CALL(RunWinogradInput)(shape, plane, first, count, tiles, position_step);
}

void WinogradOutput(const WinogradShape& shape, const float* sums, int64_t position_step, int64_t first, int64_t count,
                    const ProductEnd& end, const float* addend, float* plane) {
  PLUMB_SIMD_CALL(RunWinogradOutput)(shape, sums, position_step, first, count, end, addend, plane);
}

}  // namespace plumb::simd
#endif
