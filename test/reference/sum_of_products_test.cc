// SPDX-License-Identifier: Apache-2.0
// The reference's sums of products against a plain loop in long double, over shapes chosen to be awkward; and the same
// bits for every thread count and instruction set.
#include "reference/sum/products.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "base/cpu.h"
#include "base/threads.h"
#include "reference/sum/difference.h"
#include "reference/sum/kernel.h"
#include "sum_reference.h"

namespace plumb::reference {
namespace {

using test::MakeAxis;
using test::RandomFloats;

struct Case {
  const char* name;
  int64_t batch, groups, in, out;
  SumAxis d, h, w;
  bool transposed = false;
};

// MakeAxis(in, kernel, stride, dilation, pad_begin, pad_end)
const Case kCases[] = {
    {"one_by_one", 1, 1, 5, 7, {}, MakeAxis(6, 1, 1, 1, 0, 0), MakeAxis(9, 1, 1, 1, 0, 0)},
    {"k3_same", 1, 1, 3, 13, {}, MakeAxis(11, 3, 1, 1, 1, 1), MakeAxis(10, 3, 1, 1, 1, 1)},
    {"k3_stride2_same_end", 2, 1, 4, 6, {}, MakeAxis(8, 3, 2, 1, 0, 1), MakeAxis(9, 3, 2, 1, 1, 1)},
    {"k1x7", 1, 1, 3, 8, {}, MakeAxis(7, 1, 1, 1, 0, 0), MakeAxis(12, 7, 1, 1, 3, 3)},
    {"k7x1", 1, 1, 3, 8, {}, MakeAxis(12, 7, 1, 1, 3, 3), MakeAxis(7, 1, 1, 1, 0, 0)},
    {"stride_above_kernel", 3, 1, 3, 5, {}, MakeAxis(13, 2, 3, 1, 0, 0), MakeAxis(14, 1, 3, 1, 0, 0)},
    {"dilation_per_axis", 1, 1, 2, 9, {}, MakeAxis(13, 3, 1, 2, 2, 2), MakeAxis(15, 3, 1, 3, 3, 3)},
    {"dilation_and_stride", 1, 1, 2, 4, {}, MakeAxis(13, 3, 2, 3, 2, 4), MakeAxis(15, 3, 3, 2, 1, 3)},
    {"asymmetric_pads", 1, 1, 2, 3, {}, MakeAxis(5, 3, 1, 1, 0, 2), MakeAxis(6, 4, 1, 1, 2, 1)},
    {"groups", 2, 3, 6, 15, {}, MakeAxis(7, 3, 1, 1, 1, 1), MakeAxis(5, 3, 1, 1, 1, 1)},
    {"depthwise", 2, 5, 5, 5, {}, MakeAxis(9, 3, 1, 1, 1, 1), MakeAxis(41, 3, 1, 1, 1, 1)},
    {"depthwise_stride2_k5", 1, 3, 3, 3, {}, MakeAxis(70, 5, 1, 1, 2, 2), MakeAxis(35, 5, 2, 1, 2, 2)},
    {"depthwise_multiplier2", 1, 4, 4, 8, {}, MakeAxis(6, 3, 2, 1, 1, 1), MakeAxis(7, 3, 1, 1, 1, 1)},
    {"depthwise_multiplier3", 1, 4, 4, 12, {}, MakeAxis(6, 3, 1, 1, 1, 1), MakeAxis(7, 3, 1, 1, 1, 1)},
    {"one_dimensional", 3, 1, 5, 4, {}, {}, MakeAxis(50, 4, 2, 1, 1, 2)},
    {"three_dimensional", 1, 1, 3, 4, MakeAxis(5, 3, 2, 1, 1, 1), MakeAxis(6, 2, 1, 1, 0, 0),
     MakeAxis(7, 3, 1, 1, 1, 1)},
    {"three_dimensional_pointwise", 1, 1, 3, 4, MakeAxis(5, 1, 2, 1, 1, 1), MakeAxis(6, 1, 1, 1, 0, 0),
     MakeAxis(7, 1, 1, 1, 0, 0)},
    {"many_terms", 1, 1, 50, 7, {}, MakeAxis(4, 3, 1, 1, 1, 1), MakeAxis(5, 3, 1, 1, 1, 1)},
    {"many_tiles", 1, 1, 3, 7, {}, MakeAxis(40, 3, 1, 1, 1, 1), MakeAxis(17, 3, 1, 1, 1, 1)},
    {"many_outputs_one_pixel", 1, 1, 40, 25, {}, MakeAxis(3, 2, 1, 1, 0, 0), MakeAxis(2, 2, 1, 1, 0, 0)},
    {"kernel_wider_than_input", 1, 1, 2, 3, {}, MakeAxis(2, 5, 1, 1, 2, 2), MakeAxis(3, 7, 1, 1, 3, 3)},
    {"dense", 3, 1, 37, 11, {}, {}, {}},
    {"dense_spatial", 2, 1, 7, 10, {}, MakeAxis(3, 3, 1, 1, 0, 0), MakeAxis(5, 5, 1, 1, 0, 0)},
    {"dense_one_output", 1, 1, 700, 1, {}, {}, {}},
    {"deconv_k2s2", 2, 1, 3, 4, {}, {4, 8, 2, 2, 1, 0}, {5, 10, 2, 2, 1, 0}, true},
    {"deconv_k3s2p1", 1, 1, 3, 4, {}, {4, 7, 3, 2, 1, 1}, {5, 9, 3, 2, 1, 1}, true},
    {"deconv_output_padding", 1, 1, 3, 4, {}, {4, 8, 3, 2, 1, 1}, {5, 10, 3, 2, 1, 1}, true},
    {"deconv_stride_above_kernel", 1, 1, 3, 4, {}, {3, 8, 2, 3, 1, 0}, {4, 13, 1, 4, 1, 0}, true},
    {"deconv_groups_dilation", 1, 2, 6, 8, {}, {4, 8, 3, 1, 2, 0}, {5, 11, 3, 2, 2, 1}, true},
    {"deconv_depthwise", 1, 3, 3, 3, {}, {4, 8, 4, 2, 1, 1}, {5, 10, 4, 2, 1, 1}, true},
    {"deconv_stride1", 1, 1, 20, 21, {}, {6, 6, 3, 1, 1, 1}, {6, 6, 3, 1, 1, 1}, true},
};

SumGeometry GeometryOf(const Case& c) {
  SumGeometry g;
  g.groups = c.groups;
  g.in_channels = c.in;
  g.out_channels = c.out;
  g.axis = {c.d, c.h, c.w};
  g.transposed = c.transposed;
  return g;
}

struct Outputs {
  std::vector<double> value, tau;
  std::vector<float> narrow;
  bool operator==(const Outputs& o) const { return value == o.value && tau == o.tau && narrow == o.narrow; }
};

class SumOfProductsTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    g_ = GeometryOf(GetParam());
    x_ = RandomFloats(g_.in_channels * g_.in_pixels() * GetParam().batch, 1);
    w_ = RandomFloats(g_.out_channels * g_.in_channels / g_.groups * g_.kernel_size(), 2);
    bias_ = RandomFloats(g_.out_channels, 3);
  }

