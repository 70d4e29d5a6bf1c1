// SPDX-License-Identifier: Apache-2.0
// The differences as fp32, with their padding, once for all threads; from them a thread gathers tiles of output pixels,
// a block of terms at a time, and runs every six output channels over all tiles of its chunk. The weights are read
// where they lie.
#include "reference/sum/difference.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <new>
#include <vector>

#include "base/block_pool.h"
#include "base/threads.h"
#include "reference/sum/band.h"
#include "reference/sum/tiles.h"

namespace plumb::reference {
namespace {

constexpr int64_t kTermsAtOnce = 256;                   // at a time: 16 KiB of a tile of 16 pixels
constexpr int64_t kTilesAtOnce = 8;                     // tiles: 128 KiB of gathered floats
constexpr int64_t kSumFloats = (int64_t{1} << 20) / 4;  // of a thread's sums
constexpr int64_t kCopied = 8;                          // floats of a row at a time
constexpr double kClose = 0x1p-10, kLargest = 0x1p60;   // of inputs, lest sums overflow

class DifferenceSweep {
 public:
  DifferenceSweep(const SumKernels& kernels, const SumGeometry& geometry, const float* weight, const float* padded,
                  double* out);

  int64_t num_tiles() const { return (pixels_ + tile_ - 1) / tile_; }
  int64_t outs() const { return outs_; }
  // Of the group, output channels [out_begin, out_end) for tiles [begin, end).
  void Run(int64_t group, int64_t out_begin, int64_t out_end, int64_t begin, int64_t end);

  // A channel of the padded differences.
  static int64_t PaddedExtent(const SumAxis& a) { return (a.out - 1) * a.stride + (a.kernel - 1) * a.dilation + 1; }

 private:
  // Pixels of a tile that lie in one row of the output.
  struct Piece {
    int64_t at, count, from;
  };

  void Chunk(int64_t begin, int64_t end);
  std::vector<Piece> PiecesOf(int64_t tile) const;
  void Gather(const std::vector<Piece>& pieces, int64_t first, int64_t terms, float* x) const;
  void Store(int64_t begin, int64_t end, const float* sums) const;

