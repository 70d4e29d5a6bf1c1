// SPDX-License-Identifier: Apache-2.0
// Element-wise operators of one input: the rows of op/unary.def, in the form in which the blob arrives.
#include "op/activation.h"

#include "device/opencl/kernel_list.h"

namespace plumb::opencl {
namespace {

class UnaryKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    if (spec.inputs.size() == 1) return Status::Ok();
    return Status::NotSupported("takes one input, found " + std::to_string(spec.inputs.size()));
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    const LayoutPtr layout = StoredLayout(spec, DType::kF32, IsBlocked(arriving[0]));
    choice->inputs = {layout};
    choice->outputs = {layout};
    choice->shares = {{ShareWish::kOverwrite, 0, 0}};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&,
                 const std::vector<DeviceTensor>& outputs) override {
    with_ = CoefficientsOf(spec.layer());
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "unary.cl", "unary_" + spec.layer().type));
    return UnaryKeepsZero(spec.layer()) ? Status::Ok() : tail_.Prepare(spec, outputs[0]);
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t count = PlanesOf(outputs[0]).elements();
    PLUMB_RETURN_IF_ERROR(launcher_.Run({count}, outputs[0], inputs[0], count, with_.a, with_.b, with_.c));
    return tail_.Run(outputs[0]);
  }

 private:
  UnaryCoefficients with_;
  Launcher launcher_;
  TailZero tail_;
};

}  // namespace

const KernelFunctions kernel_unary = {UnaryKernel::Supports, MakeKernel<UnaryKernel>};

}  // namespace plumb::opencl
