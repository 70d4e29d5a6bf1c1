#include "device/vulkan/loop_rounds.h"

#include <limits>

#include "device/vulkan/kernel_list.h"

namespace plumb::vulkan {

int64_t MaxLoopRounds(const KernelSpec& spec) {
  constexpr int64_t kMargin = 1000;  // trees over lanes, dims of an index, a round's own short loops
  const int64_t limit = AdapterOf(spec).max_loop_rounds;
  return limit == 0 ? std::numeric_limits<int64_t>::max() : limit - kMargin;
}

Status RequireLoopRounds(const KernelSpec& spec, int64_t rounds) {
  if (rounds <= MaxLoopRounds(spec)) return Status::Ok();
  return Status::NotSupported("would loop " + std::to_string(rounds) + " rounds in one invocation, and adapter '" +
                              AdapterOf(spec).name + "' ends loops after " +
                              std::to_string(AdapterOf(spec).max_loop_rounds));
}

}  // namespace plumb::vulkan
