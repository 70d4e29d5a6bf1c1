// SPDX-License-Identifier: Apache-2.0
// The loops of kernel.h, templates on the number of doubles in a vector; included by kernel.cc only.
// Every function is inlined into one caller per instruction set. A vector is GCC's and clang's vector type, so that the
// accumulators stay in registers; with plain arrays GCC 12 reaches the same on AVX-512, but a third of it on AVX2.
#ifndef PLUMB_REFERENCE_SUM_LOOPS_H_
#define PLUMB_REFERENCE_SUM_LOOPS_H_

#include <algorithm>
#include <cmath>

#include "reference/sum/kernel.h"

// Vectors wider than the baseline's registers are only passed between functions that are inlined: no ABI is involved.
#pragma GCC diagnostic ignored "-Wpsabi"

#define PLUMB_INLINE inline __attribute__((always_inline))

namespace plumb::reference::loops {

// Type lives in registers, Memory is the same at any address, Narrow are as many floats.
template <int kWidth>
struct Vector;
// clang-format off
template <> struct Vector<2> { typedef double Type __attribute__((vector_size(16)));
                               typedef double Memory __attribute__((vector_size(16), aligned(8)));
                               typedef float Narrow __attribute__((vector_size(8), aligned(4))); };
template <> struct Vector<4> { typedef double Type __attribute__((vector_size(32)));
                               typedef double Memory __attribute__((vector_size(32), aligned(8)));
                               typedef float Narrow __attribute__((vector_size(16), aligned(4))); };
template <> struct Vector<8> { typedef double Type __attribute__((vector_size(64)));
                               typedef double Memory __attribute__((vector_size(64), aligned(8)));
                               typedef float Narrow __attribute__((vector_size(32), aligned(4))); };
// clang-format on

// acc += w * x, rounded once. Written lane by lane: compilers make one vector fma of it, and it is fma everywhere else
// too.
template <int kWidth, class W, class V = typename Vector<kWidth>::Type>
PLUMB_INLINE void Fma(const W& w, const V& x, V& acc) {
  const V a = acc;
  if constexpr (kWidth == 2) {
    acc = V{std::fma(w[0], x[0], a[0]), std::fma(w[1], x[1], a[1])};
  } else if constexpr (kWidth == 4) {
    acc = V{std::fma(w[0], x[0], a[0]), std::fma(w[1], x[1], a[1]), std::fma(w[2], x[2], a[2]),
            std::fma(w[3], x[3], a[3])};
  } else {
    acc = V{std::fma(w[0], x[0], a[0]), std::fma(w[1], x[1], a[1]), std::fma(w[2], x[2], a[2]),
            std::fma(w[3], x[3], a[3]), std::fma(w[4], x[4], a[4]), std::fma(w[5], x[5], a[5]),
            std::fma(w[6], x[6], a[6]), std::fma(w[7], x[7], a[7])};
  }
}

// The same value in every lane, by subscript.
struct Broadcast {
  double value;
  PLUMB_INLINE double operator[](int) const { return value; }
};

template <int kWidth>
PLUMB_INLINE typename Vector<kWidth>::Type Load(const double* p) {
  return *reinterpret_cast<const typename Vector<kWidth>::Memory*>(p);
}
template <int kWidth>
PLUMB_INLINE void Store(const typename Vector<kWidth>::Type& v, double* p) {
  *reinterpret_cast<typename Vector<kWidth>::Memory*>(p) = v;
}

// The partial sums of kR rows and kN vectors at a block end.
template <int kWidth, int kR, int kN, class V>
PLUMB_INLINE void Sample(const V (&acc)[kR][kN], double share, double* squares, double* weighted) {
#pragma GCC unroll 16
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kN; ++v) {
      const int at = r * kTile + v * kWidth;
      const V part = share == 1 ? acc[r][v] : acc[r][v] * share;
      V sum = Load<kWidth>(squares + at);
      Fma<kWidth>(part, acc[r][v], sum);
      Store<kWidth>(sum, squares + at);
      if (weighted != nullptr) Store<kWidth>(Load<kWidth>(weighted + at) + part, weighted + at);
    }
  }
}

constexpr int64_t kAhead = 8;  // terms; a tile lies in L2

