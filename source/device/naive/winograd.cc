// Per tile: U = G g G^T, V = B^T d B, T = sum over c of ([G][g][G^T]) . ([B^T][d][B]) with [X] = X squared elementwise,
// P the squares of the partial sums over c of U . V, d how far their serial fp32 sum strays:
//   sigma^2 = [A^T] (u^2 (2 T + P) + (1.5 d)^2) [A] + u_out^2 y^2
//   eta     = 2^-126 (1 + |A^T| (sum |U| + sum |V| + C) |A|)          tau = 8 sigma + eta
// At each of the n x n positions of a tile, U . V summed over c is a 1x1 convolution of the tiles, so its values, P and
// d come from SumOfProducts. Channels and tiles are taken in pieces that bound the memory.
#include "device/naive/winograd.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/threads.h"

namespace plumb::naive {
namespace {

constexpr int kMaxTile = 8;
constexpr int64_t kPieceChannels = 64;
constexpr int64_t kPieceBytes = int64_t{16} << 20;
constexpr double kTiny = 0x1p-126;

constexpr double kHalfRoot = 0.70710678118654752440, kRoot = 1.41421356237309504880;
// The one that loses most first: its bound is the largest nearly everywhere.
const WinogradForm kUsualForms[] = {
    {6, {0, 1, -1, 2, -2, 3, -3}},      // MNN
    {6, {0, 1, -1, 2, -2, 0.5, -0.5}},  // ncnn
    {4, {0, 1, -1, 2, -2}},
    {4, {0, kHalfRoot, -kHalfRoot, kRoot, -kRoot}},  // ncnn
    {2, {0, 1, -1}},
};

// Toom and Cook's construction: only the points matter, since a scale of a row of B^T leaves G's row by its inverse.
struct Matrices {
  int m, n;
  double a[kMaxTile][kMaxTile] = {};  // A^T, m x n
  double b[kMaxTile][kMaxTile] = {};  // B^T, n x n
  double g[kMaxTile][3] = {};         // G, n x 3

