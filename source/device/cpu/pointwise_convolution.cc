// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/pointwise_convolution.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/product_end.h"

namespace plumb::cpu {
namespace {

// Where weights, not pixels, are most of what is read: this kernel fetches the next panel's while it computes one, and
// begins sooner than a product on maps of few pixels (doc/x86.md). With AVX-512 only the first was measured.
constexpr int64_t kManyChannels = 256;
int64_t MostPixels(int64_t channels) {
  if (ChannelBlock() < 16) return channels < kManyChannels ? 64 : 200;
  return channels < kManyChannels ? 4 : 100;
}

// Output pixels beside the map: the map's own begin behind `top` rows and `left` columns.
struct Inside {
  int64_t top, left, rows, columns;
  bool all;

  explicit Inside(const ConvParams& p)
      : top(p.pad_top),
        left(p.pad_left),
        rows(std::min(p.in_h, p.out_h - p.pad_top)),
        columns(std::min(p.in_w, p.out_w - p.pad_left)),
        all(top == 0 && left == 0 && (p.out_h - 1) * p.stride_h < p.in_h && (p.out_w - 1) * p.stride_w < p.in_w) {}
};

bool Skips(const ConvParams& p) { return p.stride_h > 1 || p.stride_w > 1; }

}  // namespace

Status PointwiseConvolution::Check(const ConvParams& p) {
  const Inside inside(p);
  const bool pointwise = p.kernel_h == 1 && p.kernel_w == 1 && p.groups == 1 && (inside.all || !Skips(p)) &&
                         inside.rows > 0 && inside.columns > 0 && !p.transposed && p.src == Format::kBlocked &&
                         p.dst == Format::kBlocked;
  if (!pointwise) {
    return Status::NotSupported("needs a 1x1 kernel, no stride with padding, no groups, channel blocks");
  }
  if (!inside.all) return Status::Ok();  // others multiply the padding, too
  if (p.out_h * p.out_w <= MostPixels(p.in_channels)) return Status::Ok();
  return Status::NotSupported(
      fmt::format("no faster with {} channels and a {}x{} map; leads up to {} pixels, from {} channels up to {}",
                  p.in_channels, p.out_h, p.out_w, MostPixels(1), kManyChannels, MostPixels(kManyChannels)));
}

Result<PointwiseConvolution> PointwiseConvolution::Create(int64_t batch, const ConvParams& params, const float* weights,
                                                          const WeightStrides& strides, const float* bias,
                                                          int threads) {
  const Inside inside(params);
  const int64_t pixels = inside.all ? params.out_h * params.out_w : inside.rows * inside.columns;
  PLUMB_ASSIGN_OR_RETURN(PanelProduct product,
                         PanelProduct::Create(pixels, params.in_channels, params.out_channels, weights, strides, bias,
                                              EndOfProduct(params.epilogue)));
  return PointwiseConvolution(batch, params, threads, std::move(product));
}

int64_t PointwiseConvolution::Workspace(const ConvParams& p, int) {
  return Skips(p) ? BlocksOf(p.in_channels) * ChannelBlock() * p.out_h * p.out_w : 0;
}

// The pixels that are read, next to each other.
void PointwiseConvolution::Gather(const float* src, float* pixels) const {
  const int64_t block = ChannelBlock();
  ParallelFor(BlocksOf(params_.in_channels) * params_.out_h, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / params_.out_h, row = i % params_.out_h * params_.stride_h;
      const float* from = src + (b * params_.in_h + row) * params_.in_w * block;
      float* to = pixels + i * params_.out_w * block;
      for (int64_t x = 0; x < params_.out_w; ++x)
        std::copy_n(from + x * params_.stride_w * block, block, to + x * block);
    }
  });
}

void PointwiseConvolution::Run(const float* src, int64_t src_image, const float* addend, float* dst, int64_t dst_image,
                               float* workspace) {
  const Inside inside(params_);
  const int64_t block = ChannelBlock(), pixels = params_.out_h * params_.out_w;
  PixelStrides out{block, pixels * block}, in{block, Skips(params_) ? out.block : params_.in_h * params_.in_w * block};
  if (!inside.all) {
    out.row_pixels = in.row_pixels = inside.columns;
    out.row = params_.out_w * block, in.row = params_.in_w * block;
  }
  for (int64_t image = 0; image < batch_; ++image) {
    const float* from = src + image * src_image;
    const float* add = addend == nullptr ? nullptr : addend + image * dst_image;
    float* to = dst + image * dst_image;
    if (Skips(params_)) Gather(std::exchange(from, workspace), workspace);
    const int64_t first = (inside.top * params_.out_w + inside.left) * block;
    product_.Run({from, in, add == nullptr ? nullptr : add + first, to + first, out}, threads_);
    if (!inside.all) RunBeside(add, to);
    ZeroTailLanes(to, params_.out_channels, pixels);
  }
}

// The pixels between the ends of the map's rows.
void PointwiseConvolution::RunBeside(const float* addend, float* dst) const {
  const Inside inside(params_);
  const int64_t block = ChannelBlock(), pixels = params_.out_h * params_.out_w;
  for (int64_t row = 0, at = 0; row <= inside.rows; ++row) {
    const int64_t end = row < inside.rows ? (inside.top + row) * params_.out_w + inside.left : pixels;
    const float* add = addend == nullptr ? nullptr : addend + at * block;
    product_.RunEmpty(end - at, add, dst + at * block, {block, pixels * block}, threads_);
    at = end + inside.columns;
  }
}

std::string PointwiseConvolution::implementation() const {
  return fmt::format("{} pixels at a time", product_.run_pixels());
}

}  // namespace plumb::cpu
