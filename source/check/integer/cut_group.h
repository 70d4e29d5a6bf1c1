// SPDX-License-Identifier: Apache-2.0
// CutGroup: the part of a step that makes some of its inner blobs, as a group of its own.
#ifndef PLUMB_CHECK_INTEGER_CUT_GROUP_H_
#define PLUMB_CHECK_INTEGER_CUT_GROUP_H_

#include <map>
#include <string>
#include <vector>

#include "check/numbers/replay.h"

namespace plumb {

struct CutGroup {
  LayerGroup group;            // outputs: those of `wanted` that a member makes, in that order
  std::vector<Tensor> inputs;  // of group.inputs
};

// The members of `group` that the wanted blobs follow from; `known` blobs come from outside, as these tensors.
CutGroup CutTo(const LayerGroup& group, const std::vector<Tensor>& inputs, const std::vector<std::string>& wanted,
               const std::map<std::string, Tensor>& known = {});

// The member that makes the blob, or -1: it comes from outside.
int MakerIn(const LayerGroup& group, const std::string& blob);

// The tensor that comes in as that blob; null: a member makes it.
const Tensor* ReadFromOutside(const LayerGroup& group, const std::vector<Tensor>& inputs, const std::string& blob);

}  // namespace plumb

#endif  // PLUMB_CHECK_INTEGER_CUT_GROUP_H_
