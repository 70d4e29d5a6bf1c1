// SPDX-License-Identifier: Apache-2.0
// Convolutions as the CPU devices use them (oneDNN's of X86, our own of ARM), against plain loops: formats, odd
// channels, groups, pads, batches, threads, slices.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "base/threads.h"
#include "device/cpu/panel_convolution.h"
#include "device/cpu/pointwise_convolution.h"
#include "device/cpu/reorder.h"
#include "device/cpu/sliced_convolution.h"
#include "device/cpu/winograd_convolution.h"

namespace plumb::cpu {
namespace {

using Kind = Epilogue::Kind;

struct Case {
  const char* name;
  int64_t batch, groups, in, out, height, width, kernel_h, kernel_w, stride, dilation, pad_top, pad_left, pad_bottom,
      pad_right;
  Format src = Format::kBlocked, dst = Format::kBlocked;
  Kind kind = Kind::kNone;
  bool sum = false, transposed = false;
};

constexpr Format kPlain = Format::kPlain, kBlocked = Format::kBlocked;

const Case kCases[] = {
    {"first_layer", 1, 1, 3, 40, 19, 17, 7, 7, 2, 1, 3, 3, 3, 3, kPlain, kBlocked, Kind::kRelu},
    {"k3", 1, 1, 32, 64, 15, 13, 3, 3, 1, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kRelu},
    {"odd_channels", 1, 1, 19, 37, 9, 9, 3, 3, 1, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kSwish},
    {"asymmetric_pads", 1, 1, 32, 48, 14, 14, 3, 3, 2, 1, 0, 0, 1, 1, kBlocked, kBlocked, Kind::kClip},
    {"row_1x7", 1, 1, 48, 64, 17, 17, 1, 7, 1, 1, 0, 3, 0, 3},
    {"column_7x1", 1, 1, 48, 64, 17, 17, 7, 1, 1, 1, 3, 0, 3, 0},
    {"pointwise", 1, 1, 48, 80, 12, 12, 1, 1, 1, 1, 0, 0, 0, 0, kBlocked, kBlocked, Kind::kRelu, true},
    {"pointwise_stride_2", 1, 1, 48, 80, 13, 12, 1, 1, 2, 1, 0, 0, 0, 0},
    {"pointwise_padded", 1, 1, 32, 40, 13, 13, 1, 1, 1, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kRelu},
    {"pointwise_padded_batch", 4, 1, 32, 40, 5, 6, 1, 1, 2, 1, 1, 2, 0, 1},
    {"dilated", 1, 1, 32, 32, 15, 15, 3, 3, 1, 2, 2, 2, 2, 2},
    {"sum_relu", 1, 1, 32, 32, 14, 14, 3, 3, 1, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kRelu, true},
    {"depthwise", 1, 40, 40, 40, 14, 14, 3, 3, 1, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kClip},
    {"depthwise_stride_2", 1, 64, 64, 64, 15, 15, 3, 3, 2, 1, 1, 1, 1, 1},
    {"groups_blocked", 1, 4, 64, 128, 9, 9, 3, 3, 1, 1, 1, 1, 1, 1},
    {"groups_plain", 1, 3, 9, 15, 9, 8, 3, 3, 1, 1, 1, 1, 1, 1, kPlain, kPlain, Kind::kRelu},
    {"plain", 1, 1, 5, 7, 9, 9, 3, 3, 2, 1, 0, 1, 1, 0, kPlain, kPlain, Kind::kLeakyRelu, true},
    {"plain_stride_above_kernel", 1, 1, 4, 6, 11, 11, 2, 2, 3, 1, 0, 0, 0, 0, kPlain, kPlain},
    {"batch_3", 3, 1, 32, 48, 7, 7, 3, 3, 1, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kRelu, true},
    {"batch_2_plain", 2, 1, 3, 20, 9, 9, 3, 3, 2, 1, 1, 1, 1, 1, kPlain, kBlocked},
    {"one_block_of_outputs", 1, 1, 40, 7, 15, 14, 3, 3, 1, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kRelu, true},
    {"one_block_pointwise", 2, 1, 35, 8, 9, 5, 1, 1, 1, 1, 0, 0, 0, 0, kBlocked, kBlocked, Kind::kSwish},
    {"one_block_first_layer", 1, 1, 3, 8, 19, 17, 3, 3, 2, 1, 1, 0, 1, 2, kPlain, kBlocked, Kind::kClip},
    {"one_block_row", 1, 1, 16, 5, 1, 9, 1, 3, 1, 1, 0, 1, 0, 1},
    {"deconvolution", 1, 1, 32, 48, 7, 7, 4, 4, 2, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kRelu, false, true},
    {"deconvolution_plain", 1, 1, 5, 3, 7, 6, 3, 3, 2, 1, 1, 1, 0, 0, kPlain, kPlain, Kind::kNone, false, true},
    {"deconvolution_few_groups", 1, 2, 2, 4, 3, 3, 2, 2, 1, 1, 0, 0, 0, 0, kPlain, kPlain, Kind::kNone, false, true},
    {"deconvolution_groups", 2, 2, 32, 64, 6, 6, 3, 3, 2, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kNone, false, true},
};

// Whole tiles and rests of them, both ways to share the work, odd channels, a panel of one block, every form.
const Case kWinogradCases[] = {
    {"f4", 1, 1, 64, 64, 24, 24, 3, 3, 1, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kRelu},
    {"f4_rests", 1, 1, 35, 56, 23, 29, 3, 3, 1, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kSwish},
    {"f4_no_pads", 1, 1, 16, 34, 25, 22, 3, 3, 1, 1, 0, 0, 0, 0, kBlocked, kBlocked, Kind::kLeakyRelu, true},
    {"f4_wide_pads", 1, 1, 16, 32, 21, 20, 3, 3, 1, 1, 2, 0, 1, 3, kBlocked, kBlocked, Kind::kClip},
    {"f4_batch", 3, 1, 16, 40, 20, 21, 3, 3, 1, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kRelu, true},
    {"f2", 1, 1, 48, 70, 13, 15, 3, 3, 1, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kRelu, true},
    {"f2_batch", 2, 1, 24, 129, 12, 12, 3, 3, 1, 1, 1, 1, 1, 1},
    {"f2_small", 2, 1, 32, 80, 7, 9, 3, 3, 1, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kSwish, true},
    {"k5", 1, 1, 16, 48, 17, 13, 5, 5, 1, 1, 2, 2, 2, 2, kBlocked, kBlocked, Kind::kRelu},
    {"row_1x3", 2, 1, 24, 66, 8, 9, 1, 3, 1, 1, 0, 1, 0, 1},
    {"column_3x1", 1, 1, 64, 64, 10, 8, 3, 1, 1, 1, 1, 0, 1, 0, kBlocked, kBlocked, Kind::kRelu},
    {"row_1x7", 1, 1, 48, 64, 17, 17, 1, 7, 1, 1, 0, 3, 0, 3, kBlocked, kBlocked, Kind::kRelu, true},
    {"column_7x1", 1, 1, 35, 57, 18, 13, 7, 1, 1, 1, 3, 0, 3, 0},
    {"split_7x7", 1, 1, 3, 64, 48, 51, 7, 7, 2, 1, 3, 3, 3, 3, kPlain, kBlocked, Kind::kRelu, true},
    {"split_7x7_no_pads", 2, 1, 3, 38, 45, 48, 7, 7, 2, 1, 0, 0, 0, 0, kPlain, kBlocked, Kind::kSwish},
    {"split_7x7_odd_pads", 1, 1, 4, 96, 41, 44, 7, 7, 2, 1, 2, 4, 5, 1, kPlain, kBlocked, Kind::kRelu},
    {"split_5x5", 3, 1, 3, 40, 40, 43, 5, 5, 2, 1, 2, 2, 2, 2, kPlain, kBlocked, Kind::kClip},
    {"f2_made", 1, 1, 385, 393, 7, 8, 3, 3, 1, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kRelu, true},
    {"f2_cut_below", 1, 1, 32, 80, 9, 14, 3, 3, 1, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kRelu},
    {"f4_cut_at_the_side", 3, 1, 24, 40, 24, 21, 3, 3, 1, 1, 1, 1, 1, 1},
    {"k4", 1, 1, 16, 48, 23, 22, 4, 4, 1, 1, 1, 2, 2, 1, kBlocked, kBlocked, Kind::kRelu},
    {"f4_one_block", 2, 1, 35, 5, 23, 29, 3, 3, 1, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kRelu, true},
    {"f4_one_block_each", 1, 1, 16, 8, 25, 22, 3, 3, 1, 1, 0, 0, 0, 0, kBlocked, kBlocked, Kind::kSwish},
    {"f2_one_block", 2, 1, 40, 7, 13, 15, 3, 3, 1, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kClip, true},
    {"row_1x5", 2, 1, 24, 66, 8, 9, 1, 5, 1, 1, 0, 2, 0, 2, kBlocked, kBlocked, Kind::kRelu, true},
    {"column_5x1", 1, 1, 35, 57, 18, 13, 5, 1, 1, 1, 1, 0, 2, 0},
    {"f2_two_blocks", 1, 1, 48, 24, 9, 7, 3, 3, 1, 1, 1, 1, 1, 1},
};

// One run of pixels and several, odd channels, a panel of one block, a stride.
const Case kPointwiseCases[] = {
    {"one_run", 1, 1, 256, 80, 7, 7, 1, 1, 1, 1, 0, 0, 0, 0, kBlocked, kBlocked, Kind::kRelu, true},
    {"odd", 2, 1, 261, 37, 5, 9, 1, 1, 1, 1, 0, 0, 0, 0, kBlocked, kBlocked, Kind::kClip},
    {"stride_2", 2, 1, 264, 72, 13, 14, 1, 1, 2, 1, 0, 0, 0, 0, kBlocked, kBlocked, Kind::kSwish, true},
    {"runs", 1, 1, 2048, 56, 9, 10, 1, 1, 1, 1, 0, 0, 0, 0, kBlocked, kBlocked, Kind::kLeakyRelu},
    {"one_pixel", 3, 1, 256, 20, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    {"padded", 1, 1, 64, 50, 13, 13, 1, 1, 1, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kRelu, true},
    {"padded_on_one_side", 2, 1, 35, 37, 5, 9, 1, 1, 1, 1, 0, 2, 3, 0, kBlocked, kBlocked, Kind::kSwish},
    {"padded_plain_sums", 1, 1, 40, 72, 9, 11, 1, 1, 1, 1, 1, 2, 2, 1},
    {"padded_cut", 1, 1, 40, 72, 9, 11, 1, 1, 1, 1, 1, 2, -1, 0},
    {"padded_runs", 1, 1, 1024, 80, 15, 17, 1, 1, 1, 1, 2, 1, 0, 1},
    {"padded_parts", 2, 1, 515, 72, 9, 11, 1, 1, 1, 1, 1, 0, 2, 1, kBlocked, kBlocked, Kind::kSwish, true},
};

// Of kCases those without groups in channel blocks, and: channels in several parts whose last block is not full, bands
// of a large map, a map read where it lies, one block of outputs, more rows of zeros than of the map.
const Case kPanelCases[] = {
    {"parts", 1, 1, 150, 40, 15, 17, 3, 3, 2, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kRelu, true},
    {"parts_in_place", 2, 1, 131, 37, 13, 14, 3, 3, 2, 1, 0, 0, 0, 0, kBlocked, kBlocked, Kind::kSwish},
    {"bands", 1, 1, 33, 24, 90, 91, 3, 3, 2, 1, 0, 1, 1, 0, kBlocked, kBlocked, Kind::kLeakyRelu},
    {"bands_in_place", 1, 1, 40, 16, 97, 120, 5, 3, 3, 2, 0, 0, 0, 0},
    {"one_block", 1, 1, 24, 8, 16, 16, 3, 3, 1, 1, 1, 1, 1, 1, kBlocked, kBlocked, Kind::kClip},
    {"first_layer_3x3", 3, 1, 3, 24, 31, 33, 3, 3, 2, 1, 1, 1, 1, 1, kPlain, kBlocked, Kind::kRelu},
    {"first_layer_one_channel", 1, 1, 1, 20, 12, 11, 5, 5, 1, 1, 0, 0, 0, 0, kPlain, kBlocked, Kind::kNone},
    {"wide_pads", 1, 1, 16, 32, 3, 2, 3, 3, 2, 1, 4, 5, 3, 4, kBlocked, kBlocked, Kind::kRelu},
};

std::vector<float> Random(size_t count, uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(static_cast<int>(engine() >> 8) % 2001 - 1000) / 1000.0f;
  return values;
}

double Activate(const Epilogue& e, double v) {
  switch (e.kind) {
    case Kind::kNone: return v;
    case Kind::kRelu: return v > 0 ? v : 0;
    case Kind::kLeakyRelu: return v > 0 ? v : e.alpha * v;
    case Kind::kClip: return std::min<double>(std::max<double>(v, e.alpha), e.beta);
    case Kind::kSwish: return v / (1 + std::exp(-v));
  }
  return v;
}

// One output element by definition; weights [group][out][in][kh][kw].
double Reference(const ConvParams& p, const std::vector<float>& src, const std::vector<float>& weights, int64_t image,
                 int64_t oc, int64_t oh, int64_t ow) {
  const int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups, group = oc / out;
  double sum = 0;
  for (int64_t ic = 0; ic < in; ++ic) {
    for (int64_t kh = 0; kh < p.kernel_h; ++kh) {
      for (int64_t kw = 0; kw < p.kernel_w; ++kw) {
        int64_t h = oh * p.stride_h - p.pad_top + kh * p.dilation_h,
                w = ow * p.stride_w - p.pad_left + kw * p.dilation_w;
        if (p.transposed) {
          h = oh + p.pad_top - kh * p.dilation_h, w = ow + p.pad_left - kw * p.dilation_w;
          if (h % p.stride_h != 0 || w % p.stride_w != 0) continue;
          h /= p.stride_h, w /= p.stride_w;
        }
        if (h < 0 || h >= p.in_h || w < 0 || w >= p.in_w) continue;
        const size_t x = static_cast<size_t>(((image * p.in_channels + group * in + ic) * p.in_h + h) * p.in_w + w);
        const size_t k = static_cast<size_t>(((oc * in + ic) * p.kernel_h + kh) * p.kernel_w + kw);
        sum += static_cast<double>(src[x]) * weights[k];
      }
    }
  }
  return sum;
}

ConvParams ParamsOf(const Case& c) {
  ConvParams p;
  p.groups = c.groups, p.in_channels = c.in, p.out_channels = c.out, p.in_h = c.height, p.in_w = c.width;
  p.kernel_h = c.kernel_h, p.kernel_w = c.kernel_w, p.stride_h = p.stride_w = c.stride,
  p.dilation_h = p.dilation_w = c.dilation;
  p.pad_top = c.pad_top, p.pad_left = c.pad_left, p.src = c.src, p.dst = c.dst, p.transposed = c.transposed;
  const int64_t extent_h = (c.kernel_h - 1) * c.dilation + 1, extent_w = (c.kernel_w - 1) * c.dilation + 1;
  p.out_h = c.transposed ? (c.height - 1) * c.stride + extent_h - c.pad_top - c.pad_bottom
                         : (c.height + c.pad_top + c.pad_bottom - extent_h) / c.stride + 1;
  p.out_w = c.transposed ? (c.width - 1) * c.stride + extent_w - c.pad_left - c.pad_right
                         : (c.width + c.pad_left + c.pad_right - extent_w) / c.stride + 1;
  p.epilogue = {c.kind, c.kind == Kind::kLeakyRelu ? 0.25f : -0.5f, 1.5f, c.sum};
  return p;
}

std::vector<float> InFormat(const MapShape& map, Format format, const std::vector<float>& plain) {
  if (format == Format::kPlain) return plain;
  const int64_t image = map.ImageElements(format, ChannelBlock());
  std::vector<float> blocked(static_cast<size_t>(map.batch * image), 77.0f);
  ToBlocked(map, ChannelBlock(), plain.data(), map.channels * map.pixels, blocked.data(), image);
  return blocked;
}

// Made for and run on one, two and three threads.
template <class Conv>
void Check(const Case& c, double tolerance) {
  const ConvParams p = ParamsOf(c);
  const MapShape in{c.batch, c.in, p.in_h * p.in_w}, out{c.batch, c.out, p.out_h * p.out_w};
  const bool depthwise = c.groups == c.in && c.groups == c.out && p.dst == Format::kBlocked;
  const simd::DepthwiseAxis across{p.in_w, p.out_w, p.kernel_w, p.stride_w, p.dilation_w, p.pad_left};
  if (depthwise && !ProductsLeadDepthwise(out.pixels, across)) return;  // simd/depthwise.h computes it
  const int64_t kernel = p.kernel_h * p.kernel_w, in_g = c.in / c.groups, out_g = c.out / c.groups;
  const auto src = Random(static_cast<size_t>(c.batch * c.in * in.pixels), 1);
  const auto weights = Random(static_cast<size_t>(c.out * in_g * kernel), 2);
  const auto bias = Random(static_cast<size_t>(c.out), 3);
  const auto old = Random(static_cast<size_t>(c.batch * c.out * out.pixels), 4);
  const WeightStrides strides{out_g * in_g * kernel, in_g * kernel, kernel};
  std::vector<double> expected;
  for (size_t i = 0; i < old.size(); ++i) {
    const int64_t index = static_cast<int64_t>(i), image = index / (c.out * out.pixels),
                  oc = index / out.pixels % c.out;
    const double sum = Reference(p, src, weights, image, oc, index % out.pixels / p.out_w, index % p.out_w);
    expected.push_back(Activate(p.epilogue, sum + bias[static_cast<size_t>(oc)] + (c.sum ? old[i] : 0.0f)));
  }
  const auto x = InFormat(in, p.src, src);
  for (const int threads : {1, 2, 3}) {
    SCOPED_TRACE(std::string(c.name) + ", threads " + std::to_string(threads));
    SetNumThreads(threads);
    auto conv = Conv::Create(c.batch, p, weights.data(), strides, bias.data(), threads);
    ASSERT_TRUE(conv.ok()) << conv.status().ToString();
    auto y = InFormat(out, p.dst, old);
    std::vector<float> workspace(static_cast<size_t>(Conv::Workspace(p, threads)) + 1, 55.0f);
    const int64_t src_image = in.ImageElements(p.src, ChannelBlock()),
                  dst_image = out.ImageElements(p.dst, ChannelBlock());
    conv->Run(x.data(), src_image, c.sum ? y.data() : nullptr, y.data(), dst_image, workspace.data());
    EXPECT_EQ(workspace.back(), 55.0f) << "writes behind the workspace";
    if (p.dst == Format::kBlocked) {  // lanes behind the last channel must be zero: the next layer multiplies them
      const int64_t block = ChannelBlock(), tail = c.out % block;
      for (int64_t lane = tail; tail > 0 && lane < block; ++lane)
        EXPECT_EQ(y[static_cast<size_t>(dst_image - block + lane)], 0.0f);
      std::vector<float> plain(old.size());
      ToPlain(out, ChannelBlock(), y.data(), dst_image, plain.data(), c.out * out.pixels);
      y = plain;
    }
    double worst = 0;
    for (size_t i = 0; i < y.size(); ++i) worst = std::max(worst, std::abs(expected[i] - y[i]));
    EXPECT_LT(worst, tolerance) << conv->implementation();
  }
}

TEST(SlicedConvolutionTest, MatchesPlainLoops) {
  for (const Case& c : kCases) Check<SlicedConvolution>(c, 3e-5);
  SetNumThreads(0);
}

TEST(WinogradConvolutionTest, MatchesPlainLoops) {
  for (const Case& c : kWinogradCases) {
    const ConvParams p = ParamsOf(c);
    const Status fits = WinogradConvolution::Check(p);
    ASSERT_TRUE(fits.ok()) << c.name << ": " << fits.ToString();
    Check<WinogradConvolution>(c, 2e-4);
  }
  SetNumThreads(0);
}

TEST(PanelConvolutionTest, MatchesPlainLoops) {
  int tried = 0;
  for (const Case& c : kCases) {
    const bool takes = c.groups == 1 && !c.transposed && c.dst == kBlocked && c.kernel_h * c.kernel_w > 1;
    if (takes) Check<PanelConvolution>(c, 3e-5);
    tried += takes;
  }
  EXPECT_GE(tried, 10);
  for (const Case& c : kPanelCases) Check<PanelConvolution>(c, 1e-4);
  SetNumThreads(0);
}

TEST(PanelConvolutionTest, RefusesWhatItCannotDoOrWhatPaysNot) {
  const auto why = [](const ConvParams& p) { return PanelConvolution::Check(p).ToString(); };
  ConvParams p = ParamsOf(kPanelCases[0]);
  if (ProductsLead(p)) {
    EXPECT_NE(why(p).find("a product is as fast"), std::string::npos) << why(p);
  } else {
    EXPECT_TRUE(PanelConvolution::Check(p).ok());
  }
  p.groups = 2;
  EXPECT_NE(why(p).find("no groups"), std::string::npos) << why(p);
  p = ParamsOf(kPointwiseCases[0]);
  EXPECT_NE(why(p).find("more than one tap"), std::string::npos) << why(p);
}

TEST(PointwiseConvolutionTest, MatchesPlainLoops) {
  for (const Case& c : kPointwiseCases) {
    const Status fits = PointwiseConvolution::Check(ParamsOf(c));
    ASSERT_TRUE(fits.ok()) << c.name << ": " << fits.ToString();
    Check<PointwiseConvolution>(c, 2e-4);
  }
  SetNumThreads(0);
}

TEST(PointwiseConvolutionTest, RefusesWhatIsNoneOrPaysNot) {
  const auto why = [](const Case& c) { return PointwiseConvolution::Check(ParamsOf(c)).ToString(); };
  Case c = kPointwiseCases[0];
  c.pad_top = 1, c.stride = 2;
  EXPECT_NE(why(c).find("no stride with padding"), std::string::npos) << why(c);
  c = kPointwiseCases[0];
  c.kernel_h = 3;
  EXPECT_NE(why(c).find("needs a 1x1 kernel"), std::string::npos) << why(c);
  c = kPointwiseCases[0];
  c.width = 56;
  EXPECT_NE(why(c).find("no faster with 256 channels and a 7x56 map"), std::string::npos) << why(c);
}

// What is added may lie elsewhere.
TEST(WinogradConvolutionTest, AddsAnotherBlob) {
  const Case& c = kWinogradCases[0];
  const ConvParams p = ParamsOf(c);
  const auto weights = Random(static_cast<size_t>(c.out * c.in * 9), 2);
  const std::vector<float> x(static_cast<size_t>(c.in * p.in_h * p.in_w), 0.5f);
  std::vector<float> workspace(static_cast<size_t>(WinogradConvolution::Workspace(p, 2)));
  std::vector<float> added = Random(static_cast<size_t>(c.out * p.out_h * p.out_w), 3), there(added.size()),
                     here = added;
  auto conv = WinogradConvolution::Create(1, p, weights.data(), {0, c.in * 9, 9}, nullptr, 2);
  ASSERT_TRUE(conv.ok()) << conv.status().ToString();
  conv->Run(x.data(), 0, added.data(), there.data(), 0, workspace.data());
  conv->Run(x.data(), 0, here.data(), here.data(), 0, workspace.data());
  EXPECT_EQ(there, here);
}

// The workspace is that of the threads it was made for, however many there are when it runs.
TEST(WinogradConvolutionTest, TakesNoMoreThreadsThanItWasMadeFor) {
  for (const Case& c :
       {kWinogradCases[0], kWinogradCases[5], kWinogradCases[7], kWinogradCases[15], kWinogradCases[17]}) {
    const ConvParams p = ParamsOf(c);
    const int64_t taps = c.kernel_h * c.kernel_w;
    const auto weights = Random(static_cast<size_t>(c.out * c.in * taps), 2);
    const auto lanes = [](Format format, int64_t channels) {
      return format == Format::kPlain ? channels : BlocksOf(channels) * ChannelBlock();
    };
    const int64_t src_image = lanes(c.src, c.in) * p.in_h * p.in_w, dst_image = lanes(c.dst, c.out) * p.out_h * p.out_w;
    const auto x = Random(static_cast<size_t>(c.batch * src_image), 3);
    const auto run = [&](int threads) {
      SetNumThreads(threads);
      std::vector<float> workspace(static_cast<size_t>(WinogradConvolution::Workspace(p, 2)) + 1, 55.0f);
      std::vector<float> y(static_cast<size_t>(c.batch * dst_image));
      auto conv = WinogradConvolution::Create(c.batch, p, weights.data(), {0, c.in * taps, taps}, nullptr, 2);
      conv->Run(x.data(), src_image, nullptr, y.data(), dst_image, workspace.data());
      EXPECT_EQ(workspace.back(), 55.0f) << threads << " threads";
      return y;
    };
    EXPECT_EQ(run(1), run(5));
  }
  SetNumThreads(0);
}

TEST(WinogradConvolutionTest, DeclaresItsForm) {
  const auto name = [](const Case& c) {
    const ConvParams p = ParamsOf(c);
    const std::vector<float> weights(static_cast<size_t>(c.out * c.in * p.kernel_h * p.kernel_w));
    const int64_t taps = p.kernel_h * p.kernel_w;
    auto conv = WinogradConvolution::Create(1, p, weights.data(), {0, c.in * taps, taps}, nullptr, 2);
    return conv.ok() ? conv->numerics().Name() : conv.status().ToString();
  };
  EXPECT_EQ(name(kWinogradCases[0]), "winograd F(4x4,3x3) points 0 1 -1 0.5 -2");
  EXPECT_EQ(name(kWinogradCases[5]), "winograd F(2x2,3x3) points 0 1 -1");
  EXPECT_EQ(name(kWinogradCases[8]), "winograd F(2x2,5x5) points 0 1 -1 0.5 -2");
  EXPECT_EQ(name(kWinogradCases[11]), "winograd F(4,7) points 0 1 -1 2 -2 0.5 -0.5 0.75 -1.333");
  EXPECT_EQ(name(kWinogradCases[13]), "winograd of stride 2 F(4x4,4x4) points 0 1 -1 2 -2 -0.25");
  EXPECT_EQ(name(kWinogradCases[16]), "winograd of stride 2 F(4x4,3x3) points 0 1 -1 0.5 -2");
}

TEST(WinogradConvolutionTest, RefusesWhatItCannotDoOrWhatPaysNot) {
  const ConvParams good = ParamsOf(kWinogradCases[0]);
  EXPECT_TRUE(WinogradConvolution::Check(good).ok());
  const auto refuses = [](const ConvParams& p, const char* why) {
    const Status status = WinogradConvolution::Check(p);
    EXPECT_EQ(status.code(), StatusCode::kNotSupported);
    EXPECT_NE(status.ToString().find(why), std::string::npos) << status.ToString();
  };
  ConvParams p = good;
  p.stride_w = 2;
  refuses(p, "needs stride 1");
  p.stride_h = 2;
  refuses(p, "fewer input channels than a block");
  p = ParamsOf(kWinogradCases[13]), p.kernel_h = 5;
  refuses(p, "needs stride 1, or 2");
  p = ParamsOf(kWinogradCases[13]), p.in_channels = 1;
  refuses(p, "direct sums are faster with a 7x7 kernel, 1 to 64 channels");
  p = good, p.groups = 2;
  refuses(p, "no groups");
  p = good, p.src = Format::kPlain;
  refuses(p, "channel blocks");
  p = good, p.kernel_h = 2;
  refuses(p, "direct sums are faster with a 2x3 kernel");
  p = good, p.out_h = 5;
  refuses(p, "direct sums are faster");
}

// More slices than threads that come: every slice still runs.
TEST(SlicedConvolutionTest, RunsWithFewerThreadsThanItWasMadeFor) {
  const Case& c = kCases[1];
  SetNumThreads(4);
  const ConvParams p = ParamsOf(c);
  const auto weights = Random(static_cast<size_t>(c.out * c.in * 9), 2);
  const std::vector<float> x(static_cast<size_t>(c.in * p.in_h * p.in_w), 0.5f);
  std::vector<float> four(static_cast<size_t>(c.out * p.out_h * p.out_w)), one(four.size());
  auto conv = SlicedConvolution::Create(1, p, weights.data(), {0, c.in * 9, 9}, nullptr, 4);
  ASSERT_TRUE(conv.ok()) << conv.status().ToString();
  conv->Run(x.data(), 0, four.data(), 0);
  SetNumThreads(1);
  conv->Run(x.data(), 0, one.data(), 0);
  EXPECT_EQ(four, one);
  SetNumThreads(0);
}

TEST(SlicedConvolutionTest, RefusesGroupsThatCutBlocks) {
  ConvParams p = ParamsOf(kCases[1]);
  p.in_channels = 3, p.groups = 3, p.out_channels = 6;  // two outputs per group in blocks: nothing is quick
  const auto weights = Random(6 * 9, 2);
  const auto conv = SlicedConvolution::Create(1, p, weights.data(), {18, 9, 9}, nullptr, 2);
  ASSERT_FALSE(conv.ok()) << conv->implementation();
  EXPECT_EQ(conv.status().code(), StatusCode::kNotSupported) << conv.status().ToString();
}

}  // namespace
}  // namespace plumb::cpu
