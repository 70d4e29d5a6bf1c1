// SPDX-License-Identifier: Apache-2.0
// Convolution and Convolution1D in channel blocks with what follows them (fused_tail.h). Depthwise: one filter per
// channel. Kernels for CPU drivers and for GPUs (convolution_cpu.cl, convolution_gpu.cl). Others: one group, or groups
// that fill blocks of input and pairs of blocks of output channels.
#include <fmt/core.h>

#include <algorithm>

#include "device/opencl/convolution_group.h"

namespace plumb::opencl {
namespace {

constexpr int64_t kTile = 7;         // TILE of convolution_cpu.cl
constexpr int64_t kGpuPixels = 128;  // PIXELS of convolution_gpu.cl
constexpr int64_t kGpuRows = 4;      // ROWS of convolution_gpu.cl
constexpr int64_t kConvolutionPair = 2 * kBlock;

bool IsDepthwise(const ConvolutionShape& s) {
  return s.group > 1 && s.group == s.in_channels && s.group == s.out_channels;
}

Status SupportsShape(const ConvolutionShape& s, bool depthwise) {
  if (depthwise != IsDepthwise(s)) return Status::NotSupported(depthwise ? "is not depthwise" : "is depthwise");
  if (depthwise || s.group == 1) return Status::Ok();
  if (s.in_per_group() % kBlock == 0 && s.out_per_group() % kConvolutionPair == 0) return Status::Ok();
  return Status::NotSupported(fmt::format("needs groups of whole channel blocks (8 in, 16 out), got {} and {}",
                                          s.in_per_group(), s.out_per_group()));
}

// [output unit][input block][k][8][unit]; zeros where there is no channel.
std::vector<float> PackUnits(const ConvolutionShape& s, int64_t unit, const float* weight) {
  const int64_t in = s.in_per_group(), k = s.kernel_size(), in_blocks = (in + kBlock - 1) / kBlock;
  const int64_t units = (s.out_channels + unit - 1) / unit;
  std::vector<float> packed(static_cast<size_t>(units * in_blocks * k * kBlock * unit), 0.0f);
  for (int64_t o = 0; o < s.out_channels; ++o) {
    for (int64_t c = 0; c < in; ++c) {
      float* to = packed.data() + ((o / unit * in_blocks + c / kBlock) * k * kBlock + c % kBlock) * unit + o % unit;
      for (int64_t i = 0; i < k; ++i) to[i * kBlock * unit] = weight[(o * in + c) * k + i];
    }
  }
  return packed;
}

// [block][k][8].
std::vector<float> PackChannels(const ConvolutionShape& s, const float* weight) {
  const int64_t k = s.kernel_size(), blocks = (s.out_channels + kBlock - 1) / kBlock;
  std::vector<float> packed(static_cast<size_t>(blocks * k * kBlock), 0.0f);
  for (int64_t c = 0; c < s.out_channels; ++c) {
    for (int64_t i = 0; i < k; ++i)
      packed[static_cast<size_t>((c / kBlock * k + i) * kBlock + c % kBlock)] = weight[c * k + i];
  }
  return packed;
}

template <bool depthwise>
class ConvolutionKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    PLUMB_ASSIGN_OR_RETURN(const ConvGroup group, ConvGroup::Of(spec));
    return SupportsShape(group.shape, depthwise);
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_ASSIGN_OR_RETURN(const ConvGroup group, ConvGroup::Of(spec));
    const LayoutPtr layout = StoredLayout(spec, DType::kF32, true);
    choice->inputs.assign(arriving.size(), layout);
    choice->outputs = {layout};
    group.WishForAddend(spec, choice);
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&,
                 const std::vector<DeviceTensor>& outputs) override {
    PLUMB_ASSIGN_OR_RETURN(const ConvGroup group, ConvGroup::Of(spec));
    PLUMB_ASSIGN_OR_RETURN(const Folded folded, Fold(spec.layer(), group.shape, group.strides(), group.fused.affine));
    const ConvolutionShape& s = group.shape;
    const float* weight = folded.weight.template data<float>();
    cpu_ = Launcher::CpuShapes(spec.device);
    const int64_t unit = depthwise ? kBlock : kConvolutionPair;
    PLUMB_ASSIGN_OR_RETURN(weight_,
                           UploadArray(spec.device, depthwise ? PackChannels(s, weight) : PackUnits(s, unit, weight)));
    conv_ = ConvArg(s);
    if (s.kernel_size() == 1 && s.window.h.stride == 1 && s.window.w.stride == 1 && s.window.h.in == s.window.h.out &&
        s.window.w.in == s.window.w.out) {
      conv_.in_w = conv_.out_w = conv_.in_h * conv_.in_w;
      conv_.in_h = conv_.out_h = 1;
    }
    columns_ = (s.out_channels + unit - 1) / unit;
    tiles_ = cpu_ ? (conv_.out_w + kTile - 1) / kTile : (conv_.out_h + kGpuRows - 1) / kGpuRows;
    const std::string name = depthwise ? "depthwise_" : "convolution_";
    PLUMB_ASSIGN_OR_RETURN(
        launcher_, Load(spec, cpu_ ? "convolution_cpu.cl" : "convolution_gpu.cl", name + (cpu_ ? "cpu" : "gpu")));
    return tail_.Prepare(spec, group, folded, columns_ * unit, outputs[0]);
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t pixels = int64_t{conv_.out_h} * conv_.out_w;
    const int64_t items = cpu_        ? tiles_ * conv_.out_h
                          : depthwise ? tiles_ * conv_.out_w
                                      : (pixels + kGpuPixels - 1) / kGpuPixels * kLinearGroup;
    PLUMB_RETURN_IF_ERROR(launcher_.Run({items, columns_, conv_.batch}, outputs[0], inputs[0], tail_.AddendOf(inputs),
                                        weight_, tail_.bias, tiles_, columns_, tail_.flags, conv_, tail_.epilogue));
    return tail_.zero.Run(outputs[0]);
  }

 private:
  bool cpu_ = false;
  ConvArg conv_;
  int64_t tiles_ = 1, columns_ = 1;
  Array weight_;
  ConvTail tail_;
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_convolution_blocked = {ConvolutionKernel<false>::Supports,
                                                    MakeKernel<ConvolutionKernel<false>>};
const KernelFunctions kernel_depthwise_blocked = {ConvolutionKernel<true>::Supports,
                                                  MakeKernel<ConvolutionKernel<true>>};

}  // namespace plumb::opencl
