// SPDX-License-Identifier: Apache-2.0
// PReLU in the layout in which the blob arrives.
#include "op/prelu.h"

#include <algorithm>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/kernel_list.h"
#include "device/shared/fused_tail.h"
#include "simd/prelu.h"

namespace plumb::cpu {
namespace {

class PReluKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    return RequireF32(spec);
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    choice->inputs = {arriving[0]};
    choice->outputs = {arriving[0]};
    choice->shares = {{ShareWish::kOverwrite, 0, 0}};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>& inputs,
                 const std::vector<DeviceTensor>&) override {
    block_ = IsBlocked(inputs[0].layout) ? ChannelBlock() : 1;
    PLUMB_ASSIGN_OR_RETURN(const Tensor slope, F32Resource(spec.layer(), "slope"));
    const MapShape map = MapOf(inputs[0].shape);
    slope_.assign(static_cast<size_t>(map.Blocks(block_) * block_), 0.0f);
    for (int64_t c = 0; c < map.channels; ++c) {
      slope_[static_cast<size_t>(c)] = slope.data<float>()[slope.NumElements() == 1 ? 0 : c];
    }
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const MapShape map = MapOf(inputs[0].shape);
    const int64_t planes = map.Blocks(block_), plane = map.pixels * block_;
    const float* src = inputs[0].host<float>();
    float* dst = outputs[0].host<float>();
    ParallelFor(map.batch * planes, 16384 / std::max<int64_t>(1, plane), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        simd::PreluPlane(block_, src + i * plane, map.pixels, &slope_[static_cast<size_t>(i % planes * block_)],
                         dst + i * plane);
      }
    });
    return Status::Ok();
  }

 private:
  int block_ = 1;
  std::vector<float> slope_;
};

}  // namespace

const KernelFunctions kernel_prelu = {PReluKernel::Supports, MakeKernel<PReluKernel>};

}  // namespace plumb::cpu
