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
#include <vector>

#include "base/threads.h"
#include "plumb/numerics.h"

namespace plumb {

namespace reference {
namespace {

constexpr int kMaxTile = Numerics::kMaxPositions, kMaxKernel = Numerics::kMaxTaps;
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

// Toom and Cook's construction: only the points matter, since a scale of a row of B^T leaves G's row by its inverse.
struct Matrices {
  int m, n, r;
  double a[kMaxTile][kMaxTile] = {};  // A^T, m x n
  double b[kMaxTile][kMaxTile] = {};  // B^T, n x n
  double g[kMaxTile][kMaxTile] = {};  // G, n x r

  // The tile of these points and infinity; of a kernel of one value: itself.
  Matrices(const std::vector<double>& usual, int64_t kernel)
      : m(kernel == 1 ? 1 : static_cast<int>(usual.size()) + 2 - static_cast<int>(kernel)),
        n(kernel == 1 ? 1 : static_cast<int>(usual.size()) + 1),
        r(static_cast<int>(kernel)) {
    const double* points = usual.data();
    for (int j = 0; j + 1 < n; ++j) {
      double power = 1, scale = 1;
      for (int i = 0; i < m; ++i, power *= points[j]) a[i][j] = power;
      for (int l = 0; l + 1 < n; ++l) scale *= l == j ? 1 : points[j] - points[l];
      power = 1 / scale;
      for (int l = 0; l < r; ++l, power *= points[j]) g[j][l] = power;
      Polynomial(points, j, b[j]);
    }
    a[m - 1][n - 1] = 1;
    g[n - 1][r - 1] = 1;
    Polynomial(points, -1, b[n - 1]);
  }

  // The coefficients of the product of (x - point) over all points but `without`.
  void Polynomial(const double* points, int without, double* coefficients) const {
    coefficients[0] = 1;
    for (int l = 0, degree = 0; l + 1 < n; ++l) {
      if (l == without) continue;
      ++degree;
      for (int k = degree; k >= 0; --k) {
        coefficients[k] = (k > 0 ? coefficients[k - 1] : 0) - points[l] * (k < degree ? coefficients[k] : 0);
      }
    }
  }
};

using SquareMatrix = double[kMaxTile][kMaxTile];

// One side of a product of matrices, with its rows and columns.
struct Side {
  const SquareMatrix& matrix;
  int rows, columns;
};

// out = left in right^T, all entries put through f first.
template <class F>
void Transform(const Side& left, const Side& right, const SquareMatrix& in, F f, SquareMatrix& out) {
  SquareMatrix half = {};
  for (int i = 0; i < left.rows; ++i) {
    for (int k = 0; k < left.columns; ++k) {
      const double factor = f(left.matrix[i][k]);
      if (factor == 0) continue;
      for (int j = 0; j < right.columns; ++j) half[i][j] += factor * f(in[k][j]);
    }
  }
  for (int i = 0; i < left.rows; ++i) {
    for (int j = 0; j < right.rows; ++j) {
      double sum = 0;
      for (int k = 0; k < right.columns; ++k) sum += half[i][k] * f(right.matrix[j][k]);
      out[i][j] = sum;
    }
  }
}

double Same(double x) { return x; }
double Square(double x) { return x * x; }
double Magnitude(double x) { return std::fabs(x); }

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
        positions_(rows_.n * columns_.n) {
    const int64_t per_tile = positions_ * (2 * channels_ + 3 * kPieceChannels) * 8;
    piece_ = std::clamp<int64_t>(kPieceBytes / per_tile, 8, tiles_);
  }

  void Run(const float* weight, ConstReals input, const double* output, double* tau) {
    for (int64_t o = 0; o < outputs_; o += kPieceChannels) {
      const int64_t count = std::min(kPieceChannels, outputs_ - o);
      TransformWeights(weight + o * channels_ * rows_.r * columns_.r, count);
      for (int64_t t = 0; t < tiles_; t += piece_) {
        const int64_t tiles = std::min(piece_, tiles_ - t);
        TransformInput(input, t, tiles);
        Multiply(count, tiles);
        Finish(output, o, count, t, tiles, tau);
      }
    }
  }