  const SumKernels& kernels_;
  const SumAxis &height_, &width_;
  const float* weight_;
  const float* padded_;
  double* out_;
  int64_t tile_, pixels_, channels_, outs_, terms_, row_, plane_;
  std::vector<int64_t> taps_;  // where each tap of a channel lies, from the pixel's first
  int64_t group_ = 0, out_begin_ = 0, out_end_ = 0;
};

DifferenceSweep::DifferenceSweep(const SumKernels& kernels, const SumGeometry& geometry, const float* weight,
                                 const float* padded, double* out)
    : kernels_(kernels),
      height_(geometry.axis[1]),
      width_(geometry.axis[2]),
      weight_(weight),
      padded_(padded),
      out_(out),
      tile_(kernels.float_pixels),
      pixels_(geometry.out_pixels()),
      channels_(geometry.in_channels / geometry.groups),
      outs_(geometry.out_channels / geometry.groups),
      terms_(channels_ * geometry.kernel_size()),
      row_(PaddedExtent(width_)),
      plane_(PaddedExtent(height_) * row_) {
  for (int64_t y = 0; y < height_.kernel; ++y) {
    for (int64_t x = 0; x < width_.kernel; ++x) taps_.push_back(y * height_.dilation * row_ + x * width_.dilation);
  }
}

std::vector<DifferenceSweep::Piece> DifferenceSweep::PiecesOf(int64_t tile) const {
  std::vector<Piece> pieces;
  const int64_t first = tile * tile_, last = std::min(pixels_, first + tile_);
  for (int64_t p = first; p < last;) {
    const int64_t row = p / width_.out, column = p % width_.out, count = std::min(width_.out - column, last - p);
    pieces.push_back({p - first, count, row * height_.stride * row_ + column * width_.stride});
    p += count;
  }
  return pieces;
}

// x [terms][tile_], whose last pixels may be any; writes up to kCopied - 1 floats past the last term.
void DifferenceSweep::Gather(const std::vector<Piece>& pieces, int64_t first, int64_t terms, float* x) const {
  const auto taps = static_cast<int64_t>(taps_.size());
  int64_t tap = first % taps;
  const float* channel = padded_ + (group_ * channels_ + first / taps) * plane_;
  for (int64_t k = 0; k < terms; ++k, x += tile_) {
    const float* term = channel + taps_[static_cast<size_t>(tap)];
    for (const Piece& piece : pieces) {
      const float* from = term + piece.from;
      float* to = x + piece.at;
      if (width_.stride == 1) {
        for (int64_t i = 0; i < piece.count; i += kCopied) std::memcpy(to + i, from + i, kCopied * sizeof(float));
      } else {
        for (int64_t i = 0; i < piece.count; ++i) to[i] = from[i * width_.stride];
      }
    }
    if (++tap == taps) tap = 0, channel += plane_;
  }
}

void DifferenceSweep::Run(int64_t group, int64_t out_begin, int64_t out_end, int64_t begin, int64_t end) {
  group_ = group, out_begin_ = out_begin, out_end_ = out_end;
  const int64_t chunk = std::clamp<int64_t>(kSumFloats / (tile_ * (out_end - out_begin)), 1, kTilesAtOnce);
  for (int64_t t = begin; t < end; t += chunk) Chunk(t, std::min(end, t + chunk));
}

void DifferenceSweep::Chunk(int64_t begin, int64_t end) {
  const int64_t tiles = end - begin, outs = out_end_ - out_begin_, step = tiles * tile_;
  const int64_t gathered = kTermsAtOnce * tile_;
  float* x = FloatScratch(ScratchSlot::kTile, tiles * gathered + kCopied);
  float* sums = FloatScratch(ScratchSlot::kSum, outs * step);
  std::vector<Piece> pieces[kTilesAtOnce];
  for (int64_t t = 0; t < tiles; ++t) pieces[t] = PiecesOf(begin + t);
  std::fill_n(sums, outs * step, 0.0F);
  std::fill_n(x, tiles * gathered, 0.0F);  // lanes that nobody fills must not be subnormal
  for (int64_t k = 0; k < terms_; k += kTermsAtOnce) {
    FloatTileArgs args;
    args.terms = std::min(kTermsAtOnce, terms_ - k);
    args.w_stride = terms_, args.sum_stride = step;
    for (int64_t t = 0; t < tiles; ++t) Gather(pieces[t], k, args.terms, x + t * gathered);
    for (int64_t o = 0, rows; o < outs; o += rows) {
      const int64_t left = outs - o;
      rows = left >= 6 ? 6 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
      args.w = weight_ + (group_ * outs_ + out_begin_ + o) * terms_ + k;
      for (int64_t t = 0; t < tiles; ++t) {
        args.x = x + t * gathered, args.sum = sums + o * step + t * tile_;
        const bool half = pixels_ - (begin + t) * tile_ <= tile_ / 2;
        kernels_.accumulate_floats(static_cast<int>(rows), half ? 1 : 2, args);
      }
    }
  }
  Store(begin, end, sums);
}

void DifferenceSweep::Store(int64_t begin, int64_t end, const float* sums) const {
  const int64_t first = begin * tile_, count = std::min(pixels_, end * tile_) - first;
  for (int64_t o = out_begin_; o < out_end_; ++o, sums += (end - begin) * tile_) {
    double* out = out_ + (group_ * outs_ + o) * pixels_ + first;
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<double>(sums[i]);
  }
}

// near - x with the borders that the kernel reads, [channel][row][column]; false where they are not close.
bool MakeDifferences(const SumKernels& kernels, const SumGeometry& geometry, const double* x, const double* near,
                     float* padded) {
  const SumAxis &h = geometry.axis[1], &w = geometry.axis[2];
  const int64_t rows = DifferenceSweep::PaddedExtent(h), columns = DifferenceSweep::PaddedExtent(w);
  const int64_t before = std::min(w.pad, columns), inside = std::min(w.in, columns - before);
  const int64_t top = std::min(h.pad, rows), bottom = std::min(h.pad + h.in, rows);
  std::vector<DifferenceRange> ranges(static_cast<size_t>(geometry.in_channels));
  ParallelFor(geometry.in_channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      DifferenceRange range;
      float* to = padded + c * rows * columns;
      std::fill_n(to, top * columns, 0.0F);
      for (int64_t r = top; r < bottom; ++r) {
        const int64_t at = (c * h.in + r - h.pad) * w.in;
        float* row = to + r * columns;
        std::fill_n(row, before, 0.0F);
        kernels.subtract(near + at, x + at, inside, row + before, &range);
        std::fill(row + before + inside, row + columns, 0.0F);
      }
      std::fill(to + bottom * columns, to + rows * columns, 0.0F);
      ranges[static_cast<size_t>(c)] = range;
    }
  });
  DifferenceRange all;
  for (const DifferenceRange& range : ranges) {
    all.largest = std::max(all.largest, range.largest);
    all.distance = std::max(all.distance, range.distance);
    all.poison += range.poison;
  }
  return all.poison == 0 && all.largest < kLargest && all.distance <= kClose * all.largest;
}

}  // namespace

bool HasDifference(const SumGeometry& geometry, const SumOperands& operands) {
  const SumAxis& depth = geometry.axis[0];
  const bool flat = depth.in == 1 && depth.out == 1 && depth.kernel == 1 && depth.pad == 0;
  const bool depthwise = geometry.groups == geometry.in_channels;
  const bool padded = geometry.axis[1].pad >= 0 && geometry.axis[2].pad >= 0;
  return flat && padded && !depthwise && !geometry.transposed && operands.constant && !operands.weight.is_double &&
         geometry.out_pixels() > 1;
}

bool SumOfDifferences(const SumGeometry& geometry, const float* weight, const double* x, const double* near,
                      double* out) {
  const int64_t size = geometry.in_channels * DifferenceSweep::PaddedExtent(geometry.axis[1]) *
                       DifferenceSweep::PaddedExtent(geometry.axis[2]);
  const std::shared_ptr<void> block = AllocateBlock(static_cast<size_t>(size + kCopied) * sizeof(float));
  if (block == nullptr) throw std::bad_alloc();
  auto* padded = static_cast<float*>(block.get());
  const SumKernels& kernels = BestSumKernels();
  if (!MakeDifferences(kernels, geometry, x, near, padded)) return false;
  std::fill_n(padded + size, kCopied, 0.0F);
  const DifferenceSweep plan(kernels, geometry, weight, padded, out);
  const int64_t groups = geometry.groups, tiles = plan.num_tiles(), outs = plan.outs();
  ForEachPart(groups, tiles, outs, [&](int64_t group, int64_t out_begin, int64_t out_end, int64_t begin, int64_t end) {
    DifferenceSweep sweep = plan;
    sweep.Run(group, out_begin, out_end, begin, end);
  });
  return true;
}

}  // namespace plumb::reference
