// SPDX-License-Identifier: Apache-2.0
// Softmax and LogSoftmax, row by row (row_lanes.h): softmax.comp.
#include "op/softmax.h"

#include "device/vulkan/kernel_list.h"
#include "device/vulkan/row_lanes.h"

namespace plumb::vulkan {
namespace {

constexpr int kSoftmaxPasses = 3;  // how often the shader walks its row

Status SupportsSoftmax(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  const Shape& shape = spec.inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<SoftmaxParam>(spec.layer()).axis, shape.rank()));
  return RequireRow(spec, shape[axis], kSoftmaxPasses);
}

Status BuildSoftmax(Builder* b) {
  const Shape& shape = b->inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<SoftmaxParam>(b->layer()).axis, shape.rank()));
  b->launches.push_back(
      RowLaunch(b, "softmax", axis, axis + 1, kSoftmaxPasses, {b->layer().kind == OpKind::kLogSoftmax ? 1u : 0u}));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_softmax = {SupportsSoftmax, BuildSoftmax, PlainInPlace};

}  // namespace plumb::vulkan
