// Per tile: U = G g G^T, V = B^T d B, T = sum over c of ([G][g][G^T]) . ([B^T][d][B]) with [X] = X squared elementwise,
// P the squares of the partial sums over c of U . V, d how far their serial fp32 sum strays:
//   sigma^2 = [A^T] (u^2 (2 T + P) + (1.5 d)^2) [A] + u_out^2 y^2
//   eta     = 2^-126 (1 + |A^T| (sum |U| + sum |V| + C) |A|)          tau = 8 sigma + eta
// Along an axis on which the kernel has one value (1x7, 7x1) nothing is transformed.
// At each of the n x n positions of a tile, U . V summed over c is a 1x1 convolution of the tiles, so its values, P and
// d come from SumOfProducts. Channels and tiles are taken in pieces that bound the memory.
#include "reference/sum/winograd.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <vector>

#include "base/block_pool.h"
#include "base/threads.h"
#include "plumb/numerics.h"
#include "reference/sum/kernel.h"
#include "reference/sum/winograd_matrices.h"
#include "reference/sum/winograd_phases.h"

namespace plumb {

namespace reference {
namespace {

constexpr int kMaxKernel = Numerics::kMaxTaps;
constexpr int64_t kPieceChannels = 64;
constexpr int64_t kPieceBytes = int64_t{16} << 20;
constexpr double kTiny = 0x1p-126;

constexpr double kHalfRoot = 0.70710678118654752440, kRoot = 1.41421356237309504880;
// Points decide the tile, n = points + 1, and with the kernel's r the results, m = n - r + 1. The one that loses most
// first: its bound is the largest nearly everywhere. MNN transforms by tiles of 4, 6 and 8 whatever the kernel.
struct UsualPoints {
  std::vector<double> points;
  bool any_kernel;  // else 3x3 only
};
const UsualPoints kUsualPoints[] = {
    {{0, 1, -1, 2, -2, 3, -3}, true},       // MNN
    {{0, 1, -1, 2, -2, 0.5, -0.5}, false},  // ncnn
    {{0, 1, -1, 2, -2}, true},
    {{0, kHalfRoot, -kHalfRoot, kRoot, -kRoot}, false},  // ncnn
    {{0, 1, -1}, true},
};

double Square(double x) { return x * x; }

// Room for doubles that grows and is recycled with all other tensors.
class Room {
 public:
  double* Take(int64_t count) {
    if (count > size_) block_ = AllocateBlock(static_cast<size_t>(count) * sizeof(double)), size_ = count;
    if (block_ == nullptr) throw std::bad_alloc();
    return data();
  }
  double* data() const { return static_cast<double*>(block_.get()); }

 private:
  std::shared_ptr<void> block_;
  int64_t size_ = 0;
};

// Lanes [position][kTransformed], the first `count` of each, to or from rows that lie `step` apart. Of all of them a
// copy is a few instructions, of fewer a call.
void Scatter(const double* lanes, int64_t positions, int64_t count, double* to, int64_t step) {
  for (int64_t p = 0; p < positions; ++p) {
    if (count == kTransformed) {
      std::copy_n(lanes + p * kTransformed, kTransformed, to + p * step);
    } else {
      std::copy_n(lanes + p * kTransformed, count, to + p * step);
    }
  }
}
void Collect(const double* from, int64_t step, int64_t positions, int64_t count, double* lanes) {
  for (int64_t p = 0; p < positions; ++p) {
    if (count == kTransformed) {
      std::copy_n(from + p * step, kTransformed, lanes + p * kTransformed);
    } else {
      std::copy_n(from + p * step, count, lanes + p * kTransformed);
    }
  }
}

// One form of one image.
class Sweep {
 public:
  // `raise`: what is larger already stays.
  Sweep(const SumGeometry& geometry, const std::vector<double>& points, const SumBound& bound, bool raise)
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
        kernels_(BestSumKernels()) {
    const int64_t per_tile = positions_ * (2 * channels_ + 3 * kPieceChannels) * 8;
    piece_ = std::clamp<int64_t>(kPieceBytes / per_tile, 8, tiles_);
  }

