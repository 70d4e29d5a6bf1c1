// SPDX-License-Identifier: Apache-2.0
// What devices need to know of an operator that only moves elements (OpDef::map).
#ifndef PLUMB_DEVICE_SHARED_MOVED_ELEMENTS_H_
#define PLUMB_DEVICE_SHARED_MOVED_ELEMENTS_H_

#include "device/kernel.h"
#include "op/core/strided.h"

namespace plumb {

// Where output `output` finds its elements, simplified.
Result<StridedMap> MapOfOutput(const KernelSpec& spec, size_t output);

// Whether every output is a contiguous range of whole blocks of `block` channels of one image, or the whole blob: such
// a range lies at the same offset in blocks as in plain order. REQUIRES: the input has channels (rank 2 or more).
Result<bool> MovesWholeBlocks(const KernelSpec& spec, int64_t block);

}  // namespace plumb

#endif  // PLUMB_DEVICE_SHARED_MOVED_ELEMENTS_H_