  // The batch as double outputs with tau, and once more as float outputs of float inputs.
  Outputs Run(int level, bool bias = true) const {
    const size_t in = static_cast<size_t>(g_.in_channels * g_.in_pixels());
    const size_t out = static_cast<size_t>(g_.out_channels * g_.out_pixels());
    const size_t batch = static_cast<size_t>(GetParam().batch);
    const std::vector<double> wide(x_.begin(), x_.end());
    Outputs o{std::vector<double>(out * batch), std::vector<double>(out * batch), std::vector<float>(out * batch)};
    std::vector<SumImage> images;
    for (size_t i = 0; i < batch; ++i) {
      images.push_back({wide.data() + i * in, o.value.data() + i * out, o.tau.data() + i * out});
      images.push_back({x_.data() + i * in, o.narrow.data() + i * out});
    }
    SumBound bound;
    bound.level = level;
    SumOfProducts(g_, {w_.data(), bias ? bias_.data() : nullptr}, images, bound);
    return o;
  }

  // Of the batch's first image: what its sums differ by from those of `near`, or nothing.
  std::vector<double> Differences(const std::vector<double>& near) const {
    const std::vector<double> x(x_.begin(), x_.begin() + g_.in_channels * g_.in_pixels());
    std::vector<double> out(static_cast<size_t>(g_.out_channels * g_.out_pixels()), NAN);
    if (!SumOfDifferences(g_, w_.data(), x.data(), near.data(), out.data())) out.clear();
    return out;
  }

