// SPDX-License-Identifier: Apache-2.0
// LRN in whatever form the blob arrives.
#include "op/lrn.h"

#include "device/opencl/kernel_list.h"

namespace plumb::opencl {
namespace {

class LrnKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    return RequireF32(spec);
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    const LayoutPtr layout = StoredLayout(spec, DType::kF32, IsBlocked(arriving[0]));
    choice->inputs = {layout};
    choice->outputs = {layout};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&,
                 const std::vector<DeviceTensor>& outputs) override {
    const auto& p = ParamOf<LrnParam>(spec.layer());
    before_ = (p.size - 1) / 2;
    after_ = p.size / 2;
    alpha_ = p.alpha / static_cast<float>(p.size);
    beta_ = p.beta;
    bias_ = p.bias;
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "lrn.cl", "lrn"));
    return tail_.Prepare(spec, outputs[0]);
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const Planes p = PlanesOf(outputs[0]);
    PLUMB_RETURN_IF_ERROR(launcher_.Run({p.batch * p.channels * p.pixels}, outputs[0], inputs[0], p.batch, p.channels,
                                        p.pixels, p.block, before_, after_, alpha_, beta_, bias_));
    return tail_.Run(outputs[0]);
  }

 private:
  int before_ = 0, after_ = 0;
  float alpha_ = 0, beta_ = 0, bias_ = 0;
  Launcher launcher_;
  TailZero tail_;
};

}  // namespace

const KernelFunctions kernel_lrn = {LrnKernel::Supports, MakeKernel<LrnKernel>};

}  // namespace plumb::opencl
