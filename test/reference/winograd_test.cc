// SPDX-License-Identifier: Apache-2.0
// The bound of Winograd convolutions against fp32 emulations of F(2), F(4) and F(6): healthy ones stay inside it,
// faults do not, and the bound of direct convolution calls F(6) wrong.
#include "reference/sum/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "plumb/observer.h"
#include "util/winograd_emulation.h"

namespace plumb::reference {
namespace {

struct Problem {
  SumGeometry geometry;
  std::vector<float> input, weight;
  std::vector<double> output, direct, tau;

  Problem(int channels, int outputs, int height, int width, int rows = 3, int columns = 3) {
    geometry.in_channels = channels;
    geometry.out_channels = outputs;
    geometry.axis[1] = {height, height + 2 * (rows / 2) - rows + 1, rows, 1, 1, rows / 2};
    geometry.axis[2] = {width, width + 2 * (columns / 2) - columns + 1, columns, 1, 1, columns / 2};
    const int terms = channels * rows * columns;
    std::mt19937 engine(7);
    std::normal_distribution<float> normal;
    for (int i = 0; i < channels * height * width; ++i) input.push_back(std::max(0.f, normal(engine)));
    for (int i = 0; i < outputs * terms; ++i) weight.push_back(normal(engine) / std::sqrt(static_cast<float>(terms)));
    output.resize(static_cast<size_t>(outputs * geometry.out_pixels()));
    direct = output;
    SumImage image;
    image.input = input.data();
    image.output = output.data();
    image.tau = direct.data();
    SumOperands operands;
    operands.weight = weight.data();
    SumOfProducts(geometry, operands, {image});
    tau = direct;
    SumBound all_forms;
    all_forms.level = 1;  // level 0 is that of the form that loses most, which is enough for nearly every layer
    RaiseToWinograd(geometry, weight.data(), input.data(), output.data(), all_forms, tau.data());
  }

  std::vector<double> BoundOf(const WinogradForm& form) const {
    std::vector<double> bound = direct;
    BoundAsWinograd(geometry, form, weight.data(), input.data(), output.data(), SumBound(), bound.data());
    return bound;
  }

