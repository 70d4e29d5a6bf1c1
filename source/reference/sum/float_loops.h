// SPDX-License-Identifier: Apache-2.0
// The loops of kernel.h in fp32, where a result needs no more than that: differences (difference.h) and the bound of
// Winograd's algorithm (winograd_sweep.h). Written as loops.h is; included by kernel.cc only.
#ifndef PLUMB_REFERENCE_SUM_FLOAT_LOOPS_H_
#define PLUMB_REFERENCE_SUM_FLOAT_LOOPS_H_

#include "reference/sum/loops.h"

#include <algorithm>

namespace plumb::reference::loops {

template <int kWidth>
PLUMB_INLINE void Subtract(const double* near, const double* x, int64_t count, float* dst, DifferenceRange* range) {
  using V = typename Vector<kWidth>::Type;
  using Narrow = typename Vector<kWidth>::Narrow;
  V largest = {}, distance = {}, poison = {};
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    const V value = Load<kWidth>(x + i), difference = Load<kWidth>(near + i) - value;
    *reinterpret_cast<Narrow*>(dst + i) = __builtin_convertvector(difference, Narrow);
    const V magnitude = Abs<kWidth>(value), apart = Abs<kWidth>(difference);
    largest = magnitude > largest ? magnitude : largest;
    distance = apart > distance ? apart : distance;
    poison += difference - difference;
  }
  for (; i < count; ++i) {
    const double difference = near[i] - x[i];
    dst[i] = static_cast<float>(difference);
    range->largest = std::max(range->largest, std::fabs(x[i]));
    range->distance = std::max(range->distance, std::fabs(difference));
    range->poison += difference - difference;
  }
  for (int l = 0; l < kWidth; ++l) {
    range->largest = std::max(range->largest, largest[l]);
    range->distance = std::max(range->distance, distance[l]);
    range->poison += poison[l];
  }
}

// As many floats as there are in two vectors of doubles of half the width.
template <int kWidth>
struct Floats;
// clang-format off
template <> struct Floats<4> { typedef float Type __attribute__((vector_size(16)));
                               typedef float Memory __attribute__((vector_size(16), aligned(4))); };
template <> struct Floats<8> { typedef float Type __attribute__((vector_size(32)));
                               typedef float Memory __attribute__((vector_size(32), aligned(4))); };
template <> struct Floats<16> { typedef float Type __attribute__((vector_size(64)));
                                typedef float Memory __attribute__((vector_size(64), aligned(4))); };
// clang-format on

// acc += w * x, rounded once, as Fma above.
template <int kWidth, class V>
PLUMB_INLINE void FmaFloats(float w, const V& x, V& acc) {
  const V a = acc;
#define PLUMB_LANE(i) std::fma(w, x[i], a[i])
#define PLUMB_LANES(i) PLUMB_LANE(i), PLUMB_LANE(i + 1), PLUMB_LANE(i + 2), PLUMB_LANE(i + 3)
  if constexpr (kWidth == 4) {
    acc = V{PLUMB_LANES(0)};
  } else if constexpr (kWidth == 8) {
    acc = V{PLUMB_LANES(0), PLUMB_LANES(4)};
  } else {
    acc = V{PLUMB_LANES(0), PLUMB_LANES(4), PLUMB_LANES(8), PLUMB_LANES(12)};
  }
#undef PLUMB_LANES
#undef PLUMB_LANE
}

template <int kWidth>
PLUMB_INLINE typename Floats<kWidth>::Type LoadFloats(const float* p) {
  return *reinterpret_cast<const typename Floats<kWidth>::Memory*>(p);
}
template <int kWidth>
PLUMB_INLINE void StoreFloats(const typename Floats<kWidth>::Type& v, float* p) {
  *reinterpret_cast<typename Floats<kWidth>::Memory*>(p) = v;
}

template <int kWidth, int kR, int kN, class V>
PLUMB_INLINE void SampleFloats(const V (&acc)[kR][kN], float share, float* squares, int64_t stride) {
#pragma GCC unroll 16
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kN; ++v) {
      float* at = squares + r * stride + v * kWidth;
      StoreFloats<kWidth>(LoadFloats<kWidth>(at) + share * acc[r][v] * acc[r][v], at);
    }
  }
}

template <int kWidth, int kR, int kN>
PLUMB_INLINE void FloatTile(const FloatTileArgs& args) {
  using V = typename Floats<kWidth>::Type;
  V acc[kR][kN];
#pragma GCC unroll 16
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kN; ++v) acc[r][v] = LoadFloats<kWidth>(args.sum + r * args.sum_stride + v * kWidth);
  }
  const float *w = args.w, *x = args.x;
  const int64_t block = args.squares == nullptr ? args.terms : SampleBlock(args.terms);
  for (int64_t left = args.terms; left > 0; left -= block) {
    const int64_t count = std::min(left, block);
    for (int64_t k = 0; k < count; ++k, ++w, x += 2 * kWidth) {
#pragma GCC unroll 16
      for (int r = 0; r < kR; ++r) {
        const float weight = w[r * args.w_stride];
#pragma GCC unroll 16
        for (int v = 0; v < kN; ++v) FmaFloats<kWidth, V>(weight, LoadFloats<kWidth>(x + v * kWidth), acc[r][v]);
      }
    }
    if (args.squares == nullptr) continue;
    SampleFloats<kWidth>(acc, static_cast<float>(count) / static_cast<float>(block), args.squares, args.sum_stride);
  }
