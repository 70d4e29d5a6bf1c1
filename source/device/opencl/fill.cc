// SPDX-License-Identifier: Apache-2.0
// Values that are known before the network runs (device/shared/fill.h), in plain order.
#include "device/shared/fill.h"
#include "device/opencl/constant.h"
#include "device/opencl/kernel_list.h"
#include "device/opencl/queue.h"

namespace plumb::opencl {
namespace {

// Made once, when the kernel is prepared, and copied at each Forward.
class FillKernel : public ClKernel {
 public:
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&,
                 const std::vector<DeviceTensor>& outputs) override {
    queue_ = &QueueOf(spec.device);
    PLUMB_ASSIGN_OR_RETURN(const std::vector<Tensor> made, MakeFill(spec));
    for (size_t i = 0; i < made.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(made_.emplace_back(), UploadConstant(spec.device, made[i], outputs[i].layout));
    }
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>& outputs) override {
    for (size_t i = 0; i < made_.size(); ++i) {
      PLUMB_RETURN_IF_ERROR(queue_->Copy(made_[i], outputs[i], outputs[i].bytes()));
    }
    return Status::Ok();
  }

 private:
  Queue* queue_ = nullptr;
  std::vector<DeviceTensor> made_;
};

}  // namespace

const KernelFunctions kernel_fill = {SupportsFill, MakeKernel<FillKernel>};

}  // namespace plumb::opencl
