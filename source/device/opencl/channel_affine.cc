// SPDX-License-Identifier: Apache-2.0
// Groups with coefficients per channel in whatever form the blob arrives: constant scales and shifts with an activation
// behind them; and the sum of two blobs with an activation.
#include "device/opencl/epilogue.h"
#include "device/opencl/kernel_list.h"
#include "device/shared/fused_tail.h"

namespace plumb::opencl {
namespace {

// 0 must stay 0 in the lanes behind the last channel.
Status KeepsZero(const Epilogue& epilogue) {
  if (epilogue.kind == Epilogue::Kind::kClip && (epilogue.alpha > 0 || epilogue.beta < 0)) {
    return Status::NotSupported("a Clip that excludes 0 is not fused into an element-wise group");
  }
  return Status::Ok();
}

std::vector<float> Lanes(std::vector<float> values, const Planes& planes) {
  values.resize(static_cast<size_t>(planes.blocks() * planes.block), 0.0f);
  return values;
}

class ChannelAffineKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    if (group.affine.empty()) return Status::NotSupported("the operand is not a constant per channel");
    return KeepsZero(group.epilogue);
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    const LayoutPtr layout = StoredLayout(spec, DType::kF32, IsBlocked(arriving[0]));
    choice->inputs.assign(arriving.size(), nullptr);
    choice->inputs[0] = layout;
    choice->outputs = {layout};
    choice->shares = {{ShareWish::kOverwrite, 0, 0}};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&,
                 const std::vector<DeviceTensor>& outputs) override {
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    planes_ = PlanesOf(outputs[0]);
    epilogue_ = EpilogueArg(group.epilogue);
    PLUMB_ASSIGN_OR_RETURN(scale_, UploadArray(spec.device, Lanes(group.affine.scale, planes_)));
    PLUMB_ASSIGN_OR_RETURN(shift_, UploadArray(spec.device, Lanes(group.affine.shift, planes_)));
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "channel_affine.cl", "channel_affine"));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t count = planes_.elements();
    return launcher_.Run({count}, outputs[0], inputs[0], scale_, shift_, count, planes_.blocks(), planes_.pixels,
                         planes_.block, epilogue_);
  }

 private:
  Planes planes_;
  EpilogueArg epilogue_;
  Array scale_, shift_;
  Launcher launcher_;
};

class AddSameKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    if (group.head != nullptr || group.addend_member != 0) {
      return Status::NotSupported("adds two blobs of one shape, neither of them constant");
    }
    return KeepsZero(group.epilogue);
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    const LayoutPtr layout = StoredLayout(spec, DType::kF32, IsBlocked(arriving[0]) || IsBlocked(arriving[1]));
    choice->inputs.assign(arriving.size(), layout);
    choice->outputs = {layout};
    choice->shares = {{ShareWish::kOverwrite, 0, 0}, {ShareWish::kOverwrite, 0, 1}};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&,
                 const std::vector<DeviceTensor>& outputs) override {
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    epilogue_ = EpilogueArg(group.epilogue);
    wide_ = PlanesOf(outputs[0]).elements() % 8 == 0 && Launcher::CpuShapes(spec.device);
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "channel_affine.cl", wide_ ? "add_same_x8" : "add_same"));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t count = PlanesOf(outputs[0]).elements();
    return launcher_.Run({wide_ ? count / 8 : count}, outputs[0], inputs[0], inputs[1], count, epilogue_);
  }

 private:
  bool wide_ = false;
  EpilogueArg epilogue_;
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_channel_affine = {ChannelAffineKernel::Supports, MakeKernel<ChannelAffineKernel>};
const KernelFunctions kernel_add_same = {AddSameKernel::Supports, MakeKernel<AddSameKernel>};

}  // namespace plumb::opencl