// AccumulateTile for kR rows and kV vectors of 8 pixels, kWidth doubles at a time; terms lie kStep apart, or (0) at
// args.offsets.
template <int kWidth, int kR, int kV, int kStep>
PLUMB_INLINE void Tile(const TileArgs& args) {
  using V = typename Vector<kWidth>::Type;
  constexpr int kN = kV * 8 / kWidth;
  V acc[kR][kN];
#pragma GCC unroll 16
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kN; ++v) acc[r][v] = Load<kWidth>(args.sum + r * kTile + v * kWidth);
  }
  const double* w = args.w;
  const double* x = args.x;
  for (int64_t k = args.begin; k < args.end;) {
    const int64_t block_end = std::min(args.terms, (k / args.block + 1) * args.block);
    const int64_t stop = std::min(args.end, block_end);
    const int64_t count = stop - k;
    for (int64_t i = 0; i < count; ++i, ++w) {
      const double* term = kStep == 0 ? args.x + args.offsets[k - args.begin + i] : x + i * kStep;
      if constexpr (kStep > 0) __builtin_prefetch(term + kAhead * kStep);
#pragma GCC unroll 16
      for (int r = 0; r < kR; ++r) {
        const Broadcast weight{w[r * args.w_stride]};
#pragma GCC unroll 16
        for (int v = 0; v < kN; ++v) Fma<kWidth>(weight, Load<kWidth>(term + v * kWidth), acc[r][v]);
      }
    }
    x += count * kStep;
    k = stop;
    if (args.squares == nullptr || stop != block_end) continue;
    const int64_t length = stop - (stop - 1) / args.block * args.block;
    if (args.weighted == nullptr && length == args.block) {
      Sample<kWidth>(acc, 1, args.squares, nullptr);
    } else {
      Sample<kWidth>(acc, static_cast<double>(length) / static_cast<double>(args.block), args.squares, args.weighted);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kN; ++v) Store<kWidth>(acc[r][v], args.sum + r * kTile + v * kWidth);
  }
}

template <int kWidth, int kR, int kMaxV>
PLUMB_INLINE void TileOfRows(int vectors, const TileArgs& args) {
  if constexpr (kMaxV == 1) {
    Tile<kWidth, kR, 1, 8>(args);
  } else {
    switch (vectors) {
      case 1: Tile<kWidth, kR, 1, kTile>(args); break;
      case 2: Tile<kWidth, kR, 2, kTile>(args); break;
      case 3: Tile<kWidth, kR, 3, kTile>(args); break;
      default: Tile<kWidth, kR, 4, kTile>(args); break;
    }
  }
}

template <int kWidth, int kMaxV>
PLUMB_INLINE void AccumulateTile(int rows, int vectors, const TileArgs& args) {
  switch (rows) {
    case 6: TileOfRows<kWidth, 6, kMaxV>(vectors, args); break;
    case 4: TileOfRows<kWidth, 4, kMaxV>(vectors, args); break;
    case 2: TileOfRows<kWidth, 2, kMaxV>(vectors, args); break;
    default: TileOfRows<kWidth, 1, kMaxV>(vectors, args); break;
  }
}

template <int kWidth>
PLUMB_INLINE void AccumulateRow(int vectors, const TileArgs& args) {
  switch (vectors) {
    case 1: Tile<kWidth, 1, 1, 0>(args); break;
    case 2: Tile<kWidth, 1, 2, 0>(args); break;
    case 3: Tile<kWidth, 1, 3, 0>(args); break;
    default: Tile<kWidth, 1, 4, 0>(args); break;
  }
}

