// SPDX-License-Identifier: Apache-2.0
#include "check/judge/relative_class.h"

#include <algorithm>
#include <cstdio>

#include "reference/core/variants.h"

namespace plumb {

const ReferenceOp* RelativeClasses::Of(const LayerGroup& group) {
  return group.members.size() == 1 ? RelativeClass(group.first().kind) : nullptr;
}

void RelativeClasses::Note(size_t position, OpKind kind, const OutputReport& judged, const OutputReport& relative) {
  constexpr double kTelling = 0.25;
  const bool telling = relative.smallest_fault < kTelling * judged.smallest_fault;
  entries_.push_back(
      {position, kind, telling, relative.verdict == Verdict::kAligned, relative.excess, relative.smallest_fault});
}

void RelativeClasses::Apply(RunReport* report) const {
  for (const Entry& entry : entries_) {
    int telling = 0, keeps = 0;
    for (const Entry& other : entries_) {
      const bool counts = other.kind == entry.kind && other.telling && other.position != entry.position;
      telling += counts;
      keeps += counts && other.keeps;
    }
    if (keeps < 2 || 2 * keeps <= telling) continue;
    LayerReport& layer = report->layers[entry.position];
    OutputReport& output = layer.outputs[0];
    output.smallest_fault = std::min(output.smallest_fault, entry.smallest_fault);
    if (entry.keeps || layer.verdict != Verdict::kAligned) continue;
    char text[160];
    std::snprintf(text, sizeof(text), "E %.3g by the relative bound, which %d other %s layers of this run keep",
                  entry.excess, keeps, layer.step.type.c_str());
    layer.verdict = output.verdict = Verdict::kGrey;
    layer.reason = output.reason = text;
  }
}

}  // namespace plumb
