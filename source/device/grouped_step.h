// SPDX-License-Identifier: Apache-2.0
// The steps that networks and the check of a subject hand to observers: StepInfo, which is public, and its layers,
// which are not.
#ifndef PLUMB_DEVICE_GROUPED_STEP_H_
#define PLUMB_DEVICE_GROUPED_STEP_H_

#include "device/kernel.h"
#include "plumb/observer.h"

namespace plumb {

struct GroupedStep : StepInfo {
  const LayerGroup* group = nullptr;
};

// REQUIRES: the step is what Network::steps or LayerEvent::step returned, or of a scene that is judged; no copy of it,
// which has no layers.
inline const LayerGroup& GroupOf(const StepInfo& step) { return *static_cast<const GroupedStep&>(step).group; }

// A layer as a step's member; `nodes` are the layer's own name where it has none.
MemberInfo MemberOf(const Layer& layer);
// A port of the group, as the graph has it: in which format it is stored is the caller's to say.
PortInfo PortOf(const LayerGroup& group, const LayerGroup::Port& port, const BlobInfo& blob);

}  // namespace plumb

#endif  // PLUMB_DEVICE_GROUPED_STEP_H_
