// SPDX-License-Identifier: Apache-2.0
// Every operator that only moves elements (OpDef::map): Reshape, Permute, slices, Tile, Expand, PixelShuffle ... in
// plain order. What is a contiguous piece of the input, at an offset that a descriptor may have, becomes a view:
// nothing is written where the runtime grants it.
#include "op/core/strided.h"

#include "device/vulkan/channel4_layout.h"
#include "device/vulkan/copy.h"
#include "device/vulkan/memory.h"

namespace plumb::vulkan {
namespace {

Result<StridedMap> MapOfOutput(const KernelSpec& spec, size_t output) {
  PLUMB_ASSIGN_OR_RETURN(StridedMap map,
                         GetOp(spec.layer().kind).map(spec.layer(), spec.inputs, static_cast<int>(output)));
  map.Simplify();
  return map;
}

size_t OffsetOf(const KernelSpec& spec, const StridedMap& map) {
  return static_cast<size_t>(map.offset) * DTypeSize(spec.inputs[0].dtype);
}

bool MayBeView(const KernelSpec& spec, const StridedMap& map) {
  return map.Contiguous() && OffsetOf(spec, map) % kBufferAlign == 0;
}

Status SupportsStrided(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    PLUMB_ASSIGN_OR_RETURN(const StridedMap map, MapOfOutput(spec, i));
    if (map.dims.size() > kCopyRank) return Status::NotSupported("walks more than 9 dims");
    if (!MayBeView(spec, map)) PLUMB_RETURN_IF_ERROR(RequireDType(spec, spec.inputs[0].dtype));
  }
  return Status::Ok();
}

Status LayoutsStrided(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) {
  choice->inputs.assign(arriving.size(), nullptr);
  if (!SameBytes(spec.inputs[0].shape, arriving[0])) choice->inputs[0] = PlainLayout();
  choice->outputs.assign(spec.outputs.size(), PlainLayout());
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    PLUMB_ASSIGN_OR_RETURN(const StridedMap map, MapOfOutput(spec, i));
    if (MayBeView(spec, map)) choice->shares.push_back({ShareWish::kView, static_cast<int>(i), 0, OffsetOf(spec, map)});
  }
  return Status::Ok();
}

Status BuildStrided(Builder* b) {
  for (size_t i = 0; i < b->outputs.size(); ++i) {
    PLUMB_ASSIGN_OR_RETURN(const StridedMap map, MapOfOutput(b->spec, i));
    if (b->outputs[i].shape.NumElements() == 0) continue;
    if (MayBeView(b->spec, map) && SameMemory(b->inputs[0], b->outputs[i], OffsetOf(b->spec, map))) continue;
    const Walk walk{map.dims, {map.strides, DenseStrides(Shape(map.dims))}};
    b->launches.push_back(
        CopySpec(b->inputs[0].dtype, Argument::Output(static_cast<int>(i)), Argument::Input(0), walk, map.offset, 0));
  }
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_strided = {SupportsStrided, BuildStrided, LayoutsStrided};

}  // namespace plumb::vulkan
