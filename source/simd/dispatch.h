// SPDX-License-Identifier: Apache-2.0
// How a kernel file calls the best of its compiled versions under the process's ISA cap (base/cpu.h).
// PLUMB_SIMD_CALL(Function)(arguments) replaces HWY_DYNAMIC_DISPATCH(Function)(arguments).
#ifndef PLUMB_SIMD_DISPATCH_H_
#define PLUMB_SIMD_DISPATCH_H_

#include <atomic>

#include "base/cpu.h"

namespace plumb::simd {

// Tells Highway which targets base/cpu.h allows now, and remembers the cap's generation.
void ApplyIsa();

inline std::atomic<int> applied_isa_generation{0};

inline void SyncIsa() {
  if (applied_isa_generation.load(std::memory_order_acquire) != IsaGeneration()) ApplyIsa();
}

}  // namespace plumb::simd

#define PLUMB_SIMD_CALL(function) (::plumb::simd::SyncIsa(), HWY_DYNAMIC_DISPATCH(function))

#endif  // PLUMB_SIMD_DISPATCH_H_
