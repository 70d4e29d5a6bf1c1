// SPDX-License-Identifier: Apache-2.0
#include "dump/selection.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "device/grouped_step.h"
#include "dump/filter.h"

namespace plumb {
namespace {

class Selector {
 public:
  Selector(const Network& network, const DumpOptions& options, LayerFilter layers, TypeFilter types)
      : network_(network), options_(options), layers_(std::move(layers)), types_(std::move(types)) {}

  Selection Run() {
    for (const StepInfo* step : network_.steps()) {
      SelectPorts(*step);
      ListInternal(*step);
    }
    for (const Layer& layer : network_.graph().layers) {
      any_ = any_ || Takes(layer.index, layer.name, layer.type);
      if (in_steps_.count(layer.index) == 0) SelectHostLayer(layer);
    }
    result_.filtered_to_nothing = !any_ && !network_.graph().layers.empty();
    return std::move(result_);
  }

 private:
  bool Takes(int index, const std::string& name, const std::string& type) const {
    return layers_.Takes(index, name) && types_.Takes(type);
  }

  bool TakesMember(const StepInfo& step) const {
    return std::any_of(step.members.begin(), step.members.end(),
                       [&](const MemberInfo& member) { return Takes(member.index, member.name, member.type); });
  }

  void SelectPorts(const StepInfo& step) {
    StepSelection selection;
    auto select = [&](const std::vector<PortInfo>& ports, std::vector<size_t>* taken) {
      for (size_t i = 0; i < ports.size(); ++i) {
        const MemberInfo& member = MemberOf(step, ports[i]);
        if (Takes(member.index, member.name, member.type)) taken->push_back(i);
      }
      // A layer inside a fused group has no blob of its own there: the group's stand for it.
      if (taken->empty() && TakesMember(step)) {
        for (size_t i = 0; i < ports.size(); ++i) taken->push_back(i);
      }
    };
    if (options_.inputs) select(step.inputs, &selection.inputs);
    if (options_.outputs) select(step.outputs, &selection.outputs);
    if (!selection.inputs.empty() || !selection.outputs.empty()) result_.steps[&step] = std::move(selection);
    for (const MemberInfo& member : step.members) in_steps_.insert(member.index);
  }

  // Blobs between the members of a fused group live in the kernel only, if at all.
  void ListInternal(const StepInfo& step) {
    if (step.members.size() < 2) return;
    std::set<std::string> border;
    for (const PortInfo& port : step.outputs) border.insert(port.blob);
    std::set<std::string> internal;
    for (const Layer* member : GroupOf(step).members) {
      for (int slot = 0; options_.inputs && slot < static_cast<int>(member->inputs.size()); ++slot) {
        const std::string& blob = member->inputs[static_cast<size_t>(slot)];
        if (internal.count(blob) != 0) AddInternal(step, *member, false, slot, blob);
      }
      for (int slot = 0; slot < static_cast<int>(member->outputs.size()); ++slot) {
        const std::string& blob = member->outputs[static_cast<size_t>(slot)];
        if (border.count(blob) != 0) continue;
        internal.insert(blob);
        if (options_.outputs) AddInternal(step, *member, true, slot, blob);
      }
    }
  }

  void AddInternal(const StepInfo& step, const Layer& layer, bool output, int slot, const std::string& blob) {
    if (!Takes(layer.index, layer.name, layer.type)) return;
    result_.absent.push_back(
        {{layer.index, layer.name, layer.type, output, slot, blob},
         step.index,
         step.name,
         fmt::format("never exists: {} computes the group at once (DUMP_BLOB_UNFUSE=1 separates it)", step.kernel)});
  }

  // A layer that no device runs, because its result follows from the shapes.
  void SelectHostLayer(const Layer& layer) {
    if (!Takes(layer.index, layer.name, layer.type)) return;
    auto add = [&](const std::vector<std::string>& blobs, bool output) {
      for (int slot = 0; slot < static_cast<int>(blobs.size()); ++slot) {
        BlobPlace place{layer.index, layer.name, layer.type, output, slot, blobs[static_cast<size_t>(slot)]};
        const auto it = network_.blobs().find(place.blob);
        if (it != network_.blobs().end() && !it->second.value.empty()) {
          result_.host.push_back(std::move(place));
        } else {
          result_.absent.push_back(
              {std::move(place), -1, "", "not read: the layer's result follows from the shapes alone"});
        }
      }
    };
    if (options_.inputs) add(layer.inputs, false);
    if (options_.outputs) add(layer.outputs, true);
  }

  const Network& network_;
  const DumpOptions& options_;
  LayerFilter layers_;
  TypeFilter types_;
  std::set<int> in_steps_;
  bool any_ = false;
  Selection result_;
};

}  // namespace

Result<Selection> SelectBlobs(const Network& network, const DumpOptions& options) {
  auto layers = LayerFilter::Parse(options.layers);
  if (!layers.ok()) return layers.status().AddContext("layers to dump (DUMP_BLOB_LAYERS)");
  auto types = TypeFilter::Parse(options.types);
  if (!types.ok()) return types.status().AddContext("operator types to dump (DUMP_BLOB_TYPES)");
  return Selector(network, options, std::move(layers).value(), std::move(types).value()).Run();
}

const MemberInfo& MemberOf(const StepInfo& step, const PortInfo& port) {
  for (const MemberInfo& member : step.members) {
    if (member.index == port.layer_index) return member;
  }
  return step.members.back();
}

BlobPlace PlaceOf(const StepInfo& step, const PortInfo& port, bool output) {
  const MemberInfo& member = MemberOf(step, port);
  return {member.index, member.name, member.type, output, port.slot, port.blob};
}

}  // namespace plumb