  // Inputs that differ from the first image's by 1e-5 of them or so.
  std::vector<double> Near() const {
    std::vector<double> near(x_.begin(), x_.begin() + g_.in_channels * g_.in_pixels());
    const std::vector<float> noise = RandomFloats(static_cast<int64_t>(near.size()), 4);
    for (size_t i = 0; i < near.size(); ++i) near[i] *= 1 + 1e-5 * static_cast<double>(noise[i]);
    return near;
  }

  SumGeometry g_;
  std::vector<float> x_, w_, bias_;
};

TEST_P(SumOfProductsTest, ValuesAndBoundsEqualThePlainLoop) {
  const size_t in = static_cast<size_t>(g_.in_channels * g_.in_pixels());
  for (int level = 0; level <= kMaxSumLevel; ++level) {
    for (bool bias : {true, false}) {
      const Outputs got = Run(level, bias);
      for (int64_t b = 0; b < GetParam().batch; ++b) {
        const auto want = test::PlainSums(g_, x_.data() + static_cast<size_t>(b) * in, w_.data(),
                                          bias ? bias_.data() : nullptr, level);
        for (size_t i = 0; i < want.size(); ++i) {
          const size_t at = static_cast<size_t>(b) * want.size() + i;
          ASSERT_NEAR(got.value[at], want[i].value, 1e-13) << "output " << at;
          ASSERT_EQ(got.narrow[at], static_cast<float>(got.value[at])) << "output " << at;
          ASSERT_NEAR(got.tau[at], want[i].tau, 1e-8 * want[i].tau)
              << "output " << at << " level " << level << " bias " << bias;
        }
      }
    }
  }
}

TEST_P(SumOfProductsTest, SameBitsForEveryThreadCount) {
  for (int level : {0, kMaxSumLevel}) {
    SetNumThreads(1);
    const Outputs one = Run(level);
    for (int threads : {2, 3, 5}) {
      SetNumThreads(threads);
      EXPECT_TRUE(Run(level) == one) << threads << " threads, level " << level;
    }
  }
  SetNumThreads(0);
}

// What is added later counts as a bias of each element would, from level 1 on.
TEST_P(SumOfProductsTest, WhatIsAddedLaterIsABias) {
  const size_t in = static_cast<size_t>(g_.in_channels * g_.in_pixels()), pixels = static_cast<size_t>(g_.out_pixels());
  const size_t out = static_cast<size_t>(g_.out_channels) * pixels;
  const std::vector<double> wide(x_.begin(), x_.begin() + static_cast<int64_t>(in));
  std::vector<double> later(out), value(out), tau(out);
  for (int level = 0; level <= kMaxSumLevel; ++level) {
    SumBound bound;
    bound.level = level;
    for (const float added : {8.0F, -100.0F}) {
      for (size_t i = 0; i < out; ++i) later[i] = static_cast<double>(added * (static_cast<float>(i % 5) + 1));
      SumImage image{wide.data(), value.data(), tau.data()};
      image.later = later.data();
      SumOfProducts(g_, {w_.data(), bias_.data()}, {image}, bound);
      const auto want = test::PlainSums(g_, x_.data(), w_.data(), bias_.data(), level, later.data());
      for (size_t i = 0; i < out; ++i) {
        ASSERT_NEAR(value[i], want[i].value, 1e-13);
        ASSERT_NEAR(tau[i], want[i].tau, 1e-8 * want[i].tau) << "output " << i << " level " << level;
      }
    }
  }
}

