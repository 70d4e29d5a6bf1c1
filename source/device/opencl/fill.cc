// Blobs that are made from known values (ConstantOfShape, Range), in plain order.
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
    PLUMB_ASSIGN_OR_RETURN(const Tensor made, MakeFill(spec));
    PLUMB_ASSIGN_OR_RETURN(made_, UploadConstant(spec.device, made, outputs[0].layout));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>& outputs) override {
    return queue_->Copy(made_, outputs[0], outputs[0].bytes());
  }

 private:
  Queue* queue_ = nullptr;
  DeviceTensor made_;
};

}  // namespace

const KernelFunctions kernel_fill = {SupportsFill, MakeKernel<FillKernel>};

}  // namespace plumb::opencl
