// SPDX-License-Identifier: Apache-2.0
// Pooling against plain float64 loops on every ISA: blocked and plain planes, kernels, strides, pads and both count
// conventions, windows cut or wholly outside, adaptive, row ranges, wide planes, NaN, and no write outside the rows.
#include "simd/pooling.h"

#include <algorithm>

#include "simd/simd_test_util.h"

namespace plumb::simd {
namespace {

struct Range {
  int64_t begin, end, window;
};

Range Window(const PoolAxis& a, int64_t o) {
  if (a.adaptive) {
    const int64_t begin = o * a.in / a.out, end = ((o + 1) * a.in + a.out - 1) / a.out;
    return {begin, end, end - begin};
  }
  const int64_t start = o * a.stride - a.pad_begin;
  return {std::max<int64_t>(start, 0), std::min(start + a.kernel, a.in),
          std::min(start + a.kernel, a.in + a.pad_end) - start};
}

// y and the scale of the average's tolerance: mean |x| times what n partial sums of equal terms give in quadrature.
std::pair<double, double> Reference(const PoolParams& p, int block, const float* src, int64_t oh, int64_t ow, int c) {
  const Range h = Window(p.h, oh), w = Window(p.w, ow);
  double sum = 0, magnitude = 0, max = -HUGE_VAL, inside = 0;
  for (int64_t y = h.begin; y < h.end; ++y) {
    for (int64_t x = w.begin; x < w.end; ++x) {
      const double v = src[(y * p.w.in + x) * block + c];
      sum += v;
      magnitude += std::fabs(v);
      if (!(v <= max)) max = std::isnan(max) ? max : v;
      ++inside;
    }
  }
  if (!p.average) return {max, 0};
  const double count = p.count_include_pad ? static_cast<double>(h.window * w.window) : inside;
  return inside == 0 ? std::pair<double, double>{0, 0}
                     : std::pair<double, double>{sum / count, magnitude / count * std::sqrt(1 + inside / 3)};
}

void Check(const PoolParams& p, int block, const std::vector<float>& src, int64_t row_begin, int64_t row_end) {
  const int64_t size = (row_end - row_begin) * p.w.out * block;
  std::vector<float> dst(size + 32, 777.0f);
  PoolPlane(p, block, src.data(), dst.data() + 16, row_begin, row_end);
  for (int64_t i = 0; i < size; ++i) {
    const int64_t pixel = i / block + row_begin * p.w.out;
    const auto [y, scale] = Reference(p, block, src.data(), pixel / p.w.out, pixel % p.w.out, i % block);
    ASSERT_LE(ErrorInTau(dst[16 + i], y, p.average ? 12 * kU * scale + 4 * kEta : 0), 0.25)
        << (p.average ? "average" : "max") << " block " << block << " kernel " << p.h.kernel << "x" << p.w.kernel
        << " stride " << p.w.stride << " pad " << p.w.pad_begin << " in " << p.h.in << "x" << p.w.in
        << ", output pixel " << pixel << " channel " << i % block << ": " << dst[16 + i] << ", float64 " << y;
  }
  for (int i = 0; i < 16; ++i) ASSERT_EQ(dst[i] + dst[16 + size + i], 2 * 777.0f) << "stray write";
}

PoolParams Square(int64_t in_h, int64_t in_w, int64_t kernel, int64_t stride, int64_t pad, bool ceil) {
  const auto axis = [&](int64_t in) {
    const int64_t out = (in + 2 * pad - kernel + (ceil ? stride - 1 : 0)) / stride + 1;
    return PoolAxis{in, out, kernel, stride, pad, pad, false};
  };
  PoolParams p;
  p.h = axis(in_h);
  p.w = axis(in_w);
  return p;
}

void CheckAll(PoolParams p) {
  for (int block : {1, 8, 16}) {
    const std::vector<float> src = Uniform(p.h.in * p.w.in * block, -3, 5);
    for (int kind = 0; kind < 3; ++kind) {
      p.average = kind > 0;
      p.count_include_pad = kind == 2;
      Check(p, block, src, 0, p.h.out);
      if (p.h.out > 2) Check(p, block, src, 1, p.h.out - 1);
    }
  }
}

TEST(SimdPoolingTest, MatchesFloat64) {
  ForEachIsa([] {
    for (int64_t kernel : {1, 2, 3, 5}) {
      for (int64_t stride : {1, 2, 3}) {
        for (int64_t pad = 0; pad <= kernel / 2; ++pad) CheckAll(Square(13, 37, kernel, stride, pad, stride == 2));
      }
    }
    CheckAll(Square(7, 7, 7, 1, 0, false));
    CheckAll(Square(1, 1, 3, 2, 1, false));
  });
}

TEST(SimdPoolingTest, WindowsOutsideTheInput) {
  ForEachIsa([] {
    PoolParams p = Square(5, 5, 2, 3, 1, false);
    p.h.out = 4;  // rows 8..: outside
    p.w.out = 4;
    p.h.pad_end = p.w.pad_end = 6;
    CheckAll(p);
  });
}

TEST(SimdPoolingTest, WidePlanesAndWideKernels) {
  ForEachIsa([] {
    CheckAll(Square(4, 700, 3, 1, 1, false));
    CheckAll(Square(3, 9000, 3, 2, 1, false));
    PoolParams p = Square(3, 600, 3, 1, 1, false);
    p.w = {600, 2, 400, 200, 0, 0, false};
    CheckAll(p);
  });
}

TEST(SimdPoolingTest, Adaptive) {
  ForEachIsa([] {
    PoolParams p;
    p.h = {13, 5, 0, 0, 0, 0, true};
    p.w = {9, 4, 0, 0, 0, 0, true};
    CheckAll(p);
  });
}

TEST(SimdPoolingTest, NanAndInfinity) {
  ForEachIsa([] {
    for (int block : {1, 8, 16}) {
      PoolParams p = Square(9, 40, 3, 2, 1, false);
      std::vector<float> src = Uniform(9 * 40 * block, -3, 5);
      for (size_t i = 5; i < src.size(); i += 61) src[i] = i % 2 != 0 ? NAN : -INFINITY;
      Check(p, block, src, 0, p.h.out);
      p.average = true;
      for (float& x : src) x = std::isinf(x) ? 1.0f : x;
      Check(p, block, src, 0, p.h.out);
    }
  });
}

TEST(SimdPoolingTest, GlobalAverage) {
  ForEachIsa([] {
    for (int block : {1, 8, 16}) {
      for (int64_t pixels : {1, 49, 196, 50176}) {
        for (float lo : {0.0f, 0.7f}) {  // 0.7: a constant field, where serial sums drift
          const std::vector<float> src = Uniform(pixels * block, lo, lo == 0.7f ? 0.7f : 2.0f);
          std::vector<float> mean(block);
          GlobalAverage(block, src.data(), pixels, mean.data());
          for (int c = 0; c < block; ++c) {
            double sum = 0;
            for (int64_t i = 0; i < pixels; ++i) sum += src[i * block + c];
            EXPECT_LE(ErrorInTau(mean[c], sum / pixels, 24 * kU * sum / pixels), 0.25) << pixels << " " << mean[c];
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace plumb::simd