  void Run(const float* weight, ConstReals input, const double* output, double* tau) {
    for (int64_t o = 0; o < outputs_; o += kPieceChannels) {
      const int64_t count = std::min(kPieceChannels, outputs_ - o);
      TransformWeights(weight + o * channels_ * rows_.r * columns_.r, count);
      for (int64_t t = 0; t < tiles_; t += piece_) {
        const int64_t tiles = std::min(piece_, tiles_ - t);
        if (o == 0 || piece_ < tiles_) TransformInput(input, t, tiles);
        Multiply(count, tiles);
        Finish(output, o, count, t, tiles, tau);
      }
    }
  }

 private:
  using Entries = Matrices::Entries;
  using Lanes = double[kMaxSide * kMaxSide * kTransformed];

  // out = f(left) in f(right)^T, f what `entries` says.
  void Transform(const Matrices::Matrix& left, const Matrices::Matrix& right, Entries entries, const Lanes& in,
                 Lanes& out) const {
    TransformArgs args;
    args.left = left.As(entries), args.right = right.As(entries);
    args.rows = left.rows, args.in_rows = left.columns;
    args.columns = right.rows, args.in_columns = right.columns;
    args.in = in, args.out = out;
    kernels_.transform(args);
  }

  // [position][output][channel]; the sum of |U| per [position][output].
  void TransformWeights(const float* weight, int64_t count) {
    double* values = weights_.Take(positions_ * count * channels_);
    double* squares = squared_weights_.Take(positions_ * count * channels_);
    double* sums = weight_sum_.Take(positions_ * count);
    const int64_t taps = int64_t{rows_.r} * columns_.r;
    ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
      Lanes kernel = {}, out;
      for (int64_t o = begin; o < end; ++o) {
        for (int64_t c = 0; c < channels_; c += kTransformed) {
          const int64_t lanes = std::min<int64_t>(kTransformed, channels_ - c);
          for (int64_t l = 0; l < lanes; ++l) {
            for (int64_t i = 0; i < taps; ++i)
              kernel[i * kTransformed + l] = weight[(o * channels_ + c + l) * taps + i];
          }
          Transform(rows_.g, columns_.g, Entries::kSame, kernel, out);
          Scatter(out, positions_, lanes, values + o * channels_ + c, count * channels_);
          for (int64_t i = 0; i < taps * kTransformed; ++i) kernel[i] = Square(kernel[i]);
          Transform(rows_.g, columns_.g, Entries::kSquared, kernel, out);
          Scatter(out, positions_, lanes, squares + o * channels_ + c, count * channels_);
        }
        for (int64_t p = 0; p < positions_; ++p) {
          const double* row = values + (p * count + o) * channels_;
          double sum = 0;
          for (int64_t c = 0; c < channels_; ++c) sum += std::fabs(row[c]);
          sums[p * count + o] = sum;
        }
      }
    });
  }

  // [position][channel][tile], beginning with tile `first`.
  void TransformInput(ConstReals input, int64_t first, int64_t tiles) {
    double* values = values_.Take(positions_ * channels_ * tiles);
    double* squares = squared_values_.Take(positions_ * channels_ * tiles);
    ParallelFor(channels_, 1, [&](int64_t begin, int64_t end) {
      Lanes d = {}, out;
      for (int64_t c = begin; c < end; ++c) {
        for (int64_t t = 0; t < tiles; t += kTransformed) {
          const int64_t lanes = std::min<int64_t>(kTransformed, tiles - t);
          for (int64_t l = 0; l < lanes; ++l) Gather(input, c, first + t + l, d + l);
          Transform(rows_.b, columns_.b, Entries::kSame, d, out);
          Scatter(out, positions_, lanes, values + c * tiles + t, channels_ * tiles);
          for (int64_t i = 0; i < positions_ * kTransformed; ++i) d[i] = Square(d[i]);
          Transform(rows_.b, columns_.b, Entries::kSquared, d, out);
          Scatter(out, positions_, lanes, squares + c * tiles + t, channels_ * tiles);
        }
      }
    });
    double* sums = value_sum_.Take(positions_ * tiles);
    ParallelFor(positions_, 1, [&](int64_t begin, int64_t end) {
      std::fill(sums + begin * tiles, sums + end * tiles, 0.0);
      for (int64_t pc = begin * channels_; pc < end * channels_; ++pc) {
        double* sum = sums + pc / channels_ * tiles;
        for (int64_t t = 0; t < tiles; ++t) sum[t] += std::fabs(values[pc * tiles + t]);
      }
    });
  }

