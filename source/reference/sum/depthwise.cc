// SPDX-License-Identifier: Apache-2.0
// Depthwise sums have few terms and no sharing between channels: gathering a tile would cost as much as summing it.
#include <algorithm>

#include "base/threads.h"
#include "reference/sum/band.h"
#include "reference/sum/tiles.h"

namespace plumb::reference {
namespace {

constexpr int64_t kBandRows = 64;

// One phase of one image's group.
class DepthwiseChannel {
 public:
  DepthwiseChannel(const SumKernels& kernels, const SumPass& pass, const Phase& phase)
      : kernels_(kernels),
        pass_(pass),
        phase_(phase),
        rows_(std::min(kBandRows, phase.axis[1].out)),
        layout_(phase, rows_),
        offsets_(layout_.TapOffsets(phase)),
        outs_(pass.geometry->out_channels / pass.geometry->groups) {}

  void Run(int64_t image, int64_t group) {
    WidenWeights(group);
    double* band = Scratch(ScratchSlot::kBand, layout_.channel_size() + kTile + kSlack);
    const BandFiller filler(kernels_, phase_, layout_, pass_.sources[static_cast<size_t>(image)], pass_.square);
    for (int64_t z = 0; z < phase_.axis[0].out; ++z) {
      for (int64_t row = 0; row < phase_.axis[1].out; row += rows_) {
        filler.Fill(group, 1, z, row, band);
        const int64_t count = std::min(rows_, phase_.axis[1].out - row);
        for (int64_t r = 0; r < count; ++r) SumRowOfPixels(image, group, z, row + r, band + r * layout_.row_size());
      }
    }
  }

 private:
  void WidenWeights(int64_t group);
  void SumRowOfPixels(int64_t image, int64_t group, int64_t z, int64_t row, const double* band);

  const SumKernels& kernels_;
  const SumPass& pass_;
  const Phase& phase_;
  int64_t rows_;
  BandLayout layout_;
  std::vector<int64_t> offsets_;
  int64_t outs_;
  std::vector<double> weights_, magnitudes_;  // of the group's output channels
};

void DepthwiseChannel::WidenWeights(int64_t group) {
  const SumGeometry& g = *pass_.geometry;
  const WeightLayout layout = MakeWeightLayout(g);
  weights_.clear();
  magnitudes_.assign(static_cast<size_t>(outs_), 0.0);
  for (int64_t out = 0; out < outs_; ++out) {
    for (const AxisTap& z : phase_.axis[0].taps) {
      for (const AxisTap& y : phase_.axis[1].taps) {
        for (const AxisTap& x : phase_.axis[2].taps) {
          const int64_t tap = (z.kernel * g.axis[1].kernel + y.kernel) * g.axis[2].kernel + x.kernel;
          double w = pass_.weight.At(group * layout.per_group + out * layout.per_out + tap);
          if (pass_.square) w *= w;
          weights_.push_back(w);
          magnitudes_[static_cast<size_t>(out)] += std::abs(w);
        }
      }
    }
  }
}

void DepthwiseChannel::SumRowOfPixels(int64_t image, int64_t group, int64_t z, int64_t row, const double* band) {
  const SumAxis* axis = pass_.geometry->axis.data();
  const AxisPlan* plan = phase_.axis.data();
  const SumWork& work = (*pass_.work)[static_cast<size_t>(image)];
  const bool squares = pass_.WantsSquares(work);
  const int64_t terms = static_cast<int64_t>(offsets_.size());
  const int64_t depth = plan[0].first + z * plan[0].step;
  const int64_t out_row = (depth * axis[1].out + plan[1].first + row * plan[1].step) * axis[2].out + plan[2].first;
  for (int64_t column = 0; column < plan[2].out; column += kTile, band += kTile) {
    SumRow done;
    done.count = std::min<int64_t>(kTile, plan[2].out - column);
    done.terms = terms;
    const SumTarget target{0, done.count, out_row + column * plan[2].step, plan[2].step};
    double magnitude[kTile] = {};
    if (squares) kernels_.add_abs(band, offsets_.data(), terms, magnitude);
    done.abs_x = magnitude;
    for (int64_t out = 0; out < outs_; ++out) {
      double slab[2][kTile] = {};
      std::fill_n(slab[0], kTile, pass_.Start(group * outs_ + out));
      TileArgs args;
      args.x = band;
      args.offsets = offsets_.data();
      args.w = weights_.data() + out * terms;
      args.end = args.terms = terms;
      args.block = SampleBlock(terms);
      args.sum = slab[0];
      args.squares = squares ? slab[1] : nullptr;
      kernels_.accumulate_row(static_cast<int>((done.count + 7) / 8), args);
      done.out_channel = group * outs_ + out;
      done.sum = slab[0];
      done.squares = slab[1];
      done.abs_w = magnitudes_[static_cast<size_t>(out)];
      StoreRow(kernels_, pass_, work, done, &target, 1);
    }
  }
}

}  // namespace

void SumDepthwise(const SumKernels& kernels, const SumPass& pass) {
  const int64_t groups = pass.geometry->groups;
  for (const Phase& phase : MakePhases(*pass.geometry)) {
    ParallelFor(static_cast<int64_t>(pass.sources.size()) * groups, 1, [&](int64_t begin, int64_t end) {
      DepthwiseChannel channel(kernels, pass, phase);
      for (int64_t i = begin; i < end; ++i) {
        if (pass.sources[static_cast<size_t>(i / groups)].data != nullptr) channel.Run(i / groups, i % groups);
      }
    });
  }
}

}  // namespace plumb::reference
