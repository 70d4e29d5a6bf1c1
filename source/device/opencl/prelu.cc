// SPDX-License-Identifier: Apache-2.0
// PReLU in whatever form the blob arrives.
#include "device/opencl/kernel_list.h"
#include "device/shared/fused_tail.h"

namespace plumb::opencl {
namespace {

class PReluKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    return RequireF32(spec);
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    const LayoutPtr layout = StoredLayout(spec, DType::kF32, IsBlocked(arriving[0]));
    choice->inputs = {layout};
    choice->outputs = {layout};
    choice->shares = {{ShareWish::kOverwrite, 0, 0}};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>& inputs,
                 const std::vector<DeviceTensor>&) override {
    planes_ = PlanesOf(inputs[0]);
    PLUMB_ASSIGN_OR_RETURN(const Tensor slope, F32Resource(spec.layer(), "slope"));
    std::vector<float> slopes;
    for (int64_t c = 0; c < planes_.channels; ++c)
      slopes.push_back(slope.data<float>()[slope.NumElements() == 1 ? 0 : c]);
    slopes.resize(static_cast<size_t>(planes_.blocks() * planes_.block));  // the lanes behind the last channel
    PLUMB_ASSIGN_OR_RETURN(slopes_, UploadArray(spec.device, slopes));
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "prelu.cl", "prelu"));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t count = planes_.elements();
    return launcher_.Run({count}, outputs[0], inputs[0], slopes_, count, planes_.blocks(), planes_.pixels,
                         planes_.block);
  }

 private:
  Planes planes_;
  Array slopes_;
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_prelu = {PReluKernel::Supports, MakeKernel<PReluKernel>};

}  // namespace plumb::opencl
