// SPDX-License-Identifier: Apache-2.0
#include "reference/sum/band.h"

#include <algorithm>

namespace plumb::reference {

BandLayout::BandLayout(const Phase& phase, int64_t rows) {
  const AxisPlan& h = phase.axis[1];
  const AxisPlan& w = phase.axis[2];
  width_ = w.out + w.max_shift;
  height_ = rows + h.max_shift;
  row_size_ = static_cast<int64_t>(w.residues.size()) * width_;
  residue_size_ = height_ * row_size_;
  channel_size_ = static_cast<int64_t>(phase.axis[0].taps.size() * h.residues.size()) * residue_size_;
}

int64_t BandLayout::TapOffset(const Phase& phase, int64_t z, int64_t y, int64_t x) const {
  const AxisTap& h = phase.axis[1].taps[static_cast<size_t>(y)];
  const AxisTap& w = phase.axis[2].taps[static_cast<size_t>(x)];
  const int64_t residue = z * static_cast<int64_t>(phase.axis[1].residues.size()) + h.slot;
  return residue * residue_size_ + h.shift * row_size_ + w.slot * width_ + w.shift;
}

std::vector<int64_t> BandLayout::TapOffsets(const Phase& phase) const {
  std::vector<int64_t> offsets;
  for (size_t z = 0; z < phase.axis[0].taps.size(); ++z) {
    for (size_t y = 0; y < phase.axis[1].taps.size(); ++y) {
      for (size_t x = 0; x < phase.axis[2].taps.size(); ++x) {
        offsets.push_back(TapOffset(phase, static_cast<int64_t>(z), static_cast<int64_t>(y), static_cast<int64_t>(x)));
      }
    }
  }
  return offsets;
}

void WidenRun(const SumKernels& kernels, ConstReals src, int64_t offset, int64_t stride, int64_t count, bool square,
              double* dst) {
  if (src.is_double) {
    const double* from = src.f64() + offset;
    if (stride == 1) {
      std::copy_n(from, count, dst);
    } else {
      for (int64_t i = 0; i < count; ++i) dst[i] = from[i * stride];
    }
  } else if (stride == 1) {
    kernels.widen(src.f32() + offset, count, dst);
  } else {
    const float* from = src.f32() + offset;
    for (int64_t i = 0; i < count; ++i) dst[i] = static_cast<double>(from[i * stride]);
  }
  if (!square) return;
  for (int64_t i = 0; i < count; ++i) dst[i] *= dst[i];
}

void BandFiller::FillRow(int64_t offset, double* dst) const {
  const AxisPlan& w = phase_.axis[2];
  for (const int64_t start : w.residues) {
    const int64_t first = std::min(layout_.width_, start >= 0 ? 0 : (-start + w.stride - 1) / w.stride);
    const int64_t last =
        start >= w.in ? first : std::clamp((w.in - start + w.stride - 1) / w.stride, first, layout_.width_);
    std::fill(dst, dst + first, 0.0);
    WidenRun(kernels_, input_, offset + start + first * w.stride, w.stride, last - first, square_, dst + first);
    std::fill(dst + last, dst + layout_.width_, 0.0);
    dst += layout_.width_;
  }
}

void BandFiller::FillChannel(int64_t channel, int64_t z, int64_t row, double* band) const {
  const AxisPlan& d = phase_.axis[0];
  const AxisPlan& h = phase_.axis[1];
  const int64_t width = phase_.axis[2].in;
  for (const AxisTap& tap : d.taps) {
    const int64_t depth = z * d.stride + tap.offset;
    for (const int64_t residue : h.residues) {
      for (int64_t r = 0; r < layout_.height_; ++r, band += layout_.row_size_) {
        const int64_t y = (row + r) * h.stride + residue;
        if (depth < 0 || depth >= d.in || y < 0 || y >= h.in) {
          std::fill(band, band + layout_.row_size_, 0.0);
        } else {
          FillRow(((channel * d.in + depth) * h.in + y) * width, band);
        }
      }
    }
  }
}

void BandFiller::Fill(int64_t channel, int64_t count, int64_t z, int64_t row, double* band) const {
  for (int64_t c = 0; c < count; ++c) FillChannel(channel + c, z, row, band + c * layout_.channel_size());
}

double* Scratch(ScratchSlot slot, int64_t count) {
  constexpr std::align_val_t kLine{64};  // vectors that cross lines take twice as long to load
  struct Free {
    void operator()(double* data) const { ::operator delete[](data, kLine); }
  };
  struct Block {
    std::unique_ptr<double[], Free> data;
    int64_t size = 0;
  };
  static thread_local Block blocks[static_cast<int>(ScratchSlot::kCount)];
  Block& block = blocks[static_cast<int>(slot)];
  if (block.size < count) {
    block.data.reset();
    block.data.reset(new (kLine) double[static_cast<size_t>(count)]);  // not cleared: untouched pages stay untouched
    block.size = count;
  }
  return block.data.get();
}

}  // namespace plumb::reference
