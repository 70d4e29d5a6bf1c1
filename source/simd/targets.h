// SPDX-License-Identifier: Apache-2.0
// The instruction sets that vector kernels are compiled for. Included before any Highway header.
//
// x86: SSE4 (the baseline here: Highway's own baseline for a plain x86-64 build would be scalar code), AVX2 and AVX3
// (AVX-512 F, BW, DQ, VL). ARM: NEON; the kernels keep vectors in structs and arrays, which SVE's sizeless types
// refuse.
#ifndef PLUMB_SIMD_TARGETS_H_
#define PLUMB_SIMD_TARGETS_H_

#if defined(__x86_64__) || defined(__i386__)
#define HWY_BASELINE_TARGETS (HWY_SSE4 | (HWY_BASELINE_AVX2) | (HWY_BASELINE_AVX3))
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SCALAR | HWY_EMU128)
#elif defined(__aarch64__)
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_SCALAR | HWY_EMU128)
#define HWY_COMPILE_ONLY_STATIC  // one target: nothing of Highway is linked
#endif

#endif  // PLUMB_SIMD_TARGETS_H_
