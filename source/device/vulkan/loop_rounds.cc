// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/loop_rounds.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace plumb::vulkan {

int64_t MaxLoopRounds(const KernelSpec& spec) {
  constexpr int64_t kMargin = 1000;  // trees over lanes, dims of an index, a round's own short loops
  const int64_t limit = AdapterOf(spec).max_loop_rounds;
  return limit == 0 ? std::numeric_limits<int64_t>::max() : limit - kMargin;
}

Status RequireLoopRounds(const KernelSpec& spec, int64_t rounds) {
  if (rounds <= MaxLoopRounds(spec)) return Status::Ok();
  return Status::NotSupported(
      fmt::format("would loop {} rounds in one invocation, and adapter '{}' ends loops after {}", rounds,
                  AdapterOf(spec).name, AdapterOf(spec).max_loop_rounds));
}

void AddParts(Builder* b, const LaunchSpec& launch, int64_t steps, int64_t loops) {
  constexpr int64_t kTurnAndExit = 2;  // that each loop costs beside its steps
  const int64_t most = std::max<int64_t>(1, MaxLoopRounds(b->spec) / std::max<int64_t>(1, loops) - kTurnAndExit);
  int64_t first = 0;
  do {
    const int64_t last = steps - first > most ? first + most : steps;
    b->launches.push_back(launch);
    b->launches.back().push.Int(first).Int(last);
    first = last;
  } while (first < steps);
}

}  // namespace plumb::vulkan
