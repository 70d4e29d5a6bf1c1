// SPDX-License-Identifier: Apache-2.0
// The end of every sum: bias, bound, activation and the store into the output, shared by the three ways of summing.
#ifndef PLUMB_REFERENCE_SUM_STORE_H_
#define PLUMB_REFERENCE_SUM_STORE_H_

#include "reference/sum/kernel.h"
#include "reference/sum/plan.h"
#include "reference/sum/products.h"

namespace plumb::reference {

// What a sweep over the terms is for.
enum class SumSink {
  kValues,    // outputs, and tau where an image wants it
  kSquares,   // extra[i] = max(extra[i], sums of squares of this order with the bias as first and as last partial sum)
  kDrift,     // drift[i] = max(drift[i], d)
  kVariance,  // added[i] += the sum itself: the operands are squares
};

// An image during the sweeps of one call.
struct SumWork {
  SumImage image;
  double* extra = nullptr;  // [out_channels][pixels], sums of squares of another order; null: none
  double* added = nullptr;  // [out_channels][pixels], added to (8 sigma)^2; null: nothing
  double* drift = nullptr;  // [out_channels][pixels], the largest d of any order; null: nothing
};

struct SumPass {
  const SumGeometry* geometry = nullptr;
  const SumOperands* operands = nullptr;
  const std::vector<SumWork>* work = nullptr;
  SumBound bound;
  SumSink sink = SumSink::kValues;
  TermOrder order;
  ConstReals weight;                // operands->weight, or weight_tau
  std::vector<ConstReals> sources;  // per image: its input, or input_tau; a null one is left out of the pass
  bool square = false;              // use squares of weights and inputs
  bool begun = false;               // of kDrift: sums begin with the bias and what is added later

  // What a sum of the output channel starts with: values count the bias as first partial sum.
  double Start(int64_t out_channel) const {
    const bool biased = (sink == SumSink::kValues || begun) && operands->bias != nullptr;
    return biased ? static_cast<double>(operands->bias[out_channel]) : 0;
  }
  bool WantsSquares(const SumWork& w) const {
    return sink == SumSink::kSquares || (sink == SumSink::kValues && w.image.tau != nullptr);
  }
};

// Accumulated sums of up to kTile pixels of one output channel; squares and weighted in units of SampleBlock(terms).
struct SumRow {
  int64_t out_channel = 0;
  int64_t count = 0;
  int64_t terms = 0;
  const double* sum = nullptr;
  const double* squares = nullptr;
  const double* weighted = nullptr;
  const double* drift = nullptr;
  const double* abs_x = nullptr;
  double abs_w = 0;
};

// Where pixels [begin, begin + count) of a SumRow go: elements out_begin + i * out_step of the output channel.
struct SumTarget {
  int64_t begin = 0, count = 0, out_begin = 0, out_step = 1;
};

// Pixels of one output channel's [pixels] at `from` as those of a row.
inline void Collect(const double* from, const SumTarget* targets, int num_targets, double* row) {
  for (int t = 0; t < num_targets; ++t) {
    for (int64_t i = 0; i < targets[t].count; ++i)
      row[targets[t].begin + i] = from[targets[t].out_begin + i * targets[t].out_step];
  }
}

void StoreRow(const SumKernels& kernels, const SumPass& pass, const SumWork& work, const SumRow& row,
              const SumTarget* targets, int num_targets);

}  // namespace plumb::reference

#endif  // PLUMB_REFERENCE_SUM_STORE_H_
