// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/panel_convolution.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/block_pool.h"
#include "base/cpu.h"
#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/product_end.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kPartBytes = 18 << 10;  // weights of a part of the channels, which stay in the first cache

int64_t Reach(int64_t outputs, int64_t stride, int64_t kernel, int64_t dilation) {
  return (outputs - 1) * stride + (kernel - 1) * dilation + 1;
}

}  // namespace

Status PanelConvolution::Check(const ConvParams& p) {
  if (p.groups > 1 || p.transposed || p.dst != Format::kBlocked || p.kernel_h * p.kernel_w == 1) {
    return Status::NotSupported("needs a kernel of more than one tap, no groups, channel blocks");
  }
  if (!ProductsLead(p)) return Status::Ok();
  return Status::NotSupported("a product is as fast with this stride and so many channels");
}

PanelConvolution::Plan::Plan(const ConvParams& p, int threads) {
  const bool blocked = p.src == Format::kBlocked;
  lanes = blocked ? ChannelBlock() : 1;
  planes = blocked ? BlocksOf(p.in_channels) : p.in_channels;
  factor_planes = blocked ? 1 : planes;
  out_blocks = BlocksOf(p.out_channels), panels = (out_blocks + 1) / 2;
  const int64_t reach_h = Reach(p.out_h, p.stride_h, p.kernel_h, p.dilation_h);
  const int64_t reach_w = Reach(p.out_w, p.stride_w, p.kernel_w, p.dilation_w);
  copies = p.pad_top > 0 || p.pad_left > 0 || reach_h > p.in_h || reach_w > p.in_w;
  width = copies ? reach_w : p.in_w;
  const int64_t plane_weights = p.kernel_h * p.kernel_w * lanes * 2 * ChannelBlock() * int64_t{sizeof(float)};
  if (blocked) parts = std::max<int64_t>(1, planes * plane_weights / kPartBytes);
  parts = std::min(parts, planes);
  part_planes = (planes + parts - 1) / parts;
  const int64_t row_bytes = part_planes * width * lanes * int64_t{sizeof(float)};
  const int64_t rows = L2CacheBytes() / 2 / row_bytes, reach = (p.kernel_h - 1) * p.dilation_h + 1;
  const int64_t fitting = std::max<int64_t>(1, (rows - reach) / p.stride_h + 1);
  bands = (p.out_h + fitting - 1) / fitting;
  // Threads share bands, or the panels of one.
  if (bands > 1 || panels < threads) bands = std::min(p.out_h, (bands + threads - 1) / threads * threads);
  plane_rows = copies ? Reach((p.out_h + bands - 1) / bands, p.stride_h, p.kernel_h, p.dilation_h) : p.in_h;
}

int64_t PanelConvolution::Workspace(const ConvParams& params, int threads) {
  return threads * Plan(params, threads).band_floats();
}

PanelConvolution::PanelConvolution(const ConvParams& params, int64_t batch, int threads)
    : params_(params),
      batch_(batch),
      threads_(threads),
      plan_(params, threads),
      rows_{plan_.lanes, params.in_h, params.in_w, params.pad_left, plan_.width, plan_.plane_rows},
      end_(EndOfProduct(params.epilogue)) {
  for (int64_t i = 0; i < plan_.factor_planes * params.kernel_h * params.kernel_w; ++i) {
    const int64_t x = i % params.kernel_w, y = i / params.kernel_w % params.kernel_h;
    const int64_t row = i / params.kernel_w / params.kernel_h * plan_.plane_rows + y * params.dilation_h;
    taps_.push_back((row * plan_.width + x * params.dilation_w) * plan_.lanes);
  }
}

Result<PanelConvolution> PanelConvolution::Create(int64_t batch, const ConvParams& params, const float* weights,
                                                  const WeightStrides& strides, const float* bias, int threads) {
  PanelConvolution conv(params, batch, threads);
  PLUMB_RETURN_IF_ERROR(conv.Pack(weights, strides, bias));
  return conv;
}

Status PanelConvolution::Pack(const float* weights, const WeightStrides& strides, const float* bias) {
  const int64_t lanes = 2 * ChannelBlock(), taps = params_.kernel_h * params_.kernel_w;
  const int64_t depth = plan_.planes * plan_.lanes;
  const bool blocked = plan_.lanes > 1;
  bias_.assign(static_cast<size_t>(plan_.panels * lanes), 0.0f);
  if (bias != nullptr) std::copy_n(bias, params_.out_channels, bias_.begin());
  weights_ = std::static_pointer_cast<float>(
      AllocateBlock(static_cast<size_t>(plan_.panels * depth * taps * lanes) * sizeof(float)));
  if (weights_ == nullptr) return Status::OutOfMemory("no memory to pack the weights of a convolution");
  ParallelFor(plan_.parts * plan_.panels, 1, [&](int64_t unit, int64_t last_unit) {
    for (; unit < last_unit; ++unit) {
      const int64_t part = unit / plan_.panels, panel = unit % plan_.panels, first = panel * lanes;
      const int64_t begin = plan_.PartBegin(part) * plan_.lanes, end = plan_.PartBegin(part + 1) * plan_.lanes;
      float* to_panel = weights_.get() + (begin * plan_.panels + panel * (end - begin)) * taps * lanes;
      for (int64_t i = 0; i < (end - begin) * taps; ++i) {
        const int64_t c = blocked ? i % (end - begin) : i / taps, tap = blocked ? i / (end - begin) : i % taps;
        const int64_t known = begin + c < params_.in_channels ? std::min(lanes, params_.out_channels - first) : 0;
        const float* from = weights + first * strides.out + (begin + c) * strides.in + tap;
        float* to = to_panel + i * lanes;
        for (int64_t o = 0; o < known; ++o) to[o] = from[o * strides.out];
        std::fill(to + known, to + lanes, 0.0f);
      }
    }
  });
  return Status::Ok();
}

