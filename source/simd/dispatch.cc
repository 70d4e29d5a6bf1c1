// SPDX-License-Identifier: Apache-2.0
// Hands base/cpu.h's effective ISA to Highway's dispatcher.
#include "simd/dispatch.h"

#include "simd/targets.h"  // before highway.h

#include "hwy/highway.h"
#include "simd/simd.h"

namespace plumb::simd {
namespace {

int64_t AllowedTargets(Isa isa) {
  switch (isa) {
    case Isa::kAvx512: return HWY_AVX3 | HWY_AVX2 | HWY_SSE4;
    case Isa::kAvx2: return HWY_AVX2 | HWY_SSE4;
    case Isa::kSse41: return HWY_SSE4;
    case Isa::kNeon: return HWY_NEON;
    case Isa::kGeneric: return HWY_STATIC_TARGET;  // the dispatcher's fallback
  }
  return HWY_STATIC_TARGET;
}

}  // namespace

void ApplyIsa() {
  const int generation = IsaGeneration();
#ifndef HWY_COMPILE_ONLY_STATIC
  hwy::GetChosenTarget().Update(AllowedTargets(EffectiveIsa()));
#endif
  applied_isa_generation.store(generation, std::memory_order_release);
}

const char* TargetName() {
  const int64_t allowed = AllowedTargets(EffectiveIsa()) & HWY_TARGETS;
  return hwy::TargetName(allowed == 0 ? HWY_STATIC_TARGET : allowed & -allowed);
}

}  // namespace plumb::simd
