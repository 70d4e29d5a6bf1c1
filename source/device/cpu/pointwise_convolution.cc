#include "device/cpu/pointwise_convolution.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/product_end.h"

namespace plumb::cpu {
namespace {

// Where weights, not pixels, are most of what is read: this kernel fetches the next panel's while it computes one
// (doc/x86.md).
constexpr int64_t kMostPixels = 100, kLeastChannels = 256;

}  // namespace

Status PointwiseConvolution::Check(const ConvParams& p) {
  const bool pointwise = p.kernel_h == 1 && p.kernel_w == 1 && p.groups == 1 && p.pad_top == 0 && p.pad_left == 0 &&
                         (p.out_h - 1) * p.stride_h < p.in_h && (p.out_w - 1) * p.stride_w < p.in_w && !p.transposed &&
                         p.src == Format::kBlocked && p.dst == Format::kBlocked;
  if (!pointwise) return Status::NotSupported("needs a 1x1 kernel, no padding, no groups, channel blocks");
  if (p.out_h * p.out_w <= kMostPixels && p.in_channels >= kLeastChannels) return Status::Ok();
  return Status::NotSupported(
      fmt::format("no faster with {} channels and a {}x{} map; leads from {} channels and up to {} pixels",
                  p.in_channels, p.out_h, p.out_w, kLeastChannels, kMostPixels));
}

Result<PointwiseConvolution> PointwiseConvolution::Create(int64_t batch, const ConvParams& params, const float* weights,
                                                          const WeightStrides& strides, const float* bias,
                                                          int threads) {
  PLUMB_ASSIGN_OR_RETURN(PanelProduct product,
                         PanelProduct::Create(params.out_h * params.out_w, params.in_channels, params.out_channels,
                                              weights, strides, bias, EndOfProduct(params.epilogue)));
  return PointwiseConvolution(batch, params, threads, std::move(product));
}

int64_t PointwiseConvolution::Workspace(const ConvParams& p, int) {
  const bool skips = p.stride_h > 1 || p.stride_w > 1;
  return skips ? BlocksOf(p.in_channels) * ChannelBlock() * p.out_h * p.out_w : 0;
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
  const bool skips = Workspace(params_, threads_) > 0;
  const int64_t block = ChannelBlock(), pixels = params_.out_h * params_.out_w;
  const PixelStrides out{block, pixels * block}, in{block, skips ? out.block : params_.in_h * params_.in_w * block};
  for (int64_t image = 0; image < batch_; ++image) {
    const float* from = src + image * src_image;
    const float* add = addend == nullptr ? nullptr : addend + image * dst_image;
    float* to = dst + image * dst_image;
    if (skips) Gather(std::exchange(from, workspace), workspace);
    product_.Run(from, in, add, to, out, threads_);
    ZeroTailLanes(to, params_.out_channels, pixels);
  }
}

std::string PointwiseConvolution::implementation() const {
  return fmt::format("{} pixels at a time", product_.run_pixels());
}

}  // namespace plumb::cpu
