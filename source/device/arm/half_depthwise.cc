// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution of LOW precision with a clamp: f16 maps, f16 multiply-adds, bias and clamp in f32.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/half.h"
#include "base/threads.h"
#include "device/arm/half_depthwise_row.h"
#include "device/arm/half_kernels.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/depthwise.h"
#include "device/cpu/half_layout.h"
#include "device/shared/folded_weights.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kMostTaps = 64;               // that are added up in f16 alone
constexpr int64_t kHalfDepthwiseGrain = 16384;  // multiply-adds that are worth a second thread

class HalfDepthwise : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireHalfArithmetic(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    PLUMB_ASSIGN_OR_RETURN(const DepthwiseShape shape, ReadDepthwise(spec.group.members, *spec.blobs));
    if (shape.h.kernel * shape.w.kernel <= kMostTaps) return Status::Ok();
    return Status::NotSupported("adds up to 64 taps in f16");
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    choice->inputs.assign(arriving.size(), nullptr);
    choice->inputs[0] = HalfOf(BlockedLayout());
    choice->outputs = {HalfOf(BlockedLayout())};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(shape_, ReadDepthwise(spec.group.members, *spec.blobs));
    PLUMB_ASSIGN_OR_RETURN(DepthwiseWeights packed, PackDepthwise(spec.group.members, *spec.blobs));
    bias_ = std::move(packed.bias);
    weights_.resize(packed.weights.size());
    std::transform(packed.weights.begin(), packed.weights.end(), weights_.begin(), FloatToHalf);
    return Status::Ok();
  }

  bool ReadsResources() const override { return false; }
  std::string Detail() const override { return "vector f16"; }
  Numerics DeclaredNumerics() const override { return HalfSumsNumerics(); }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t block = ChannelBlock();
    const MapShape map = MapOf(outputs[0].shape);
    const int64_t blocks = map.Blocks(static_cast<int>(block)), taps = shape_.h.kernel * shape_.w.kernel;
    const uint16_t* src = inputs[0].host<uint16_t>();
    uint16_t* dst = outputs[0].host<uint16_t>();
    const int64_t row = shape_.w.out * block;
    ParallelFor(map.batch * blocks * shape_.h.out, std::max<int64_t>(1, kHalfDepthwiseGrain / (row * taps)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t plane = i / shape_.h.out, lane = plane % blocks * block;
                    HalfDepthwiseRow(shape_.h, shape_.w, i % shape_.h.out,
                                     src + plane * shape_.h.in * shape_.w.in * block, &weights_[lane * taps],
                                     &bias_[lane], shape_.clamp, dst + i * row);
                  }
                });
    return Status::Ok();
  }

 private:
  DepthwiseShape shape_;
  std::vector<uint16_t> weights_;
  std::vector<float> bias_;
};

}  // namespace

const KernelFunctions kernel_half_depthwise = {HalfDepthwise::Supports, MakeKernel<HalfDepthwise>};

}  // namespace plumb::cpu
