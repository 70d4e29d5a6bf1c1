// SPDX-License-Identifier: Apache-2.0
// Loop rounds: Mesa's software driver (llvmpipe, "lavapipe") ends every loop of an invocation, without a word, once its
// loops together have turned 65,535 times (LP_MAX_TGSI_LOOP_ITERATIONS; nested loops count each turn and each exit). A
// kernel that loops says how often, and what would be cut short is spread over more invocations or launches, or
// refused.
#ifndef PLUMB_DEVICE_VULKAN_LOOP_ROUNDS_H_
#define PLUMB_DEVICE_VULKAN_LOOP_ROUNDS_H_

#include <cstdint>

#include "device/vulkan/kernel_list.h"

namespace plumb::vulkan {

// How often the loops of one invocation may turn, a margin for short ones taken off; INT64_MAX: without a limit.
int64_t MaxLoopRounds(const KernelSpec& spec);
// NotSupported when `rounds` are more than that.
Status RequireLoopRounds(const KernelSpec& spec, int64_t rounds);

// The launch once, or, where an invocation may not walk all of `steps` (in each of `loops` loops), once per part; each
// part gets its first and last step pushed, and adds to what those before it left in the output.
void AddParts(Builder* b, const LaunchSpec& launch, int64_t steps, int64_t loops);

// A loop over `rows` times one over `columns` times one of `inner` rounds.
constexpr int64_t NestedRounds(int64_t rows, int64_t columns, int64_t inner = 0) {
  return (rows + 1) + rows * (columns + 1) + (inner > 0 ? rows * columns * (inner + 1) : 0);
}

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_LOOP_ROUNDS_H_
