// SPDX-License-Identifier: Apache-2.0
// A tile of rows x 16 columns stays in registers for all of k: four bytes of a row are broadcast beside those of the
// panel.
#include "simd/targets.h"

#include <algorithm>
#include <cstring>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/byte_product.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include "hwy/highway.h"
#include "simd/byte_product.h"
#include "simd/dispatch.h"
#include "simd/integer_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

// sum += the four products of each lane, u8 by i8. Highway's targets know no VNNI on its own; only MultipliesBytes()
// leads here.
template <class V>
HWY_INLINE V AddProducts(V sum, V u8, V i8) {
#if HWY_TARGET == HWY_AVX3
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(u8.raw), "v"(i8.raw));
#else
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum.raw) : "x"(u8.raw), "x"(i8.raw));
#endif
  return sum;
}

template <bool kPanelsAreU8>
struct QuadTiles {
  using Factors = ByteFactors;
  using Value = int8_t;
  static constexpr int kRows = HWY_TARGET == HWY_AVX3 ? 12 : 6;  // as registers allow
  static constexpr int kPanelsBeside = 8 / kPanelVectors;

  static int64_t PanelValues(const ByteFactors& f) { return 4 * f.quads * kPanelColumns; }

  template <int kTile, int kPanels>
  static HWY_INLINE void Sum(const ByteFactors& f, int64_t row, int64_t column, const int8_t* panels, int32_t* sums) {
    const I32 d;
    const auto lanes = static_cast<int64_t>(Lanes(d));
    constexpr int kAll = kPanels * kPanelVectors;
    const auto* a = static_cast<const uint8_t*>(f.a) + row * f.a_stride;
    Vec<I32> sum[kTile][kAll];
#pragma GCC unroll 12
    for (int r = 0; r < kTile; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < kAll; ++v) {
        sum[r][v] = Zero(d);
        if (f.lows != nullptr) sum[r][v] = Mul(Set(d, f.lows[row + r]), LoadU(d, f.column_sums + column + v * lanes));
      }
    }
    for (int64_t q = 0; q < f.quads; ++q, panels += 4 * kPanelColumns) {
      Vec<I32> b[kAll];
#pragma GCC unroll 16
      for (int v = 0; v < kAll; ++v) {
        const int8_t* from = panels + v / kPanelVectors * PanelValues(f) + 4 * (v % kPanelVectors) * lanes;
        b[v] = BitCast(d, LoadU(ScalableTag<int8_t>(), from));
      }
#pragma GCC unroll 12
      for (int r = 0; r < kTile; ++r) {
        int32_t bytes;
        std::memcpy(&bytes, a + r * f.a_stride + 4 * q, sizeof(bytes));
        const auto x = Set(d, bytes);
#pragma GCC unroll 16
        for (int v = 0; v < kAll; ++v)
          sum[r][v] = kPanelsAreU8 ? AddProducts(sum[r][v], b[v], x) : AddProducts(sum[r][v], x, b[v]);
      }
    }
#pragma GCC unroll 12
    for (int r = 0; r < kTile; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < kAll; ++v) Store(sum[r][v], d, sums + r * kPanels * kPanelColumns + v * lanes);
    }
  }
};

template <bool kPanelsAreU8, class Sink>
HWY_INLINE void MultiplyQuads(const ByteFactors& f, int64_t first, int64_t last, const Sink& sink) {
  using Tiles = QuadTiles<kPanelsAreU8>;
  const auto* panels = static_cast<const int8_t*>(f.panels);
  if (f.rows == 1) return MultiplyRow<Tiles>(f, panels, first, last, sink);
  const int64_t values = Tiles::PanelValues(f);
  int64_t i = first;
  for (; i + 2 <= last && kPanelVectors == 1; i += 2)
    MultiplyRows<Tiles, 2>(f, panels + i * values, i * kPanelColumns, sink);
  for (; i < last; ++i) MultiplyRows<Tiles, 1>(f, panels + i * values, i * kPanelColumns, sink);
}

// Rows [4 q, 4 q + 4) of one panel.
HWY_INLINE void PackQuad(const uint8_t* b, int64_t k, int64_t n, int64_t panel, int64_t q, uint8_t* to) {
  const FixedTag<uint8_t, kPanelColumns> d;
  const int64_t columns = std::min(kPanelColumns, n - panel * kPanelColumns), left = std::min<int64_t>(4, k - 4 * q);
  const uint8_t *from = b + 4 * q * n + panel * kPanelColumns, *of[4];
  const bool whole = columns == kPanelColumns && left == 4;
  uint8_t rows[4][kPanelColumns];
  if (!whole) std::memset(rows, 0, sizeof(rows));
  for (int64_t r = 0; r < 4; ++r) {
    if (!whole && r < left) std::memcpy(rows[r], from + r * n, static_cast<size_t>(columns));
    of[r] = whole ? from + r * n : rows[r];
  }
  StoreInterleaved4(LoadU(d, of[0]), LoadU(d, of[1]), LoadU(d, of[2]), LoadU(d, of[3]), d, to);
}