// One row of a tile in float64 and, beside it, serially in fp32 with fma; remembers how far apart they were at block
// ends.
template <int kStep>
PLUMB_INLINE void DriftTile(int vectors, const TileArgs& args) {
  for (int p0 = 0; p0 < vectors * 8; p0 += 8) {
    double sum[8];
    float serial[8];
    for (int p = 0; p < 8; ++p) sum[p] = args.sum[p0 + p];
    for (int p = 0; p < 8; ++p) serial[p] = args.serial[p0 + p];
    for (int64_t k = args.begin; k < args.end; ++k) {
      const double w = args.w[k - args.begin];
      const double* x = args.x + (k - args.begin) * kStep + p0;
      for (int p = 0; p < 8; ++p) sum[p] = std::fma(w, x[p], sum[p]);
      const float w32 = static_cast<float>(w);
      for (int p = 0; p < 8; ++p) serial[p] = std::fma(w32, static_cast<float>(x[p]), serial[p]);
      if ((k + 1) % args.block != 0 && k + 1 != args.terms) continue;
      for (int p = 0; p < 8; ++p) {
        args.drift[p0 + p] = std::max(args.drift[p0 + p], std::fabs(static_cast<double>(serial[p]) - sum[p]));
      }
    }
    for (int p = 0; p < 8; ++p) args.sum[p0 + p] = sum[p];
    for (int p = 0; p < 8; ++p) args.serial[p0 + p] = serial[p];
  }
}

template <int kWidth>
PLUMB_INLINE typename Vector<kWidth>::Type Abs(const typename Vector<kWidth>::Type& v) {
  return v < 0 ? -v : v;
}

// The lanes of one dot product, added as a tree.
template <int kWidth, class V>
PLUMB_INLINE double AddLanes(const V* acc) {
  double lane[kLanes];
  for (int i = 0; i < kLanes; ++i) lane[i] = acc[i / kWidth][i % kWidth];
  for (int step = kLanes / 2; step > 0; step /= 2) {
    for (int i = 0; i < step; ++i) lane[i] += lane[i + step];
  }
  return lane[0];
}

template <int kWidth, int kR, bool kAbs>
PLUMB_INLINE void DotRows(const float* w, int64_t w_stride, const double* x, int64_t count, double* out,
                          double* abs_w) {
  using V = typename Vector<kWidth>::Type;
  using Narrow = typename Vector<kWidth>::Narrow;
  constexpr int kN = kLanes / kWidth;
  V acc[kR][kN] = {};
  V mag[kR][kN] = {};
  int64_t k = 0;
  for (; k + kLanes <= count; k += kLanes) {
#pragma GCC unroll 16
    for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < kN; ++v) {
        const V weight =
            __builtin_convertvector(*reinterpret_cast<const Narrow*>(w + r * w_stride + k + v * kWidth), V);
        Fma<kWidth>(weight, Load<kWidth>(x + k + v * kWidth), acc[r][v]);
        if constexpr (kAbs) mag[r][v] += Abs<kWidth>(weight);
      }
    }
  }
  for (int r = 0; r < kR; ++r) {
    for (int64_t i = k; i < count; ++i) {
      const double weight = w[r * w_stride + i];
      double lane = acc[r][(i - k) / kWidth][(i - k) % kWidth];
      acc[r][(i - k) / kWidth][(i - k) % kWidth] = std::fma(weight, x[i], lane);
      if constexpr (kAbs) mag[r][(i - k) / kWidth][(i - k) % kWidth] += std::fabs(weight);
    }
    out[r] = AddLanes<kWidth>(acc[r]);
    if constexpr (kAbs) abs_w[r] += AddLanes<kWidth>(mag[r]);
  }
}

template <int kWidth>
PLUMB_INLINE void Dot(int rows, const float* w, int64_t w_stride, const double* x, int64_t count, double* out,
                      double* abs_w) {
  for (; rows >= 2; rows -= 2, w += 2 * w_stride, out += 2) {
    if (abs_w == nullptr) {
      DotRows<kWidth, 2, false>(w, w_stride, x, count, out, nullptr);
    } else {
      DotRows<kWidth, 2, true>(w, w_stride, x, count, out, abs_w);
      abs_w += 2;
    }
  }
  if (rows == 0) return;
  if (abs_w == nullptr) {
    DotRows<kWidth, 1, false>(w, w_stride, x, count, out, nullptr);
  } else {
    DotRows<kWidth, 1, true>(w, w_stride, x, count, out, abs_w);
  }
}

template <int kWidth>
PLUMB_INLINE void Gather(const double* source, const int64_t* offsets, int64_t count, const TileSegment* segments,
                         int num_segments, double* tile) {
  for (int64_t k = 0; k < count; ++k, tile += kTile) {
    const double* term = source + offsets[k];
    for (int s = 0; s < num_segments; ++s) {
      const double* src = term + segments[s].offset;
      double* dst = tile + segments[s].begin;
      for (int64_t i = 0; i < segments[s].count; i += 8) {
#pragma GCC unroll 8
        for (int v = 0; v < 8; v += kWidth) Store<kWidth>(Load<kWidth>(src + i + v), dst + i + v);
      }
    }
  }
}

