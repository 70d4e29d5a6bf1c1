// SPDX-License-Identifier: Apache-2.0
// Times the reference's sums of products on ResNet-50's layers (structure, not weights): values and level-0 bound of
// one input, values only of a second one, in one sweep. Usage: naive_sum_bench [threads] [level]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "base/threads.h"
#include "reference/sum/kernel.h"
#include "reference/sum/products.h"

namespace {

using plumb::reference::SumGeometry;

struct Layer {
  int in, out, size, kernel, stride, times, groups = 1;
};

// Output size follows SAME pads.
SumGeometry Geometry(const Layer& l) {
  SumGeometry g;
  g.groups = l.groups;
  g.in_channels = l.in;
  g.out_channels = l.out;
  for (int a : {1, 2})
    g.axis[static_cast<size_t>(a)] = {l.size, (l.size + l.stride - 1) / l.stride, l.kernel, l.stride, 1, l.kernel / 2};
  return g;
}

double Seconds(const SumGeometry& g, int images, int bounded, int level) {
  std::vector<float> x(static_cast<size_t>(g.in_channels * g.in_pixels()));
  std::vector<float> w(static_cast<size_t>(g.out_channels * g.in_channels / g.groups * g.kernel_size()));
  std::vector<float> bias(static_cast<size_t>(g.out_channels), 0.1f);
  unsigned state = 1;
  for (float& v : x) v = static_cast<float>((state = state * 1664525u + 1013904223u) >> 8) * 0x1p-24f;
  for (float& v : w) v = static_cast<float>((state = state * 1664525u + 1013904223u) >> 8) * 0x1p-24f - 0.5f;
  std::vector<double> y(static_cast<size_t>(g.out_channels * g.out_pixels() * images)), tau(y.size()),
      xd(x.begin(), x.end());
  std::vector<plumb::reference::SumImage> list(static_cast<size_t>(images));
  const size_t step = y.size() / static_cast<size_t>(images);
  for (size_t i = 0; i < list.size(); ++i) {
    list[i].input = xd.data();
    list[i].output = y.data() + i * step;
    list[i].tau = static_cast<int>(i) < bounded ? tau.data() + i * step : nullptr;
  }
  double best = 1e9;
  for (int round = 0; round < 4; ++round) {
    const auto start = std::chrono::steady_clock::now();
    plumb::reference::SumBound bound;
    bound.level = level;
    plumb::reference::SumOfProducts(g, {w.data(), bias.data()}, list, bound);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  plumb::SetNumThreads(argc > 1 ? std::atoi(argv[1]) : 2);
  const int level = argc > 2 ? std::atoi(argv[2]) : 0;
  const Layer layers[] = {
      {3, 64, 224, 7, 2, 1},     {64, 64, 56, 1, 1, 1},     {64, 64, 56, 3, 1, 3},        {64, 256, 56, 1, 1, 4},
      {256, 64, 56, 1, 1, 2},    {256, 128, 56, 1, 2, 1},   {128, 128, 28, 3, 1, 4},      {128, 512, 28, 1, 1, 4},
      {256, 512, 56, 1, 2, 1},   {512, 128, 28, 1, 1, 3},   {512, 256, 28, 1, 2, 1},      {256, 256, 14, 3, 1, 6},
      {256, 1024, 14, 1, 1, 6},  {512, 1024, 28, 1, 2, 1},  {1024, 256, 14, 1, 1, 5},     {1024, 512, 14, 1, 2, 1},
      {512, 512, 7, 3, 1, 3},    {512, 2048, 7, 1, 1, 3},   {1024, 2048, 14, 1, 2, 1},    {2048, 512, 7, 1, 1, 2},
      {2048, 1000, 1, 1, 1, 1},  {25088, 4096, 1, 1, 1, 0}, {256, 256, 28, 3, 1, 0, 256}, {64, 64, 112, 3, 1, 0, 64},
      {64, 64, 112, 3, 2, 0, 64}};
  std::printf("kernels %s, %d threads; ms and GFLOP/s: values | values + level %d | both and a second input\n",
              plumb::reference::BestSumKernels().name, plumb::NumThreads(), level);
  double total[3] = {}, flops = 0;
  for (const Layer& l : layers) {
    const SumGeometry g = Geometry(l);
    const double work =
        2.0 * static_cast<double>(g.out_channels * g.out_pixels() * g.in_channels / g.groups * g.kernel_size());
    const double s[3] = {Seconds(g, 1, 0, level), Seconds(g, 1, 1, level), Seconds(g, 2, 1, level)};
    std::printf("%4dx %4d -> %4d, %3d px, k%d s%d: %7.2f %6.1f | %7.2f %6.1f | %7.2f %6.1f\n", l.times, l.in, l.out,
                l.size, l.kernel, l.stride, s[0] * 1e3, work / s[0] * 1e-9, s[1] * 1e3, work / s[1] * 1e-9, s[2] * 1e3,
                2 * work / s[2] * 1e-9);
    for (int i = 0; i < 3; ++i) total[i] += l.times * s[i];
    flops += l.times * work;
  }
  std::printf("resnet50: %.1f ms (%.0f GFLOP/s) | %.1f ms (%.0f) | %.1f ms (%.0f)\n", total[0] * 1e3,
              flops / total[0] * 1e-9, total[1] * 1e3, flops / total[1] * 1e-9, total[2] * 1e3,
              2 * flops / total[2] * 1e-9);
}
