// SPDX-License-Identifier: Apache-2.0
#include "check/core/step_budget.h"

#include <cstdlib>

namespace plumb {
namespace {

double SecondsOf(const char* text) {
  constexpr double kDefault = 30;
  if (text == nullptr || *text == '\0') return kDefault;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  return *end == '\0' && seconds >= 0 ? seconds : kDefault;
}

}  // namespace

StepBudget::StepBudget(size_t layers) : seconds_(SecondsOf(std::getenv("PLUMB_STEP_SECONDS"))) {
  constexpr size_t kLong = 100;
  if (layers < kLong || seconds_ <= 0) return;
  interrupter_.emplace([this] {
    spent_ = spent_ || std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count() > seconds_;
    return spent_;
  });
}

}  // namespace plumb
