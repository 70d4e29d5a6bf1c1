// SPDX-License-Identifier: Apache-2.0
// What Highway's headers ask of its library on x86, where a call chooses among several instruction sets: answered by
// base/cpu.h, which knows the CPU and the cap. The library itself (libhwy) is not linked: it measures the CPU's timer
// while it is loaded, some milliseconds of every start.
#include "base/highway.h"

#include "base/cpu.h"
#include "hwy/targets.h"
#include "plumb/tool/terminal.h"

#if HWY_ARCH_X86
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace hwy {
namespace {

ChosenTarget chosen_target;

}  // namespace

ChosenTarget& GetChosenTarget() { return chosen_target; }

// A mask of HWY_ bits; never 0: one compiled version there always is.
int64_t SupportedTargets() {
  switch (plumb::EffectiveIsa()) {
    case plumb::Isa::kAvx512: return HWY_AVX3 | HWY_AVX2 | HWY_SSE4 | HWY_SSSE3;
    case plumb::Isa::kAvx2: return HWY_AVX2 | HWY_SSE4 | HWY_SSSE3;
    case plumb::Isa::kSse41: return HWY_SSE4 | HWY_SSSE3;
    case plumb::Isa::kNeon:
    case plumb::Isa::kGeneric: break;
  }
  return HWY_STATIC_TARGET;
}

// Where one of Highway's own assertions fails (builds with sanitizers).
HWY_NORETURN void Abort(const char* file, int line, const char* format, ...) {
  char text[500];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  plumb::WriteTerminal(plumb::Terminal::kError, file + (":" + std::to_string(line)) + ": " + text + "\n");
  std::abort();
}

}  // namespace hwy

void plumb::ChooseHighwayTargetAgain() { hwy::chosen_target.DeInit(); }
#else
void plumb::ChooseHighwayTargetAgain() {}
#endif
