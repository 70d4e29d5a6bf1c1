// SPDX-License-Identifier: Apache-2.0
// The input rows that some output rows need, as doubles, with the padding filled in and columns that lie a stride apart
// made neighbours, so that every term of every run of output pixels is a plain copy. Layout: [channel][depth tap][row
// residue][row][column residue][column]; see AxisPlan for residues.
#ifndef PLUMB_REFERENCE_SUM_BAND_H_
#define PLUMB_REFERENCE_SUM_BAND_H_

#include <memory>

#include "reference/sum/kernel.h"
#include "reference/sum/plan.h"

namespace plumb::reference {

constexpr int64_t kSlack = 8;  // vector copies may touch this many doubles past the end of a buffer

class BandLayout {
 public:
  BandLayout() = default;
  // A band for up to `rows` consecutive output rows of one plane.
  BandLayout(const Phase& phase, int64_t rows);

  int64_t channel_size() const { return channel_size_; }
  int64_t row_size() const { return row_size_; }
  // First pixel of the tap, relative to the band's channel; output row r, column j adds r * row_size() + j.
  int64_t TapOffset(const Phase& phase, int64_t z, int64_t y, int64_t x) const;
  // The same for all taps in kernel order.
  std::vector<int64_t> TapOffsets(const Phase& phase) const;

 private:
  friend class BandFiller;
  int64_t width_ = 0, height_ = 0, row_size_ = 0, residue_size_ = 0, channel_size_ = 0;
};

// Fills bands from one image's input.
class BandFiller {
 public:
  BandFiller(const SumKernels& kernels, const Phase& phase, const BandLayout& layout, ConstReals input, bool square)
      : kernels_(kernels), phase_(phase), layout_(layout), input_(input), square_(square) {}
  // Channels [channel, channel + count) of the input for output plane z, output rows from `row` on.
  void Fill(int64_t channel, int64_t count, int64_t z, int64_t row, double* band) const;

 private:
  void FillChannel(int64_t channel, int64_t z, int64_t row, double* band) const;
  void FillRow(int64_t offset, double* dst) const;

  const SumKernels& kernels_;
  const Phase& phase_;
  const BandLayout& layout_;
  ConstReals input_;
  bool square_;
};

// dst[i] = src[offset + i * stride], widened (and squared).
void WidenRun(const SumKernels& kernels, ConstReals src, int64_t offset, int64_t stride, int64_t count, bool square,
              double* dst);

// Buffers of a thread, kept between calls: a fresh megabyte per layer costs more in page faults than small layers take.
// `slot` names the buffer; its content is lost when it grows.
enum class ScratchSlot { kBand, kTile, kWeight, kSum, kMagnitude, kCount };
double* Scratch(ScratchSlot slot, int64_t count);
inline float* FloatScratch(ScratchSlot slot, int64_t count) {
  return reinterpret_cast<float*>(Scratch(slot, (count + 1) / 2));
}

}  // namespace plumb::reference

#endif  // PLUMB_REFERENCE_SUM_BAND_H_
