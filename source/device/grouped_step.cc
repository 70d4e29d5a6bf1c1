// SPDX-License-Identifier: Apache-2.0
#include "device/grouped_step.h"

namespace plumb {

MemberInfo MemberOf(const Layer& layer) {
  return {layer.index, layer.name, layer.type, layer.nodes.empty() ? std::vector<std::string>{layer.name} : layer.nodes,
          layer.source_line};
}

PortInfo PortOf(const LayerGroup& group, const LayerGroup::Port& port, const BlobInfo& blob) {
  const Layer& layer = *group.members[static_cast<size_t>(port.member)];
  PortInfo info;
  info.layer_index = layer.index;
  info.layer_name = layer.name;
  info.slot = port.slot;
  info.blob = port.blob;
  info.dtype = blob.dtype;
  info.shape = blob.shape;
  info.constant = !blob.value.empty();
  return info;
}

}  // namespace plumb
