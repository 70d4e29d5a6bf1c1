// SPDX-License-Identifier: Apache-2.0
#include "check/integer/cut_group.h"

#include <algorithm>
#include <set>

namespace plumb {

int MakerIn(const LayerGroup& group, const std::string& blob) {
  for (size_t m = 0; m < group.members.size(); ++m) {
    const auto& outputs = group.members[m]->outputs;
    if (std::find(outputs.begin(), outputs.end(), blob) != outputs.end()) return static_cast<int>(m);
  }
  return -1;
}

const Tensor* ReadFromOutside(const LayerGroup& group, const std::vector<Tensor>& inputs, const std::string& blob) {
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    if (group.inputs[i].blob == blob) return &inputs[i];
  }
  return nullptr;
}

CutGroup CutTo(const LayerGroup& group, const std::vector<Tensor>& inputs, const std::vector<std::string>& wanted,
               const std::map<std::string, Tensor>& known) {
  std::set<int> members;
  std::vector<std::string> open = wanted;
  while (!open.empty()) {
    const int maker = known.count(open.back()) != 0 ? -1 : MakerIn(group, open.back());
    open.pop_back();
    if (maker < 0 || !members.insert(maker).second) continue;
    const auto& read = group.members[static_cast<size_t>(maker)]->inputs;
    open.insert(open.end(), read.begin(), read.end());
  }
  CutGroup cut;
  std::vector<int> place(group.members.size(), -1);
  for (const int member : members) {
    place[static_cast<size_t>(member)] = static_cast<int>(cut.group.members.size());
    cut.group.members.push_back(group.members[static_cast<size_t>(member)]);
  }
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    LayerGroup::Port port = group.inputs[i];
    port.member = place[static_cast<size_t>(port.member)];
    if (port.member < 0) continue;
    cut.group.inputs.push_back(port);
    cut.inputs.push_back(inputs[i]);
  }
  for (size_t m = 0; m < cut.group.members.size(); ++m) {
    const auto& read = cut.group.members[m]->inputs;
    for (size_t slot = 0; slot < read.size(); ++slot) {
      const auto it = known.find(read[slot]);
      if (it == known.end()) continue;
      cut.group.inputs.push_back({static_cast<int>(m), static_cast<int>(slot), read[slot]});
      cut.inputs.push_back(it->second);
    }
  }
  for (const std::string& blob : wanted) {
    const int maker = MakerIn(cut.group, blob);
    if (maker < 0) continue;
    const auto& outputs = cut.group.members[static_cast<size_t>(maker)]->outputs;
    const auto slot = std::find(outputs.begin(), outputs.end(), blob) - outputs.begin();
    cut.group.outputs.push_back({maker, static_cast<int>(slot), blob});
  }
  return cut;
}

}  // namespace plumb
