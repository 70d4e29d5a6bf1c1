// SPDX-License-Identifier: Apache-2.0
// At each of the n x n positions of a tile, U . V summed over c is a product of matrices: tiles lie as
// accumulate_floats reads them, weights of an output channel one after the other. Nothing of it is as large as all
// transformed weights or inputs of a layer would be: what a thread has at a time stays in its caches, pieces of tiles
// bound the rest.
#include "reference/sum/winograd_sweep.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "base/block_pool.h"
#include "base/threads.h"
#include "reference/sum/band.h"

namespace plumb::reference {
namespace {

constexpr int64_t kPieceBytes = int64_t{4} << 20;      // of transformed inputs
constexpr int64_t kWeightBytes = int64_t{1} << 20;     // of a thread's transformed weights
constexpr int64_t kSpreadBytes = int64_t{256} << 10;   // of its spreads
constexpr int64_t kMaxOutputs = 2 * kRows;             // that share one reading of the transformed inputs
constexpr double kTiny = 0x1p-126, kFloor = 0x1p-120;  // the latter of a sum of squares, per term

using Entries = Matrices::Entries;
using Lanes = float[kMaxSide * kMaxSide * kTransformed];

template <class T>
T Square(T x) {
  return x * x;
}

// The power of two that brings this magnitude of f32 to [1, 2); of nothing but zeros: a large one.
double ScaleOf(double largest) {
  return std::isfinite(largest) ? std::ldexp(1, -std::clamp(std::ilogb(largest), -149, 127)) : 1;
}

// out = f(left) in f(right)^T, f what `entries` says; the elements of `out` lie `step` apart.
void Transform(const SumKernels& kernels, const Matrices::Matrix& left, const Matrices::Matrix& right, Entries entries,
               const float* in, float* out, int64_t step = kTransformed) {
  TransformArgs args;
  args.left = left.As(entries), args.right = right.As(entries);
  args.rows = left.rows, args.in_rows = left.columns;
  args.columns = right.rows, args.in_columns = right.columns;
  args.in = in, args.out = out, args.out_step = step;
  kernels.transform(args);
}

template <class T>
void GatherInside(const T* from, int rows, int columns, int64_t row_step, double scale, float* lane) {
  for (int i = 0; i < rows; ++i, from += row_step) {
    for (int j = 0; j < columns; ++j, lane += kTransformed)
      *lane = static_cast<float>(static_cast<double>(from[j]) * scale);
  }
}

// How many output channels accumulate_floats takes of `left` ones.
int RowsAtOnce(int64_t left) { return left >= 6 && left != 8 ? 6 : left >= 4 ? 4 : left >= 2 ? 2 : 1; }

}  // namespace

float* WinogradSweep::Room::Take(int64_t count) {
  if (count > size_) block_ = AllocateBlock(static_cast<size_t>(count) * sizeof(float)), size_ = count;
  if (block_ == nullptr) throw std::bad_alloc();
  return data();
}

WinogradSweep::WinogradSweep(const SumGeometry& geometry, const std::vector<double>& points, const SumBound& bound,
                             bool raise)
    : rows_(points, geometry.axis[1].kernel),
      columns_(points, geometry.axis[2].kernel),
      bound_(bound),
      raise_(raise),
      height_(geometry.axis[1]),
      width_(geometry.axis[2]),
      channels_(geometry.in_channels),
      outputs_(geometry.out_channels),
      across_((width_.out + columns_.m - 1) / columns_.m),
      tiles_(across_ * ((height_.out + rows_.m - 1) / rows_.m)),
      positions_(rows_.n * columns_.n),
      results_(rows_.m * columns_.m),
      kernels_(BestSumKernels()),
      group_(kernels_.float_pixels),
      row_((channels_ + 2 * kTransformed - 1) / kTransformed * kTransformed) {  // no whole number of pages apart
  const auto fit = [](int64_t bytes, int64_t each) { return bytes / (each * static_cast<int64_t>(sizeof(float))); };
  piece_ = std::max(group_, fit(kPieceBytes, 2 * positions_ * channels_) / group_ * group_);
  block_ = std::clamp<int64_t>(fit(kWeightBytes, 2 * positions_ * row_), kRows, kMaxOutputs);
  some_ = std::max<int64_t>(1, fit(kSpreadBytes, block_ * positions_ * group_));
}

void WinogradSweep::Run(const float* weight, ConstReals input, const double* output, double* tau) {
  for (first_ = 0; first_ < tiles_; first_ += piece_) {
    count_ = std::min(piece_, tiles_ - first_);
    eights_ = (count_ + kTransformed - 1) / kTransformed;
    groups_ = (count_ + group_ - 1) / group_;
    FindScales(input);
    TransformInput(input);
    AddMagnitudes();
    ParallelFor(outputs_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; o += block_) RunOutputs(weight, output, o, std::min(block_, end - o), tau);
    });
  }
}