  explicit Matrices(const WinogradForm& form) : m(form.m), n(form.m + 2) {
    const double* points = form.points.data();
    for (int j = 0; j + 1 < n; ++j) {
      double power = 1, scale = 1;
      for (int i = 0; i < m; ++i, power *= points[j]) a[i][j] = power;
      for (int l = 0; l + 1 < n; ++l) scale *= l == j ? 1 : points[j] - points[l];
      g[j][0] = 1 / scale;
      g[j][1] = points[j] / scale;
      g[j][2] = points[j] * points[j] / scale;
      Polynomial(points, j, b[j]);
    }
    a[m - 1][n - 1] = 1;
    g[n - 1][2] = 1;
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

// out = left in left^T for a square `in` of `size`, all entries of `left` and `in` put through f first.
template <int kSize, class Left, class F>
void Transform(const Left& left, int rows, const double (&in)[kSize][kSize], int size, F f,
               double (&out)[kMaxTile][kMaxTile]) {
  double half[kMaxTile][kSize] = {};
  for (int i = 0; i < rows; ++i) {
    for (int k = 0; k < size; ++k) {
      const double factor = f(left[i][k]);
      if (factor == 0) continue;
      for (int j = 0; j < size; ++j) half[i][j] += factor * f(in[k][j]);
    }
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < rows; ++j) {
      double sum = 0;
      for (int k = 0; k < size; ++k) sum += half[i][k] * f(left[j][k]);
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
  Sweep(const SumGeometry& geometry, const WinogradForm& form, const SumBound& bound, bool raise)
      : form_(form),
        bound_(bound),
        raise_(raise),
        height_(geometry.axis[1]),
        width_(geometry.axis[2]),
        channels_(geometry.in_channels),
        outputs_(geometry.out_channels),
        across_((width_.out + form.m - 1) / form.m),
        tiles_(across_ * ((height_.out + form.m - 1) / form.m)),
        positions_(form_.n * form_.n) {
    const int64_t per_tile = positions_ * (2 * channels_ + 3 * kPieceChannels) * 8;
    piece_ = std::clamp<int64_t>(kPieceBytes / per_tile, 8, tiles_);
  }

  void Run(const float* weight, ConstReals input, const double* output, double* tau) {
    for (int64_t o = 0; o < outputs_; o += kPieceChannels) {
      const int64_t count = std::min(kPieceChannels, outputs_ - o);
      TransformWeights(weight + o * channels_ * 9, count);
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
          double kernel[3][3], u[kMaxTile][kMaxTile], s[kMaxTile][kMaxTile];
          std::copy_n(weight + (o * channels_ + c) * 9, 9, &kernel[0][0]);
          Transform<3>(form_.g, form_.n, kernel, 3, Same, u);
          Transform<3>(form_.g, form_.n, kernel, 3, Square, s);
          for (int64_t p = 0; p < positions_; ++p) {
            const double value = u[p / form_.n][p % form_.n];
            weights_[static_cast<size_t>((p * count + o) * channels_ + c)] = value;
            squared_weights_[static_cast<size_t>((p * count + o) * channels_ + c)] = s[p / form_.n][p % form_.n];
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
          double d[kMaxTile][kMaxTile], v[kMaxTile][kMaxTile], w[kMaxTile][kMaxTile];
          Gather(input, c, first + t, d);
          Transform<kMaxTile>(form_.b, form_.n, d, form_.n, Same, v);
          Transform<kMaxTile>(form_.b, form_.n, d, form_.n, Square, w);
          for (int64_t p = 0; p < positions_; ++p) {
            values_[static_cast<size_t>((p * channels_ + c) * tiles + t)] = v[p / form_.n][p % form_.n];
            squared_values_[static_cast<size_t>((p * channels_ + c) * tiles + t)] = w[p / form_.n][p % form_.n];
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

  void Gather(ConstReals input, int64_t channel, int64_t tile, double (&d)[kMaxTile][kMaxTile]) const {
    const int64_t top = tile / across_ * form_.m - height_.pad, left = tile % across_ * form_.m - width_.pad;
    for (int64_t i = 0; i < form_.n; ++i) {
      for (int64_t j = 0; j < form_.n; ++j) {
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
    double spread[kMaxTile][kMaxTile], sums[kMaxTile][kMaxTile];
    for (int64_t p = 0; p < positions_; ++p) {
      spread[p / form_.n][p % form_.n] = spread_[static_cast<size_t>((p * count + o) * tiles + t)];
      sums[p / form_.n][p % form_.n] = weight_sum_[static_cast<size_t>(p * count + o)] +
                                       value_sum_[static_cast<size_t>(p * tiles + t)] + static_cast<double>(channels_);
    }
    for (int i = 0; i < form_.m; ++i) {
      for (int j = 0; j < form_.m; ++j) {
        const int64_t y = tile / across_ * form_.m + i, x = tile % across_ * form_.m + j;
        if (y >= height_.out || x >= width_.out) continue;
        double squares = Square(bound_.u_out * output[y * width_.out + x]), eta = 1;
        for (int k = 0; k < form_.n; ++k) {
          for (int l = 0; l < form_.n; ++l) {
            squares += Square(form_.a[i][k] * form_.a[j][l]) * spread[k][l];
            eta += Magnitude(form_.a[i][k] * form_.a[j][l]) * sums[k][l];
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

  Matrices form_;
  SumBound bound_;
  bool raise_;
  SumAxis height_, width_;
  int64_t channels_, outputs_, across_, tiles_, positions_, piece_ = 1;
  std::vector<double> weights_, squared_weights_, weight_sum_;  // U, [G][g][G^T], sum |U|
  std::vector<double> values_, squared_values_, value_sum_;     // V, [B^T][d][B], sum |V|
  std::vector<double> spread_, scratch_;
};

}  // namespace

bool MayBeWinograd(const SumGeometry& geometry) {
  const auto fits = [](const SumAxis& a) { return a.kernel == 3 && a.stride == 1 && a.dilation == 1; };
  return !geometry.transposed && geometry.groups == 1 && geometry.axis[0].kernel == 1 && geometry.axis[0].out == 1 &&
         fits(geometry.axis[1]) && fits(geometry.axis[2]);
}

Status CheckWinogradForm(const WinogradForm& form) {
  const size_t wanted = static_cast<size_t>(form.m) + 1;
  if (form.m >= 1 && form.m + 2 <= kMaxTile && form.points.size() == wanted) return Status::Ok();
  return Status::InvalidArgument("a kernel declares Winograd's algorithm with tiles of " + std::to_string(form.m) +
                                 " and " + std::to_string(form.points.size()) + " points; expected tiles of 1 to " +
                                 std::to_string(kMaxTile - 2) + " and one point more");
}

void BoundAsWinograd(const SumGeometry& geometry, const WinogradForm& form, const float* weight, ConstReals input,
                     const double* output, const SumBound& bound, double* tau) {
  Sweep(geometry, form, bound, false).Run(weight, input, output, tau);
}

void RaiseToWinograd(const SumGeometry& geometry, const float* weight, ConstReals input, const double* output,
                     const SumBound& bound, double* tau) {
  for (const WinogradForm& form : kUsualForms) {
    Sweep(geometry, form, bound, true).Run(weight, input, output, tau);
    if (bound.level == 0) break;
  }
}

}  // namespace plumb::naive
