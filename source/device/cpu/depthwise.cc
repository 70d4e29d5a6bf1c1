// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution with a clamp on the shared vector kernel, where products do not lead (product.h) and for
// channels that fill one block only, which slices of a product cannot share among threads.
#include "device/cpu/depthwise.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/kernel_list.h"
#include "device/cpu/product_end.h"
#include "device/shared/folded_weights.h"
#include "simd/transpose.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kDepthwiseGrain = 16384;  // elements that are worth a second thread

simd::DepthwiseAxis AxisOfDepthwise(const WindowAxis& a) {
  return {a.in, a.out, a.kernel, a.stride, a.dilation, a.pad_begin};
}

}  // namespace

Result<DepthwiseShape> ReadDepthwise(const std::vector<const Layer*>& members, const BlobTable& blobs) {
  PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(members, blobs));
  const Layer& layer = *members[0];
  if (group.head == nullptr || (layer.kind != OpKind::kConvolution && layer.kind != OpKind::kConvolution1D))
    return Status::NotSupported("takes convolutions");
  if (group.addend_member >= 0) return Status::NotSupported("an addition is not fused");
  PLUMB_ASSIGN_OR_RETURN(const simd::Clamp clamp, ClampOfEpilogue(group.epilogue));
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveConvolution(layer, blobs.at(layer.inputs[0]).shape));
  if (shape.group != shape.in_channels || shape.group != shape.out_channels || shape.group == 1) {
    return Status::NotSupported("takes one channel per group");
  }
  return DepthwiseShape{AxisOfDepthwise(shape.window.h), AxisOfDepthwise(shape.window.w), clamp, shape.group};
}

Result<DepthwiseWeights> PackDepthwise(const std::vector<const Layer*>& members, const BlobTable& blobs) {
  PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(members, blobs));
  const Layer& layer = *members[0];
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveConvolution(layer, blobs.at(layer.inputs[0]).shape));
  const int64_t taps = shape.kernel_size();
  PLUMB_ASSIGN_OR_RETURN(const Folded folded, Fold(layer, shape, {taps, taps, taps}, group.affine));
  const MapShape map{1, shape.group, taps};
  const int64_t lanes = map.Blocks(ChannelBlock()) * ChannelBlock();
  DepthwiseWeights packed;
  packed.weights.resize(static_cast<size_t>(lanes * taps));
  ToBlocked(map, ChannelBlock(), folded.weight.data<float>(), 0, packed.weights.data(), 0);
  packed.bias.assign(static_cast<size_t>(lanes), 0.0f);
  if (!folded.bias.empty()) std::memcpy(packed.bias.data(), folded.bias.data<float>(), folded.bias.bytes());
  return packed;
}

namespace {

class DepthwiseKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    PLUMB_ASSIGN_OR_RETURN(const DepthwiseShape shape, ReadDepthwise(spec.group.members, *spec.blobs));
    if (!ProductsLeadDepthwise(shape.h.out * shape.w.out, shape.w) || shape.channels <= ChannelBlock())
      return Status::Ok();
    return Status::NotSupported(fmt::format("a product is as fast with {}x{} taps on a map of {}x{}", shape.h.kernel,
                                            shape.w.kernel, shape.h.out, shape.w.out));
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    choice->inputs.assign(arriving.size(), nullptr);
    choice->inputs[0] = BlockedLayout();
    choice->outputs = {BlockedLayout()};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(shape_, ReadDepthwise(spec.group.members, *spec.blobs));
    PLUMB_ASSIGN_OR_RETURN(packed_, PackDepthwise(spec.group.members, *spec.blobs));
    return Status::Ok();
  }

  bool ReadsResources() const override { return false; }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int block = ChannelBlock();
    const MapShape map = MapOf(outputs[0].shape);
    const simd::DepthwiseAxis &h = shape_.h, &w = shape_.w;
    const int64_t blocks = map.Blocks(block), rows = h.out, row = w.out * block, taps = h.kernel * w.kernel;
    const int64_t src_plane = h.in * w.in * block;
    const float* src = inputs[0].host<float>();
    float* dst = outputs[0].host<float>();
    // Rows of all planes are numbered through: threads keep to planes where there are many, and share one where there
    // are few.
    ParallelFor(map.batch * blocks * rows, std::max<int64_t>(1, kDepthwiseGrain / (row * taps)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end;) {
                    const int64_t plane = i / rows, first = i % rows, last = std::min(rows, first + end - i);
                    const int64_t lane = plane % blocks * block;
                    simd::DepthwisePlane(
                        h, w, block, src + plane * src_plane, &packed_.weights[static_cast<size_t>(lane * taps)],
                        &packed_.bias[static_cast<size_t>(lane)], shape_.clamp, dst + i * row, first, last);
                    i += last - first;
                  }
                });
    return Status::Ok();
  }

 private:
  DepthwiseShape shape_;
  DepthwiseWeights packed_;
};

}  // namespace

const KernelFunctions kernel_depthwise = {DepthwiseKernel::Supports, MakeKernel<DepthwiseKernel>};

}  // namespace plumb::cpu