// Of each tile of the piece, by the largest magnitude of the pixels that it reads in any channel.
void WinogradSweep::FindScales(ConstReals input) {
  const int64_t first_row = first_ / across_ * rows_.m - height_.pad;
  const int64_t last_row = (first_ + count_ - 1) / across_ * rows_.m - height_.pad + rows_.n;
  const int64_t top = std::clamp<int64_t>(first_row, 0, height_.in), bottom = std::clamp(last_row, top, height_.in);
  std::vector<double> largest(static_cast<size_t>((bottom - top) * width_.in));
  ParallelFor(bottom - top, 1, [&](int64_t begin, int64_t end) {
    double* row = largest.data() + begin * width_.in;
    const int64_t count = (end - begin) * width_.in;
    for (int64_t c = 0; c < channels_; ++c) {
      const int64_t at = (c * height_.in + top + begin) * width_.in;
      for (int64_t i = 0; i < count; ++i) {
        const double magnitude = std::fabs(input.At(at + i));
        row[i] = magnitude > row[i] ? magnitude : row[i];
      }
    }
  });
  scales_.resize(static_cast<size_t>(count_));
  for (int64_t t = 0; t < count_; ++t) {
    const int64_t y = (first_ + t) / across_ * rows_.m - height_.pad,
                  x = (first_ + t) % across_ * columns_.m - width_.pad;
    double most = 0;
    for (int64_t i = std::max(y, top); i < std::min(y + rows_.n, bottom); ++i) {
      for (int64_t j = std::max<int64_t>(x, 0); j < std::min(x + columns_.n, width_.in); ++j)
        most = std::max(most, largest[static_cast<size_t>((i - top) * width_.in + j)]);
    }
    scales_[static_cast<size_t>(t)] = ScaleOf(most);
  }
}

void WinogradSweep::TransformInput(ConstReals input) {
  const int64_t size = positions_ * groups_ * channels_ * group_, step = GroupAt(1, 0);
  float *values = values_.Take(size), *squares = squared_values_.Take(size);
  ParallelFor(channels_, 1, [&](int64_t begin, int64_t end) {
    Lanes d;
    for (int64_t c = begin; c < end; ++c) {
      for (int64_t eight = 0; eight < eights_; ++eight) {
        const int64_t tile = eight * kTransformed, at = EightAt(eight) + c * group_;
        for (int64_t l = 0; l < kTransformed; ++l)  // lanes beyond the last tile hold that once more
          Gather(input, c, first_ + std::min(tile + l, count_ - 1), d + l);
        Transform(kernels_, rows_.b, columns_.b, Entries::kSame, d, values + at, step);
        for (int64_t i = 0; i < positions_ * kTransformed; ++i) d[i] = Square(d[i]);
        Transform(kernels_, rows_.b, columns_.b, Entries::kSquared, d, squares + at, step);
      }
    }
  });
}

// One tile into one lane.
void WinogradSweep::Gather(ConstReals input, int64_t channel, int64_t tile, float* lane) const {
  const double scale = scales_[static_cast<size_t>(tile - first_)];
  const int64_t top = tile / across_ * rows_.m - height_.pad, left = tile % across_ * columns_.m - width_.pad;
  const int64_t at = (channel * height_.in + top) * width_.in + left;
  const bool inside = top >= 0 && top + rows_.n <= height_.in && left >= 0 && left + columns_.n <= width_.in;
  if (inside && input.is_double) {
    GatherInside(input.f64() + at, rows_.n, columns_.n, width_.in, scale, lane);
  } else if (inside) {
    GatherInside(input.f32() + at, rows_.n, columns_.n, width_.in, scale, lane);
  } else {
    for (int64_t i = 0; i < rows_.n; ++i) {
      for (int64_t j = 0; j < columns_.n; ++j, lane += kTransformed) {
        const int64_t y = top + i, x = left + j;
        const bool known = y >= 0 && y < height_.in && x >= 0 && x < width_.in;
        *lane = known ? static_cast<float>(input.At(at + i * width_.in + j) * scale) : 0;
      }
    }
  }
}

