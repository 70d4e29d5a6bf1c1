// SPDX-License-Identifier: Apache-2.0
// The micro-kernel of convolutions in channel blocks (nChw8c, nChw16c): up to PanelRows() neighbouring pixels times a
// panel of two channel blocks, kept in registers. Each factor loads its panel of weights once for all pixels.
#ifndef PLUMB_SIMD_PANEL_H_
#define PLUMB_SIMD_PANEL_H_

#include <cstdint>

#include "simd/product.h"

namespace plumb::simd {

constexpr int kMaxPanelRows = 14;

// How many pixels the registers of this CPU hold beside a panel's weights: 14 with AVX-512 and blocks of 16, 6 with
// AVX2, 6 with NEON. block is 8 or 16.
int PanelRows(int block);

// What the pixels read: pixel r at each tap its `blocks` blocks of input channels, at
// from + taps[t] + r * pixel_step + i * block_step, channels of the last block from `last` on left out; or, where
// `blocks` is 0, at each tap one value. The weights are [tap][input channel][2 * block].
struct PanelSource {
  int block = 8;
  int64_t blocks = 1, block_step = 0, pixel_step = 0;  // pixel_step 0: block
  int last = 0;                                        // 0: block
  int64_t num_taps = 1;
  const int64_t* taps = nullptr;  // null: one, at 0
  const float* from = nullptr;
  const float* weights = nullptr;
  const float* next = nullptr;  // the weights that the next call will read, brought into the second cache; or null
  // The pixels are rows of one map, which all panels read in turn: AVX2 fetches none ahead, since what the CPU fetches
  // by itself suffices (doc/x86.md).
  bool one_map = false;
};

// Where the sums of pixel r go: the panel's first block to to + r * pixel_step, its second block_step further. Before
// that `end`; its bias has 2 * block values. Only `blocks` (1 or 2) blocks are written.
struct PanelResult {
  int blocks = 2;
  int64_t block_step = 0, pixel_step = 0;  // pixel_step 0: block
  float* to = nullptr;
  const float* addend = nullptr;  // lies as `to`; null: nothing is added, whatever end.sum says
  ProductEnd end;
};

// `pixels` of any number: in runs of nearly equal length.
void PanelPixels(int64_t pixels, const PanelSource& source, const PanelResult& result);

// One pixel times `panels` panels, whose weights lie one after another, as do their results: each 2 * block_step and
// its bias 2 * block further. Four streams of weights bring more bytes than one: 40 GB/s from memory in place of 24
// (Zen 3). REQUIRES: one tap and both blocks; `next` is not read.
void PanelPixel(int64_t panels, const PanelSource& source, const PanelResult& result);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_PANEL_H_