  // One tile into one lane.
  void Gather(ConstReals input, int64_t channel, int64_t tile, double* lane) const {
    const int64_t top = tile / across_ * rows_.m - height_.pad, left = tile % across_ * columns_.m - width_.pad;
    for (int64_t i = 0; i < rows_.n; ++i) {
      for (int64_t j = 0; j < columns_.n; ++j, lane += kTransformed) {
        const int64_t y = top + i, x = left + j;
        const bool inside = y >= 0 && y < height_.in && x >= 0 && x < width_.in;
        *lane = inside ? input.At((channel * height_.in + y) * width_.in + x) : 0;
      }
    }
  }

  // spread_ = u^2 (2 T + P) + (1.5 d)^2, [position][output][tile].
  void Multiply(int64_t count, int64_t tiles) {
    double* spreads = spread_.Take(positions_ * count * tiles);
    double* scratch = scratch_.Take(count * tiles);
    SumGeometry geometry;
    geometry.in_channels = channels_;
    geometry.out_channels = count;
    geometry.axis[2] = {tiles, tiles, 1, 1, 1, 0};
    SumOperands operands;
    operands.constant = false;
    SumBound bound = bound_;
    bound.u_out = 0;
    for (int64_t p = 0; p < positions_; ++p) {
      double* spread = spreads + p * count * tiles;
      SumImage image;
      image.input = values_.data() + p * channels_ * tiles;
      image.output = scratch;
      image.tau = spread;
      operands.weight = weights_.data() + p * count * channels_;
      SumOfProducts(geometry, operands, {image}, bound);
      image.input = squared_values_.data() + p * channels_ * tiles;
      image.tau = nullptr;
      operands.weight = squared_weights_.data() + p * count * channels_;
      SumOfProducts(geometry, operands, {image});
      for (int64_t i = 0; i < count * tiles; ++i)
        spread[i] = Square(spread[i] / 8) + 2 * bound.u * bound.u * scratch[i];
    }
  }

  void Finish(const double* output, int64_t first_output, int64_t count, int64_t first_tile, int64_t tiles,
              double* tau) {
    ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
      Lanes lanes = {}, squares, etas;
      for (int64_t o = begin; o < end; ++o) {
        const int64_t plane = (first_output + o) * height_.out * width_.out;
        for (int64_t t = 0; t < tiles; t += kTransformed) {
          const int64_t some = std::min<int64_t>(kTransformed, tiles - t);
          Collect(spread_.data() + o * tiles + t, count * tiles, positions_, some, lanes);
          Transform(rows_.a, columns_.a, Entries::kSquared, lanes, squares);
          for (int64_t p = 0; p < positions_; ++p) {
            const double weights = weight_sum_.data()[p * count + o] + static_cast<double>(channels_);
            for (int64_t l = 0; l < some; ++l)
              lanes[p * kTransformed + l] = weights + value_sum_.data()[p * tiles + t + l];
          }
          Transform(rows_.a, columns_.a, Entries::kMagnitude, lanes, etas);
          for (int64_t l = 0; l < some; ++l)
            FinishTile(first_tile + t + l, squares + l, etas + l, output + plane, tau + plane);
        }
      }
    });
  }

  void FinishTile(int64_t tile, const double* squares, const double* etas, const double* output, double* tau) const {
    for (int i = 0; i < rows_.m; ++i) {
      for (int j = 0; j < columns_.m; ++j) {
        const int64_t y = tile / across_ * rows_.m + i, x = tile % across_ * columns_.m + j;
        if (y >= height_.out || x >= width_.out) continue;
        const int64_t at = y * width_.out + x, lane = int64_t{kTransformed} * (i * columns_.m + j);
        const double wanted =
            8 * std::sqrt(Square(bound_.u_out * output[at]) + squares[lane]) + kTiny * (1 + etas[lane]);
        if (!raise_) {
          tau[at] = std::isfinite(wanted) ? wanted : INFINITY;  // a NaN or infinity reaches its whole tile
        } else if (wanted > tau[at] && std::isfinite(wanted)) {
          tau[at] = wanted;
        }
      }
    }
  }

  Matrices rows_, columns_;
  SumBound bound_;
  bool raise_;
  SumAxis height_, width_;
  int64_t channels_, outputs_, across_, tiles_, positions_, piece_ = 1;
  const SumKernels& kernels_;
  Room weights_, squared_weights_, weight_sum_;  // U, [G][g][G^T], sum |U|
  Room values_, squared_values_, value_sum_;     // V, [B^T][d][B], sum |V|
  Room spread_, scratch_;
};