// In fp32 they are good to some units of 2^-24, at every instruction set and thread count the same.
TEST_P(SumOfProductsTest, DifferencesAreThoseOfTwoSums) {
  if (!HasDifference(g_, {w_.data()})) GTEST_SKIP() << "none for this geometry";
  const std::vector<double> near = Near();
  const std::vector<double> differences = Differences(near);
  ASSERT_FALSE(differences.empty());
  std::vector<double> want(differences.size()), of_x(differences.size()), beside = differences;
  SumOperands operands{w_.data(), bias_.data()};
  operands.activate = [](int64_t count, double* value, double*) {
    for (int64_t i = 0; i < count; ++i) value[i] *= 2;
  };
  SumOfProducts(g_, operands, {{near.data(), want.data()}});
  SumImage image{x_.data(), of_x.data()};
  image.beside = beside.data();
  SumOfProducts(g_, operands, {image});
  double apart = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(beside[i], want[i], 1e-9) << "output " << i;
    apart = std::max(apart, std::fabs(beside[i] - of_x[i]));
  }
  EXPECT_GT(apart, 1e-7) << "the inputs are too close to show anything";
  for (const int threads : {1, 3}) {
    SetNumThreads(threads);
    for (const char* isa : {"AVX2", "GENERIC", ""}) {
      if (!SetMaxIsa(isa).ok()) continue;
      EXPECT_EQ(Differences(near), differences) << threads << " " << isa;
    }
  }
  ASSERT_TRUE(SetMaxIsa("").ok());
  SetNumThreads(0);
}

