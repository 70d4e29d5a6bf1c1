// SPDX-License-Identifier: Apache-2.0
#include "check/integer/fused_part.h"

#include <algorithm>
#include <map>

namespace plumb {
namespace {

// What each DequantizeLinear behind an inner QuantizeLinear gives, and what this one reads.
std::map<std::string, std::string> RoundedInside(const LayerGroup& group, const std::string& blob) {
  std::map<std::string, std::string> rounded;
  for (const Layer* member : group.members) {
    const int maker = member->kind == OpKind::kPlumbDequantizeLinear ? MakerIn(group, member->inputs[0]) : -1;
    if (maker < 0) continue;
    const Layer& quantize = *group.members[static_cast<size_t>(maker)];
    const bool inner = quantize.kind == OpKind::kPlumbQuantizeLinear && quantize.outputs[0] != blob;
    // What comes from outside is quantised, not rounded between two layers.
    if (inner && MakerIn(group, quantize.inputs[0]) >= 0) rounded[member->outputs[0]] = quantize.inputs[0];
  }
  return rounded;
}

}  // namespace

std::optional<FusedPart> FusedPartOf(const LayerGroup& group, const std::vector<Tensor>& inputs,
                                     const std::string& blob) {
  const CutGroup whole = CutTo(group, inputs, {blob});
  const std::map<std::string, std::string> rounded = RoundedInside(whole.group, blob);
  if (rounded.empty() || whole.group.outputs.size() != 1) return std::nullopt;
  FusedPart fused;
  std::vector<int> place(whole.group.members.size(), -1);
  for (size_t m = 0; m < whole.group.members.size(); ++m) {
    const Layer& member = *whole.group.members[m];
    const bool inner = member.kind == OpKind::kPlumbQuantizeLinear && member.outputs[0] != blob &&
                       MakerIn(whole.group, member.inputs[0]) >= 0;
    if (inner || rounded.count(member.outputs[0]) != 0) continue;
    auto layer = std::make_shared<Layer>(member);
    for (std::string& input : layer->inputs) {
      for (auto it = rounded.find(input); it != rounded.end(); it = rounded.find(input)) input = it->second;
      const int maker = MakerIn(whole.group, input);
      if (maker >= 0 && place[static_cast<size_t>(maker)] < 0) return std::nullopt;  // it reads the integers
    }
    place[m] = static_cast<int>(fused.layers.size());
    fused.part.group.members.push_back(layer.get());
    fused.layers.push_back(std::move(layer));
  }
  for (size_t i = 0; i < whole.group.inputs.size(); ++i) {
    LayerGroup::Port port = whole.group.inputs[i];
    port.member = place[static_cast<size_t>(port.member)];
    if (port.member < 0) continue;
    fused.part.group.inputs.push_back(port);
    fused.part.inputs.push_back(whole.inputs[i]);
  }
  LayerGroup::Port output = whole.group.outputs[0];
  output.member = place[static_cast<size_t>(output.member)];
  fused.part.group.outputs = {output};
  return fused;
}

}  // namespace plumb
