// SPDX-License-Identifier: Apache-2.0
// Convolution, Convolution1D and Deconvolution in plain order, for every shape. Those in channel blocks
// (convolution.cc, winograd.cc) stand in front of it in kernel_list.def.
#include "device/opencl/convolution_group.h"

namespace plumb::opencl {
namespace {

class ConvolutionPlainKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    return ConvGroup::Of(spec).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_RETURN_IF_ERROR(ClKernel::ChooseLayouts(spec, arriving, choice));
    PLUMB_ASSIGN_OR_RETURN(const ConvGroup group, ConvGroup::Of(spec));
    group.WishForAddend(spec, choice);
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(const ConvGroup group, ConvGroup::Of(spec));
    PLUMB_ASSIGN_OR_RETURN(const Folded folded, Fold(spec.layer(), group.shape, group.strides(), group.fused.affine));
    PLUMB_ASSIGN_OR_RETURN(weight_, UploadArray(spec.device, folded.weight.raw(), folded.weight.bytes()));
    if (!folded.bias.empty()) {
      PLUMB_ASSIGN_OR_RETURN(bias_, UploadArray(spec.device, folded.bias.raw(), folded.bias.bytes()));
    }
    conv_ = ConvArg(group.shape);
    epilogue_ = EpilogueArg(group.fused.epilogue);
    addend_ = group.addend;
    flags_ = (folded.bias.empty() ? 0 : 1) + (addend_ >= 0 ? 2 : 0);
    PLUMB_ASSIGN_OR_RETURN(
        launcher_, Load(spec, "convolution_plain.cl", group.transposed ? "deconvolution_plain" : "convolution_plain"));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const DeviceTensor& addend = inputs[static_cast<size_t>(addend_ < 0 ? 0 : addend_)];
    return launcher_.Run({outputs[0].shape.NumElements()}, outputs[0], inputs[0], addend, weight_, bias_, flags_, conv_,
                         epilogue_);
  }

 private:
  ConvArg conv_;
  EpilogueArg epilogue_;
  int addend_ = -1, flags_ = 0;
  Array weight_, bias_;
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_convolution_plain = {ConvolutionPlainKernel::Supports, MakeKernel<ConvolutionPlainKernel>};

}  // namespace plumb::opencl
