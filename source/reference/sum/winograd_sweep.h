// SPDX-License-Identifier: Apache-2.0
// The bound of one form of Winograd's algorithm over one image (winograd.cc has the formula): for pieces of its tiles
// all threads transform the inputs; then each takes output channels, a few at a time, from their weights to their
// bounds.
//
// A bound needs no more than fp32. Its range is kept by a power of two per tile and per output channel, that of their
// largest value: only what lies 2^60 times below counts as that much.
#ifndef PLUMB_REFERENCE_SUM_WINOGRAD_SWEEP_H_
#define PLUMB_REFERENCE_SUM_WINOGRAD_SWEEP_H_

#include <memory>
#include <vector>

#include "reference/sum/kernel.h"
#include "reference/sum/products.h"
#include "reference/sum/winograd_matrices.h"

namespace plumb::reference {

class WinogradSweep {
 public:
  // Of a convolution without groups. `raise`: what is larger already stays.
  WinogradSweep(const SumGeometry& geometry, const std::vector<double>& points, const SumBound& bound, bool raise);

  void Run(const float* weight, ConstReals input, const double* output, double* tau);

 private:
  // Room for floats that grows and is recycled with all other tensors.
  class Room {
   public:
    float* Take(int64_t count);
    float* data() const { return static_cast<float*>(block_.get()); }

   private:
    std::shared_ptr<void> block_;
    int64_t size_ = 0;
  };
  // What a thread is at: some output channels, and of the piece some tiles, eight at a time.
  struct Part {
    int64_t first = 0, count = 0;         // output channels
    int64_t first_eight = 0, eights = 0;  // of tiles
    float* weights = nullptr;             // U, then [G][g][G^T]: [position][output][channel]
    double* scales = nullptr;             // [output]
    double* etas = nullptr;               // |A^T| (sum |U| + C) |A|: [output][result]
    float* spreads = nullptr;             // 2 T + P + (1.5 d / u)^2: [output][eight tiles][position][kTransformed]
  };

  void FindScales(ConstReals input);
  void TransformInput(ConstReals input);
  void Gather(ConstReals input, int64_t channel, int64_t tile, float* lane) const;
  void AddMagnitudes();
  void RunOutputs(const float* weight, const double* output, int64_t first, int64_t count, double* tau) const;
  void TransformWeights(const float* weight, int64_t o, const Part& part) const;
  void Multiply(int64_t position, int64_t group, const Part& part) const;
  void AddDrift(int rows, FloatTileArgs sums, float* drifts) const;
  void Spread(const float* products, const float* squares, const float* drifts, float* spread) const;
  void Finish(int64_t o, int64_t eight, const Part& part, const double* output, double* tau) const;
  // spread, magnitudes and etas: a tile's, of its results, the first two kTransformed apart.
  void FinishTile(int64_t tile, double scale, const float* spread, const float* magnitudes, const double* etas,
                  const double* output, double* tau) const;

  // Transformed inputs lie as [position][group of tiles][channel][tile of the group].
  int64_t GroupAt(int64_t position, int64_t group) const { return (position * groups_ + group) * channels_ * group_; }
  int64_t EightAt(int64_t eight) const {
    const int64_t tile = eight * kTransformed;
    return GroupAt(0, tile / group_) + tile % group_;
  }

  Matrices rows_, columns_;
  SumBound bound_;
  bool raise_;
  SumAxis height_, width_;
  int64_t channels_, outputs_, across_, tiles_, positions_, results_;
  const SumKernels& kernels_;
  int64_t group_;                 // tiles that accumulate_floats takes at once
  int64_t row_;                   // floats between the transformed weights of two output channels
  int64_t piece_, some_, block_;  // tiles at a time; groups and output channels of a thread at a time
  int64_t first_ = 0, count_ = 0, groups_ = 0, eights_ = 0;  // of the piece: its first tile, and how many of each
  std::vector<double> scales_;                               // of the piece's tiles
  Room values_, squared_values_, magnitude_;  // V, [B^T][d][B]; |A^T| sum |V| |A|, [eight tiles][result][kTransformed]
};

}  // namespace plumb::reference

#endif  // PLUMB_REFERENCE_SUM_WINOGRAD_SWEEP_H_
