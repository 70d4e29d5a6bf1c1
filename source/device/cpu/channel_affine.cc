// SPDX-License-Identifier: Apache-2.0
// Element-wise groups in one pass over the blob, whatever its layout: constant scales and shifts per channel with an
// activation behind them (batch normalisation that no convolution can take in), and the sum of two blobs with an
// activation.
#include "simd/channel_affine.h"

#include <algorithm>
#include <vector>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/kernel_list.h"
#include "device/cpu/product_end.h"
#include "device/shared/fused_tail.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kChannelAffineGrain = 16384;  // elements that are worth a second thread

class ChannelAffineKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    if (group.affine.empty()) return Status::NotSupported("the operand is not a constant per channel");
    return ClampOfEpilogue(group.epilogue).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    choice->inputs.assign(arriving.size(), nullptr);
    choice->outputs = {arriving[0]};
    choice->shares = {{ShareWish::kOverwrite, 0, 0}};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&,
                 const std::vector<DeviceTensor>& outputs) override {
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    PLUMB_ASSIGN_OR_RETURN(clamp_, ClampOfEpilogue(group.epilogue));
    block_ = IsBlocked(outputs[0].layout) ? ChannelBlock() : 1;
    // The tail lanes of the last block get scale 0 and shift 0, so that they stay zero (0 lies in every fused clamp).
    const size_t lanes = static_cast<size_t>(MapOf(outputs[0].shape).Blocks(block_) * block_);
    scale_ = group.affine.scale;
    shift_ = group.affine.shift;
    scale_.resize(lanes, 0.0f);
    shift_.resize(lanes, 0.0f);
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const MapShape map = MapOf(outputs[0].shape);
    const int64_t planes = map.Blocks(block_), plane = map.pixels * block_;
    const float* src = inputs[0].host<float>();
    float* dst = outputs[0].host<float>();
    if (plane == 1) {  // rows of channels; blocks of one pixel are longer planes
      ParallelFor(map.batch, kChannelAffineGrain / std::max<int64_t>(1, planes), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin * planes; i < end * planes; i += planes)
          simd::ChannelAffinePixel(src + i, scale_.data(), shift_.data(), clamp_, dst + i, static_cast<size_t>(planes));
      });
      return Status::Ok();
    }
    ParallelFor(map.batch * planes, kChannelAffineGrain / std::max<int64_t>(1, plane), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % planes * block_;
        simd::ChannelAffinePlane(block_, src + i * plane, map.pixels, &scale_[static_cast<size_t>(first)],
                                 &shift_[static_cast<size_t>(first)], clamp_, dst + i * plane);
      }
    });
    return Status::Ok();
  }

 private:
  int block_ = 1;
  simd::Clamp clamp_;
  std::vector<float> scale_, shift_;
};

class AddSameKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    if (group.head != nullptr || group.addend_member != 0) {
      return Status::NotSupported("adds two blobs of one shape, neither of them constant");
    }
    return ClampOfEpilogue(group.epilogue).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    const bool blocked = IsBlocked(arriving[0]) || IsBlocked(arriving[1]);
    choice->inputs.assign(arriving.size(), LayoutOf(blocked ? Format::kBlocked : Format::kPlain));
    choice->outputs = {choice->inputs[0]};
    choice->shares = {{ShareWish::kOverwrite, 0, 0}, {ShareWish::kOverwrite, 0, 1}};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
    PLUMB_ASSIGN_OR_RETURN(clamp_, ClampOfEpilogue(group.epilogue));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const float *a = inputs[0].host<float>(), *b = inputs[1].host<float>();
    float* dst = outputs[0].host<float>();
    ParallelFor(static_cast<int64_t>(outputs[0].bytes() / sizeof(float)), kChannelAffineGrain,
                [&](int64_t begin, int64_t end) {
                  simd::AddClamp(a + begin, b + begin, clamp_, dst + begin, static_cast<size_t>(end - begin));
                });
    return Status::Ok();
  }

 private:
  simd::Clamp clamp_;
};

}  // namespace

const KernelFunctions kernel_channel_affine = {ChannelAffineKernel::Supports, MakeKernel<ChannelAffineKernel>};
const KernelFunctions kernel_add_same = {AddSameKernel::Supports, MakeKernel<AddSameKernel>};

}  // namespace plumb::cpu