// Output rows [first, last) of two blocks of output channels, over the part's input channels; `from` is where the first
// row begins to read them.
void PanelConvolution::RunPanel(const float* from, int64_t part, int64_t panel, int64_t first, int64_t last,
                                const float* addend, float* dst) const {
  const int64_t block = ChannelBlock(), out_plane = params_.out_h * params_.out_w * block;
  const int64_t plane_step = params_.kernel_h * params_.kernel_w * plan_.lanes * 2 * block;
  const int64_t begin = plan_.PartBegin(part), end = plan_.PartBegin(part + 1);
  const bool blocked = plan_.lanes > 1, first_part = part == 0, last_part = part + 1 == plan_.parts;
  simd::PanelSource source;
  source.block = static_cast<int>(block), source.blocks = blocked ? end - begin : 0;
  source.block_step = plan_.width * plan_.plane_rows * plan_.lanes, source.pixel_step = params_.stride_w * plan_.lanes;
  source.last = blocked && last_part ? static_cast<int>(params_.in_channels % block) : 0;
  source.taps = taps_.data(), source.num_taps = static_cast<int64_t>(taps_.size());
  source.weights = weights_.get() + (begin * plan_.panels + panel * (end - begin)) * plane_step;
  simd::PanelResult result;
  result.blocks = static_cast<int>(std::min<int64_t>(2, plan_.out_blocks - 2 * panel));
  result.block_step = out_plane, result.pixel_step = block;
  if (last_part) result.end = end_;
  result.end.bias = first_part ? bias_.data() + panel * 2 * block : nullptr;
  for (int64_t row = first; row < last; ++row) {
    const int64_t at = 2 * panel * out_plane + row * params_.out_w * block;
    source.from = from + (row - first) * params_.stride_h * plan_.width * plan_.lanes;
    source.next = row + 1 == last && panel + 1 < plan_.panels ? source.weights + (end - begin) * plane_step : nullptr;
    result.to = dst + at;
    result.addend = !first_part ? result.to : addend == nullptr ? nullptr : addend + at;
    simd::PanelPixels(params_.out_w, source, result);
  }
}

// Panels [begin, end) of one band of an image.
void PanelConvolution::RunBand(const float* src, int64_t index, int64_t begin, int64_t end, const float* addend,
                               float* dst, float* band) const {
  const int64_t first = params_.out_h * index / plan_.bands, last = params_.out_h * (index + 1) / plan_.bands;
  const int64_t top = first * params_.stride_h - params_.pad_top;
  const int64_t rows = Reach(last - first, params_.stride_h, params_.kernel_h, params_.dilation_h);
  for (int64_t part = 0; part < plan_.parts; ++part) {
    const int64_t plane = plan_.PartBegin(part), planes = plan_.PartBegin(part + 1) - plane;
    const float* map = src + plane * params_.in_h * params_.in_w * plan_.lanes;
    if (plan_.copies) rows_.Copy(map, planes, top, rows, band);
    const float* from = plan_.copies ? band : map + top * params_.in_w * plan_.lanes;
    for (int64_t panel = begin; panel < end; ++panel) RunPanel(from, part, panel, first, last, addend, dst);
  }
}

void PanelConvolution::Run(const float* src, int64_t src_image, const float* addend, float* dst, int64_t dst_image,
                           float* workspace) {
  const int64_t panels = plan_.panels, units = batch_ * plan_.bands * panels;
  ParallelRegion(threads_, [&](int thread, int threads) {
    float* band = workspace + thread * plan_.band_floats();
    const int64_t end = units * (thread + 1) / threads;
    for (int64_t u = units * thread / threads, next; u < end; u = next) {
      const int64_t index = u / panels, image = index / plan_.bands;
      next = std::min(end, (index + 1) * panels);
      RunBand(src + image * src_image, index % plan_.bands, u % panels, next - index * panels,
              addend == nullptr ? nullptr : addend + image * dst_image, dst + image * dst_image, band);
    }
  });
  for (int64_t image = 0; image < batch_; ++image)
    ZeroTailLanes(dst + image * dst_image, params_.out_channels, params_.out_h * params_.out_w);
}

std::string PanelConvolution::implementation() const {
  return fmt::format("{} rows at a time", (params_.out_h + plan_.bands - 1) / plan_.bands);
}

}  // namespace plumb::cpu
