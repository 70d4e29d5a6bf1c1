// SPDX-License-Identifier: Apache-2.0
// Which vector instructions this process may use: what the CPU has, capped by PLUMB_MAX_CPU_ISA or SetMaxIsa.
//
// One cap holds every kernel of the process (our vector kernels and oneDNN), so that a report can name it.
// Threading: SetMaxIsa before kernels run; the rest from any thread.
#ifndef PLUMB_BASE_CPU_H_
#define PLUMB_BASE_CPU_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "plumb/status.h"

namespace plumb {

// Ordered within one architecture: a greater value includes the smaller ones.
enum class Isa { kGeneric, kSse41, kAvx2, kAvx512, kNeon };

// "GENERIC", "SSE41", "AVX2", "AVX512", "NEON": the names that PLUMB_MAX_CPU_ISA and RuntimeOptions::max_isa take.
const char* IsaName(Isa isa);

// The best that this CPU (and operating system) offers, whatever the cap. AVX512 means F, BW, DQ and VL; AVX2 means
// also FMA, F16C and BMI2; SSE41 means SSE4.2 with PCLMUL and AES.
Isa CpuIsa();

// What kernels shall use: the smaller of CpuIsa() and the cap. Until SetMaxIsa is called, the cap is the environment's
// PLUMB_MAX_CPU_ISA (no cap when unset or unreadable: see CheckIsaEnvironment).
Isa EffectiveIsa();
const char* IsaName();  // of EffectiveIsa(), for reports

// Sets the cap by name (any case; AVX512_CORE is read as AVX512); "", "DEFAULT" and "ALL" take it away.
// InvalidArgument for another name, which changes nothing.
Status SetMaxIsa(std::string_view name);

// Not OK when PLUMB_MAX_CPU_ISA holds a name that SetMaxIsa would refuse. A device says so when it is created.
Status CheckIsaEnvironment();

// Whether vectors of f16 are computed with (ARM: FPHP and ASIMDHP, from ARMv8.2 on).
bool CpuHasHalfArithmetic();

// Whether EffectiveIsa() has VNNI here: four products of bytes added in one instruction (AVX512_VNNI for AVX512,
// AVX-VNNI for AVX2).
bool HasByteProducts();

// Grows with every SetMaxIsa, so that a dispatcher notices a new cap by comparing one number.
int IsaGeneration();

// Bytes of one core's second cache, by which kernels choose their blocks; 512 KiB where the system does not say.
int64_t L2CacheBytes();

}  // namespace plumb

#endif  // PLUMB_BASE_CPU_H_
