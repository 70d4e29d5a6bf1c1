// Depthwise convolution with a clamp on the shared vector kernel, where products do not lead (product.h) and for
// channels that fill one block only, which slices of a product cannot share among threads.
#include "simd/depthwise.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/kernel_list.h"
#include "device/shared/folded_weights.h"
#include "simd/transpose.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kDepthwiseGrain = 16384;  // elements that are worth a second thread

simd::DepthwiseAxis AxisOfDepthwise(const WindowAxis& a) {
  return {a.in, a.out, a.kernel, a.stride, a.dilation, a.pad_begin};
}

Result<simd::Clamp> ClampOfDepthwise(const Epilogue& epilogue) {
  simd::Clamp clamp;
  switch (epilogue.kind) {
    case Epilogue::Kind::kNone: return clamp;
    case Epilogue::Kind::kRelu: clamp.low = 0; return clamp;
    case Epilogue::Kind::kClip:
      if (epilogue.alpha <= 0 && epilogue.beta >= 0) return simd::Clamp{epilogue.alpha, epilogue.beta};
      return Status::NotSupported("a Clip that excludes 0 would fill the lanes behind the last channel");
    default: return Status::NotSupported("only a clamp is fused");
  }
}

class DepthwiseKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    if (group.addend_member >= 0) return Status::NotSupported("an addition is not fused");
    PLUMB_RETURN_IF_ERROR(ClampOfDepthwise(group.epilogue).status());
    PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveConvolution(spec.layer(), spec.inputs[0].shape));
    if (shape.group != shape.in_channels || shape.group != shape.out_channels || shape.group == 1) {
      return Status::NotSupported("takes one channel per group");
    }
    const int64_t pixels = shape.window.h.out * shape.window.w.out;
    if (!ProductsLeadDepthwise(pixels) || shape.group <= ChannelBlock()) return Status::Ok();
    return Status::NotSupported(fmt::format("a product is as fast on a map of {} pixels", pixels));
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    choice->inputs.assign(arriving.size(), nullptr);
    choice->inputs[0] = BlockedLayout();
    choice->outputs = {BlockedLayout()};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    PLUMB_ASSIGN_OR_RETURN(clamp_, ClampOfDepthwise(group.epilogue));
    PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveConvolution(spec.layer(), spec.inputs[0].shape));
    const int64_t taps = shape.kernel_size();
    PLUMB_ASSIGN_OR_RETURN(const Folded folded, Fold(spec.layer(), shape, {taps, taps, taps}, group.affine));
    h_ = AxisOfDepthwise(shape.window.h);
    w_ = AxisOfDepthwise(shape.window.w);
    const MapShape map{1, shape.group, taps};
    const int64_t lanes = map.Blocks(ChannelBlock()) * ChannelBlock();
    weights_.resize(static_cast<size_t>(lanes * taps));
    ToBlocked(map, ChannelBlock(), folded.weight.data<float>(), 0, weights_.data(), 0);
    bias_.assign(static_cast<size_t>(lanes), 0.0f);
    if (!folded.bias.empty()) std::memcpy(bias_.data(), folded.bias.data<float>(), folded.bias.bytes());
    return Status::Ok();
  }

  bool ReadsResources() const override { return false; }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int block = ChannelBlock();
    const MapShape map = MapOf(outputs[0].shape);
    const int64_t blocks = map.Blocks(block), rows = h_.out, row = w_.out * block, taps = h_.kernel * w_.kernel;
    const int64_t src_plane = h_.in * w_.in * block;
    const float* src = inputs[0].host<float>();
    float* dst = outputs[0].host<float>();
    // Rows of all planes are numbered through: threads keep to planes where there are many, and share one where there
    // are few.
    ParallelFor(map.batch * blocks * rows, std::max<int64_t>(1, kDepthwiseGrain / (row * taps)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end;) {
                    const int64_t plane = i / rows, first = i % rows, last = std::min(rows, first + end - i);
                    const int64_t lane = plane % blocks * block;
                    simd::DepthwisePlane(h_, w_, block, src + plane * src_plane,
                                         &weights_[static_cast<size_t>(lane * taps)], &bias_[static_cast<size_t>(lane)],
                                         clamp_, dst + i * row, first, last);
                    i += last - first;
                  }
                });
    return Status::Ok();
  }

 private:
  simd::DepthwiseAxis h_, w_;
  simd::Clamp clamp_;
  std::vector<float> weights_, bias_;  // in channel blocks, zero behind the last channel
};

}  // namespace

const KernelFunctions kernel_depthwise = {DepthwiseKernel::Supports, MakeKernel<DepthwiseKernel>};

}  // namespace plumb::cpu