  std::vector<float> Emulate(const WinogradForm& form) const {
    const SumAxis &h = geometry.axis[1], &w = geometry.axis[2];
    const WinogradProblem sizes{geometry.in_channels, geometry.out_channels, h.in, w.in, h.out, w.out, h.pad};
    return EmulateWinograd(form, sizes, input.data(), weight.data());
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

std::string NameOf(const WinogradForm& form) { return Numerics::Winograd(form.m, form.points).Name(); }

const std::vector<WinogradForm> kForms = {
    {2, {0, 1, -1}}, {4, {0, 1, -1, 2, -2}}, {6, {0, 1, -1, 2, -2, 0.5, -0.5}}, {6, {0, 1, -1, 2, -2, 3, -3}}};

TEST(Winograd, HealthyStaysInsideAndFaultsDoNot) {
  const Problem problem(64, 5, 13, 11);
  for (const WinogradForm& form : kForms) {
    const std::vector<float> got = problem.Emulate(form);
    const auto [excess, rms] = Problem::Excess(got, problem.output, problem.tau, 1);
    EXPECT_LT(excess, 1) << NameOf(form);
    EXPECT_LT(rms, 0.6) << NameOf(form);
    EXPECT_GT(Problem::Excess(got, problem.output, problem.tau, 1.001).second, 2) << NameOf(form);
  }
}

TEST(Winograd, DirectBoundIsTooNarrowForLargeTiles) {
  const Problem problem(64, 5, 13, 11);
  EXPECT_GT(Problem::Excess(problem.Emulate(kForms[3]), problem.output, problem.direct, 1).second, 2);
}

TEST(Winograd, LargestFormFillsItsBound) {  // the bound is no wider than it must be
  const Problem problem(64, 5, 13, 11);
  EXPECT_GT(Problem::Excess(problem.Emulate(kForms[3]), problem.output, problem.tau, 1).second, 0.1);
}

TEST(Winograd, NeverBelowDirect) {
  const Problem problem(3, 70, 6, 7);  // more outputs than are taken at a time, one tile
  for (size_t i = 0; i < problem.tau.size(); ++i) EXPECT_GE(problem.tau[i], problem.direct[i]);
}

// Judged as declared: every form fits its own bound and fills it, and large tiles do not pass for small ones.
TEST(Winograd, DeclaredFormHasItsOwnBound) {
  const Problem problem(64, 5, 13, 11);
  for (const WinogradForm& form : kForms) {
    const std::vector<double> tau = problem.BoundOf(form);
    const std::vector<float> got = problem.Emulate(form);
    const auto [excess, rms] = Problem::Excess(got, problem.output, tau, 1);
    EXPECT_LT(excess, 1) << NameOf(form);
    EXPECT_LT(rms, 0.6) << NameOf(form);
    EXPECT_GT(rms, 0.1) << NameOf(form);
    EXPECT_GT(Problem::Excess(got, problem.output, tau, 1.001).second, 10) << NameOf(form);
  }
  EXPECT_GT(Problem::Excess(problem.Emulate(kForms[3]), problem.output, problem.BoundOf(kForms[0]), 1).second, 2);
}

// Of stride 2: rows and columns of each parity apart, 7 taps as 4 and 3.
TEST(Winograd, OfStrideTwoHasItsOwnBound) {
  const WinogradForm form{4, {0, 1, -1, 2, -2, -0.25}, 2, 2};
  constexpr int kChannels = 3, kOutputs = 5, kSize = 21, kPad = 3, kTaps = 7, kOut = 11, kHalf = 4, kMap = 14;
  Problem problem(kChannels, kOutputs, kSize, kSize, kTaps, kTaps);
  for (size_t a = 1; a < 3; ++a) problem.geometry.axis[a] = {kSize, kOut, kTaps, 2, 1, kPad};
  ASSERT_TRUE(Applies(form, problem.geometry));
  problem.output.assign(size_t{kOutputs} * kOut * kOut, 0);
  SumImage image;
  image.input = problem.input.data(), image.output = problem.output.data();
  SumOperands operands;
  operands.weight = problem.weight.data();
  SumOfProducts(problem.geometry, operands, {image});
  problem.direct.assign(problem.output.size(), 0);
  const std::vector<double> tau = problem.BoundOf(form);

  std::vector<float> maps(size_t{4} * kChannels * kMap * kMap), kernels(size_t{4} * kChannels * kOutputs * 16);
  for (int c = 0; c < kChannels; ++c) {
    for (int y = -kPad; y < kSize; ++y) {
      for (int x = -kPad; x < kSize; ++x) {
        const int parity = (y + kPad) % 2 * 2 + (x + kPad) % 2;
        float* at = &maps[static_cast<size_t>(((4 * c + parity) * kMap + (y + kPad) / 2) * kMap + (x + kPad) / 2)];
        *at = y < 0 || x < 0 ? 0 : problem.input[static_cast<size_t>((c * kSize + y) * kSize + x)];
      }
    }
  }
  for (int i = 0; i < kOutputs * kChannels * kTaps * kTaps; ++i) {
    const int y = i / kTaps % kTaps, x = i % kTaps, filter = i / (kTaps * kTaps);
    kernels[static_cast<size_t>((filter * 4 + y % 2 * 2 + x % 2) * 16 + y / 2 * kHalf + x / 2)] =
        problem.weight[static_cast<size_t>(i)];
  }
  const WinogradProblem sizes{4 * kChannels, kOutputs, kMap, kMap, kOut, kOut, 0};
  const std::vector<float> got = EmulateWinograd(form, sizes, maps.data(), kernels.data());
  const auto [excess, rms] = Problem::Excess(got, problem.output, tau, 1);
  EXPECT_LT(excess, 1);
  EXPECT_LT(rms, 0.6);
  EXPECT_GT(rms, 0.1);
  EXPECT_GT(Problem::Excess(got, problem.output, tau, 1.001).second, 10);
}

TEST(Winograd, RefusesADeclarationThatMakesNoSense) {
  const auto refused = [](int tile, std::vector<double> points, int dimensions = 2) {
    return !Numerics::Winograd(tile, std::move(points), dimensions).Validate().ok();
  };
  EXPECT_FALSE(refused(kForms[0].m, kForms[0].points));
  EXPECT_FALSE(refused(4, {0, 1, -1, 2, -2, 0.5, -0.5, 0.75, -1.25}, 1));
  EXPECT_TRUE(refused(8, {0, 1, -1, 2, -2, 3, -3, 4, -4, 5}));
  EXPECT_TRUE(refused(4, {0, 1, -1}));
  EXPECT_TRUE(refused(-1, {0, 1, -1}));
  EXPECT_TRUE(refused(4, {0, 1, -1, 2, 2}));
  EXPECT_TRUE(refused(4, {0, 1, -1, 2, 1e30}));
  EXPECT_TRUE(refused(4, {0, 1, -1, 2, -2}, 3));
  for (const auto& [stride, dimensions, fine] : {std::tuple{2, 2, true}, {3, 2, false}, {0, 2, false}, {2, 1, false}}) {
    Numerics numerics = Numerics::Winograd(4, {0, 1, -1, 2, -2}, dimensions);
    numerics.stride = stride;
    EXPECT_EQ(numerics.Validate().ok(), fine) << stride;
  }
}

// MNN's: tiles of 8 with points up to 3, whatever the kernel.
TEST(Winograd, OtherSquareKernelsStayInsideAndFaultsDoNot) {
  for (const int kernel : {2, 4, 5, 6, 7}) {
    const Problem problem(64, 5, 13, 11, kernel, kernel);
    const std::vector<float> got = problem.Emulate({9 - kernel, {0, 1, -1, 2, -2, 3, -3}});
    const auto [excess, rms] = Problem::Excess(got, problem.output, problem.tau, 1);
    EXPECT_LT(excess, 1) << kernel;
    EXPECT_LT(rms, 0.6) << kernel;
    EXPECT_GT(rms, 0.1) << kernel;
    EXPECT_GT(Problem::Excess(got, problem.output, problem.tau, 1.002).second, 2) << kernel;
    EXPECT_GT(Problem::Excess(got, problem.output, problem.direct, 1).second, 2) << kernel;
  }
}

// A row of the kernel is a column of it turned: nothing is transformed along the other axis.
TEST(Winograd, ARowIsAColumnTurned) {
  const int height = 13, width = 11, channels = 8, outputs = 3;
  const Problem row(channels, outputs, height, width, 1, 7);
  Problem column(channels, outputs, width, height, 7, 1);
  for (int c = 0; c < channels; ++c) {
    for (int i = 0; i < height * width; ++i) {
      column.input[static_cast<size_t>(c * height * width + i % width * height + i / width)] =
          row.input[static_cast<size_t>(c * height * width + i)];
    }
  }
  column.weight = row.weight;
  std::vector<double> turned(row.tau.size());
  std::vector<double> own(row.tau.size());
  Problem same = row;
  std::fill(same.output.begin(), same.output.end(), 0.0), std::fill(column.output.begin(), column.output.end(), 0.0);
  RaiseToWinograd(same.geometry, same.weight.data(), same.input.data(), same.output.data(), {1}, own.data());
  RaiseToWinograd(column.geometry, column.weight.data(), column.input.data(), column.output.data(), {1}, turned.data());
  for (int o = 0; o < outputs; ++o) {
    for (int i = 0; i < height * width; ++i) {
      const double a = own[static_cast<size_t>(o * height * width + i)];
      EXPECT_GT(a, 0);
      EXPECT_NEAR(a / turned[static_cast<size_t>(o * height * width + i % width * height + i / width)], 1, 1e-9);
    }
  }
}

TEST(Winograd, KernelsThatRuntimesComputeSo) {
  EXPECT_TRUE(IsWinogradKernel(2, 2));
  EXPECT_TRUE(IsWinogradKernel(7, 7));
  EXPECT_TRUE(IsWinogradKernel(1, 7));
  EXPECT_TRUE(IsWinogradKernel(3, 1));
  EXPECT_FALSE(IsWinogradKernel(1, 1));
  EXPECT_FALSE(IsWinogradKernel(3, 5));
  EXPECT_FALSE(IsWinogradKernel(9, 9));
}

TEST(Winograd, IsForPlainConvolutionsOnly) {
  SumGeometry geometry = Problem(2, 2, 5, 5).geometry;
  EXPECT_TRUE(MayBeWinograd(geometry));
  EXPECT_TRUE(Applies(kForms[1], geometry));
  EXPECT_FALSE(Applies(kForms[1], Problem(2, 2, 5, 5, 5, 5).geometry)) << "five taps, not three";
  EXPECT_TRUE(Applies({2, kForms[1].points}, Problem(2, 2, 5, 5, 5, 5).geometry));
  EXPECT_FALSE(Applies(kForms[1], Problem(2, 2, 5, 5, 1, 3).geometry)) << "one axis";
  EXPECT_TRUE(Applies({4, kForms[1].points, 1}, Problem(2, 2, 5, 5, 1, 3).geometry));
  geometry.axis[1].stride = 2;
  EXPECT_FALSE(MayBeWinograd(geometry));
  const WinogradForm split{3, kForms[0].points, 2, 2};  // three taps as two and one
  EXPECT_FALSE(Applies(split, geometry)) << "stride 2 along one axis";
  geometry.axis[2].stride = 2;
  EXPECT_TRUE(Applies(split, geometry));
  EXPECT_FALSE(Applies(kForms[1], geometry)) << "declared as of stride 1";
  geometry = Problem(2, 2, 5, 5).geometry;
  geometry.groups = 2;
  EXPECT_FALSE(MayBeWinograd(geometry)) << "depthwise";
  geometry.in_channels = 4;
  EXPECT_TRUE(MayBeWinograd(geometry));
}

// Groups are convolutions of their own.
TEST(Winograd, AGroupHasTheBoundThatItHasAlone) {
  const Problem a(6, 4, 9, 10), b(6, 4, 9, 10);
  Problem both(12, 8, 9, 10);
  both.geometry.groups = 2;
  both.weight = a.weight;
  for (float w : b.weight) both.weight.push_back(2 * w);
  both.input = a.input;
  for (float x : b.input) both.input.push_back(3 * x);
  both.output = a.output;
  for (double y : b.output) both.output.push_back(6 * y);
  std::vector<double> together(both.output.size()), alone(a.output.size());
  RaiseToWinograd(both.geometry, both.weight.data(), both.input.data(), both.output.data(), {1}, together.data());
  RaiseToWinograd(a.geometry, a.weight.data(), a.input.data(), a.output.data(), {1}, alone.data());
  for (size_t i = 0; i < alone.size(); ++i) {
    EXPECT_GT(alone[i], 0);
    EXPECT_DOUBLE_EQ(together[i], alone[i]);
    EXPECT_NEAR(together[alone.size() + i] / alone[i], 6, 1e-6);
  }
}

}  // namespace
}  // namespace plumb::reference
