// SPDX-License-Identifier: Apache-2.0
// How a convolution or deconvolution becomes plain sums: which input element each term of each output pixel reads.
//
// A convolution is one phase. A deconvolution with stride s splits into s phases per axis; inside a phase every output
// pixel has the same taps, and the phase is a convolution of stride 1 onto a subgrid of the output. Taps that fall
// between input pixels thus never become terms, as they are none in a device's kernel.
#ifndef PLUMB_REFERENCE_SUM_PLAN_H_
#define PLUMB_REFERENCE_SUM_PLAN_H_

#include <algorithm>
#include <vector>

#include "reference/sum/products.h"

namespace plumb::reference {

// Pixel i of the phase reads input coordinate i * stride + offset for each tap.
struct AxisTap {
  int64_t offset = 0;
  int64_t kernel = 0;  // index along the kernel's axis
  int64_t slot = 0;    // which of AxisPlan::residues; the coordinate is residue + (i + shift) * stride
  int64_t shift = 0;
};

struct AxisPlan {
  int64_t in = 1;
  int64_t out = 1;  // pixels of this phase
  int64_t stride = 1;
  int64_t first = 0;  // pixel i of the phase is element first + i * step of the output
  int64_t step = 1;
  std::vector<AxisTap> taps;
  std::vector<int64_t> residues;  // first coordinate of each class of coordinates that lie a stride apart
  int64_t max_shift = 0;
};

struct Phase {
  std::array<AxisPlan, 3> axis;
  int64_t taps() const { return static_cast<int64_t>(axis[0].taps.size() * axis[1].taps.size() * axis[2].taps.size()); }
  int64_t plane_pixels() const { return axis[1].out * axis[2].out; }
  // Pixel p of a plane is element p of the input's plane: a 1x1 convolution.
  bool pointwise() const;
};

std::vector<Phase> MakePhases(const SumGeometry& geometry);

// Where a sum's weights lie: w[group * per_group + o * per_out + c * per_in + kernel index].
struct WeightLayout {
  int64_t per_group, per_out, per_in;
};
WeightLayout MakeWeightLayout(const SumGeometry& geometry);

// Order in which the terms of a sum are added.
struct TermOrder {
  bool kernel_first = false;  // (kernel, c) instead of (c, kernel)
  // Above 1: every so many terms of (c, kernel) in a row, then their right neighbours, and so on: what accumulators
  // that take turns hold, one behind the other.
  int64_t lanes = 1;
  bool plain() const { return !kernel_first && lanes == 1; }
  // Which term comes as the t-th.
  int64_t At(int64_t t, int64_t terms) const;
};

inline int64_t TermOrder::At(int64_t t, int64_t terms) const {
  if (lanes == 1) return t;
  const int64_t length = terms / lanes, longer = terms % lanes, in_longer = longer * (length + 1);
  if (t < in_longer) return t / (length + 1) + t % (length + 1) * lanes;
  return longer + (t - in_longer) / length + (t - in_longer) % length * lanes;
}

}  // namespace plumb::reference

#endif  // PLUMB_REFERENCE_SUM_PLAN_H_
