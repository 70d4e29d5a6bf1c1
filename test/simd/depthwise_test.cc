// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution against float64 on every ISA: kernels 1 to 7 (not square too), strides, dilation, asymmetric
// pads by output size, maps smaller than the kernel, row ranges, clamp, padded channels.
#include "simd/depthwise.h"

#include <algorithm>

#include "simd/simd_test_util.h"

namespace plumb::simd {
namespace {

struct Sum {
  double y, sigma;
};

// The value before the clamp, and the rounding error to be expected: u sqrt(sum of squared partial sums + y^2).
Sum Reference(const DepthwiseAxis& h, const DepthwiseAxis& w, int block, const std::vector<float>& src,
              const std::vector<float>& weights, double bias, int64_t oh, int64_t ow, int c) {
  double sum = bias, squares = bias * bias;
  for (int64_t kh = 0; kh < h.kernel; ++kh) {
    for (int64_t kw = 0; kw < w.kernel; ++kw) {
      const int64_t y = oh * h.stride - h.pad + kh * h.dilation, x = ow * w.stride - w.pad + kw * w.dilation;
      if (y < 0 || y >= h.in || x < 0 || x >= w.in) continue;
      sum += static_cast<double>(src[(y * w.in + x) * block + c]) * weights[(kh * w.kernel + kw) * block + c];
      squares += sum * sum;
    }
  }
  return {sum, kU * std::sqrt(squares + sum * sum)};
}

void Check(const DepthwiseAxis& h, const DepthwiseAxis& w, int block, bool with_bias, const Clamp& clamp) {
  std::vector<float> src = Uniform(h.in * w.in * block, -2, 2);
  std::vector<float> weights = Uniform(h.kernel * w.kernel * block, -1, 1, 7), bias = Uniform(block, -1, 1, 8);
  for (int64_t i = 0; i < h.in * w.in; ++i) src[i * block + block - 1] = 0;
  for (int64_t i = 0; i < h.kernel * w.kernel; ++i) weights[i * block + block - 1] = 0;
  bias[block - 1] = 0;
  const int64_t row = w.out * block, half = h.out / 2;
  std::vector<float> dst(h.out * row + 1, 777.0f);
  const float* b = with_bias ? bias.data() : nullptr;
  DepthwisePlane(h, w, block, src.data(), weights.data(), b, clamp, dst.data(), 0, half);
  DepthwisePlane(h, w, block, src.data(), weights.data(), b, clamp, dst.data() + half * row, half, h.out);
  ASSERT_EQ(dst.back(), 777.0f);
  for (int64_t i = 0; i < h.out * row; ++i) {
    const int c = i % block;
    const Sum sum = Reference(h, w, block, src, weights, with_bias ? bias[c] : 0, i / row, i % row / block, c);
    const double y = std::min(std::max(sum.y, static_cast<double>(clamp.low)), static_cast<double>(clamp.high));
    ASSERT_LE(ErrorInTau(dst[i], y, 8 * sum.sigma + kEta), 0.45)
        << h.kernel << "x" << w.kernel << " stride " << w.stride << " dilation " << w.dilation << " pad " << w.pad
        << " in " << h.in << "x" << w.in << " block " << block << " output " << i / row << ", " << i % row / block
        << " channel " << c << ": " << dst[i] << ", float64 " << y;
    if (c == block - 1) {
      ASSERT_EQ(dst[i], 0.0f);
    }
  }
}

DepthwiseAxis Axis(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad, int64_t pad_end) {
  const int64_t extent = (kernel - 1) * dilation + 1;
  return {in, (in + pad + pad_end - extent) / stride + 1, kernel, stride, dilation, pad};
}

void CheckAll(const DepthwiseAxis& h, const DepthwiseAxis& w) {
  for (int block : {8, 16}) {
    Check(h, w, block, true, Clamp());
    Check(h, w, block, false, Clamp{0, 6});
  }
}

TEST(SimdDepthwiseTest, MatchesFloat64) {
  ForEachIsa([] {
    for (int64_t kernel : {1, 2, 3, 5, 7}) {
      for (int64_t stride : {1, 2, 3}) {
        const int64_t pad = kernel / 2;
        CheckAll(Axis(9, kernel, stride, 1, pad, pad), Axis(35, kernel, stride, 1, pad, pad));
        CheckAll(Axis(9, kernel, stride, 1, 0, 0), Axis(20, kernel, stride, 1, 0, 1));
      }
    }
    for (int64_t kernel : {3, 5}) {  // groups of seven and of eight, with more and fewer columns outside
      for (int64_t stride : {1, 2}) {
        for (int64_t in : {7, 8, 14, 15, 16, 28, 31}) {
          CheckAll(Axis(5, kernel, stride, 1, 1, 1), Axis(in, kernel, stride, 1, kernel / 2, kernel / 2));
          CheckAll(Axis(4, kernel, stride, 1, 0, 2), Axis(in, kernel, stride, 1, 1, kernel - 2));
          CheckAll(Axis(3, kernel, stride, 1, 2, 0), Axis(in, kernel, stride, 1, kernel, kernel + 1));
        }
      }
    }
    CheckAll(Axis(14, 3, 1, 2, 2, 2), Axis(27, 3, 1, 3, 3, 3));
    CheckAll(Axis(7, 1, 1, 1, 0, 0), Axis(19, 7, 1, 1, 3, 3));
    CheckAll(Axis(2, 3, 1, 1, 1, 1), Axis(1, 3, 1, 1, 1, 1));
    CheckAll(Axis(2, 5, 2, 1, 4, 4), Axis(3, 5, 3, 1, 4, 6));
    CheckAll(Axis(4, 3, 2, 1, 0, 1), Axis(112, 3, 2, 1, 0, 1));
  });
}

TEST(SimdDepthwiseTest, NanPassesTheClamp) {
  ForEachIsa([] {
    std::vector<float> src(9 * 8, 1.0f), weights(9 * 8, 1.0f), dst(9 * 8);
    src[4 * 8 + 2] = NAN;
    const DepthwiseAxis axis{3, 3, 3, 1, 1, 1};
    DepthwisePlane(axis, axis, 8, src.data(), weights.data(), nullptr, Clamp{0, 6}, dst.data(), 0, 3);
    for (int i = 0; i < 9 * 8; ++i) {
      ASSERT_EQ(std::isnan(dst[i]), i % 8 == 2) << i;
      if (i % 8 != 2) {
        ASSERT_EQ(dst[i], i / 8 % 2 == 0 && i / 8 != 4 ? 4.0f : 6.0f);
      }
    }
  });
}

}  // namespace
}  // namespace plumb::simd