// rows [count][kTile] as groups of 8 pixels, [count][8] each, that lie `step` apart.
template <int kWidth>
PLUMB_INLINE void Group(const double* rows, int64_t count, int groups, int64_t step, double* tile) {
  for (int g = 0; g < groups; ++g, tile += step) {
    for (int64_t k = 0; k < count; ++k) {
#pragma GCC unroll 8
      for (int v = 0; v < 8; v += kWidth) Store<kWidth>(Load<kWidth>(rows + k * kTile + g * 8 + v), tile + k * 8 + v);
    }
  }
}

template <int kWidth>
PLUMB_INLINE void AddAbs(const double* x, const int64_t* offsets, int64_t count, double* out) {
  using V = typename Vector<kWidth>::Type;
  constexpr int kN = kTile / kWidth;
  V sum[kN];
#pragma GCC unroll 16
  for (int v = 0; v < kN; ++v) sum[v] = Load<kWidth>(out + v * kWidth);
  for (int64_t k = 0; k < count; ++k) {
    const double* term = x + (offsets == nullptr ? k * kTile : offsets[k]);
#pragma GCC unroll 16
    for (int v = 0; v < kN; ++v) sum[v] += Abs<kWidth>(Load<kWidth>(term + v * kWidth));
  }
#pragma GCC unroll 16
  for (int v = 0; v < kN; ++v) Store<kWidth>(sum[v], out + v * kWidth);
}

PLUMB_INLINE void Widen(const float* src, int64_t count, double* dst) {
  for (int64_t i = 0; i < count; ++i) dst[i] = static_cast<double>(src[i]);
}

template <int kWidth>
PLUMB_INLINE double WidenAbs(const float* src, int64_t count, double* dst) {
  using V = typename Vector<kWidth>::Type;
  using Narrow = typename Vector<kWidth>::Narrow;
  constexpr int kN = kLanes / kWidth;
  V mag[kN] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
#pragma GCC unroll 16
    for (int v = 0; v < kN; ++v) {
      const V wide = __builtin_convertvector(*reinterpret_cast<const Narrow*>(src + i + v * kWidth), V);
      Store<kWidth>(wide, dst + i + v * kWidth);
      mag[v] += Abs<kWidth>(wide);
    }
  }
  double rest = 0;
  for (; i < count; ++i) {
    dst[i] = static_cast<double>(src[i]);
    rest += std::fabs(dst[i]);
  }
  return AddLanes<kWidth>(mag) + rest;
}

// tau = sqrt(64 (u^2 max(squares, extra) + u_out^2 y^2) + added) + eta.
PLUMB_INLINE void Finish(const FinishArgs& given) {
  const FinishArgs args = given;  // a copy: no store below can change it
  const int64_t count = args.count;
  const double* __restrict sum = args.sum;
  double* __restrict value = args.value;
  for (int64_t p = 0; p < count; ++p) value[p] = sum[p];
  if (args.squares == nullptr) return;
  const double u2 = 64 * args.u * args.u;
  const double out2 = 64 * args.u_out * args.u_out;
  double worst[kTile];
  for (int64_t p = 0; p < count; ++p) worst[p] = args.squares[p] * args.unit;
  if (args.extra != nullptr) {
    for (int64_t p = 0; p < count; ++p) worst[p] = std::max(worst[p], args.extra[p]);
  }
  for (int64_t p = 0; p < count; ++p) worst[p] = u2 * worst[p] + out2 * (sum[p] * sum[p]);
  if (args.added != nullptr) {
    for (int64_t p = 0; p < count; ++p) worst[p] += args.added[p];
  }
  const double* __restrict abs_x = args.abs_x;
  double* __restrict tau = args.tau;
  const double eta = args.terms + args.abs_w;
  for (int64_t p = 0; p < count; ++p) tau[p] = std::sqrt(worst[p]) + args.min_normal * (abs_x[p] + eta);
}

}  // namespace plumb::reference::loops

#endif  // PLUMB_REFERENCE_SUM_LOOPS_H_
