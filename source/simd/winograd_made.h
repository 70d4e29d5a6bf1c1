// SPDX-License-Identifier: Apache-2.0
// Products of factors that are sums of others. G of F(2x2,3x3) has four rows for three taps: the third is the fourth
// minus the first and the second, so 9 of a filter's 16 factors G g G^T are kept and the rest made where it is
// multiplied.
#ifndef PLUMB_SIMD_WINOGRAD_MADE_H_
#define PLUMB_SIMD_WINOGRAD_MADE_H_

#include <cstdint>

#include "simd/panel.h"

namespace plumb::simd {

// Weights a - (b + c), each laid out as PanelSource::weights. `made` has room for as much and keeps them.
struct MadeWeights {
  const float *a = nullptr, *b = nullptr, *c = nullptr;
  float* made = nullptr;
};

// PanelPixels with weights that the first pixels' products make on the way: a pass of its own waits for the second
// cache. source.weights is not read. REQUIRES: pixels lie next to each other, and nothing follows the sums.
void MadePixels(int64_t pixels, const PanelSource& source, const MadeWeights& weights, const PanelResult& result);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_WINOGRAD_MADE_H_
