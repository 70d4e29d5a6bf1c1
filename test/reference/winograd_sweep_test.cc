// SPDX-License-Identifier: Apache-2.0
// The bound of a form of Winograd's algorithm against its formula in plain loops (reference/sum/winograd.cc): odd
// numbers of channels, outputs and tiles, maps of several pieces, every level; and the same bits for every thread count
// and instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/cpu.h"
#include "base/threads.h"
#include "plumb/observer.h"
#include "reference/sum/kernel.h"
#include "reference/sum/winograd.h"
#include "reference/sum/winograd_matrices.h"

namespace plumb::reference {
namespace {

using Grid = std::vector<double>;  // a matrix, row by row

double Square(double x) { return x * x; }

// f(left) in f(right)^T.
Grid Transformed(const Matrices::Matrix& left, const Matrices::Matrix& right, Matrices::Entries entries,
                 const Grid& in) {
  Grid out(static_cast<size_t>(left.rows * right.rows));
  for (int i = 0; i < left.rows; ++i) {
    for (int j = 0; j < right.rows; ++j) {
      for (int k = 0; k < left.columns; ++k) {
        for (int l = 0; l < right.columns; ++l) {
          out[static_cast<size_t>(i * right.rows + j)] += left.As(entries)[i * kMaxSide + k] *
                                                          in[static_cast<size_t>(k * right.columns + l)] *
                                                          right.As(entries)[j * kMaxSide + l];
        }
      }
    }
  }
  return out;
}

Grid Squared(Grid grid) {
  for (double& x : grid) x *= x;
  return grid;
}

struct SweepProblem {
  SumGeometry geometry;
  WinogradForm form;
  std::vector<float> input, weight;
  std::vector<double> output;
  int64_t first_floored = 1, last_floored = 0;  // columns of results far below what their tiles read

  SweepProblem(int channels, int outputs, int height, int width, int rows, int columns, WinogradForm of)
      : form(std::move(of)) {
    geometry.in_channels = channels;
    geometry.out_channels = outputs;
    geometry.axis[1] = {height, height + 2 * (rows / 2) - rows + 1, rows, 1, 1, rows / 2};
    geometry.axis[2] = {width, width + 2 * (columns / 2) - columns + 1, columns, 1, 1, columns / 2};
    std::mt19937 engine(11);
    std::normal_distribution<float> normal;
    for (int i = 0; i < channels * height * width; ++i) input.push_back(normal(engine));
    for (int i = 0; i < outputs * channels * rows * columns; ++i) weight.push_back(normal(engine));
    for (int64_t i = 0; i < outputs * geometry.out_pixels(); ++i) output.push_back(normal(engine));
  }

  std::vector<double> Bound(int level) const {
    std::vector<double> tau(output.size());
    SumBound bound;
    bound.level = level;
    BoundAsWinograd(geometry, form, weight.data(), input.data(), output.data(), bound, tau.data());
    return tau;
  }

