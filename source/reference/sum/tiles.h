// SPDX-License-Identifier: Apache-2.0
// The general way of summing: tiles of output pixels gathered into [terms][kTile] doubles, six output channels at a
// time.
#ifndef PLUMB_REFERENCE_SUM_TILES_H_
#define PLUMB_REFERENCE_SUM_TILES_H_

#include "base/threads.h"
#include "reference/sum/store.h"

namespace plumb::reference {

// Any geometry, any pass.
void SumByTiles(const SumKernels& kernels, const SumPass& pass);

// Shares `groups` times `outs` output channels of `tiles` tiles out to all threads: calls run(group, first output
// channel, last, first tile, last), at tiles or at output channels, whichever leaves less to the thread that has most.
void ForEachPart(int64_t groups, int64_t tiles, int64_t outs,
                 FunctionRef<void(int64_t, int64_t, int64_t, int64_t, int64_t)> run);

// One input channel per group (depthwise): each run of pixels is summed straight from a padded copy of its channel.
// REQUIRES: in_channels == groups, sink kValues or kVariance.
void SumDepthwise(const SumKernels& kernels, const SumPass& pass);

// One output pixel whose window is the whole input (InnerProduct): dot products along the weights, each read once.
// REQUIRES: IsDense(pass).
bool IsDense(const SumPass& pass);
void SumDense(const SumKernels& kernels, const SumPass& pass);

}  // namespace plumb::reference

#endif  // PLUMB_REFERENCE_SUM_TILES_H_
