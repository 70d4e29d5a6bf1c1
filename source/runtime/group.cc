// SPDX-License-Identifier: Apache-2.0
// GroupLayers: which layers one kernel computes together (device pass; indices never change).
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "runtime/plan.h"

namespace plumb {
namespace {

struct Readers {
  std::map<std::string, std::vector<const Layer*>> by_blob;
  std::set<std::string> kept;  // network outputs
};

Readers FindReaders(const Graph& graph) {
  Readers readers;
  for (const Layer& layer : graph.layers) {
    for (const std::string& blob : layer.inputs) readers.by_blob[blob].push_back(&layer);
  }
  readers.kept.insert(graph.outputs.begin(), graph.outputs.end());
  return readers;
}

void AddPorts(LayerGroup* group) {
  group->inputs.clear();
  group->outputs.clear();
  std::set<std::string> internal;
  for (int m = 0; m < static_cast<int>(group->members.size()); ++m) {
    const Layer& layer = *group->members[static_cast<size_t>(m)];
    for (int slot = 0; slot < static_cast<int>(layer.inputs.size()); ++slot) {
      const std::string& blob = layer.inputs[static_cast<size_t>(slot)];
      if (internal.count(blob) == 0) group->inputs.push_back({m, slot, blob});
    }
    internal.insert(layer.outputs.begin(), layer.outputs.end());
  }
  const Layer& last = group->last();
  for (int slot = 0; slot < static_cast<int>(last.outputs.size()); ++slot) {
    group->outputs.push_back(
        {static_cast<int>(group->members.size()) - 1, slot, last.outputs[static_cast<size_t>(slot)]});
  }
}

// The only reader of the layer's only output, or null.
const Layer* NextLayer(const Layer& layer, const Readers& readers) {
  if (layer.outputs.size() != 1) return nullptr;
  const std::string& blob = layer.outputs[0];
  const auto it = readers.by_blob.find(blob);
  if (readers.kept.count(blob) != 0 || it == readers.by_blob.end() || it->second.size() != 1) return nullptr;
  return it->second[0];
}

// The layer and those behind it, each the only reader of the one before: as many as a device is shown at once.
std::vector<const Layer*> ChainFrom(const Layer& layer, const Readers& readers) {
  constexpr size_t kShown = 8;
  std::vector<const Layer*> chain;
  for (const Layer* next = &layer; next != nullptr && chain.size() < kShown; next = NextLayer(*next, readers))
    chain.push_back(next);
  return chain;
}

// Takes the layers that a device finds by looking ahead, before groups that grow layer by layer may take one of them.
std::map<int, LayerGroup> GroupChains(const Graph& graph, const BlobTable& blobs, const Device& device,
                                      const Readers& readers, std::set<const Layer*>* taken) {
  std::map<int, LayerGroup> by_last;
  for (const Layer& layer : graph.layers) {
    const std::vector<const Layer*> chain = ChainFrom(layer, readers);
    const auto end = chain.begin() + static_cast<ptrdiff_t>(device.FusesAhead(chain, blobs));
    if (std::any_of(chain.begin(), end, [&](const Layer* member) { return taken->count(member) != 0; })) continue;
    if (end - chain.begin() < 2) continue;
    LayerGroup group = GroupOfLayers({chain.begin(), end});
    taken->insert(chain.begin(), end);
    const int last = group.last().index;
    by_last.emplace(last, std::move(group));
  }
  return by_last;
}

}  // namespace

LayerGroup GroupOfLayers(std::vector<const Layer*> members) {
  LayerGroup group;
  group.members = std::move(members);
  AddPorts(&group);
  return group;
}

LayerGroup SingleGroup(const Layer& layer) { return GroupOfLayers({&layer}); }

std::vector<LayerGroup> GroupLayers(const Graph& graph, const BlobTable& blobs, const Device& device, bool fuse) {
  const Readers readers = FindReaders(graph);
  std::set<const Layer*> taken;
  std::map<int, LayerGroup> by_last;  // executes where its last member stands
  if (fuse) by_last = GroupChains(graph, blobs, device, readers, &taken);
  for (const Layer& layer : graph.layers) {
    if (!taken.insert(&layer).second) continue;
    LayerGroup group = SingleGroup(layer);
    while (fuse) {
      const Layer* next = NextLayer(group.last(), readers);
      if (next == nullptr || taken.count(next) != 0 || !device.Fuses(group, *next, blobs)) break;
      taken.insert(next);
      group.members.push_back(next);
      AddPorts(&group);
    }
    const int last = group.last().index;
    by_last.emplace(last, std::move(group));
  }
  std::vector<LayerGroup> groups;
  for (auto& entry : by_last) groups.push_back(std::move(entry.second));
  return groups;
}

}  // namespace plumb