  // tau of one output channel's tile whose first result is (top, left).
  Grid TileBound(int64_t o, int64_t top, int64_t left, int level) const {
    const SumAxis &h = geometry.axis[1], &w = geometry.axis[2];
    const Matrices r(form.points, h.kernel), c(form.points, w.kernel);
    const size_t positions = static_cast<size_t>(r.n * c.n), taps = static_cast<size_t>(h.kernel * w.kernel);
    Grid sum(positions), rounded(positions), squares(positions), products(positions), drift(positions),
        magnitudes(positions);
    std::vector<float> serial(positions);
    const int64_t channels = geometry.in_channels, block = SampleBlock(channels);
    for (int64_t channel = 0; channel < channels; ++channel) {
      Grid filter(taps), tile(positions);
      for (size_t i = 0; i < taps; ++i) filter[i] = weight[static_cast<size_t>(o * channels + channel) * taps + i];
      for (size_t i = 0; i < positions; ++i) {
        const int64_t y = top - h.pad + static_cast<int64_t>(i) / c.n, x = left - w.pad + static_cast<int64_t>(i) % c.n;
        if (y >= 0 && y < h.in && x >= 0 && x < w.in)
          tile[i] = input[static_cast<size_t>((channel * h.in + y) * w.in + x)];
      }
      using Entries = Matrices::Entries;
      const Grid u = Transformed(r.g, c.g, Entries::kSame, filter), v = Transformed(r.b, c.b, Entries::kSame, tile);
      const Grid u2 = Transformed(r.g, c.g, Entries::kSquared, Squared(filter));
      const Grid v2 = Transformed(r.b, c.b, Entries::kSquared, Squared(tile));
      const bool ends = (channel + 1) % block == 0 || channel + 1 == channels;
      const double length = static_cast<double>((channel % block) + 1);
      for (size_t i = 0; i < positions; ++i) {
        sum[i] += u[i] * v[i];
        const auto u32 = static_cast<float>(u[i]), v32 = static_cast<float>(v[i]);
        rounded[i] += static_cast<double>(u32) * static_cast<double>(v32);
        serial[i] = std::fma(u32, v32, serial[i]);
        products[i] += u2[i] * v2[i];
        magnitudes[i] += std::fabs(u[i]) + std::fabs(v[i]) + 1;
        if (!ends) continue;
        squares[i] += length * sum[i] * sum[i];
        drift[i] = std::max(drift[i], std::fabs(static_cast<double>(serial[i]) - rounded[i]));
      }
    }
    Grid spread(positions);
    for (size_t i = 0; i < positions; ++i) {
      spread[i] = 0x1p-48 * (2 * products[i] + squares[i]) + (level == kMaxSumLevel ? Square(1.5 * drift[i]) : 0);
    }
    Grid tau = Transformed(r.a, c.a, Matrices::Entries::kSquared, spread);
    const Grid eta = Transformed(r.a, c.a, Matrices::Entries::kMagnitude, magnitudes);
    for (size_t i = 0; i < tau.size(); ++i) {
      const int64_t y = top + static_cast<int64_t>(i) / c.m, x = left + static_cast<int64_t>(i) % c.m;
      if (y >= h.out || x >= w.out) continue;
      tau[i] = 8 * std::sqrt(tau[i] + Square(0x1p-24 * output[static_cast<size_t>((o * h.out + y) * w.out + x)])) +
               0x1p-126 * (1 + eta[i]);
    }
    return tau;
  }

