// SPDX-License-Identifier: Apache-2.0
// Resize against float64 for one, two and four taps in both axes, blocked and plain, odd widths and row ranges; nearest
// is bit-exact.
#include "simd/resize.h"

#include <algorithm>

#include "simd/simd_test_util.h"

namespace plumb::simd {
namespace {

struct Tables {
  std::vector<int32_t> index;
  std::vector<float> weight;
  ResizeAxis axis;
};

// Half-pixel coordinates; cubic with a = -0.75. Weights of each output add up to one.
void MakeTables(int taps, int64_t in, int64_t out, Tables* tables) {
  tables->index.resize(taps * out);
  tables->weight.resize(taps * out);
  for (int64_t o = 0; o < out; ++o) {
    const double x = (o + 0.5) * in / out - 0.5;
    const double floor = std::floor(x), t = x - floor;
    const double a = -0.75;
    const double cubic[4] = {((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a,
                             ((a + 2) * t - (a + 3)) * t * t + 1, ((a + 2) * (1 - t) - (a + 3)) * (1 - t) * (1 - t) + 1,
                             ((a * (2 - t) - 5 * a) * (2 - t) + 8 * a) * (2 - t) - 4 * a};
    const double linear[2] = {1 - t, t};
    for (int k = 0; k < taps; ++k) {
      const int64_t at = taps == 1 ? o * in / out : static_cast<int64_t>(floor) + k - (taps == 4 ? 1 : 0);
      tables->index[k * out + o] = static_cast<int32_t>(std::clamp<int64_t>(at, 0, in - 1));
      tables->weight[k * out + o] = taps == 1 ? NAN : static_cast<float>(taps == 2 ? linear[k] : cubic[k]);
    }
  }
  tables->axis = {taps, out, tables->index.data(), tables->weight.data()};
}

double Blend(const ResizeAxis& axis, int64_t o, int64_t k) {
  return axis.taps == 1 ? 1.0 : axis.weight[k * axis.out + o];
}

void Check(int taps, int block, int64_t in_h, int64_t in_w, int64_t out_h, int64_t out_w, float offset) {
  Tables h, w;
  MakeTables(taps, in_h, out_h, &h);
  MakeTables(taps, in_w, out_w, &w);
  const std::vector<float> src = Uniform(in_h * in_w * block, offset - 1, offset + 1);
  std::vector<float> dst(out_h * out_w * block + 1, 777.0f), line(in_w * block);
  const int64_t half = out_h / 2;
  ResizePlane(h.axis, w.axis, in_w, block, src.data(), dst.data(), 0, half, line.data());
  ResizePlane(h.axis, w.axis, in_w, block, src.data(), dst.data() + half * out_w * block, half, out_h, line.data());
  ASSERT_EQ(dst.back(), 777.0f);
  const double tau = taps == 1 ? 0 : (taps == 2 ? 12 : 128) * kU * (std::fabs(offset) + 1);
  for (int64_t i = 0; i < out_h * out_w * block; ++i) {
    const int64_t y = i / block / out_w, x = i / block % out_w;
    double sum = 0;
    for (int ky = 0; ky < taps; ++ky) {
      for (int kx = 0; kx < taps; ++kx) {
        const int64_t pixel = h.index[ky * out_h + y] * in_w + w.index[kx * out_w + x];
        sum += Blend(h.axis, y, ky) * Blend(w.axis, x, kx) * src[pixel * block + i % block];
      }
    }
    ASSERT_LE(ErrorInTau(dst[i], sum, tau), 0.25) << taps << " taps, block " << block << ", element " << i;
  }
}

TEST(SimdResizeTest, MatchesFloat64) {
  ForEachIsa([] {
    for (int taps : {1, 2, 4}) {
      for (int block : {1, 8, 16}) {
        for (float offset : {0.0f, 100.0f}) {
          Check(taps, block, 5, 7, 11, 37, offset);
          Check(taps, block, 9, 40, 4, 17, offset);
          Check(taps, block, 1, 1, 3, 2, offset);
        }
      }
    }
  });
}

}  // namespace
}  // namespace plumb::simd
