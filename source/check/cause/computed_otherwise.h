// SPDX-License-Identifier: Apache-2.0
// Alternatives: what the layers of a wrong step may have been computed as in place of what the graph says (another
// epsilon, the tanh form of GELU, another coordinate mode, f16 weights ...). One that explains the step's output within
// its own bound is the cause that the report names; the verdict stays.
#ifndef PLUMB_CHECK_CAUSE_COMPUTED_OTHERWISE_H_
#define PLUMB_CHECK_CAUSE_COMPUTED_OTHERWISE_H_

#include <memory>
#include <string>
#include <vector>

#include "check/numbers/replay.h"

namespace plumb {

// A step that was replayed, and what the device made of it.
struct ReplayedStep {
  const LayerGroup& group;
  const std::vector<Tensor>& inputs;  // as for ReplayValues
  const BlobTable& blobs;
  const std::vector<Tensor>& device;  // outputs
  const ReplayResult& replay;
};

// The step with some members, or all of it, computed otherwise.
struct Alternative {
  std::string computed, says;                  // "computed `computed`; the graph says `says`"
  std::string narrow;                          // Proposal::narrow
  std::string family;                          // of those of one family the first that explains the step is the cause
  std::vector<std::shared_ptr<Layer>> layers;  // the altered members, which `group` points to
  LayerGroup group;
  std::vector<MemberChange> changes;
};

// Those whose values come closer to the device's than the graph's do, and those that differ from it in their bound
// only.
std::vector<Alternative> FindAlternatives(const ReplayedStep& step);
// Those of general_ways.h, for steps that none of these explains.
std::vector<Alternative> FindGeneral(const ReplayedStep& step);
// Only those of the whole step as one function of one variable, or as a rotary embedding.
std::vector<Alternative> FindFunctions(const ReplayedStep& step);
// Only products in fewer bits that are called so (Proposal::narrow), whether or not they come closer.
std::vector<Alternative> FindNarrow(const ReplayedStep& step, const std::string& narrow);

// The step as the alternative computes it, with its bound.
Result<ReplayResult> ReplayAlternative(const Alternative& alternative, const ReplayedStep& step,
                                       const Arithmetic& arithmetic, int level, ReplayExtra extra = {});
std::string DescribeAlternative(const Alternative& alternative);

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_COMPUTED_OTHERWISE_H_
