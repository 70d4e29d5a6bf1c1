#include "device/cpu/pointwise_convolution.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/block_pool.h"
#include "base/cpu.h"
#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/product_end.h"
#include "simd/panel.h"

namespace plumb::cpu {
namespace {

// Where weights, not pixels, are most of what is read: this kernel fetches the next panel's while it computes one
// (doc/x86.md).
constexpr int64_t kMostPixels = 100, kLeastChannels = 256;

int64_t BlocksOf(int64_t channels) { return (channels + ChannelBlock() - 1) / ChannelBlock(); }

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

PointwiseConvolution::PointwiseConvolution(int64_t batch, const ConvParams& p, int threads)
    : batch_(batch),
      params_(p),
      threads_(threads),
      pixels_(p.out_h * p.out_w),
      in_blocks_(BlocksOf(p.in_channels)),
      out_blocks_(BlocksOf(p.out_channels)),
      panels_((out_blocks_ + 1) / 2),
      end_(EndOfProduct(p.epilogue)) {
  const int64_t pixel_bytes = in_blocks_ * ChannelBlock() * static_cast<int64_t>(sizeof(float));
  const int64_t fitting = std::max<int64_t>(1, L2CacheBytes() / 2 / pixel_bytes);
  runs_ = (pixels_ + fitting - 1) / fitting;
}

Result<PointwiseConvolution> PointwiseConvolution::Create(int64_t batch, const ConvParams& params, const float* weights,
                                                          const WeightStrides& strides, const float* bias,
                                                          int threads) {
  PointwiseConvolution conv(batch, params, threads);
  PLUMB_RETURN_IF_ERROR(conv.Pack(weights, strides, bias));
  return conv;
}

Status PointwiseConvolution::Pack(const float* weights, const WeightStrides& strides, const float* bias) {
  const int64_t lanes = 2 * ChannelBlock(), depth = in_blocks_ * ChannelBlock();
  bias_.assign(static_cast<size_t>(panels_ * lanes), 0.0f);
  if (bias != nullptr) std::copy_n(bias, params_.out_channels, bias_.begin());
  weights_ =
      std::static_pointer_cast<float>(AllocateBlock(static_cast<size_t>(panels_ * depth * lanes) * sizeof(float)));
  if (weights_ == nullptr) return Status::OutOfMemory("no memory to pack the weights of a convolution");
  ParallelFor(panels_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel * lanes, count = std::min(lanes, params_.out_channels - first);
      float* to = weights_.get() + panel * depth * lanes;
      for (int64_t c = 0; c < depth; ++c, to += lanes) {
        const float* from = weights + first * strides.out + c * strides.in;
        const int64_t known = c < params_.in_channels ? count : 0;
        for (int64_t o = 0; o < known; ++o) to[o] = from[o * strides.out];
        std::fill(to + known, to + lanes, 0.0f);
      }
    }
  });
  return Status::Ok();
}

int64_t PointwiseConvolution::Workspace(const ConvParams& p, int) {
  const bool skips = p.stride_h > 1 || p.stride_w > 1;
  return skips ? BlocksOf(p.in_channels) * ChannelBlock() * p.out_h * p.out_w : 0;
}

// The pixels that are read, next to each other.
void PointwiseConvolution::Gather(const float* src, float* pixels) const {
  const int64_t block = ChannelBlock();
  ParallelFor(in_blocks_ * params_.out_h, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / params_.out_h, row = i % params_.out_h * params_.stride_h;
      const float* from = src + (b * params_.in_h + row) * params_.in_w * block;
      float* to = pixels + i * params_.out_w * block;
      for (int64_t x = 0; x < params_.out_w; ++x)
        std::copy_n(from + x * params_.stride_w * block, block, to + x * block);
    }
  });
}

void PointwiseConvolution::RunPanel(const float* src, const float* addend, float* dst, int64_t run,
                                    int64_t panel) const {
  const int64_t block = ChannelBlock(), plane = pixels_ * block, step = in_blocks_ * block * 2 * block;
  const int64_t first = pixels_ * run / runs_, count = pixels_ * (run + 1) / runs_ - first;
  const int64_t at = 2 * panel * plane + first * block;
  simd::PanelSource source;
  source.block = static_cast<int>(block), source.blocks = in_blocks_, source.block_step = plane;
  source.from = src + first * block;
  source.weights = weights_.get() + panel * step;
  source.next = panel + 1 < panels_ ? source.weights + step : nullptr;
  simd::PanelResult result;
  result.blocks = static_cast<int>(std::min<int64_t>(2, out_blocks_ - 2 * panel)), result.block_step = plane;
  result.to = dst + at;
  result.addend = addend == nullptr ? nullptr : addend + at;
  result.end = end_;
  result.end.bias = bias_.data() + panel * 2 * block;
  simd::PanelPixels(count, source, result);
}

void PointwiseConvolution::Run(const float* src, int64_t src_image, const float* addend, float* dst, int64_t dst_image,
                               float* workspace) {
  const bool skips = Workspace(params_, threads_) > 0;
  const int64_t units = runs_ * panels_;
  for (int64_t image = 0; image < batch_; ++image) {
    const float* from = src + image * src_image;
    const float* add = addend == nullptr ? nullptr : addend + image * dst_image;
    float* to = dst + image * dst_image;
    if (skips) Gather(std::exchange(from, workspace), workspace);
    ParallelRegion(threads_, [&](int thread, int threads) {
      for (int64_t u = units * thread / threads; u < units * (thread + 1) / threads; ++u)
        RunPanel(from, add, to, u / panels_, u % panels_);
    });
    ZeroTailLanes(to, params_.out_channels, pixels_);
  }
}

std::string PointwiseConvolution::implementation() const {
  return fmt::format("{} pixels at a time", (pixels_ + runs_ - 1) / runs_);
}

}  // namespace plumb::cpu
