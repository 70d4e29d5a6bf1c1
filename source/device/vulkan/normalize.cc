// SPDX-License-Identifier: Apache-2.0
// Normalize, row by row (row_lanes.h): normalize.comp.
#include <climits>

#include "device/vulkan/kernel_list.h"
#include "device/vulkan/row_lanes.h"
#include "op/normalize.h"

namespace plumb::vulkan {
namespace {

constexpr int kNormalizePasses = 2;  // how often the shader walks its row

int NormalizeEnd(const NormalizeParam& p, const Shape& shape, int axis) {
  return p.across_spatial != 0 ? shape.rank() : axis + 1;
}

Status SupportsNormalize(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  const auto& p = ParamOf<NormalizeParam>(spec.layer());
  const Shape& shape = spec.inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, shape.rank()));
  return RequireRow(spec, shape.Count(axis, NormalizeEnd(p, shape, axis)), kNormalizePasses);
}

Status BuildNormalize(Builder* b) {
  const auto& p = ParamOf<NormalizeParam>(b->layer());
  const Shape& shape = b->inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, shape.rank()));
  const uint32_t norm = p.p == 1 ? 1 : p.p == 2 ? 2 : p.p == INT_MAX ? 3 : 4;
  b->launches.push_back(RowLaunch(b, "normalize", axis, NormalizeEnd(p, shape, axis), kNormalizePasses, {norm}));
  b->launches.back().push.Float(p.epsilon);
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_normalize = {SupportsNormalize, BuildNormalize, PlainInPlace};

}  // namespace plumb::vulkan
