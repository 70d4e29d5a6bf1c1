// SPDX-License-Identifier: Apache-2.0
// The inner loops under every sum of products of the reference (convolution, inner product, matrix product).
//
// Each loop is written once, on vectors of doubles with explicit fma, and compiled for AVX-512, for AVX2 and for the
// baseline; the best one is chosen at run time. Lanes never mix and products are never rounded before they are added,
// so every variant gives the same bits, as does aarch64. Threading: pure functions.
#ifndef PLUMB_REFERENCE_SUM_KERNEL_H_
#define PLUMB_REFERENCE_SUM_KERNEL_H_

#include <cstdint>

namespace plumb::reference {

constexpr int kTile = 32;     // output pixels of one tile: four AVX-512 vectors
constexpr int kRows = 6;      // output channels per pass over a tile: 6 x 4 accumulators fill the register file
constexpr int kSamples = 16;  // partial sums are looked at after each 16th of the terms
constexpr int kLanes = 16;    // partial sums of a dot product that runs along the terms

// Length of a sampling block: the 16 block ends of tolerance.md.
inline int64_t SampleBlock(int64_t terms) { return terms <= kSamples ? 1 : (terms + kSamples - 1) / kSamples; }

// sum[r][p] += sum over k of w[r][k] * x[k][p] for the terms begin <= k < end of `terms`.
struct TileArgs {
  const double* x = nullptr;  // term `begin`, pixel 0; terms lie 8 * tile_vectors apart, or at x + offsets[k - begin]
  const int64_t* offsets = nullptr;  // used by AccumulateRow only
  const double* w = nullptr;         // row 0, term `begin`
  int64_t w_stride = 0;              // between rows
  int64_t begin = 0, end = 0, terms = 0;
  int64_t block = 1;           // SampleBlock(terms)
  double* sum = nullptr;       // [rows][kTile]
  double* squares = nullptr;   // [rows][kTile] += sum^2 at each block end, in units of `block` terms; may be null
  double* weighted = nullptr;  // [rows][kTile] += sum at each block end, likewise; null if squares is
  float* serial = nullptr;     // [rows][kTile] the same sum, accumulated in fp32 (DriftTile only)
  double* drift = nullptr;     // [rows][kTile] max over the block ends of |serial - sum| (DriftTile only)
};

// One run of equal-strided pixels of a tile: pixels [begin, begin + count) read source[offset ...] of each term.
struct TileSegment {
  int64_t begin = 0, count = 0, offset = 0;
};

// From accumulated sums to values and bounds, for `count` pixels of one output channel.
struct FinishArgs {
  const double* sum = nullptr;
  const double* squares = nullptr;  // null: no bound
  const double* abs_x = nullptr;    // per pixel, sum of |x| over the terms
  const double* extra = nullptr;    // per pixel, another order's sum of squares; null: none
  const double* added = nullptr;    // per pixel, added to (8 sigma)^2; null: nothing
  double unit = 1;                  // of squares: terms per sampling block
  double abs_w = 0, terms = 0, u = 0, u_out = 0, min_normal = 0;
  int64_t count = 0;
  double* value = nullptr;
  double* tau = nullptr;
};

// Eight small matrices at a time, element by element: [i][j][kTransformed].
constexpr int kTransformed = 8;
constexpr int kMaxSide = 10;  // rows and columns of one

// out = left in right^T.
struct TransformArgs {
  const double* left = nullptr;   // [rows][kMaxSide], of which in_rows count
  const double* right = nullptr;  // [columns][kMaxSide], of which in_columns count
  int rows = 0, in_rows = 0, columns = 0, in_columns = 0;
  const float* in = nullptr;  // [in_rows][in_columns][kTransformed]
  float* out = nullptr;       // [rows][columns], the elements' eight values out_step apart
  int64_t out_step = kTransformed;
};

// sum[r][p] += sum over k < terms of w[r][k] * x[k][p], all in fp32: where a result needs no more than that.
struct FloatTileArgs {
  const float* x = nullptr;  // terms lie float_pixels apart
  const float* w = nullptr;
  int64_t w_stride = 0;  // between rows
  int64_t terms = 0;
  float* sum = nullptr;
  int64_t sum_stride = 0;    // between rows, here and below
  float* squares = nullptr;  // += sum^2 at each end of SampleBlock(terms), in units of that many terms; may be null
};

// How far a serial fp32 sum of the same terms strays (TileArgs::drift): of one row, float_pixels of them.
struct FloatDriftArgs {
  const float* x = nullptr;
  const float* w = nullptr;
  int64_t terms = 0;
  float* drift = nullptr;
};

// What differences are made of: the largest |x|, the largest |near - x|, and a sum that is NaN where one of the latter
// is not finite.
struct DifferenceRange {
  double largest = 0, distance = 0, poison = 0;
};

struct SumKernels {
  const char* name;
  int tile_vectors;  // widest AccumulateTile call, in units of 8 pixels: 1, or a whole tile
  // rows is 6, 4, 2 or 1; vectors (of 8 pixels) 1 .. tile_vectors.
  void (*accumulate_tile)(int rows, int vectors, const TileArgs& args);
  // One row of up to kTile pixels whose terms lie at offsets.
  void (*accumulate_row)(int vectors, const TileArgs& args);
  // Like accumulate_tile for one row, and once more in fp32.
  void (*drift_tile)(int vectors, const TileArgs& args);
  // out[r] = sum over k < count of w[r * w_stride + k] * x[k], r < rows <= 4, in kLanes interleaved partial sums;
  // abs_w[r] += sum of |w| unless null.
  void (*dot)(int rows, const float* w, int64_t w_stride, const double* x, int64_t count, double* out, double* abs_w);
  // tile[k][p] = source[offsets[k] + segment offset + ...]; writes up to 7 pixels past a segment's end.
  void (*gather)(const double* source, const int64_t* offsets, int64_t count, const TileSegment* segments,
                 int num_segments, double* tile);
  // rows [count][kTile] as groups of 8 pixels, [count][8] each, that lie `step` apart: what accumulate_tile reads where
  // it takes one vector at a time. Terms that lie kTile apart would share a quarter of L1's sets.
  void (*group)(const double* rows, int64_t count, int groups, int64_t step, double* tile);
  // out[p] += sum over k < count of |x[k][p]|, p < kTile; terms lie kTile apart, or at x + offsets[k].
  void (*add_abs)(const double* x, const int64_t* offsets, int64_t count, double* out);
  // dst[i] = src[i]
  void (*widen)(const float* src, int64_t count, double* dst);
  // The same, and the return value is the sum of |src|.
  double (*widen_abs)(const float* src, int64_t count, double* dst);
  void (*finish)(const FinishArgs& args);
  void (*transform)(const TransformArgs& args);
  // dst[i] = near[i] - x[i]; widens `range`.
  void (*subtract)(const double* near, const double* x, int64_t count, float* dst, DifferenceRange* range);
  int float_pixels;  // of a tile of accumulate_floats
  // rows is 6, 4, 2 or 1; of the tile's pixels the first half alone, or both.
  void (*accumulate_floats)(int rows, int halves, const FloatTileArgs& args);
  void (*drift_floats)(const FloatDriftArgs& args);
};

// The best set for EffectiveIsa().
const SumKernels& BestSumKernels();
// All sets this CPU runs, best first; for tests that compare them.
int NumSumKernels();
const SumKernels& SumKernelsAt(int index);

}  // namespace plumb::reference

#endif  // PLUMB_REFERENCE_SUM_KERNEL_H_