void WinogradSweep::AddMagnitudes() {
  float* magnitudes = magnitude_.Take(eights_ * results_ * kTransformed);
  ParallelFor(eights_, 1, [&](int64_t begin, int64_t end) {
    Lanes sums;
    for (int64_t eight = begin; eight < end; ++eight) {
      std::fill_n(sums, positions_ * kTransformed, 0.0F);
      for (int64_t p = 0; p < positions_; ++p) {
        const float* value = values_.data() + EightAt(eight) + GroupAt(p, 0);
        for (int64_t c = 0; c < channels_; ++c, value += group_) {
          for (int l = 0; l < kTransformed; ++l) sums[p * kTransformed + l] += std::fabs(value[l]);
        }
      }
      Transform(kernels_, rows_.a, columns_.a, Entries::kMagnitude, sums, magnitudes + eight * results_ * kTransformed);
    }
  });
}

void WinogradSweep::RunOutputs(const float* weight, const double* output, int64_t first, int64_t count,
                               double* tau) const {
  double etas[kMaxOutputs * kMaxSide * kMaxSide], scales[kMaxOutputs];
  Part part;
  part.first = first, part.count = count, part.etas = etas, part.scales = scales;
  part.weights = FloatScratch(ScratchSlot::kWeight, 2 * positions_ * count * row_);
  part.spreads = FloatScratch(ScratchSlot::kSum, count * some_ * group_ * positions_);
  for (int64_t o = 0; o < count; ++o) TransformWeights(weight, o, part);
  for (int64_t begin = 0; begin < groups_; begin += some_) {
    const int64_t end = std::min(begin + some_, groups_);
    part.first_eight = begin * group_ / kTransformed;
    part.eights = std::min(end * group_ / kTransformed, eights_) - part.first_eight;
    for (int64_t p = 0; p < positions_; ++p) {
      for (int64_t group = begin; group < end; ++group) Multiply(p, group, part);
    }
    for (int64_t o = 0; o < count; ++o) {
      for (int64_t eight = 0; eight < part.eights; ++eight) Finish(o, eight, part, output, tau);
    }
  }
}

void WinogradSweep::TransformWeights(const float* weight, int64_t o, const Part& part) const {
  const int64_t taps = int64_t{rows_.r} * columns_.r, step = part.count * row_;
  const float* filter = weight + (part.first + o) * channels_ * taps;
  float *values = part.weights + o * row_, *squares = values + positions_ * step;
  float largest = 0;
  for (int64_t i = 0; i < channels_ * taps; ++i) largest = std::max(largest, std::fabs(filter[i]));
  const double scale = ScaleOf(static_cast<double>(largest));
  part.scales[o] = scale;
  Lanes kernel, sums, etas;
  std::fill_n(sums, positions_ * kTransformed, 0.0F);
  for (int64_t c = 0; c < channels_; c += kTransformed, filter += kTransformed * taps) {
    const int64_t lanes = std::min<int64_t>(kTransformed, channels_ - c);
    if (lanes < kTransformed) std::fill_n(kernel, taps * kTransformed, 0.0F);
    for (int64_t l = 0; l < lanes; ++l) {
      for (int64_t i = 0; i < taps; ++i)
        kernel[i * kTransformed + l] = static_cast<float>(static_cast<double>(filter[l * taps + i]) * scale);
    }
    Transform(kernels_, rows_.g, columns_.g, Entries::kSame, kernel, values + c, step);
    for (int64_t p = 0; p < positions_; ++p) {
      for (int l = 0; l < kTransformed; ++l) sums[p * kTransformed + l] += std::fabs(values[p * step + c + l]);
    }
    for (int64_t i = 0; i < taps * kTransformed; ++i) kernel[i] = Square(kernel[i]);
    Transform(kernels_, rows_.g, columns_.g, Entries::kSquared, kernel, squares + c, step);
  }
  Transform(kernels_, rows_.a, columns_.a, Entries::kMagnitude, sums, etas);
  std::fill_n(sums, positions_ * kTransformed, static_cast<float>(channels_) / kTransformed);
  Transform(kernels_, rows_.a, columns_.a, Entries::kMagnitude, sums, kernel);
  for (int64_t i = 0; i < results_; ++i) {
    double& eta = part.etas[o * results_ + i] = 0;
    for (int64_t l = i * kTransformed; l < (i + 1) * kTransformed; ++l)
      eta += static_cast<double>(etas[l]) / scale + static_cast<double>(kernel[l]);
  }
}

