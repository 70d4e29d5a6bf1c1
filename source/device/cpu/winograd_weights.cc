// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/winograd_weights.h"

#include <algorithm>
#include <vector>

#include "base/block_pool.h"
#include "base/threads.h"
#include "simd/transpose.h"
#include "simd/winograd_made.h"

namespace plumb::cpu {
namespace {

// What factors that could be made may take: making them costs time (doc/x86.md).
constexpr int64_t kMostSpare = int64_t{1} << 20;
// Floats between planes that are read together: pages apart they would drive each other out of the first cache.
constexpr int64_t kApart = 80;
// Input channels whose taps are laid side by side at a time, into the first cache.
constexpr int64_t kTransposed = 16;

constexpr int kPlanes = 9;
// Positions in the order in which their planes are used up, row 2 and column 2 made of the others.
struct Step {
  int position;
  int plane;    // kept, or -1
  int a, b, c;  // else what it is made of: planes, or from kPlanes on what was made before
  int made;     // where it is kept
  int next;     // the plane to fetch meanwhile; kPlanes: the next panel's first; -1: none
};
constexpr Step kSteps[] = {
    {0, 0, 0, 0, 0, 0, 1},  {1, 1, 0, 0, 0, 0, 2},  {3, 2, 0, 0, 0, 0, 3},    {2, -1, 2, 0, 1, 0, -1},
    {4, 3, 0, 0, 0, 0, 4},  {5, 4, 0, 0, 0, 0, 5},  {7, 5, 0, 0, 0, 0, 6},    {6, -1, 5, 3, 4, 1, -1},
    {12, 6, 0, 0, 0, 0, 7}, {13, 7, 0, 0, 0, 0, 8}, {15, 8, 0, 0, 0, 0, 0},   {14, -1, 8, 6, 7, 2, 3},
    {8, -1, 6, 0, 3, 3, 1}, {9, -1, 7, 1, 4, 3, 2}, {11, -1, 8, 2, 5, 3, -1}, {10, -1, 11, 9, 10, 3, 9}};

int64_t PlanesOf(const simd::WinogradShape& s, int64_t plane_bytes) {
  const bool can_make = s.tile_h == 2 && s.tile_w == 2 && s.kernel_h == 3 && s.kernel_w == 3;
  return can_make && (s.positions() - kPlanes) * plane_bytes > kMostSpare ? kPlanes : s.positions();
}

}  // namespace

WinogradWeights::WinogradWeights(const simd::WinogradShape& shape, int64_t in_channels, int64_t out_channels)
    : shape_(shape), in_channels_(in_channels), out_channels_(out_channels) {
  panels_ = (BlocksOf(out_channels) + 1) / 2;
  step_ = BlocksOf(in_channels) * shape.block * 2 * shape.block;
  planes_ = PlanesOf(shape, panels_ * step_ * static_cast<int64_t>(sizeof(float)));
  makes_some_ = planes_ < shape.positions();
  if (makes_some_) step_ += kApart;
}

const float* WinogradWeights::Plane(int64_t panel, int64_t plane) const {
  return packed_.get() + (panel * planes_ + plane) * step_;
}

Status WinogradWeights::Pack(const float* weights, const WeightStrides& strides) {
  const int64_t lanes = 2 * shape_.block, positions = shape_.positions();
  const size_t floats = static_cast<size_t>(panels_ * planes_ * step_);
  packed_ = std::static_pointer_cast<float>(AllocateBlock(floats * sizeof(float)));
  if (packed_ == nullptr) return Status::OutOfMemory("no memory to transform the weights of a convolution");
  std::vector<int64_t> at(static_cast<size_t>(positions), -1);  // where in a panel a position's factors go
  if (makes_some_) {
    for (const Step& step : kSteps) at[static_cast<size_t>(step.position)] = step.plane < 0 ? -1 : step.plane * step_;
  } else {
    for (int64_t p = 0; p < positions; ++p) at[static_cast<size_t>(p)] = p * step_;
  }
  const int64_t size = shape_.kernel_h * shape_.kernel_w;
  const int64_t at_once = strides.in == size ? kTransposed : 1;  // input channels
  ParallelFor(panels_, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> taps(static_cast<size_t>(at_once * size * lanes));
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel * lanes, count = std::min(lanes, out_channels_ - first);
      float* to = packed_.get() + panel * planes_ * step_;
      if (in_channels_ % shape_.block > 0) std::fill_n(to, planes_ * step_, 0.0f);
      if (count < lanes) std::fill(taps.begin(), taps.end(), 0.0f);
      for (int64_t c = 0; c < in_channels_; c += at_once) {
        const int64_t channels = std::min(at_once, in_channels_ - c);
        simd::Transpose(weights + first * strides.out + c * strides.in, strides.out, count, channels * size,
                        taps.data(), lanes);
        for (int64_t i = 0; i < channels; ++i) {
          simd::WinogradKernels(shape_, taps.data() + i * size * lanes, lanes, to + (c + i) * lanes, at.data());
        }
      }
    }
  });
  return Status::Ok();
}

int64_t WinogradWeights::Position(int64_t i) const { return makes_some_ ? kSteps[i].position : i; }

void WinogradWeights::Multiply(int64_t panel, int64_t i, int64_t tiles, simd::PanelSource source,
                               const simd::PanelResult& result, float* room) const {
  // The plane after this one, or the next panel's.
  const int64_t next = makes_some_ ? kSteps[i].next : i + 1;
  if (next >= 0 && panel * planes_ + next < panels_ * planes_) source.next = Plane(panel, next);
  if (!makes_some_ || kSteps[i].plane >= 0) {
    source.weights = Plane(panel, makes_some_ ? kSteps[i].plane : i);
    if (tiles > 0) simd::PanelPixels(tiles, source, result);
    return;
  }
  const auto part = [&](int plane) { return plane < kPlanes ? Plane(panel, plane) : room + (plane - kPlanes) * step_; };
  const Step& step = kSteps[i];
  simd::MadePixels(tiles, source, {part(step.a), part(step.b), part(step.c), room + step.made * step_}, result);
}

}  // namespace plumb::cpu
