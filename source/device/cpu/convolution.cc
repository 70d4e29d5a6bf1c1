// Convolution, Convolution1D and Deconvolution with what follows them (fused_tail.h): by Winograd's algorithm where
// that is faster, on the micro-kernel of panels where that is, else by a product (product.h). Blocked: channel blocks
// in and out; fewer input channels than a block, as in a first layer, are read as plain NCHW (a block of them would be
// padding). Plain: NCHW throughout for grouped convolutions whose groups cut blocks.
#include "op/deconvolution.h"

#include <optional>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/kernel_list.h"
#include "device/cpu/pointwise_convolution.h"
#include "device/cpu/sliced_convolution.h"
#include "device/cpu/winograd_convolution.h"
#include "device/shared/folded_weights.h"
#include "device/shared/fused_tail.h"

namespace plumb::cpu {
namespace {

bool IsDeconvolution(const Layer& layer) { return layer.kind == OpKind::kDeconvolution; }

Result<ConvolutionShape> Resolve(const Layer& layer, const Shape& input) {
  return IsDeconvolution(layer) ? ResolveDeconvolution(layer, input) : ResolveConvolution(layer, input);
}

ConvParams ParamsOfConvolution(const Layer& layer, const ConvolutionShape& shape, const Epilogue& epilogue,
                               Format format) {
  ConvParams p;
  // A column lies in memory as a row does, and kernels take neighbours of a row at a time.
  const WindowAxis& across = shape.window.w;
  const bool is_column = across.in == 1 && across.out == 1 && across.kernel == 1 && across.pad_begin == 0;
  const WindowAxis &h = is_column ? shape.window.w : shape.window.h, &w = is_column ? shape.window.h : shape.window.w;
  p.groups = shape.group, p.in_channels = shape.in_channels, p.out_channels = shape.out_channels;
  p.in_h = h.in, p.in_w = w.in, p.out_h = h.out, p.out_w = w.out;
  p.kernel_h = h.kernel, p.kernel_w = w.kernel, p.stride_h = h.stride, p.stride_w = w.stride;
  p.dilation_h = h.dilation, p.dilation_w = w.dilation, p.pad_top = h.pad_begin, p.pad_left = w.pad_begin;
  p.dst = format;
  p.src = !IsDeconvolution(layer) && shape.group == 1 && shape.in_channels < ChannelBlock() ? Format::kPlain : format;
  p.transposed = IsDeconvolution(layer);
  p.epilogue = epilogue;
  return p;
}

// Convolution [out][in/group][k], deconvolution [group][in/group][out/group][k].
WeightStrides StridesOf(const Layer& layer, const ConvolutionShape& shape) {
  const int64_t in = shape.in_per_group(), out = shape.out_per_group(), k = shape.kernel_size();
  if (IsDeconvolution(layer)) return {in * out * k, k, out * k};
  return {out * in * k, in * k, k};
}

// Conv: SlicedConvolution, PointwiseConvolution or WinogradConvolution.
template <class Conv, Format format>
class ConvolutionKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    if constexpr (Conv::kFastAlgorithm) PLUMB_RETURN_IF_ERROR(RequireFastAlgorithms(spec));
    PLUMB_ASSIGN_OR_RETURN(const ConvParams params, Params(spec));
    return Conv::Check(params);
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_ASSIGN_OR_RETURN(const ConvParams params, Params(spec));
    choice->inputs.assign(arriving.size(), nullptr);
    choice->inputs[0] = LayoutOf(params.src);
    choice->outputs = {LayoutOf(params.dst)};
    threads_ = NumThreads();  // another network may change it before Prepare
    choice->workspace = Conv::Workspace(params, threads_);
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    addend_ = group.AddendInput(spec.group);
    if (addend_ < 0) return Status::Ok();
    const auto& ports = spec.group.inputs;
    choice->inputs[static_cast<size_t>(addend_)] = LayoutOf(params.dst);
    if (ports[0].blob != ports[static_cast<size_t>(addend_)].blob) {
      choice->shares.push_back({ShareWish::kOverwrite, 0, addend_});
    }
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>& inputs,
                 const std::vector<DeviceTensor>& outputs) override {
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, Resolve(spec.layer(), spec.inputs[0].shape));
    const WeightStrides strides = StridesOf(spec.layer(), shape);
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
    const float* addend = addend_ < 0 ? nullptr : inputs[static_cast<size_t>(addend_)].host<float>();
    conv_->Run(inputs[0].host<float>(), src_image_, addend, outputs[0].host<float>(), dst_image_,
               workspace_.buffer == nullptr ? nullptr : workspace_.host<float>());
    return Status::Ok();
  }

  bool ReadsResources() const override { return false; }
  std::string Detail() const override { return conv_ ? conv_->implementation() : ""; }
  Numerics DeclaredNumerics() const override { return conv_ ? conv_->numerics() : Numerics(); }

 private:
  static Result<ConvParams> Params(const KernelSpec& spec) {
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, Resolve(spec.layer(), spec.inputs[0].shape));
    return ParamsOfConvolution(spec.layer(), shape, group.epilogue, format);
  }

  std::optional<Conv> conv_;
  DeviceTensor workspace_;
  int addend_ = -1, threads_ = 1;
  int64_t src_image_ = 0, dst_image_ = 0;
};

using Winograd = ConvolutionKernel<WinogradConvolution, Format::kBlocked>;
using Pointwise = ConvolutionKernel<PointwiseConvolution, Format::kBlocked>;
using ConvolutionBlocked = ConvolutionKernel<SlicedConvolution, Format::kBlocked>;
using Plain = ConvolutionKernel<SlicedConvolution, Format::kPlain>;

}  // namespace

const KernelFunctions kernel_convolution_winograd = {Winograd::Supports, MakeKernel<Winograd>};
const KernelFunctions kernel_convolution_pointwise = {Pointwise::Supports, MakeKernel<Pointwise>};
const KernelFunctions kernel_convolution_blocked = {ConvolutionBlocked::Supports, MakeKernel<ConvolutionBlocked>};
const KernelFunctions kernel_convolution_plain = {Plain::Supports, MakeKernel<Plain>};

}  // namespace plumb::cpu
