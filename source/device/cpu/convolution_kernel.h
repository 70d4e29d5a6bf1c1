// SPDX-License-Identifier: Apache-2.0
// The kernel of a convolution or deconvolution with what follows it, around whatever computes the sums: its parameters,
// weights with scales folded in, layouts and addend.
#ifndef PLUMB_DEVICE_CPU_CONVOLUTION_KERNEL_H_
#define PLUMB_DEVICE_CPU_CONVOLUTION_KERNEL_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/half_layout.h"
#include "device/shared/folded_weights.h"
#include "device/shared/fused_tail.h"
#include "op/deconvolution.h"

namespace plumb::cpu {

Result<ConvolutionShape> ResolveAnyConvolution(const Layer& layer, const Shape& input);
ConvParams ParamsOfConvolution(const Layer& layer, const ConvolutionShape& shape, const Epilogue& epilogue,
                               Format format);
// Convolution [out][in/group][k], deconvolution [group][in/group][out/group][k].
WeightStrides StridesOfConvolution(const Layer& layer, const ConvolutionShape& shape);

// In f16, where that is what the convolution reads and writes.
template <class T>
LayoutPtr StoredIn(Format format) {
  return sizeof(T) == sizeof(float) ? LayoutOf(format) : HalfOf(LayoutOf(format));
}

// Conv: SlicedConvolution, PointwiseConvolution, WinogradConvolution, or one of a device's own of the same form.
template <class Conv, Format format>
class ConvolutionKernel : public Kernel {
 public:
  using T = typename Conv::Element;
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    if constexpr (Conv::kFastAlgorithm) PLUMB_RETURN_IF_ERROR(RequireFastAlgorithms(spec));
    PLUMB_ASSIGN_OR_RETURN(const ConvParams params, Params(spec));
    return Conv::Check(params);
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_ASSIGN_OR_RETURN(const ConvParams params, Params(spec));
    choice->inputs.assign(arriving.size(), nullptr);
    choice->inputs[0] = StoredIn<T>(params.src);
    choice->outputs = {StoredIn<T>(params.dst)};
    const int64_t batch = spec.inputs[0].shape[0];
    threads_ = ThreadsFor(batch * params.MultiplyAdds(), NumThreads());  // another network may change it before Prepare
    choice->workspace = Conv::Workspace(params, threads_);
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    addend_ = group.AddendInput(spec.group);
    if (addend_ < 0) return Status::Ok();
    const auto& ports = spec.group.inputs;
    choice->inputs[static_cast<size_t>(addend_)] = StoredIn<T>(params.dst);
    if (ports[0].blob != ports[static_cast<size_t>(addend_)].blob) {
      choice->shares.push_back({ShareWish::kOverwrite, 0, addend_});
    }
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>& inputs,
                 const std::vector<DeviceTensor>& outputs) override {
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveAnyConvolution(spec.layer(), spec.inputs[0].shape));
    const WeightStrides strides = StridesOfConvolution(spec.layer(), shape);
    PLUMB_ASSIGN_OR_RETURN(const Folded folded, Fold(spec.layer(), shape, strides, group.affine));
    const float* bias = folded.bias.empty() ? nullptr : folded.bias.template data<float>();
    auto conv = Conv::Create(shape.batch, ParamsOfConvolution(spec.layer(), shape, group.epilogue, format),
                             folded.weight.template data<float>(), strides, bias, threads_);
    if (!conv.ok()) return conv.status();
    conv_.emplace(std::move(conv).value());
    workspace_ = spec.workspace;
    src_image_ = ImageElements(inputs[0]);
    dst_image_ = ImageElements(outputs[0]);
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const T* addend = addend_ < 0 ? nullptr : inputs[static_cast<size_t>(addend_)].template host<T>();
    conv_->Run(inputs[0].template host<T>(), src_image_, addend, outputs[0].template host<T>(), dst_image_,
               workspace_.buffer == nullptr ? nullptr : workspace_.template host<float>());
    return Status::Ok();
  }

  bool ReadsResources() const override { return false; }
  std::string Detail() const override { return conv_ ? conv_->implementation() : ""; }
  Numerics DeclaredNumerics() const override { return conv_ ? conv_->numerics() : Numerics(); }

 protected:
  static Result<ConvParams> Params(const KernelSpec& spec) {
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveAnyConvolution(spec.layer(), spec.inputs[0].shape));
    return ParamsOfConvolution(spec.layer(), shape, group.epilogue, format);
  }

 private:
  std::optional<Conv> conv_;
  DeviceTensor workspace_;
  int addend_ = -1, threads_ = 1;
  int64_t src_image_ = 0, dst_image_ = 0;
};

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_CONVOLUTION_KERNEL_H_
