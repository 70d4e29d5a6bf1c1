// SPDX-License-Identifier: Apache-2.0
// CPU features and the one cap on them (PLUMB_MAX_CPU_ISA, --max-isa). GCC's and clang's builtins also ask the
// operating system whether it saves the wide registers.
#include "base/cpu.h"

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>

#include "plumb/tool/printing.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace plumb {
namespace {

constexpr Isa kNoCap = Isa::kNeon;  // the greatest value
constexpr const char* kVariable = "PLUMB_MAX_CPU_ISA";

#if defined(__x86_64__) || defined(__i386__)
bool HasF16c() {  // clang 14's builtin does not know the name; AVX2, which is asked too, covers the operating system's
                  // part
  unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & (1u << 29)) != 0;
}

Isa DetectIsa() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("pclmul") || !__builtin_cpu_supports("aes")) {
    return Isa::kGeneric;
  }
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && HasF16c() &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  if (!avx2) return Isa::kSse41;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 ? Isa::kAvx512 : Isa::kAvx2;
}
#elif defined(__aarch64__)
Isa DetectIsa() { return Isa::kNeon; }
#else
Isa DetectIsa() { return Isa::kGeneric; }
#endif

Result<Isa> ParseCap(std::string_view name, const std::string& source) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  if (upper.empty() || upper == "DEFAULT" || upper == "ALL") return kNoCap;
  if (upper == "AVX512_CORE") return Isa::kAvx512;
  for (Isa isa : {Isa::kGeneric, Isa::kSse41, Isa::kAvx2, Isa::kAvx512, Isa::kNeon}) {
    if (upper == IsaName(isa)) return isa;
  }
  return Status::InvalidArgument(
      fmt::format("{} is '{}', expected one of GENERIC, SSE41, AVX2, AVX512, NEON, or DEFAULT for no cap{}", source,
                  name, DidYouMean(name, {"GENERIC", "SSE41", "AVX2", "AVX512", "NEON", "DEFAULT"})));
}

Result<Isa> EnvironmentCap() {
  const char* value = std::getenv(kVariable);
  return ParseCap(value == nullptr ? "" : value, kVariable);
}

std::atomic<Isa>& Cap() {
  static std::atomic<Isa> cap([] {
    Result<Isa> from_environment = EnvironmentCap();
    return from_environment.ok() ? *from_environment : kNoCap;
  }());
  return cap;
}

std::atomic<int>& Generation() {
  static std::atomic<int> generation{1};
  return generation;
}

}  // namespace

const char* IsaName(Isa isa) {
  switch (isa) {
    case Isa::kGeneric: return "GENERIC";
    case Isa::kSse41: return "SSE41";
    case Isa::kAvx2: return "AVX2";
    case Isa::kAvx512: return "AVX512";
    case Isa::kNeon: return "NEON";
  }
  return "unknown";
}

Isa CpuIsa() {
  static const Isa isa = DetectIsa();
  return isa;
}

Isa EffectiveIsa() { return std::min(CpuIsa(), Cap().load(std::memory_order_relaxed)); }

const char* IsaName() { return IsaName(EffectiveIsa()); }

Status SetMaxIsa(std::string_view name) {
  PLUMB_ASSIGN_OR_RETURN(const Isa cap, ParseCap(name, "the ISA cap"));
  Cap().store(cap, std::memory_order_relaxed);
  Generation().fetch_add(1, std::memory_order_release);
  return Status::Ok();
}

Status CheckIsaEnvironment() { return EnvironmentCap().status(); }

bool CpuHasHalfArithmetic() {
#if defined(__aarch64__) && defined(__linux__)
  constexpr unsigned long kHalf = HWCAP_FPHP | HWCAP_ASIMDHP;
  return (getauxval(AT_HWCAP) & kHalf) == kHalf;
#else
  return false;
#endif
}

bool HasByteProducts() {
#if defined(__x86_64__) || defined(__i386__)
  const Isa isa = EffectiveIsa();  // asks for the operating system's part, too
  static const bool in_avx512 = __builtin_cpu_supports("avx512vnni") != 0;
  static const bool in_avx2 = [] {  // which clang 14's builtin does not know
    unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & (1u << 4)) != 0;
  }();
  return isa == Isa::kAvx512 ? in_avx512 : isa == Isa::kAvx2 && in_avx2;
#else
  return false;
#endif
}

int IsaGeneration() { return Generation().load(std::memory_order_acquire); }

int64_t L2CacheBytes() {
  static const int64_t bytes = [] {
    const long found = sysconf(_SC_LEVEL2_CACHE_SIZE);  // 0 or -1 where the system does not know
    return found > 0 ? static_cast<int64_t>(found) : int64_t{512} << 10;
  }();
  return bytes;
}

}  // namespace plumb
