// SPDX-License-Identifier: Apache-2.0
// InnerProduct: the weights are the cost, so each is read once for all images, and the sum runs along them in kLanes
// partial sums that are added at every block end (where the bound looks at the partial sum anyway).
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/threads.h"
#include "reference/sum/band.h"
#include "reference/sum/tiles.h"

namespace plumb::reference {
namespace {

constexpr int kDenseRows = 4;  // output channels per pass over the inputs

struct DenseState {
  double sum[kDenseRows], squares[kDenseRows];
};

class DenseSweep {
 public:
  DenseSweep(const SumKernels& kernels, const SumPass& pass, const double* x, const double* magnitudes)
      : kernels_(kernels),
        pass_(pass),
        x_(x),
        magnitudes_(magnitudes),
        terms_(Terms(*pass.geometry)),
        states_(pass.sources.size()) {}

  static int64_t Terms(const SumGeometry& g) { return g.in_channels * g.in_pixels(); }

  // Output channels [out, out + rows).
  void Run(int64_t out, int rows) {
    const float* w = pass_.weight.f32() + out * terms_;
    double magnitude[kDenseRows] = {};
    for (DenseState& state : states_) {
      state = DenseState();
      for (int r = 0; r < rows; ++r) state.sum[r] = pass_.Start(out + r);
    }
    if (FindTerms(w, rows)) {
      SumFew(w, rows, magnitude);
    } else {
      SumAll(w, rows, magnitude);
    }
    for (size_t i = 0; i < states_.size(); ++i) {
      for (int r = 0; r < rows; ++r) Store(i, out + r, r, magnitude[r]);
    }
  }

 private:
  void SumAll(const float* w, int rows, double* magnitude) {
    const int64_t block = SampleBlock(terms_);
    for (int64_t k = 0; k < terms_; k += block) {
      const int64_t count = std::min(block, terms_ - k);
      for (size_t i = 0; i < states_.size(); ++i) {
        double part[kDenseRows];
        kernels_.dot(rows, w + k, terms_, x_ + static_cast<int64_t>(i) * terms_ + k, count, part,
                     i == 0 ? magnitude : nullptr);
        AddBlock(static_cast<double>(count) / static_cast<double>(block), rows, part, &states_[i]);
      }
    }
  }

  // The terms that have a weight in one of the rows; false: more than one in eight. Filters (mel bands) have few, side
  // by side, and the partial sums between them lie inside of a block.
  bool FindTerms(const float* w, int rows) {
    constexpr int64_t kOneIn = 8;
    found_.clear();
    for (int64_t k = 0; k < terms_; ++k) {
      bool any = false;
      for (int r = 0; r < rows; ++r) any = any || w[r * terms_ + k] != 0;
      if (!any) continue;
      if (static_cast<int64_t>(found_.size() + 1) * kOneIn > terms_) return false;
      found_.push_back(k);
    }
    return true;
  }

  // The partial sum behind each of them, counted as often as it stays.
  void SumFew(const float* w, int rows, double* magnitude) {
    const auto block = static_cast<double>(SampleBlock(terms_));
    const int64_t first = found_.empty() ? terms_ : found_[0];
    const double none[kDenseRows] = {};
    for (DenseState& state : states_) AddBlock(static_cast<double>(first) / block, rows, none, &state);
    for (size_t f = 0; f < found_.size(); ++f) {
      const int64_t k = found_[f], next = f + 1 < found_.size() ? found_[f + 1] : terms_;
      for (int r = 0; r < rows; ++r) magnitude[r] += std::abs(static_cast<double>(w[r * terms_ + k]));
      for (size_t i = 0; i < states_.size(); ++i) {
        double part[kDenseRows] = {};
        for (int r = 0; r < rows; ++r)
          part[r] = static_cast<double>(w[r * terms_ + k]) * x_[static_cast<int64_t>(i) * terms_ + k];
        AddBlock(static_cast<double>(next - k) / block, rows, part, &states_[i]);
      }
    }
  }

  static void AddBlock(double share, int rows, const double* part, DenseState* state) {
    for (int r = 0; r < rows; ++r) {
      state->sum[r] += part[r];
      state->squares[r] += share * state->sum[r] * state->sum[r];
    }
  }

  void Store(size_t image, int64_t out, int r, double magnitude) const {
    const DenseState& state = states_[image];
    SumRow row;
    row.out_channel = out;
    row.count = 1;
    row.terms = terms_;
    row.sum = state.sum + r;
    row.squares = state.squares + r;
    row.abs_x = magnitudes_ + image;
    row.abs_w = magnitude;
    const SumTarget target{0, 1, 0, 1};
    StoreRow(kernels_, pass_, (*pass_.work)[image], row, &target, 1);
  }

  const SumKernels& kernels_;
  const SumPass& pass_;
  const double* x_;           // [images][terms]
  const double* magnitudes_;  // [images], sum of |x|
  int64_t terms_;
  std::vector<DenseState> states_;
  std::vector<int64_t> found_;
};

}  // namespace

bool IsDense(const SumPass& pass) {
  const SumGeometry& g = *pass.geometry;
  if (pass.sink != SumSink::kValues || g.transposed || g.groups != 1 || !pass.operands->constant ||
      pass.weight.is_double)
    return false;
  for (const SumAxis& a : g.axis) {
    if (a.out != 1 || a.kernel != a.in || a.pad != 0 || a.dilation != 1) return false;
  }
  return true;
}

void SumDense(const SumKernels& kernels, const SumPass& pass) {
  const int64_t terms = DenseSweep::Terms(*pass.geometry);
  const int64_t outs = pass.geometry->out_channels;
  const int64_t images = static_cast<int64_t>(pass.sources.size());
  double* x = Scratch(ScratchSlot::kTile, images * terms + images);
  double* magnitudes = x + images * terms;
  for (int64_t i = 0; i < images; ++i) {
    WidenRun(kernels, pass.sources[static_cast<size_t>(i)], 0, 1, terms, false, x + i * terms);
    magnitudes[i] = 0;
    for (int64_t k = 0; k < terms; ++k) magnitudes[i] += std::abs(x[i * terms + k]);
  }
  ParallelFor((outs + kDenseRows - 1) / kDenseRows, 1, [&](int64_t begin, int64_t end) {
    DenseSweep sweep(kernels, pass, x, magnitudes);
    for (int64_t b = begin; b < end; ++b) {
      sweep.Run(b * kDenseRows, static_cast<int>(std::min<int64_t>(kDenseRows, outs - b * kDenseRows)));
    }
  });
}

}  // namespace plumb::reference