 private:
  // [position][output][channel]; the sum of |U| per [position][output].
  void TransformWeights(const float* weight, int64_t count) {
    weights_.resize(static_cast<size_t>(positions_ * count * channels_));
    squared_weights_.resize(weights_.size());
    weight_sum_.assign(static_cast<size_t>(positions_ * count), 0);
    ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        for (int64_t c = 0; c < channels_; ++c) {
          SquareMatrix kernel, u, s;
          for (int64_t i = 0; i < rows_.r; ++i)
            std::copy_n(weight + ((o * channels_ + c) * rows_.r + i) * columns_.r, columns_.r, kernel[i]);
          const Side left{rows_.g, rows_.n, rows_.r}, right{columns_.g, columns_.n, columns_.r};
          Transform(left, right, kernel, Same, u);
          Transform(left, right, kernel, Square, s);
          for (int64_t p = 0; p < positions_; ++p) {
            const double value = u[p / columns_.n][p % columns_.n];
            weights_[static_cast<size_t>((p * count + o) * channels_ + c)] = value;
            squared_weights_[static_cast<size_t>((p * count + o) * channels_ + c)] = s[p / columns_.n][p % columns_.n];
            weight_sum_[static_cast<size_t>(p * count + o)] += std::fabs(value);
          }
        }
      }
    });
  }

  // [position][channel][tile], beginning with tile `first`.
  void TransformInput(ConstReals input, int64_t first, int64_t tiles) {
    values_.resize(static_cast<size_t>(positions_ * channels_ * tiles));
    squared_values_.resize(values_.size());
    ParallelFor(channels_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        for (int64_t t = 0; t < tiles; ++t) {
          SquareMatrix d, v, w;
          Gather(input, c, first + t, d);
          const Side left{rows_.b, rows_.n, rows_.n}, right{columns_.b, columns_.n, columns_.n};
          Transform(left, right, d, Same, v);
          Transform(left, right, d, Square, w);
          for (int64_t p = 0; p < positions_; ++p) {
            values_[static_cast<size_t>((p * channels_ + c) * tiles + t)] = v[p / columns_.n][p % columns_.n];
            squared_values_[static_cast<size_t>((p * channels_ + c) * tiles + t)] = w[p / columns_.n][p % columns_.n];
          }
        }
      }
    });
    value_sum_.assign(static_cast<size_t>(positions_ * tiles), 0);
    ParallelFor(positions_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t pc = begin * channels_; pc < end * channels_; ++pc) {
        double* sum = value_sum_.data() + pc / channels_ * tiles;
        for (int64_t t = 0; t < tiles; ++t) sum[t] += std::fabs(values_[static_cast<size_t>(pc * tiles + t)]);
      }
    });
  }

  void Gather(ConstReals input, int64_t channel, int64_t tile, SquareMatrix& d) const {
    const int64_t top = tile / across_ * rows_.m - height_.pad, left = tile % across_ * columns_.m - width_.pad;
    for (int64_t i = 0; i < rows_.n; ++i) {
      for (int64_t j = 0; j < columns_.n; ++j) {
        const int64_t y = top + i, x = left + j;
        const bool inside = y >= 0 && y < height_.in && x >= 0 && x < width_.in;
        d[i][j] = inside ? input.At((channel * height_.in + y) * width_.in + x) : 0;
      }
    }
  }

  // spread_ = u^2 (2 T + P) + (1.5 d)^2, [position][output][tile].
  void Multiply(int64_t count, int64_t tiles) {
    const auto size = static_cast<size_t>(positions_ * count * tiles);
    spread_.resize(size);
    scratch_.resize(static_cast<size_t>(count * tiles));
    SumGeometry geometry;
    geometry.in_channels = channels_;
    geometry.out_channels = count;
    geometry.axis[2] = {tiles, tiles, 1, 1, 1, 0};
    SumOperands operands;
    operands.constant = false;
    SumBound bound = bound_;
    bound.u_out = 0;
    for (int64_t p = 0; p < positions_; ++p) {
      double* spread = spread_.data() + p * count * tiles;
      SumImage image;
      image.input = values_.data() + p * channels_ * tiles;
      image.output = scratch_.data();
      image.tau = spread;
      operands.weight = weights_.data() + p * count * channels_;
      SumOfProducts(geometry, operands, {image}, bound);
      image.input = squared_values_.data() + p * channels_ * tiles;
      image.tau = nullptr;
      operands.weight = squared_weights_.data() + p * count * channels_;
      SumOfProducts(geometry, operands, {image});
      for (int64_t i = 0; i < count * tiles; ++i) {
        spread[i] = Square(spread[i] / 8) + 2 * bound.u * bound.u * scratch_[static_cast<size_t>(i)];
      }
    }
  }

  void Finish(const double* output, int64_t first_output, int64_t count, int64_t first_tile, int64_t tiles,
              double* tau) {
    ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        const int64_t plane = (first_output + o) * height_.out * width_.out;
        for (int64_t t = 0; t < tiles; ++t) FinishTile(o, count, t, tiles, first_tile + t, output + plane, tau + plane);
      }
    });
  }

  void FinishTile(int64_t o, int64_t count, int64_t t, int64_t tiles, int64_t tile, const double* output, double* tau) {
    SquareMatrix spread, sums;
    for (int64_t p = 0; p < positions_; ++p) {
      const int64_t k = p / columns_.n, l = p % columns_.n;
      spread[k][l] = spread_[static_cast<size_t>((p * count + o) * tiles + t)];
      sums[k][l] = weight_sum_[static_cast<size_t>(p * count + o)] + value_sum_[static_cast<size_t>(p * tiles + t)] +
                   static_cast<double>(channels_);
    }
    for (int i = 0; i < rows_.m; ++i) {
      for (int j = 0; j < columns_.m; ++j) {
        const int64_t y = tile / across_ * rows_.m + i, x = tile % across_ * columns_.m + j;
        if (y >= height_.out || x >= width_.out) continue;
        double squares = Square(bound_.u_out * output[y * width_.out + x]), eta = 1;
        for (int k = 0; k < rows_.n; ++k) {
          for (int l = 0; l < columns_.n; ++l) {
            squares += Square(rows_.a[i][k] * columns_.a[j][l]) * spread[k][l];
            eta += Magnitude(rows_.a[i][k] * columns_.a[j][l]) * sums[k][l];
          }
        }
        const double wanted = 8 * std::sqrt(squares) + kTiny * eta;
        double& own = tau[y * width_.out + x];
        if (!raise_) {
          own = std::isfinite(wanted) ? wanted : INFINITY;  // a NaN or infinity reaches its whole tile
        } else if (wanted > own && std::isfinite(wanted)) {
          own = wanted;
        }
      }
    }
  }

  Matrices rows_, columns_;
  SumBound bound_;
  bool raise_;
  SumAxis height_, width_;
  int64_t channels_, outputs_, across_, tiles_, positions_, piece_ = 1;
  std::vector<double> weights_, squared_weights_, weight_sum_;  // U, [G][g][G^T], sum |U|
  std::vector<double> values_, squared_values_, value_sum_;     // V, [B^T][d][B], sum |V|
  std::vector<double> spread_, scratch_;
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

bool MayBeWinograd(const SumGeometry& geometry) {
  const auto plain = [](const SumAxis& a) { return a.stride == 1 && a.dilation == 1; };
  const bool depthwise = geometry.groups > 1 && geometry.groups == geometry.in_channels;
  return !geometry.transposed && !depthwise && geometry.axis[0].kernel == 1 && geometry.axis[0].out == 1 &&
         plain(geometry.axis[1]) && plain(geometry.axis[2]) &&
         IsWinogradKernel(geometry.axis[1].kernel, geometry.axis[2].kernel);
}

bool IsWinogradKernel(int64_t height, int64_t width) {
  const int64_t larger = std::max(height, width), smaller = std::min(height, width);
  return larger >= 2 && larger <= kMaxKernel && (smaller == larger || smaller == 1);
}

bool Applies(const WinogradForm& form, const SumGeometry& geometry) {
  const int64_t height = geometry.axis[1].kernel, width = geometry.axis[2].kernel;
  const int64_t taps = static_cast<int64_t>(form.points.size()) + 2 - form.m;
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
  RunGroups(geometry, form.points, bound, false, weight, input, output, tau);
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
