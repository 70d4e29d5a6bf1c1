// SPDX-License-Identifier: Apache-2.0
// Vector kernels that the X86 and ARM devices share: pure functions on raw pointers, one file per operator family.
//
// Every function works on the range it is given, on the calling thread; callers split work with base/threads.h. None
// allocates, fails or prints; sizes and pointers are the caller's duty. Which instructions run is decided by
// base/cpu.h's EffectiveIsa(). Accuracy: each family's error against float64 stays below a quarter of the tolerance
// that model_check uses for the operator, special values included (tests in test/simd).
#ifndef PLUMB_SIMD_SIMD_H_
#define PLUMB_SIMD_SIMD_H_

namespace plumb::simd {

// The compiled version that runs now: "SSE4", "AVX2", "AVX3", "NEON", ...
const char* TargetName();

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_SIMD_H_