ConstReals Behind(ConstReals reals, int64_t count) {
  return reals.is_double ? ConstReals(reals.f64() + count) : ConstReals(reals.f32() + count);
}

// Group by group, each a convolution of its own.
void RunGroups(const SumGeometry& geometry, const std::vector<double>& points, const SumBound& bound, bool raise,
               const float* weight, ConstReals input, const double* output, double* tau) {
  SumGeometry one = geometry;
  one.groups = 1;
  one.in_channels /= geometry.groups;
  one.out_channels /= geometry.groups;
  const int64_t weights = one.in_channels * one.out_channels * geometry.axis[1].kernel * geometry.axis[2].kernel;
  const int64_t in = one.in_channels * geometry.in_pixels(), out = one.out_channels * geometry.out_pixels();
  Sweep sweep(one, points, bound, raise);
  for (int64_t g = 0; g < geometry.groups; ++g)
    sweep.Run(weight + g * weights, Behind(input, g * in), output + g * out, tau + g * out);
}

}  // namespace

namespace {

// A convolution of maps with these strides, of some channels, that are not dilated.
bool IsPlain(const SumGeometry& geometry, int64_t stride) {
  const auto plain = [stride](const SumAxis& a) { return a.stride == stride && a.dilation == 1; };
  const bool depthwise = geometry.groups > 1 && geometry.groups == geometry.in_channels;
  return !geometry.transposed && !depthwise && geometry.axis[0].kernel == 1 && geometry.axis[0].out == 1 &&
         plain(geometry.axis[1]) && plain(geometry.axis[2]);
}

}  // namespace

bool MayBeWinograd(const SumGeometry& geometry) {
  return IsPlain(geometry, 1) && IsWinogradKernel(geometry.axis[1].kernel, geometry.axis[2].kernel);
}

bool IsWinogradKernel(int64_t height, int64_t width) {
  const int64_t larger = std::max(height, width), smaller = std::min(height, width);
  return larger >= 2 && larger <= kMaxKernel && (smaller == larger || smaller == 1);
}

bool Applies(const WinogradForm& form, const SumGeometry& geometry) {
  const int64_t height = geometry.axis[1].kernel, width = geometry.axis[2].kernel;
  const int64_t taps = static_cast<int64_t>(form.points.size()) + 2 - form.m;
  if (form.stride == 2) {
    return IsPlain(geometry, 2) && height == width && (height + 1) / 2 == taps && form.dimensions == 2;
  }
  return MayBeWinograd(geometry) && std::max(height, width) == taps && (height == width) == (form.dimensions == 2);
}

std::vector<WinogradForm> UsualWinogradForms() {
  std::vector<WinogradForm> forms;
  for (const UsualPoints& usual : kUsualPoints)
    forms.push_back({static_cast<int>(usual.points.size()) - 1, usual.points});
  return forms;
}

void BoundAsWinograd(const SumGeometry& geometry, const WinogradForm& form, const float* weight, ConstReals input,
                     const double* output, const SumBound& bound, double* tau) {
  if (form.stride == 1) return RunGroups(geometry, form.points, bound, false, weight, input, output, tau);
  const Phases phases(geometry, weight, input);
  RunGroups(phases.geometry, form.points, bound, false, phases.weight.data(), ConstReals(phases.input.data()), output,
            tau);
}

void RaiseToWinograd(const SumGeometry& geometry, const float* weight, ConstReals input, const double* output,
                     const SumBound& bound, double* tau) {
  const int64_t kernel = std::max(geometry.axis[1].kernel, geometry.axis[2].kernel);
  const bool is_3x3 = geometry.axis[1].kernel == 3 && geometry.axis[2].kernel == 3;
  for (const UsualPoints& usual : kUsualPoints) {
    const bool saves = static_cast<int64_t>(usual.points.size()) >= kernel;  // two results at a time at least
    if (!saves || (!usual.any_kernel && !is_3x3)) continue;
    RunGroups(geometry, usual.points, bound, true, weight, input, output, tau);
    if (bound.level == 0) break;
  }
}

}  // namespace reference
}  // namespace plumb
