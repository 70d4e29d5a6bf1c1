// SPDX-License-Identifier: Apache-2.0
// Concat: one copy per input, none for inputs that are computed in their place. In NC4HW4 where channels of whole quads
// are joined, else in plain order.
#include "op/concat.h"

#include <algorithm>

#include "device/vulkan/channel4_layout.h"
#include "device/vulkan/copy.h"
#include "device/vulkan/memory.h"

namespace plumb::vulkan {
namespace {

// The element of the output at which each input begins, and how many elements one step of the outer dims has.
struct Parts {
  int64_t outer = 1, row = 1;
  std::vector<int64_t> offsets, lengths;
};

Result<Parts> PartsOf(const KernelSpec& spec, bool channel4 = false) {
  const Shape& out = spec.outputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<ConcatParam>(spec.layer()).axis, out.rank()));
  Parts parts;
  parts.outer = out.Count(0, axis);
  int64_t offset = 0;
  for (const BlobInfo& in : spec.inputs) {
    parts.offsets.push_back(offset);
    parts.lengths.push_back(channel4 ? MapOf(in.shape).quads() * MapOf(in.shape).pixels * 4 : in.shape.CountFrom(axis));
    offset += parts.lengths.back();
  }
  parts.row = offset;
  return parts;
}

Status SupportsConcat(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireDType(spec, spec.outputs[0].dtype));
  return PartsOf(spec).status();
}

// All but the last input end with a whole quad, and some input arrives in NC4HW4.
Result<bool> StaysChannel4Concat(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving) {
  const int rank = spec.outputs[0].shape.rank();
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<ConcatParam>(spec.layer()).axis, rank));
  bool stays = axis == 1 && rank >= 3 && std::any_of(arriving.begin(), arriving.end(), IsChannel4);
  for (size_t i = 0; i + 1 < spec.inputs.size(); ++i) stays = stays && spec.inputs[i].shape[1] % 4 == 0;
  return stays;
}

Status LayoutsConcat(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) {
  PLUMB_ASSIGN_OR_RETURN(const bool channel4, StaysChannel4Concat(spec, arriving));
  choice->inputs.assign(arriving.size(), channel4 ? Channel4Layout(spec) : PlainLayout());
  choice->outputs = {choice->inputs[0]};
  PLUMB_ASSIGN_OR_RETURN(const Parts parts, PartsOf(spec, channel4));
  for (size_t i = 0; i < parts.offsets.size() && parts.outer == 1; ++i) {
    const size_t offset =
        static_cast<size_t>(parts.offsets[i]) * (IsHalf(choice->outputs[0]) ? 2 : DTypeSize(spec.outputs[0].dtype));
    if (offset % kBufferAlign == 0) choice->shares.push_back({ShareWish::kPart, 0, static_cast<int>(i), offset});
  }
  return Status::Ok();
}

Status BuildConcat(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const Parts parts, PartsOf(b->spec, IsChannel4(b->outputs[0].layout)));
  const DType dtype = IsHalf(b->outputs[0].layout) ? DType::kF16 : b->outputs[0].dtype;  // only its size counts
  for (size_t i = 0; i < b->inputs.size(); ++i) {
    const size_t offset = static_cast<size_t>(parts.offsets[i]) * DTypeSize(dtype);
    if (parts.lengths[i] == 0 || (parts.outer == 1 && SameMemory(b->outputs[0], b->inputs[i], offset))) continue;
    const Walk walk{{parts.outer, parts.lengths[i]}, {{parts.lengths[i], 1}, {parts.row, 1}}};
    b->launches.push_back(
        CopySpec(dtype, Argument::Output(0), Argument::Input(static_cast<int>(i)), walk, 0, parts.offsets[i]));
  }
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_concat = {SupportsConcat, BuildConcat, LayoutsConcat};

}  // namespace plumb::vulkan