  // Level by level to 1e-6; but how far a serial sum strays depends on the last bits of what it adds, so at the highest
  // level the mean of all results counts.
  void ExpectFormula(int level) const {
    const SumAxis &h = geometry.axis[1], &w = geometry.axis[2];
    const int64_t tile_h = h.kernel == 1 ? 1 : form.m, tile_w = w.kernel == 1 ? 1 : form.m;
    const std::vector<double> tau = Bound(level);
    double sum = 0;
    for (int64_t o = 0; o < geometry.out_channels; ++o) {
      for (int64_t i = 0; i < h.out * w.out; ++i) {
        const int64_t y = i / w.out, x = i % w.out;
        if (y % tile_h != 0 || x % tile_w != 0) continue;
        const Grid want = TileBound(o, y, x, level);
        for (int64_t k = 0; k < tile_h * tile_w; ++k) {
          const int64_t row = y + k / tile_w, column = x + k % tile_w;
          if (row >= h.out || column >= w.out) continue;
          const double got = tau[static_cast<size_t>((o * h.out + row) * w.out + column)];
          double ratio = got / want[static_cast<size_t>(k)];
          if (column >= first_floored && column <= last_floored && ratio > 1) ratio = 1;
          EXPECT_NEAR(ratio, 1, level == kMaxSumLevel ? 0.7 : 1e-6) << o << " " << row << " " << column;
          sum += ratio;
        }
      }
    }
    EXPECT_NEAR(sum / static_cast<double>(tau.size()), 1, level == kMaxSumLevel && tau.size() > 100 ? 0.03 : 1e-6);
  }
};

const WinogradForm kTwo{2, {0, 1, -1}}, kFour{4, {0, 1, -1, 0.5, -2}};

TEST(WinogradSweep, IsItsFormula) {
  for (const int level : {0, kMaxSumLevel}) {
    if (level == 0) SweepProblem(1, 1, 3, 3, 3, 3, kTwo).ExpectFormula(level);
    SweepProblem(3, 5, 9, 14, 3, 3, kFour).ExpectFormula(level);
    SweepProblem(20, 15, 7, 7, 3, 3, kTwo).ExpectFormula(level);  // more outputs than a thread takes at a time
    SweepProblem(17, 3, 6, 19, 1, 7, {4, {0, 1, -1, 2, -2, 0.5, -0.5, 1.5, -1.5}, 1}).ExpectFormula(level);
  }
}

TEST(WinogradSweep, IsItsFormulaOfSeveralPieces) {
  SweepProblem(64, 1, 58, 57, 3, 3, kTwo).ExpectFormula(0);  // 841 tiles; a piece of 4 MiB has 512
}

// Squares of these have no place in fp32, nor beside those of the other half of the image.
TEST(WinogradSweep, IsItsFormulaAtAnyMagnitude) {
  for (const float scale : {1e30F, 1e-30F}) {
    SweepProblem problem(9, 4, 11, 12, 3, 3, kFour);
    for (float& x : problem.input) x *= scale;
    problem.ExpectFormula(0);
    for (float& w : problem.weight) w /= 1e3F * scale;
    problem.ExpectFormula(0);
  }
  SweepProblem problem(9, 4, 11, 24, 3, 3, kTwo);
  for (size_t i = 0; i < problem.input.size(); ++i)  // with a gap that no tile spans
    problem.input[i] *= i % 24 < 10 ? 1e-16F : i % 24 < 14 ? 0.0F : 1e4F;
  for (double& y : problem.output) y = 0;
  problem.first_floored = 11, problem.last_floored = 12;
  problem.ExpectFormula(0);
  for (size_t i = 0; i < problem.weight.size(); ++i) problem.weight[i] *= i < problem.weight.size() / 2 ? 1e-10F : 1e5F;
  problem.ExpectFormula(0);
}

TEST(WinogradSweep, SameBitsForEveryThreadCountAndInstructionSet) {
  const SweepProblem problem(37, 29, 13, 22, 3, 3, kFour);
  for (const int level : {0, kMaxSumLevel}) {
    SetNumThreads(1);
    const std::vector<double> want = problem.Bound(level);
    for (const int threads : {2, 3, 8}) {
      SetNumThreads(threads);
      for (const char* isa : {"AVX2", "GENERIC", ""}) {
        if (!SetMaxIsa(isa).ok()) continue;
        const std::vector<double> got = problem.Bound(level);
        EXPECT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(double)), 0) << threads << " " << isa;
      }
    }
  }
  SetNumThreads(0);
  ASSERT_TRUE(SetMaxIsa("").ok());
}

// A NaN or infinity reaches the tiles that read it, and no other.
TEST(WinogradSweep, WhatIsNotFiniteReachesItsTilesOnly) {
  for (const float poison : {NAN, INFINITY}) {
    SweepProblem problem(5, 3, 12, 12, 3, 3, kTwo);
    problem.input[2 * 144 + 6 * 12 + 6] = poison;  // of tiles of rows and columns 3 to 6 and 5 to 8
    const std::vector<double> tau = problem.Bound(0);
    for (size_t i = 0; i < tau.size(); ++i) {
      const size_t y = i / 12 % 12, x = i % 12;
      EXPECT_EQ(std::isinf(tau[i]), y >= 4 && y < 8 && x >= 4 && x < 8) << y << " " << x;
    }
  }
}

}  // namespace
}  // namespace plumb::reference
