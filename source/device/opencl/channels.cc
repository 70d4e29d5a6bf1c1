// Element-wise groups with coefficients per channel in whatever form the blob arrives: constant scales and shifts with
// an activation behind them, the sum of two blobs with an activation, PReLU; BatchNormCxx, Scale and BiasAdd along
// other axes; LRN.
#include "device/opencl/epilogue.h"
#include "device/opencl/kernel_list.h"
#include "device/shared/fused_tail.h"
#include "op/affine.h"
#include "op/lrn.h"

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
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "channels.cl", "channel_affine"));
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
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "channels.cl", wide_ ? "add_same_x8" : "add_same"));
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
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "channels.cl", "affine"));
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
    PLUMB_ASSIGN_OR_RETURN(slopes_, UploadArray(spec.device, Lanes(slopes, planes_)));
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "channels.cl", "prelu"));
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
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "channels.cl", "lrn"));
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

const KernelFunctions kernel_channel_affine = {ChannelAffineKernel::Supports, MakeKernel<ChannelAffineKernel>};
const KernelFunctions kernel_add_same = {AddSameKernel::Supports, MakeKernel<AddSameKernel>};
const KernelFunctions kernel_affine = {AffineKernel::Supports, MakeKernel<AffineKernel>};
const KernelFunctions kernel_prelu = {PReluKernel::Supports, MakeKernel<PReluKernel>};
const KernelFunctions kernel_lrn = {LrnKernel::Supports, MakeKernel<LrnKernel>};

}  // namespace plumb::opencl
