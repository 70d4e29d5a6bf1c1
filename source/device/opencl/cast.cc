// SPDX-License-Identifier: Apache-2.0
// Cast, PlumbCast between all dtypes, in plain order.
#include "op/cast.h"

#include "device/opencl/kernel_list.h"
#include "device/opencl/queue.h"

namespace plumb::opencl {
namespace {

class CastKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(CastTarget(spec.layer()).status());
    if (spec.inputs[0].dtype == spec.outputs[0].dtype) return Status::Ok();
    PLUMB_RETURN_IF_ERROR(RequireF64(spec.device, spec.inputs[0].dtype));
    return RequireF64(spec.device, spec.outputs[0].dtype);
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_RETURN_IF_ERROR(ClKernel::ChooseLayouts(spec, arriving, choice));
    copies_ = spec.inputs[0].dtype == spec.outputs[0].dtype;
    if (copies_) choice->shares.push_back({ShareWish::kView, 0, 0, 0});
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    queue_ = &QueueOf(spec.device);
    if (copies_) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "cast.cl", "cast_any"));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    if (copies_) return queue_->Copy(inputs[0], outputs[0], outputs[0].bytes());
    const int64_t count = outputs[0].shape.NumElements();
    return launcher_.Run({count}, outputs[0], inputs[0], count, static_cast<int>(outputs[0].dtype),
                         static_cast<int>(inputs[0].dtype));
  }

 private:
  bool copies_ = false;
  Queue* queue_ = nullptr;
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_cast = {CastKernel::Supports, MakeKernel<CastKernel>};

}  // namespace plumb::opencl
