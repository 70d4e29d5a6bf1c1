// SPDX-License-Identifier: Apache-2.0
// InnerProduct in plain order: one item per output, or a group of items.
#include "op/inner_product.h"

#include "device/opencl/convolution_group.h"

namespace plumb::opencl {
namespace {

class InnerProductKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    return ReadGroup(spec.group.members, *spec.blobs).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    // One pixel per channel and whole blocks: the same bytes in both forms, so it is taken as it comes.
    const Planes p = PlanesOf(spec.inputs[0].shape, true);
    const bool same = p.pixels == 1 && (p.batch == 1 || p.channels % kBlock == 0);
    choice->inputs = {StoredLayout(spec, DType::kF32, same && IsBlocked(arriving[0]))};
    choice->outputs = {StoredLayout(spec, DType::kF32)};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const auto& param = ParamOf<InnerProductParam>(spec.layer());
    PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param.axis, spec.inputs[0].shape.rank()));
    rows_ = spec.inputs[0].shape.Count(0, axis);
    k_ = spec.inputs[0].shape.CountFrom(axis);
    outputs_ = param.num_output;
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    ConvolutionShape as_conv;  // the same folding: outputs are channels, one pixel
    as_conv.in_channels = k_;
    as_conv.out_channels = outputs_;
    as_conv.bias = spec.layer().Resource("bias") != nullptr;
    PLUMB_ASSIGN_OR_RETURN(const Folded folded, Fold(spec.layer(), as_conv, {0, k_, 1}, group.affine));
    PLUMB_ASSIGN_OR_RETURN(weight_, UploadArray(spec.device, folded.weight.raw(), folded.weight.bytes()));
    flags_ = folded.bias.empty() ? 0 : 1;
    if (flags_ != 0) {
      PLUMB_ASSIGN_OR_RETURN(bias_, UploadArray(spec.device, folded.bias.raw(), folded.bias.bytes()));
    }
    epilogue_ = EpilogueArg(group.epilogue);
    cpu_ = Launcher::CpuShapes(spec.device);
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "inner_product.cl", cpu_ ? "inner_product" : "inner_product_gpu"));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t items = cpu_ ? 1 : kLinearGroup;  // of an output
    return launcher_.Run({rows_ * outputs_ * items}, outputs[0], inputs[0], weight_, bias_, rows_, k_, outputs_, flags_,
                         epilogue_);
  }

 private:
  bool cpu_ = false;
  int64_t rows_ = 1, k_ = 1, outputs_ = 1;
  int flags_ = 0;
  EpilogueArg epilogue_;
  Array weight_, bias_;
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_inner_product = {InnerProductKernel::Supports, MakeKernel<InnerProductKernel>};

}  // namespace plumb::opencl
