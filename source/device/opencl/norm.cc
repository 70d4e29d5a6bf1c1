// SPDX-License-Identifier: Apache-2.0
// InstBatchNormCxx, GroupNorm and LayerNorm in plain order: rows normalised by their mean and variance.
#include "op/norm.h"

#include "device/opencl/constant.h"
#include "device/opencl/kernel_list.h"
#include "device/opencl/row_items.h"

namespace plumb::opencl {
namespace {

// gamma and beta are f32, whatever the blobs' storage.
class NormKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    return ResolveNorm(spec.layer(), spec.inputs[0].shape).status();
  }
  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    choice->inputs.assign(arriving.size(), PlainLayout());
    choice->inputs[0] = StoredLayout(spec, DType::kF32);
    choice->outputs = {choice->inputs[0]};
    return Status::Ok();
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(shape_, ResolveNorm(spec.layer(), spec.inputs[0].shape));
    gamma_ = beta_ = NoTensor(spec.device);
    items_ = RowItems(spec.device, shape_.rows, shape_.n, true);
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "norm.cl", RowKernelName("norm_rows", items_)));
    has_ = (spec.inputs.size() > 1 ? 1 : 0) + (spec.inputs.size() > 2 ? 2 : 0);
    if (spec.layer().kind != OpKind::kInstBatchNormCxx) return Status::Ok();
    PLUMB_RETURN_IF_ERROR(Take(spec, "scale", 1, &gamma_));
    return Take(spec, "bias", 2, &beta_);
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const DeviceTensor& gamma = inputs.size() > 1 ? inputs[1] : gamma_;
    const DeviceTensor& beta = inputs.size() > 2 ? inputs[2] : beta_;
    return launcher_.Run({shape_.rows * items_}, outputs[0], inputs[0], gamma, beta, shape_.rows, shape_.n,
                         shape_.groups, shape_.per_row, shape_.inner, static_cast<float>(shape_.eps), has_);
  }

 private:
  Status Take(const KernelSpec& spec, const char* slot, int flag, DeviceTensor* tensor) {
    const Tensor* resource = spec.layer().Resource(slot);
    if (resource == nullptr) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(const Tensor f32, resource->ConvertedTo(DType::kF32));
    PLUMB_ASSIGN_OR_RETURN(*tensor, UploadConstant(spec.device, f32, PlainLayout()));
    has_ |= flag;
    return Status::Ok();
  }
  NormShape shape_;
  int has_ = 0;
  int64_t items_ = 1;  // of a row
  DeviceTensor gamma_, beta_;
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_norm = {NormKernel::Supports, MakeKernel<NormKernel>};

}  // namespace plumb::opencl
