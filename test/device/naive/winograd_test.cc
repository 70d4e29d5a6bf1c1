// The bound of Winograd convolutions against fp32 emulations of F(2), F(4) and F(6): healthy ones stay inside it,
// faults do not, and the bound of direct convolution calls F(6) wrong.
#include "device/naive/winograd.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

namespace plumb::naive {
namespace {

using Square8 = std::array<std::array<double, 8>, 8>;

// The inverse of the transposed Vandermonde matrix of the points and infinity, by elimination: B^T when G and A^T are
// Vandermonde matrices themselves.
Square8 InputTransform(const std::vector<double>& points, int n) {
  double m[8][16] = {};
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) m[i][j] = j == n - 1 ? (i == n - 1) : std::pow(points[static_cast<size_t>(j)], i);
    m[j][n + j] = 1;
  }
  for (int column = 0; column < n; ++column) {
    int pivot = column;
    for (int i = column; i < n; ++i) pivot = std::fabs(m[i][column]) > std::fabs(m[pivot][column]) ? i : pivot;
    std::swap(m[pivot], m[column]);
    for (int i = 0; i < n; ++i) {
      const double factor = i == column ? 0 : m[i][column] / m[column][column];
      for (int j = 0; j < 2 * n; ++j) m[i][j] -= factor * m[column][j];
    }
  }
  Square8 inverse{};
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) inverse[static_cast<size_t>(i)][static_cast<size_t>(j)] = m[i][n + j] / m[i][i];
  }
  return inverse;
}

struct Problem {
  SumGeometry geometry;
  std::vector<float> input, weight;
  std::vector<double> output, direct, tau;

  Problem(int channels, int outputs, int height, int width) {
    geometry.in_channels = channels;
    geometry.out_channels = outputs;
    geometry.axis[1] = {height, height, 3, 1, 1, 1};
    geometry.axis[2] = {width, width, 3, 1, 1, 1};
    std::mt19937 engine(7);
    std::normal_distribution<float> normal;
    for (int i = 0; i < channels * height * width; ++i) input.push_back(std::max(0.f, normal(engine)));
    for (int i = 0; i < outputs * channels * 9; ++i) weight.push_back(normal(engine) / std::sqrt(9.f * channels));
    output.resize(static_cast<size_t>(outputs * height * width));
    direct = output;
    SumImage image;
    image.input = input.data();
    image.output = output.data();
    image.tau = direct.data();
    SumOperands operands;
    operands.weight = weight.data();
    SumOfProducts(geometry, operands, {image});
    tau = direct;
    RaiseToWinograd(geometry, weight.data(), input.data(), output.data(), SumBound(), tau.data());
  }

  // sum of factors times in[k], rounded to float at every step.
  static float Dot(const double* factor, int count, const float* in, int step) {
    float sum = 0;
    for (int k = 0; k < count; ++k) sum += static_cast<float>(factor[k]) * in[k * step];
    return sum;
  }