// The part's spreads at one position, of the tiles of one group.
void WinogradSweep::Multiply(int64_t position, int64_t group, const Part& part) const {
  const int64_t squared = positions_ * part.count * row_;
  const int64_t first_eight = group * group_ / kTransformed - part.first_eight;
  const int64_t vectors = std::min(group_ / kTransformed, part.eights - first_eight);
  const int halves = vectors * kTransformed <= group_ / 2 ? 1 : 2;
  const bool drift = bound_.level >= kMaxSumLevel;
  alignas(64) float sums[kRows * kTile], squares[kRows * kTile], products[kRows * kTile], drifts[kRows * kTile] = {};
  for (int64_t o = 0, rows; o < part.count; o += rows) {
    rows = RowsAtOnce(part.count - o);
    for (float* slab : {sums, squares, products}) std::fill_n(slab, rows * kTile, 0.0F);
    FloatTileArgs args;
    args.x = values_.data() + GroupAt(position, group);
    args.w = part.weights + (position * part.count + o) * row_;
    args.w_stride = row_;
    args.terms = channels_;
    args.sum = sums, args.squares = squares, args.sum_stride = kTile;
    kernels_.accumulate_floats(static_cast<int>(rows), halves, args);
    if (drift) AddDrift(static_cast<int>(rows), args, drifts);
    args.x = squared_values_.data() + GroupAt(position, group);
    args.w += squared;
    args.sum = products, args.squares = nullptr;
    kernels_.accumulate_floats(static_cast<int>(rows), halves, args);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t v = 0; v < vectors; ++v) {
        const int64_t at = r * kTile + v * kTransformed;
        Spread(products + at, squares + at, drifts + at,
               part.spreads + (((o + r) * part.eights + first_eight + v) * positions_ + position) * kTransformed);
      }
    }
  }
}

// 2 T + P + (1.5 d / u)^2 of eight tiles.
void WinogradSweep::Spread(const float* products, const float* squares, const float* drifts, float* spread) const {
  const auto unit = static_cast<float>(SampleBlock(channels_));
  float value[kTransformed];
  for (int l = 0; l < kTransformed; ++l) value[l] = 2 * products[l] + unit * squares[l];
  if (bound_.level >= kMaxSumLevel) {
    const auto share = static_cast<float>(1.5 / bound_.u);
    for (int l = 0; l < kTransformed; ++l) value[l] += Square(share * drifts[l]);
  }
  std::copy_n(value, kTransformed, spread);
}

// d of the sums that `args` describes; none where fp32 overflows.
void WinogradSweep::AddDrift(int rows, FloatTileArgs args, float* drifts) const {
  for (int r = 0; r < rows; ++r, args.w += args.w_stride) {
    float* drift = drifts + r * kTile;
    kernels_.drift_floats({args.x, args.w, args.terms, drift});
    for (int p = 0; p < kernels_.float_pixels; ++p) {
      if (!std::isfinite(drift[p])) drift[p] = 0;
    }
  }
}

void WinogradSweep::Finish(int64_t o, int64_t eight, const Part& part, const double* output, double* tau) const {
  Lanes squares;
  const float* spread = part.spreads + (o * part.eights + eight) * positions_ * kTransformed;
  Transform(kernels_, rows_.a, columns_.a, Entries::kSquared, spread, squares);
  const int64_t tile = (part.first_eight + eight) * kTransformed, plane = (part.first + o) * height_.out * width_.out;
  const float* magnitudes = magnitude_.data() + tile * results_;
  for (int64_t l = 0; l < std::min<int64_t>(kTransformed, count_ - tile); ++l) {
    FinishTile(first_ + tile + l, part.scales[o], squares + l, magnitudes + l, part.etas + o * results_, output + plane,
               tau + plane);
  }
}

void WinogradSweep::FinishTile(int64_t tile, double scale, const float* spread, const float* magnitudes,
                               const double* etas, const double* output, double* tau) const {
  const double tile_scale = scales_[static_cast<size_t>(tile - first_)],
               floor = kFloor * static_cast<double>(channels_);
  const double unit = Square(bound_.u / scale / tile_scale);
  const int64_t top = tile / across_ * rows_.m, left = tile % across_ * columns_.m;
  const int64_t height = std::min<int64_t>(rows_.m, height_.out - top);
  const int64_t width = std::min<int64_t>(columns_.m, width_.out - left);
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      const int64_t at = (top + i) * width_.out + left + j, result = i * columns_.m + j;
      const double eta = static_cast<double>(magnitudes[result * kTransformed]) / tile_scale + etas[result];
      const double squares = unit * (static_cast<double>(spread[result * kTransformed]) + floor);
      const double wanted = 8 * std::sqrt(Square(bound_.u_out * output[at]) + squares) + kTiny * (1 + eta);
      if (!raise_) {
        tau[at] = std::isfinite(wanted) ? wanted : INFINITY;  // a NaN or infinity reaches its whole tile
      } else if (wanted > tau[at] && std::isfinite(wanted)) {
        tau[at] = wanted;
      }
    }
  }
}

}  // namespace plumb::reference