TEST_P(SumOfProductsTest, NoDifferencesOfInputsThatAreNotClose) {
  if (!HasDifference(g_, {w_.data()})) GTEST_SKIP() << "none for this geometry";
  const std::vector<double> near = Near();
  const SumAxis &h = g_.axis[1], &w = g_.axis[2];
  const int64_t row = h.kernel > h.pad ? 0 : h.stride - h.pad % h.stride, read = row * w.in;  // at the left border
  if (w.kernel <= w.pad || row >= h.in) GTEST_SKIP() << "the first columns may not be read";
  for (const double wrong : {1.0, static_cast<double>(NAN), static_cast<double>(INFINITY), 1e60}) {
    std::vector<double> far = near;
    far[static_cast<size_t>(read)] += wrong;
    EXPECT_TRUE(Differences(far).empty()) << wrong;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, SumOfProductsTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(SumOfProducts, HandComputed) {
  // Two channels of 2x2, one 2x2 kernel with a pad of one at the begin: only the last output pixel sees the whole
  // input.
  const float x[] = {1, 2, 3, 4, 10, 20, 30, 40};
  const float w[] = {1, 2, 3, 4, 0.5f, 0.25f, 2, 1};
  const float bias[] = {100};
  SumGeometry g;
  g.in_channels = 2;
  g.axis[1] = g.axis[2] = {2, 2, 2, 1, 1, 1};
  double y[4];
  SumOfProducts(g, {w, bias}, {{x, y}});
  EXPECT_EQ(y[0], 100 + 4 * 1 + 1 * 10);
  EXPECT_EQ(y[1], 100 + 3 * 1 + 4 * 2 + 2 * 10 + 1 * 20);
  EXPECT_EQ(y[2], 100 + 2 * 1 + 4 * 3 + 0.25 * 10 + 1 * 30);
  EXPECT_EQ(y[3], 100 + 1 + 4 + 9 + 16 + 5 + 5 + 60 + 40);
}

TEST(SumOfProducts, UncertainInputsWidenTheBoundInQuadrature) {
  const float x[] = {1, 2, 3}, w[] = {2, -1, 0.5f};
  const double tau_x[] = {0.1, 0.2, 0.4};
  SumGeometry g;
  g.in_channels = 3;
  double y, exact, tau;
  SumOfProducts(g, {w}, {{x, &y, &exact}});
  SumOfProducts(g, {w}, {{x, &y, &tau, tau_x}});
  EXPECT_EQ(y, 1.5);
  EXPECT_NEAR(tau, std::sqrt(0.04 + 0.04 + 0.04 + exact * exact), 1e-12);
  // A product of two activations: the other operand is uncertain too.
  const double wide[] = {2, -1, 0.5}, tau_w[] = {0.01, 0.02, 0.1};
  SumOperands operands;
  operands.weight = wide;
  operands.weight_tau = tau_w;
  operands.constant = false;
  SumOfProducts(g, operands, {{x, &y, &tau, tau_x}});
  EXPECT_NEAR(tau, std::sqrt(0.12 + 0.0001 + 0.0016 + 0.09 + exact * exact), 1e-12);
}

// The loops of every instruction set this CPU has give the same bits.
TEST(SumKernels, InstructionSetsAgree) {
  const auto floats = RandomFloats(4000, 7);
  const std::vector<double> x(floats.begin(), floats.end());
  const std::vector<double> w(floats.rbegin(), floats.rend());
  struct Result {
    double sum[3][kRows * kTile] = {}, row[3][kTile] = {}, drift[2][kTile] = {}, dot[3] = {}, abs_w[3] = {},
                          abs[kTile] = {};
    float serial[kTile] = {};
  };
  std::vector<Result> results(static_cast<size_t>(NumSumKernels()));
  std::vector<int64_t> offsets(100);
  for (size_t k = 0; k < offsets.size(); ++k) offsets[k] = static_cast<int64_t>(k * 7 % 100);
  for (int i = 0; i < NumSumKernels(); ++i) {
    const SumKernels& kernels = SumKernelsAt(i);
    Result& r = results[static_cast<size_t>(i)];
    std::vector<double> tile(x.begin(), x.begin() + 100 * kTile);
    if (kernels.tile_vectors == 1) kernels.group(x.data(), 100, 4, 800, tile.data());
    TileArgs args;
    args.x = tile.data();
    args.w = w.data();
    args.w_stride = 100;
    args.end = 90;
    args.terms = 100;
    args.block = SampleBlock(100);
    for (int v = 0; v < 4; v += kernels.tile_vectors, args.x += 800 * kernels.tile_vectors) {
      args.sum = r.sum[0] + v * 8;
      args.squares = r.sum[1] + v * 8;
      args.weighted = r.sum[2] + v * 8;
      kernels.accumulate_tile(kRows, kernels.tile_vectors, args);
      args.sum = r.drift[0] + v * 8;
      args.drift = r.drift[1] + v * 8;
      args.serial = r.serial + v * 8;
      kernels.drift_tile(kernels.tile_vectors, args);
    }
    args.x = x.data();
    args.offsets = offsets.data();
    args.sum = r.row[0];
    args.squares = r.row[1];
    args.weighted = r.row[2];
    kernels.accumulate_row(4, args);
    kernels.dot(3, floats.data(), 1000, w.data(), 999, r.dot, r.abs_w);
    kernels.add_abs(x.data(), nullptr, 50, r.abs);
    std::vector<double> wide(333);
    EXPECT_EQ(kernels.widen_abs(floats.data(), 333, wide.data()),
              SumKernelsAt(0).widen_abs(floats.data(), 333, wide.data()));
    EXPECT_EQ(std::memcmp(&r, &results[0], sizeof(Result)), 0)
        << kernels.name << " differs from " << SumKernelsAt(0).name;
  }
}

}  // namespace
}  // namespace plumb::reference