void RunPackQuads(const uint8_t* b, int64_t k, int64_t n, int64_t first, int64_t last, uint8_t* quads,
                  int32_t* column_sums) {
  const I32 d;
  const auto ones = Set(d, 0x01010101);
  const auto lanes = static_cast<int64_t>(Lanes(d));
  for (int64_t panel = first; panel < last; ++panel) {
    Vec<I32> sums[kPanelVectors];
    for (auto& sum : sums) sum = Zero(d);
    for (int64_t q = 0; q < QuadsOf(k); ++q) {
      uint8_t* to = quads + (panel * QuadsOf(k) + q) * 4 * kPanelColumns;
      PackQuad(b, k, n, panel, q, to);
      for (int v = 0; v < kPanelVectors; ++v)
        sums[v] = AddProducts(sums[v], BitCast(d, LoadU(ScalableTag<uint8_t>(), to + 4 * v * lanes)), ones);
    }
    for (int v = 0; v < kPanelVectors; ++v) StoreU(sums[v], d, column_sums + panel * kPanelColumns + v * lanes);
  }
}

#else

template <bool kPanelsAreU8, class Sink>
void MultiplyQuads(const ByteFactors&, int64_t, int64_t, const Sink&) {}  // MultipliesBytes() is false
void RunPackQuads(const uint8_t*, int64_t, int64_t, int64_t, int64_t, uint8_t*, int32_t*) {}

#endif

template <class Sink>
HWY_INLINE void MultiplyEither(const ByteFactors& f, int64_t first, int64_t last, const Sink& sink) {
  f.panels_are_u8 ? MultiplyQuads<true>(f, first, last, sink) : MultiplyQuads<false>(f, first, last, sink);
}

void RunMultiplyBytes(const ByteFactors& f, int64_t first, int64_t last, int32_t* y) {
  MultiplyEither(f, first, last, StoreSums{y});
}

void RunMultiplyBytesScaled(const ByteFactors& f, int64_t first, int64_t last, const SumTail& tail, float* y) {
  MultiplyEither(f, first, last, StoreScaled{tail, y});
}

int64_t RunLeastOf(const int64_t* src, size_t n) {
  const ScalableTag<int64_t> d;
  auto least = Set(d, INT64_MAX);
  size_t i = 0;
  for (; i + Lanes(d) <= n; i += Lanes(d)) least = Min(least, LoadU(d, src + i));
  HWY_ALIGN int64_t lanes[HWY_MAX_BYTES / sizeof(int64_t)];
  Store(least, d, lanes);
  int64_t low = *std::min_element(lanes, lanes + Lanes(d));
  for (; i < n; ++i) low = std::min(low, src[i]);
  return low;
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunMultiplyBytes);
HWY_EXPORT(RunMultiplyBytesScaled);
HWY_EXPORT(RunPackQuads);
HWY_EXPORT(RunLeastOf);

bool MultipliesBytes() { return HasByteProducts(); }

void QuadPanels(const int8_t* narrow, int64_t k, int64_t n, int8_t* quads, int32_t* column_sums) {
  constexpr int64_t kPair = 2 * kPanelColumns;
  const int64_t pairs = PairsOf(k), panels = NumPanels(n);
  for (int64_t panel = 0; panel < panels; ++panel, narrow += pairs * kPair, quads += QuadPanelValues(k)) {
    int32_t* sums = column_sums + panel * kPanelColumns;
    std::fill(sums, sums + kPanelColumns, 0);
    if (pairs % 2 != 0) std::fill(quads + (pairs - 1) * kPair, quads + (pairs + 1) * kPair, int8_t{0});
    for (int64_t p = 0; p < pairs; ++p) {
      for (int64_t c = 0; c < kPanelColumns; ++c) {
        const int8_t* pair = narrow + p * kPair + 2 * c;
        int8_t* to = quads + p / 2 * 2 * kPair + 4 * c + p % 2 * 2;
        to[0] = pair[0], to[1] = pair[1];
        sums[c] += pair[0] + pair[1];
      }
    }
  }
}

void PackQuads(const uint8_t* b, int64_t k, int64_t n, int64_t first, int64_t last, uint8_t* quads,
               int32_t* column_sums) {
  PLUMB_SIMD_CALL(RunPackQuads)(b, k, n, first, last, quads, column_sums);
}
int64_t LeastOf(const int64_t* src, size_t n) { return PLUMB_SIMD_CALL(RunLeastOf)(src, n); }
void MultiplyBytes(const ByteFactors& f, int64_t first, int64_t last, int32_t* y) {
  PLUMB_SIMD_CALL(RunMultiplyBytes)(f, first, last, y);
}
void MultiplyBytes(const ByteFactors& f, int64_t first, int64_t last, const SumTail& tail, float* y) {
  PLUMB_SIMD_CALL(RunMultiplyBytesScaled)(f, first, last, tail, y);
}

}  // namespace plumb::simd
#endif
