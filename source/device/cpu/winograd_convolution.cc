// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/winograd_convolution.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/cpu.h"
#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/product_end.h"
#include "simd/panel.h"

namespace plumb::cpu {
namespace {

// Tiles in a group at least: each group reads all weights once more, and makes those that are made.
constexpr int64_t kLeastTiles = 48, kLeastTilesOfMade = 64;

struct Tile {
  int height = 0, width = 0;
};

bool IsSplit(const ConvParams& given) { return given.stride_h > 1; }

// Even and odd rows and columns as channels of their own, zeros beside the map among them.
ConvParams OfStrideOne(const ConvParams& given) {
  if (!IsSplit(given)) return given;
  ConvParams p = given;
  p.in_channels = 4 * given.in_channels;
  p.kernel_h = (given.kernel_h + 1) / 2, p.kernel_w = (given.kernel_w + 1) / 2;
  p.in_h = given.out_h + p.kernel_h - 1, p.in_w = given.out_w + p.kernel_w - 1;
  p.stride_h = p.stride_w = 1;
  p.pad_top = p.pad_left = 0;
  return p;
}

// The outputs that are computed together; none where direct sums are faster. Measured in whole networks, where weights
// come from memory (doc/x86.md).
Tile TileOf(const ConvParams& given) {
  const ConvParams p = OfStrideOne(given);
  const int64_t side = std::min(p.out_h, p.out_w), depth = BlocksOf(p.in_channels) * ChannelBlock();
  const bool square = p.kernel_h == p.kernel_w;
  const bool few = IsSplit(given) ? 4 * p.in_channels < 3 * depth : p.in_channels < ChannelBlock();
  if (few) return {};
  const bool narrow = ChannelBlock() == 8, one_in = BlocksOf(p.in_channels) < 2, one_out = BlocksOf(p.out_channels) < 2;
  if (!square) {
    const bool shallow = p.in_channels <= 16 && !(narrow && std::max(p.kernel_h, p.kernel_w) == 7);
    if (shallow || (one_out && !narrow)) return {};
    return p.kernel_h == 1 ? Tile{1, 4} : Tile{4, 1};
  }
  if (p.kernel_h == 5) return side >= 12 ? Tile{2, 2} : Tile{};
  if (side >= 20) return {4, 4};
  if (!narrow && one_in && one_out) return {};
  return side >= (!narrow && (one_in || one_out) ? 12 : 7) ? Tile{2, 2} : Tile{};
}

simd::WinogradShape ShapeOf(const ConvParams& given) {
  simd::WinogradShape shape;
  const ConvParams p = OfStrideOne(given);
  const Tile tile = TileOf(given);
  shape.tile_h = tile.height, shape.tile_w = tile.width;
  shape.kernel_h = static_cast<int>(p.kernel_h), shape.kernel_w = static_cast<int>(p.kernel_w);
  shape.block = ChannelBlock();
  shape.in_h = p.in_h, shape.in_w = p.in_w, shape.out_h = p.out_h, shape.out_w = p.out_w;
  shape.pad_top = p.pad_top, shape.pad_left = p.pad_left;
  shape.cut_column_first = !IsSplit(given);  // there a group's tiles are of neighbouring rows
  return shape;
}

}  // namespace

Status WinogradConvolution::Check(const ConvParams& p) {
  const bool whole = p.stride_h == 1 && p.stride_w == 1 && p.src == Format::kBlocked;
  const bool split = p.stride_h == 2 && p.stride_w == 2 && p.kernel_h == p.kernel_w && p.src == Format::kPlain;
  const bool direct = p.dilation_h > 1 || p.dilation_w > 1 || p.groups > 1 || p.transposed || p.dst != Format::kBlocked;
  if (direct || !(whole || split)) {
    return Status::NotSupported(
        "needs stride 1, or 2 with fewer input channels than a block, no dilation, no groups, channel blocks");
  }
  if (simd::HasWinograd(ShapeOf(p))) return Status::Ok();
  return Status::NotSupported(
      fmt::format("direct sums are faster with a {}x{} kernel, {} to {} channels and a {}x{} map", p.kernel_h,
                  p.kernel_w, p.in_channels, p.out_channels, p.out_h, p.out_w));
}

bool WinogradConvolution::LeavesAQuarter(const ConvParams& p) {
  const Tile tile = TileOf(p);
  return Check(p).ok() && tile.height == 4 && tile.width == 4 && !IsSplit(p);
}

WinogradConvolution::Plan::Plan(const ConvParams& given, int num_threads)
    : shape(ShapeOf(given)), threads(num_threads) {
  const ConvParams p = OfStrideOne(given);
  const WinogradWeights weights(shape, p.in_channels, p.out_channels);
  in_blocks = BlocksOf(p.in_channels), out_blocks = BlocksOf(p.out_channels), panels = weights.panels();
  room_floats = weights.room_floats();
  for (int i = 0; i < shape.positions(); ++i) needed.push_back(simd::TilesThatNeed(shape, i));
  const int64_t rows = simd::PanelRows(shape.block), tiles = shape.tiles();
  // By tiles every thread reads all weights, by panels all inputs; and a thread must not wait for a panel of another.
  const int64_t rounds = (panels + threads - 1) / threads;
  const bool uneven = 5 * panels < 4 * rounds * threads;
  by_tiles = threads == 1 || IsSplit(given) || (uneven && tiles >= rows * threads) ||
             (tiles >= 4 * rows * threads && p.out_channels <= 4 * tiles);
  const int64_t tile_bytes = shape.positions() * in_blocks * shape.block * static_cast<int64_t>(sizeof(float));
  const int64_t sums_bytes = shape.positions() * 2 * shape.block * static_cast<int64_t>(sizeof(float));
  const int64_t fitting =
      std::max(weights.makes_some() ? kLeastTilesOfMade : kLeastTiles,
               std::min(L2CacheBytes() / 2 / tile_bytes, L2CacheBytes() * 3 / 4 / (tile_bytes + sums_bytes)));
  groups = by_tiles ? (tiles + fitting - 1) / fitting : 1;
  if (by_tiles) groups = std::min((groups + threads - 1) / threads * threads, tiles);
  group_tiles = (tiles + groups - 1) / groups;
  if (IsSplit(given)) {
    const int64_t across = shape.tiles_w(), most = std::min((group_tiles + across - 2) / across + 1, shape.tiles_h());
    map_floats = RowsOf(most) * p.in_w * in_blocks * shape.block;
  }
}

// Apart by no multiple of a page, in which positions would drive each other out of the first cache.
int64_t WinogradConvolution::Plan::input_step(int64_t tiles) const { return (in_blocks * tiles + 2) * shape.block; }
int64_t WinogradConvolution::Plan::sums_step(int64_t tiles) const { return (2 * tiles + 2) * shape.block; }

int64_t WinogradConvolution::Workspace(const ConvParams& params, int threads) {
  const Plan plan(params, threads);
  return plan.by_tiles ? plan.threads * plan.thread_floats() : plan.input_floats() + plan.threads * plan.panel_floats();
}

WinogradConvolution::WinogradConvolution(const ConvParams& given, int64_t batch, int threads)
    : plan_(given, threads),
      given_(given),
      params_(OfStrideOne(given)),
      batch_(batch),
      weights_(plan_.shape, params_.in_channels, params_.out_channels) {}

Result<WinogradConvolution> WinogradConvolution::Create(int64_t batch, const ConvParams& params, const float* weights,
                                                        const WeightStrides& strides, const float* bias, int threads) {
  WinogradConvolution conv(params, batch, threads);
  conv.end_ = EndOfProduct(params.epilogue);
  PLUMB_RETURN_IF_ERROR(conv.Pack(weights, strides, bias));
  return conv;
}

Status WinogradConvolution::Pack(const float* weights, const WeightStrides& strides, const float* bias) {
  bias_.assign(static_cast<size_t>(plan_.panels * 2 * plan_.shape.block), 0.0f);
  if (bias != nullptr) std::copy_n(bias, params_.out_channels, bias_.begin());
  if (!IsSplit(given_)) return weights_.Pack(weights, strides);
  WeightStrides split_strides;
  split_strides.in = params_.kernel_h * params_.kernel_w, split_strides.out = params_.in_channels * split_strides.in;
  return weights_.Pack(SplitKernels(weights, strides).data(), split_strides);
}

// The taps of even and odd rows and columns as kernels of channels of their own.
std::vector<float> WinogradConvolution::SplitKernels(const float* weights, const WeightStrides& strides) const {
  const int64_t taps = params_.kernel_h * params_.kernel_w;
  std::vector<float> split(static_cast<size_t>(params_.out_channels * params_.in_channels * taps));
  for (int64_t i = 0; i < static_cast<int64_t>(split.size()); ++i) {
    const int64_t out = i / taps / params_.in_channels, in = i / taps % params_.in_channels;
    const int64_t y = i % taps / params_.kernel_w * 2 + in % 4 / 2, x = i % params_.kernel_w * 2 + in % 2;
    if (y < given_.kernel_h && x < given_.kernel_w)
      split[static_cast<size_t>(i)] = weights[out * strides.out + in / 4 * strides.in + y * given_.kernel_w + x];
  }
  return split;
}

// Rows [first, first + rows) of the map of even and odd rows and columns.
void WinogradConvolution::SplitInput(const float* src, int64_t first, int64_t rows, float* map) const {
  const int64_t block = plan_.shape.block, width = params_.in_w, channels = plan_.in_blocks * block;
  for (int64_t i = 0; i < rows * channels; ++i) {
    const int64_t row = i / channels, channel = i % channels;
    float* to = map + (channel / block * rows + row) * width * block + channel % block;
    const int64_t y = 2 * (first + row) + channel % 4 / 2 - given_.pad_top, left = channel % 2 - given_.pad_left;
    const bool inside = channel < params_.in_channels && y >= 0 && y < given_.in_h;
    const float* from = inside ? src + (channel / 4 * given_.in_h + y) * given_.in_w : src;
    // Columns [begin, end) lie on the map.
    const int64_t begin = inside ? std::min((std::max<int64_t>(-left, 0) + 1) / 2, width) : width;
    const int64_t end = std::clamp((given_.in_w - left + 1) / 2, begin, width);
    for (int64_t x = 0; x < begin; ++x) to[x * block] = 0;
    for (int64_t x = begin; x < end; ++x) to[x * block] = from[2 * x + left];
    for (int64_t x = end; x < width; ++x) to[x * block] = 0;
  }
}

void WinogradConvolution::TransformInput(const simd::WinogradShape& shape, const float* src, int64_t first,
                                         int64_t count, int64_t first_block, int64_t last_block, float* tiles) const {
  const int64_t plane = shape.in_h * shape.in_w * shape.block;
  for (int64_t b = first_block; b < last_block; ++b) {
    simd::WinogradInput(shape, src + b * plane, first, count, tiles + b * count * shape.block, plan_.input_step(count));
  }
}

// The same of all channels; `map` has room for the rows that these tiles read.
void WinogradConvolution::TransformSplitInput(const float* src, int64_t first, int64_t count, float* map,
                                              float* tiles) const {
  const int64_t top = first / plan_.shape.tiles_w(), bottom = (first + count - 1) / plan_.shape.tiles_w();
  simd::WinogradShape shape = plan_.shape;
  shape.pad_top = top * shape.tile_h;
  shape.in_h = plan_.RowsOf(bottom - top + 1);
  SplitInput(src, shape.pad_top, shape.in_h, map);
  TransformInput(shape, map, first, count, 0, plan_.in_blocks, tiles);
}

void WinogradConvolution::RunPanel(int64_t panel, int64_t first, int64_t count, const float* tiles, const float* addend,
                                   float* sums, float* dst) const {
  const int64_t block = plan_.shape.block, positions = plan_.shape.positions();
  simd::PanelSource source;
  source.block = static_cast<int>(block), source.blocks = plan_.in_blocks, source.block_step = count * block;
  source.last = static_cast<int>(params_.in_channels % block);
  simd::PanelResult result;
  result.blocks = static_cast<int>(std::min<int64_t>(2, plan_.out_blocks - 2 * panel));
  result.block_step = count * block;
  float* room = sums + plan_.sums_floats();
  for (int64_t i = 0; i < positions; ++i) {
    const int64_t p = weights_.Position(i);
    // What the other tiles have there is never read into an output of the map.
    const simd::WinogradTiles& need = plan_.needed[static_cast<size_t>(p)];
    const int64_t skipped = std::clamp<int64_t>(need.first - first, 0, count);
    const int64_t needed = std::clamp<int64_t>(need.last - first - skipped, 0, count - skipped);
    source.from = tiles + p * plan_.input_step(count) + skipped * block;
    result.to = sums + p * plan_.sums_step(count) + skipped * block;
    weights_.Multiply(panel, i, needed, source, result, room);
  }
  const int64_t plane = plan_.shape.out_h * plan_.shape.out_w * block;
  for (int64_t b = 0; b < 2 && 2 * panel + b < plan_.out_blocks; ++b) {
    simd::ProductEnd end = end_;
    const int64_t at = 2 * panel + b;
    end.bias = bias_.data() + at * block;
    simd::WinogradOutput(plan_.shape, sums + b * count * block, plan_.sums_step(count), first, count, end,
                         addend == nullptr ? nullptr : addend + at * plane, dst + at * plane);
  }
}

void WinogradConvolution::RunTiles(const float* src, int64_t src_image, const float* addend, float* dst,
                                   int64_t dst_image, float* workspace) const {
  const int64_t tiles = plan_.shape.tiles(), groups = plan_.groups, units = batch_ * groups;
  ParallelRegion(plan_.threads, [&](int thread, int threads) {
    float* inputs = workspace + thread * plan_.thread_floats();
    float *sums = inputs + plan_.input_floats(), *map = sums + plan_.panel_floats();
    for (int64_t u = units * thread / threads; u < units * (thread + 1) / threads; ++u) {
      const int64_t image = u / groups, group = u % groups;
      const int64_t first = tiles * group / groups, count = tiles * (group + 1) / groups - first;
      const float* from = src + image * src_image;
      if (IsSplit(given_)) {
        TransformSplitInput(from, first, count, map, inputs);
      } else {
        TransformInput(plan_.shape, from, first, count, 0, plan_.in_blocks, inputs);
      }
      const float* add = addend == nullptr ? nullptr : addend + image * dst_image;
      for (int64_t panel = 0; panel < plan_.panels; ++panel)
        RunPanel(panel, first, count, inputs, add, sums, dst + image * dst_image);
    }
  });
}

void WinogradConvolution::RunPanels(const float* src, const float* addend, float* dst, float* workspace) const {
  const int64_t tiles = plan_.shape.tiles();
  ParallelRegion(plan_.threads, [&](int thread, int threads) {
    TransformInput(plan_.shape, src, 0, tiles, plan_.in_blocks * thread / threads,
                   plan_.in_blocks * (thread + 1) / threads, workspace);
  });
  ParallelRegion(plan_.threads, [&](int thread, int threads) {
    float* sums = workspace + plan_.input_floats() + thread * plan_.panel_floats();
    for (int64_t panel = plan_.panels * thread / threads; panel < plan_.panels * (thread + 1) / threads; ++panel)
      RunPanel(panel, 0, tiles, workspace, addend, sums, dst);
  });
}

void WinogradConvolution::Run(const float* src, int64_t src_image, const float* addend, float* dst, int64_t dst_image,
                              float* workspace) {
  if (plan_.by_tiles) RunTiles(src, src_image, addend, dst, dst_image, workspace);
  for (int64_t image = 0; image < batch_; ++image) {
    float* to = dst + image * dst_image;
    const float* add = addend == nullptr ? nullptr : addend + image * dst_image;
    if (!plan_.by_tiles) RunPanels(src + image * src_image, add, to, workspace);
    ZeroTailLanes(to, params_.out_channels, plan_.shape.out_h * plan_.shape.out_w);
  }
}

Numerics WinogradConvolution::numerics() const {
  const simd::WinogradShape& s = plan_.shape;
  Numerics numerics =
      Numerics::Winograd(std::max(s.tile_h, s.tile_w), simd::WinogradPoints(s), s.kernel_h == s.kernel_w ? 2 : 1);
  numerics.stride = static_cast<int>(given_.stride_h);
  return numerics;
}

}  // namespace plumb::cpu
