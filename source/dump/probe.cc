// SPDX-License-Identifier: Apache-2.0
#include "plumb/check.h"

#include <fmt/core.h>

#include <cmath>

namespace plumb {

const char* ProbeResultName(ProbeResult result) {
  constexpr const char* kNames[] = {"same bits", "within rounding", "different"};
  return kNames[static_cast<int>(result)];
}

std::string RepeatedRun::Describe() const {
  const std::string text = fmt::format("repeated: with {}{}", how, runs > 1 ? fmt::format(" ({} times)", runs) : "");
  if (changed == 0 && result == ProbeResult::kSameBits) {
    return fmt::format("{} {} tensors have the same bits", text, tensors);
  }
  const bool wrong = result == ProbeResult::kDifferent;
  return fmt::format("{} {} of {} tensors change, {}; the first{}: '{}'{}{}{}", text, changed, tensors,
                     ProbeResultName(result), wrong ? " wrong one" : "", first,
                     first_type.empty() ? "" : fmt::format(" ({})", first_type),
                     std::isfinite(relative) ? fmt::format(", by {:.1e} of its largest value", relative) : "",
                     reason.empty() ? "" : fmt::format(" ({})", reason));
}

std::string Probe::Describe() const {
  size_t same = 0;
  bool other_result = false;
  std::string rest;
  for (const ProbedOutput& output : outputs) {
    if (output.result == ProbeResult::kSameBits) {
      ++same;
      continue;
    }
    const bool rounding = output.result == ProbeResult::kWithinRounding;
    other_result = other_result || !rounding;
    rest += fmt::format("; '{}' {}", output.blob, rounding ? "differs within rounding" : "is another result");
    if (std::isfinite(output.relative)) rest += fmt::format(", by {:.1e} of its largest value", output.relative);
    if (!output.reason.empty()) rest += fmt::format(" ({})", output.reason);
  }
  std::string text = fmt::format("probe: run unwatched{}, {} of {} outputs {} the same bits{}",
                                 unwatched.empty() ? "" : fmt::format(" ({})", unwatched), same, outputs.size(),
                                 same == 1 ? "has" : "have", rest);
  if (other_result) text += "; what is judged here is not what the runtime computes when nobody watches";
  return text;
}

}  // namespace plumb