#pragma GCC unroll 16
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kN; ++v) StoreFloats<kWidth>(acc[r][v], args.sum + r * args.sum_stride + v * kWidth);
  }
}

template <int kWidth, int kN>
PLUMB_INLINE void FloatRows(int rows, const FloatTileArgs& args) {
  switch (rows) {
    case 6: FloatTile<kWidth, 6, kN>(args); break;
    case 4: FloatTile<kWidth, 4, kN>(args); break;
    case 2: FloatTile<kWidth, 2, kN>(args); break;
    default: FloatTile<kWidth, 1, kN>(args); break;
  }
}

template <int kWidth>
PLUMB_INLINE void AccumulateFloats(int rows, int halves, const FloatTileArgs& args) {
  if (halves == 1) {
    FloatRows<kWidth, 1>(rows, args);
  } else {
    FloatRows<kWidth, 2>(rows, args);
  }
}

// Terms lie kStep apart.
template <int kStep>
PLUMB_INLINE void DriftFloats(const FloatDriftArgs& args) {
  constexpr int kAtOnce = 8;
  const int64_t block = SampleBlock(args.terms);
  for (int p0 = 0; p0 < kStep; p0 += kAtOnce) {
    double sum[kAtOnce] = {}, drift[kAtOnce] = {};
    float serial[kAtOnce] = {};
    for (int64_t k = 0; k < args.terms; ++k) {
      const float w = args.w[k];
      const float* x = args.x + k * kStep + p0;
      for (int p = 0; p < kAtOnce; ++p) {
        sum[p] = std::fma(static_cast<double>(w), static_cast<double>(x[p]), sum[p]);
        serial[p] = std::fma(w, x[p], serial[p]);
      }
      if ((k + 1) % block != 0 && k + 1 != args.terms) continue;
      for (int p = 0; p < kAtOnce; ++p)
        drift[p] = std::max(drift[p], std::fabs(static_cast<double>(serial[p]) - sum[p]));
    }
    for (int p = 0; p < kAtOnce; ++p) args.drift[p0 + p] = static_cast<float>(drift[p]);
  }
}

// A row of factors times `count` columns of kTransformed matrices' elements: out = the sum over k of
// factors[k] * in[k * step].
struct FactorArgs {
  const double* factors = nullptr;
  const float* in = nullptr;
  int64_t step = 0;
  int count = 0;
  int64_t in_step = 0;  // between columns
  float* out = nullptr;
  int64_t out_step = 0;
};

template <int kWidth, int kTerms>
PLUMB_INLINE void SumOfFactors(const FactorArgs& a) {
  using V = typename Floats<kWidth>::Type;
  constexpr int kN = kTransformed / kWidth;
  float factors[kTerms];
  for (int k = 0; k < kTerms; ++k) factors[k] = static_cast<float>(a.factors[k]);
  for (int i = 0; i < a.count; ++i) {
    V sum[kN] = {};
#pragma GCC unroll 10
    for (int k = 0; k < kTerms; ++k) {
#pragma GCC unroll 4
      for (int v = 0; v < kN; ++v)
        sum[v] += factors[k] * LoadFloats<kWidth>(a.in + i * a.in_step + k * a.step + v * kWidth);
    }
#pragma GCC unroll 4
    for (int v = 0; v < kN; ++v) StoreFloats<kWidth>(sum[v], a.out + i * a.out_step + v * kWidth);
  }
}

// With the number of terms as a constant the factors stay in registers.
template <int kWidth, int kTerms = kMaxSide>
PLUMB_INLINE void SumOfFactors(int terms, const FactorArgs& a) {
  if constexpr (kTerms == 1) {
    SumOfFactors<kWidth, 1>(a);
  } else if (terms == kTerms) {
    SumOfFactors<kWidth, kTerms>(a);
  } else {
    SumOfFactors<kWidth, kTerms - 1>(terms, a);
  }
}

template <int kWidth>
PLUMB_INLINE void Transform(const TransformArgs& a) {
  float half[kMaxSide * kMaxSide * kTransformed];
  const int64_t row = int64_t{kTransformed} * a.in_columns;
  for (int i = 0; i < a.rows; ++i) {
    SumOfFactors<kWidth>(a.in_rows,
                         {a.left + i * kMaxSide, a.in, row, a.in_columns, kTransformed, half + i * row, kTransformed});
  }
  for (int j = 0; j < a.columns; ++j) {
    SumOfFactors<kWidth>(a.in_columns, {a.right + j * kMaxSide, half, kTransformed, a.rows, row, a.out + j * a.out_step,
                                        a.columns * a.out_step});
  }
}

}  // namespace plumb::reference::loops

#endif  // PLUMB_REFERENCE_SUM_FLOAT_LOOPS_H_
