// SPDX-License-Identifier: Apache-2.0
// Reshape: the same elements under another shape. Nothing is written where the runtime grants the view.
#include "op/reshape.h"

#include "device/opencl/kernel_list.h"
#include "device/opencl/queue.h"

namespace plumb::opencl {
namespace {

class ViewKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    if (ParamOf<ReshapeParam>(spec.layer()).reshape_type == 0) return Status::Ok();
    return Status::NotSupported("reads its elements in NHWC order (reshape_type 1)");
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    choice->inputs.assign(arriving.size(), nullptr);
    choice->inputs[0] = StoredLayout(spec, spec.inputs[0].dtype);
    choice->outputs = {choice->inputs[0]};
    choice->shares = {{ShareWish::kView, 0, 0, 0}};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    queue_ = &QueueOf(spec.device);
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    return queue_->Copy(inputs[0], outputs[0], outputs[0].bytes());
  }

 private:
  Queue* queue_ = nullptr;
};

}  // namespace

const KernelFunctions kernel_view = {ViewKernel::Supports, MakeKernel<ViewKernel>};

}  // namespace plumb::opencl
