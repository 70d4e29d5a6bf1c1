// SPDX-License-Identifier: Apache-2.0
// A convolution by simd/winograd.h and simd/panel.h, by hand, against float64: every form, both block sizes, tiles that
// reach beyond the map, an addend, every number of pixels in a run.
#include "simd/winograd.h"

#include <algorithm>
#include <cmath>

#include "simd/panel.h"
#include "simd/simd_test_util.h"
#include "simd/winograd_made.h"

namespace plumb::simd {
namespace {

constexpr int64_t kInBlocks = 2;

struct Form {
  int tile_h, tile_w, kernel_h, kernel_w;
};

class WinogradForms : public testing::TestWithParam<std::tuple<Form, int, bool>> {};

// Filters of one panel: [output][input][taps].
std::vector<float> Convolve(const WinogradShape& s, const std::vector<float>& src, const std::vector<float>& filters,
                            const std::vector<float>& bias, const std::vector<float>& addend) {
  const int64_t block = s.block, lanes = 2 * block, depth = kInBlocks * block, tiles = s.tiles();
  const int64_t taps = s.kernel_h * s.kernel_w, positions = s.positions();
  std::vector<float> weights(static_cast<size_t>(positions * depth * lanes));
  std::vector<float> beside(static_cast<size_t>(taps * lanes));  // one input channel's filters
  std::vector<int64_t> at;
  for (int64_t p = 0; p < positions; ++p) at.push_back(p * depth * lanes);
  for (int64_t c = 0; c < depth; ++c) {
    for (int64_t i = 0; i < taps * lanes; ++i) beside[i] = filters[(i % lanes * depth + c) * taps + i / lanes];
    WinogradKernels(s, beside.data(), lanes, &weights[c * lanes], at.data());
  }
  std::vector<float> inputs(static_cast<size_t>(positions * depth * tiles));
  for (int64_t b = 0; b < kInBlocks; ++b)
    WinogradInput(s, &src[b * s.in_h * s.in_w * block], 0, tiles, &inputs[b * tiles * block], depth * tiles);
  std::vector<float> sums(static_cast<size_t>(positions * lanes * tiles), NAN);  // those that no output needs stay NaN
  for (int64_t p = 0; p < positions; ++p) {
    const WinogradTiles need = TilesThatNeed(s, p);
    PanelSource source;
    source.block = s.block, source.blocks = kInBlocks, source.block_step = tiles * block;
    source.from = &inputs[p * depth * tiles + need.first * block], source.weights = &weights[p * depth * lanes];
    PanelResult result;
    result.block_step = tiles * block, result.to = &sums[p * lanes * tiles + need.first * block];
    PanelPixels(need.last - need.first, source, result);
  }
  const int64_t plane = s.out_h * s.out_w * block;
  std::vector<float> dst(static_cast<size_t>(2 * plane + 1), 777.0f);
  for (int64_t b = 0; b < 2; ++b) {
    ProductEnd end;
    end.kind = ProductEnd::Kind::kLeakyRelu, end.alpha = 0.25f, end.bias = &bias[b * block];
    WinogradOutput(s, &sums[b * tiles * block], lanes * tiles, 0, tiles, end, &addend[b * plane], &dst[b * plane]);
  }
  EXPECT_EQ(dst.back(), 777.0f);
  return dst;
}

TEST_P(WinogradForms, MakeAConvolution) {
  const auto& [form, block, cut_first] = GetParam();
  WinogradShape s;
  s.tile_h = form.tile_h, s.tile_w = form.tile_w, s.kernel_h = form.kernel_h, s.kernel_w = form.kernel_w;
  s.block = block, s.in_h = 9, s.in_w = 11, s.pad_top = form.kernel_h / 2, s.pad_left = form.kernel_w / 2;
  s.out_h = s.in_h + (form.kernel_h > 1 ? 1 : 0), s.out_w = s.in_w;  // one row more than "same"
  s.cut_column_first = cut_first;
  ASSERT_TRUE(HasWinograd(s));
  const int64_t depth = kInBlocks * block, taps = s.kernel_h * s.kernel_w, plane = s.out_h * s.out_w * block;
  const auto src = Uniform(depth * s.in_h * s.in_w, -1, 1), filters = Uniform(2 * block * depth * taps, -1, 1, 3);
  const auto bias = Uniform(2 * block, -1, 1, 4), addend = Uniform(2 * plane, -1, 1, 5);
  const std::vector<float> dst = Convolve(s, src, filters, bias, addend);
  double worst = 0;
  for (int64_t i = 0; i < 2 * plane; ++i) {
    const int64_t o = i / plane * block + i % block, y = i % plane / block / s.out_w, x = i % plane / block % s.out_w;
    double sum = static_cast<double>(bias[o]) + addend[i];
    for (int64_t c = 0; c < depth; ++c) {
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t h = y - s.pad_top + t / s.kernel_w, w = x - s.pad_left + t % s.kernel_w;
        if (h < 0 || h >= s.in_h || w < 0 || w >= s.in_w) continue;
        const double value = src[((c / block * s.in_h + h) * s.in_w + w) * block + c % block];
        sum += value * static_cast<double>(filters[(o * depth + c) * taps + t]);
      }
    }
    worst = std::max(worst, std::fabs(static_cast<double>(dst[i]) - (sum < 0 ? sum / 4 : sum)));
  }
  EXPECT_LT(worst, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(All, WinogradForms,
                         testing::Combine(testing::Values(Form{4, 4, 3, 3}, Form{2, 2, 3, 3}, Form{2, 2, 5, 5},
                                                          Form{4, 4, 4, 4}, Form{1, 4, 1, 3}, Form{4, 1, 3, 1},
                                                          Form{1, 4, 1, 5}, Form{4, 1, 5, 1}, Form{1, 4, 1, 7},
                                                          Form{4, 1, 7, 1}),
                                          testing::Values(8, 16), testing::Bool()));

// Of a 7x7 map in tiles of 2x2 the last row and column are cut: 225 products of positions and tiles in place of 256.
TEST(Winograd, LeavesOutWhatNoOutputNeeds) {
  WinogradShape s;
  s.tile_h = s.tile_w = 2, s.in_h = s.in_w = s.out_h = s.out_w = 7;
  const auto products = [&] {
    int64_t sum = 0;
    for (int p = 0; p < s.positions(); ++p) sum += TilesThatNeed(s, p).last - TilesThatNeed(s, p).first;
    return sum;
  };
  EXPECT_EQ(products(), 16 * 16 - 4 * 4);
  s.cut_column_first = true;
  EXPECT_EQ(products(), 9 * 16 + 6 * 12 + 9);
  s.out_h = s.out_w = 8;
  EXPECT_EQ(products(), 16 * 16);
}

TEST(Winograd, HasNoOtherForm) {
  WinogradShape s;
  s.tile_h = s.tile_w = 6;
  EXPECT_FALSE(HasWinograd(s));
  s.tile_h = s.tile_w = 4, s.kernel_w = 1;
  EXPECT_FALSE(HasWinograd(s));
}

// Each number of pixels is code of its own; what follows a sum, and weights that are fetched ahead, change no pixel
// beside.
TEST(Panel, SumsRunsOfAnyLength) {
  for (const int64_t block : {8, 16}) {
    const auto weights = Uniform(kInBlocks * block * 2 * block, -1, 1), bias = Uniform(2 * block, -1, 1, 2);
    for (int64_t pixels = 1; pixels <= 2 * kMaxPanelRows + 1; ++pixels) {
      SCOPED_TRACE(testing::Message() << pixels << " pixels in blocks of " << block);
      const auto src = Uniform(kInBlocks * pixels * block, -1, 1, 3), addend = Uniform(2 * pixels * block, -1, 1, 4);
      std::vector<float> dst(static_cast<size_t>(2 * pixels * block + 1), 777.0f);
      PanelSource source;
      source.block = static_cast<int>(block), source.blocks = kInBlocks, source.block_step = pixels * block;
      source.from = src.data(), source.weights = weights.data(), source.next = weights.data();
      PanelResult result;
      result.block_step = pixels * block, result.to = dst.data(), result.addend = addend.data();
      result.end.bias = bias.data(), result.end.kind = ProductEnd::Kind::kClip;
      result.end.alpha = 0, result.end.beta = 2;
      PanelPixels(pixels, source, result);
      ASSERT_EQ(dst.back(), 777.0f);
      for (int64_t i = 0; i < 2 * pixels * block; ++i) {
        const int64_t o = i / (pixels * block) * block + i % block, pixel = i / block % pixels;
        double sum = static_cast<double>(bias[o]) + addend[i];
        for (int64_t c = 0; c < kInBlocks * block; ++c) {
          sum += static_cast<double>(src[(c / block * pixels + pixel) * block + c % block]) *
                 static_cast<double>(weights[c * 2 * block + o]);
        }
        ASSERT_NEAR(dst[i], std::min(std::max(sum, 0.0), 2.0), 1e-5) << i;
      }
    }
  }
}

// Channels behind the last one are not read, whatever lies there.
TEST(Panel, LeavesOutTheRestOfABlock) {
  for (const int block : {8, 16}) {
    const int64_t pixels = 17;
    auto src = Uniform(kInBlocks * pixels * block, -1, 1, 3);
    const auto weights = Uniform(kInBlocks * block * 2 * block, -1, 1);
    std::vector<float> whole(static_cast<size_t>(2 * pixels * block)), partial(whole.size());
    PanelSource source;
    source.block = block, source.blocks = kInBlocks, source.block_step = pixels * block;
    source.from = src.data(), source.weights = weights.data();
    PanelResult result;
    result.block_step = pixels * block, result.to = whole.data();
    for (int64_t i = 0; i < pixels * block; ++i) {
      if (i % block >= 3) src[static_cast<size_t>(pixels * block + i)] = 0;
    }
    PanelPixels(pixels, source, result);
    for (float& value : src) value = value == 0 ? NAN : value;
    source.last = 3, result.to = partial.data();
    PanelPixels(pixels, source, result);
    EXPECT_EQ(whole, partial) << "blocks of " << block;
  }
}

// To the bit as panel by panel, with a block cut short; nothing behind the last panel is written.
TEST(Panel, TakesSeveralPanelsOfOnePixel) {
  for (const int block : {8, 16}) {
    for (int64_t panels = 0; panels <= 7; ++panels) {
      SCOPED_TRACE(testing::Message() << panels << " panels in blocks of " << block);
      const int64_t lanes = 2 * block, step = kInBlocks * block * lanes;
      const auto src = Uniform(kInBlocks * block, -1, 1, 3), weights = Uniform(panels * step + 1, -1, 1);
      const auto bias = Uniform(panels * lanes + 1, -1, 1, 2), addend = Uniform(panels * lanes + 1, -1, 1, 4);
      std::vector<float> together(static_cast<size_t>(panels * lanes + 1), 777.0f), apart = together;
      PanelSource source;
      source.block = block, source.blocks = kInBlocks, source.block_step = block, source.last = 3;
      source.from = src.data(), source.weights = weights.data();
      PanelResult result;
      result.block_step = block, result.to = together.data(), result.addend = addend.data();
      result.end.bias = bias.data(), result.end.kind = ProductEnd::Kind::kClip;
      result.end.alpha = 0, result.end.beta = 2;
      PanelPixel(panels, source, result);
      result.to = apart.data();
      for (int64_t panel = 0; panel < panels; ++panel) {
        PanelPixels(1, source, result);
        source.weights += step, result.to += lanes, result.addend += lanes, result.end.bias += lanes;
      }
      EXPECT_EQ(together, apart);
    }
  }
}

// As with weights that were there before, to the bit; they are kept, but for channels that are not read.
TEST(MadeWeights, MakeTheSumsOfTheirWeights) {
  for (const int block : {8, 16}) {
    const int64_t floats = kInBlocks * block * 2 * block, read = (block + 3) * 2 * block;
    const auto a = Uniform(floats, -1, 1, 5), b = Uniform(floats, -1, 1, 6), c = Uniform(floats, -1, 1, 7);
    std::vector<float> weights(a.size());
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = a[i] - (b[i] + c[i]);
    for (int64_t pixels = 0; pixels <= 2 * kMaxPanelRows; ++pixels) {
      const auto src = Uniform(kInBlocks * pixels * block, -1, 1, 3);
      std::vector<float> expected(static_cast<size_t>(2 * pixels * block + 1), 777.0f), sums = expected;
      std::vector<float> made(a.size() + 1, 777.0f);
      PanelSource source;
      source.block = block, source.blocks = kInBlocks, source.block_step = pixels * block, source.last = 3;
      source.from = src.data(), source.weights = weights.data();
      PanelResult result;
      result.block_step = pixels * block, result.to = expected.data();
      if (pixels > 0) PanelPixels(pixels, source, result);
      source.weights = nullptr, result.to = sums.data();
      MadePixels(pixels, source, {a.data(), b.data(), c.data(), made.data()}, result);
      EXPECT_EQ(sums, expected) << pixels << " pixels in blocks of " << block;
      EXPECT_TRUE(std::equal(weights.begin(), weights.begin() + read, made.begin())) << pixels;
      EXPECT_EQ(made.back(), 777.0f);
    }
  }
}

}  // namespace
}  // namespace plumb::simd
