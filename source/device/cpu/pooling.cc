// SPDX-License-Identifier: Apache-2.0
// Pooling on vector kernels of our own (oneDNN's are three to four times slower), in the layout in which the blob
// arrives.
#include "op/pooling.h"

#include <algorithm>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/kernel_list.h"
#include "simd/pooling.h"

namespace plumb::cpu {
namespace {

simd::PoolAxis AxisOfPooling(const WindowAxis& axis, bool adaptive) {
  return {axis.in, axis.out, axis.kernel, axis.stride, axis.pad_begin, axis.pad_end, adaptive};
}

class PoolingKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    return ResolvePooling(spec.layer(), spec.inputs[0].shape).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    choice->inputs = {arriving[0]};
    choice->outputs = {arriving[0]};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>& inputs,
                 const std::vector<DeviceTensor>& outputs) override {
    PLUMB_ASSIGN_OR_RETURN(const PoolingShape shape, ResolvePooling(spec.layer(), spec.inputs[0].shape));
    params_.h = AxisOfPooling(shape.window.h, shape.adaptive);
    params_.w = AxisOfPooling(shape.window.w, shape.adaptive);
    params_.average = shape.average;
    params_.count_include_pad = shape.count_include_pad;
    block_ = IsBlocked(inputs[0].layout) ? ChannelBlock() : 1;
    planes_ = shape.batch * MapOf(inputs[0].shape).Blocks(block_);
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const float* src = inputs[0].host<float>();
    float* dst = outputs[0].host<float>();
    const int64_t rows = params_.h.out, dst_row = params_.w.out * block_;
    const int64_t src_plane = params_.h.in * params_.w.in * block_, dst_plane = rows * dst_row;
    const bool global = params_.average && !params_.h.adaptive && rows == 1 && params_.w.out == 1 &&
                        params_.h.kernel == params_.h.in && params_.w.kernel == params_.w.in &&
                        params_.h.pad_begin == 0 && params_.w.pad_begin == 0;
    // Rows of all planes are numbered through, so that few planes and small maps split evenly alike.
    ParallelFor(planes_ * rows, std::max<int64_t>(1, 4096 * rows / std::max<int64_t>(1, src_plane)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end;) {
                    const int64_t plane = i / rows, first = i % rows, last = std::min(rows, first + end - i);
                    float* out = dst + plane * dst_plane + first * dst_row;
                    if (global)
                      simd::GlobalAverage(block_, src + plane * src_plane, src_plane / block_, out);
                    else
                      simd::PoolPlane(params_, block_, src + plane * src_plane, out, first, last);
                    i += last - first;
                  }
                });
    return Status::Ok();
  }

 private:
  simd::PoolParams params_;
  int block_ = 1;
  int64_t planes_ = 0;
};

}  // namespace

const KernelFunctions kernel_pooling = {PoolingKernel::Supports, MakeKernel<PoolingKernel>};

}  // namespace plumb::cpu
