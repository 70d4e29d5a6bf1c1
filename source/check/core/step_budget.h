// SPDX-License-Identifier: Apache-2.0
// Time for one step of hundreds of layers: following errors through it, or looking for what it computes instead, may
// take a hundred times what running it takes.
#ifndef PLUMB_CHECK_CORE_STEP_BUDGET_H_
#define PLUMB_CHECK_CORE_STEP_BUDGET_H_

#include <chrono>
#include <optional>

#include "plumb/tool/interrupt.h"

namespace plumb {

// Holds for this thread until it ends: replays fail once the time is over. Steps of fewer than 100 layers have no
// limit; PLUMB_STEP_SECONDS is another one than 30, 0 none.
class StepBudget {
 public:
  explicit StepBudget(size_t layers);
  StepBudget(const StepBudget&) = delete;
  StepBudget& operator=(const StepBudget&) = delete;
  bool spent() const { return spent_; }
  double seconds() const { return seconds_; }

 private:
  double seconds_;
  bool spent_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::optional<Interrupter> interrupter_;
};

}  // namespace plumb

#endif  // PLUMB_CHECK_CORE_STEP_BUDGET_H_
