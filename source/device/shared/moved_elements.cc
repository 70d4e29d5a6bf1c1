// SPDX-License-Identifier: Apache-2.0
#include "device/shared/moved_elements.h"

namespace plumb {

Result<StridedMap> MapOfOutput(const KernelSpec& spec, size_t output) {
  PLUMB_ASSIGN_OR_RETURN(StridedMap map,
                         GetOp(spec.layer().kind).map(spec.layer(), spec.inputs, static_cast<int>(output)));
  map.Simplify();
  return map;
}

Result<bool> MovesWholeBlocks(const KernelSpec& spec, int64_t block) {
  const Shape& in = spec.inputs[0].shape;
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    PLUMB_ASSIGN_OR_RETURN(const StridedMap map, MapOfOutput(spec, i));
    const Shape& out = spec.outputs[i].shape;
    if (!map.Contiguous() || out.rank() != in.rank()) return false;
    if (out == in) continue;
    bool channels = in[0] == 1 && out[0] == 1;
    for (int d = 2; d < in.rank(); ++d) channels = channels && in[d] == out[d];
    const bool whole = map.offset % (in.CountFrom(2) * block) == 0 &&
                       (out[1] % block == 0 || map.offset + out.NumElements() == in.NumElements());
    if (!channels || !whole) return false;
  }
  return true;
}

}  // namespace plumb
