// SPDX-License-Identifier: Apache-2.0
// Per tile: U = G g G^T, V = B^T d B, T = sum over c of ([G][g][G^T]) . ([B^T][d][B]) with [X] = X squared elementwise,
// P the squares of the partial sums over c of U . V, d how far their serial fp32 sum strays:
//   sigma^2 = [A^T] (u^2 (2 T + P) + (1.5 d)^2) [A] + u_out^2 y^2
//   eta     = 2^-126 (1 + |A^T| (sum |U| + sum |V| + C) |A|)          tau = 8 sigma + eta
// Along an axis on which the kernel has one value (1x7, 7x1) nothing is transformed.
#include "reference/sum/winograd.h"

#include <algorithm>
#include <vector>

#include "plumb/observer.h"
#include "reference/sum/winograd_phases.h"
#include "reference/sum/winograd_sweep.h"

namespace plumb {

namespace reference {
namespace {

constexpr int kMaxKernel = Numerics::kMaxTaps;
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
  WinogradSweep sweep(one, points, bound, raise);
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
