// SPDX-License-Identifier: Apache-2.0
// BatchNormCxx, Scale and BiasAdd along any axis, in plain order.
#include "op/affine.h"

#include "device/opencl/kernel_list.h"

namespace plumb::opencl {
namespace {

class AffineKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    return ResolveAffine(spec.layer(), spec.inputs[0].shape).status();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(const AffineShape shape, ResolveAffine(spec.layer(), spec.inputs[0].shape));
    count_ = shape.count;
    inner_ = shape.inner;
    PLUMB_RETURN_IF_ERROR(Expand(spec.device, shape.scale, 1, &scale_));
    PLUMB_RETURN_IF_ERROR(Expand(spec.device, shape.bias, 0, &shift_));
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "affine.cl", "affine"));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t elements = outputs[0].shape.NumElements();
    return launcher_.Run({elements}, outputs[0], inputs[0], scale_, shift_, elements, count_, inner_);
  }

 private:
  Status Expand(Device* device, const Tensor* tensor, float absent, Array* array) const {
    std::vector<float> values(static_cast<size_t>(count_), absent);
    if (tensor != nullptr) {
      PLUMB_ASSIGN_OR_RETURN(const Tensor f32, tensor->ConvertedTo(DType::kF32));
      for (size_t c = 0; c < values.size(); ++c) values[c] = f32.data<float>()[f32.NumElements() == 1 ? 0 : c];
    }
    PLUMB_ASSIGN_OR_RETURN(*array, UploadArray(device, values));
    return Status::Ok();
  }

  int64_t count_ = 1, inner_ = 1;
  Array scale_, shift_;
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_affine = {AffineKernel::Supports, MakeKernel<AffineKernel>};

}  // namespace plumb::opencl