  // out = left in left^T in float; left is rows x size.
  static void Sandwich(const Square8& left, int rows, int size, const float* in, float* out) {
    float half[64];
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < size; ++j) half[i * size + j] = Dot(left[static_cast<size_t>(i)].data(), size, in + j, size);
    }
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < rows; ++j) {
        out[i * rows + j] = Dot(left[static_cast<size_t>(j)].data(), size, half + i * size, 1);
      }
    }
  }

  // F(m x m, 3 x 3) in float, serial sums over the channels.
  std::vector<float> Emulate(int m, const std::vector<double>& points) const {
    const int n = m + 2, channels = static_cast<int>(geometry.in_channels);
    Square8 g{}, a{}, b = InputTransform(points, n);
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < 8; ++i) {
        const double power = j == n - 1 ? 0 : std::pow(points[static_cast<size_t>(j)], i);
        if (i < 3) g[static_cast<size_t>(j)][static_cast<size_t>(i)] = j == n - 1 ? (i == 2) : power;
        if (i < m) a[static_cast<size_t>(i)][static_cast<size_t>(j)] = j == n - 1 ? (i == m - 1) : power;
      }
    }
    const int height = static_cast<int>(geometry.axis[1].out), width = static_cast<int>(geometry.axis[2].out);
    std::vector<float> result(output.size());
    for (int o = 0; o < geometry.out_channels; ++o) {
      for (int top = 0; top < height; top += m) {
        for (int left = 0; left < width; left += m) {
          float sum[64] = {}, out[64];
          for (int c = 0; c < channels; ++c) {
            float d[64], u[64], v[64];
            for (int i = 0; i < n * n; ++i) {
              const int y = top + i / n - 1, x = left + i % n - 1;
              const bool inside = y >= 0 && y < height && x >= 0 && x < width;
              d[i] = inside ? input[static_cast<size_t>((c * height + y) * width + x)] : 0;
            }
            Sandwich(g, n, 3, weight.data() + (o * channels + c) * 9, u);
            Sandwich(b, n, n, d, v);
            for (int i = 0; i < n * n; ++i) sum[i] += u[i] * v[i];
          }
          Sandwich(a, m, n, sum, out);
          for (int i = 0; i < m * m; ++i) {
            const int y = top + i / m, x = left + i % m;
            if (y < height && x < width) result[static_cast<size_t>((o * height + y) * width + x)] = out[i];
          }
        }
      }
    }
    return result;
  }

  // {E, R} of tolerance.md.
  static std::pair<double, double> Excess(const std::vector<float>& got, const std::vector<double>& want,
                                          const std::vector<double>& tau, double factor) {
    double largest = 0, squares = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      const double ratio = (static_cast<double>(got[i]) * factor - want[i]) / tau[i];
      largest = std::max(largest, std::fabs(ratio));
      squares += ratio * ratio;
    }
    return {largest, 8 * std::sqrt(squares / static_cast<double>(got.size()))};
  }
};

const std::vector<std::pair<int, std::vector<double>>> kForms = {
    {2, {0, 1, -1}}, {4, {0, 1, -1, 2, -2}}, {6, {0, 1, -1, 2, -2, 0.5, -0.5}}, {6, {0, 1, -1, 2, -2, 3, -3}}};

TEST(Winograd, HealthyStaysInsideAndFaultsDoNot) {
  const Problem problem(64, 5, 13, 11);
  for (const auto& [m, points] : kForms) {
    const std::vector<float> got = problem.Emulate(m, points);
    const auto [excess, rms] = Problem::Excess(got, problem.output, problem.tau, 1);
    EXPECT_LT(excess, 1) << "F(" << m << ")";
    EXPECT_LT(rms, 0.6) << "F(" << m << ")";
    EXPECT_GT(Problem::Excess(got, problem.output, problem.tau, 1.001).second, 2) << "F(" << m << ")";
  }
}

TEST(Winograd, DirectBoundIsTooNarrowForLargeTiles) {
  const Problem problem(64, 5, 13, 11);
  EXPECT_GT(Problem::Excess(problem.Emulate(6, kForms[3].second), problem.output, problem.direct, 1).second, 2);
}

TEST(Winograd, LargestFormFillsItsBound) {  // the bound is no wider than it must be
  const Problem problem(64, 5, 13, 11);
  EXPECT_GT(Problem::Excess(problem.Emulate(6, kForms[3].second), problem.output, problem.tau, 1).second, 0.1);
}

TEST(Winograd, NeverBelowDirect) {
  const Problem problem(3, 70, 6, 7);  // more outputs than are taken at a time, one tile
  for (size_t i = 0; i < problem.tau.size(); ++i) EXPECT_GE(problem.tau[i], problem.direct[i]);
}

TEST(Winograd, IsForPlain3x3Only) {
  SumGeometry geometry = Problem(2, 2, 5, 5).geometry;
  EXPECT_TRUE(MayBeWinograd(geometry));
  geometry.axis[1].stride = 2;
  EXPECT_FALSE(MayBeWinograd(geometry));
  geometry = Problem(2, 2, 5, 5).geometry;
  geometry.groups = 2;
  EXPECT_FALSE(MayBeWinograd(geometry));
}

}  // namespace
}  // namespace plumb::naive
