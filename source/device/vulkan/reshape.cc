// SPDX-License-Identifier: Apache-2.0
// Reshape: the same elements under another shape, in plain order. Nothing is written where the runtime grants the view.
#include "op/reshape.h"
#include "device/vulkan/channel4_layout.h"
#include "device/vulkan/copy.h"

namespace plumb::vulkan {
namespace {

Status SupportsView(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  if (ParamOf<ReshapeParam>(spec.layer()).reshape_type != 0) {
    return Status::NotSupported("reads its elements in NHWC order (reshape_type 1)");
  }
  return RequireDType(spec, spec.inputs[0].dtype);
}

Status LayoutsView(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) {
  choice->inputs.assign(arriving.size(), nullptr);
  if (!SameBytes(spec.inputs[0].shape, arriving[0])) choice->inputs[0] = PlainLayout();
  choice->outputs = {PlainLayout()};
  choice->shares = {{ShareWish::kView, 0, 0, 0}};
  return Status::Ok();
}

Status BuildView(Builder* b) {
  if (SameMemory(b->inputs[0], b->outputs[0])) return Status::Ok();
  const DeviceTensor& out = b->outputs[0];
  b->launches.push_back(CopyAllSpec(out.dtype, Argument::Output(0), Argument::Input(0), out.shape.NumElements()));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_view = {SupportsView, BuildView, LayoutsView};

}  // namespace plumb::vulkan
