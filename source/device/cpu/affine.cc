// SPDX-License-Identifier: Apache-2.0
// BatchNormCxx, Scale and BiasAdd whose coefficients do not lie along the channels: y = scale * x + bias in plain
// order.
#include "op/affine.h"

#include <algorithm>

#include "base/threads.h"
#include "device/cpu/kernel_list.h"
#include "simd/binary.h"
#include "simd/channel_affine.h"

namespace plumb::cpu {
namespace {

class AffineKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    return ResolveAffine(spec.layer(), spec.inputs[0].shape).status();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(const AffineShape shape, ResolveAffine(spec.layer(), spec.inputs[0].shape));
    inner_ = shape.inner;
    PLUMB_RETURN_IF_ERROR(Expand(shape.scale, shape.count, 1, &scale_));
    return Expand(shape.bias, shape.count, 0, &bias_);
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const float* src = inputs[0].host<float>();
    float* dst = outputs[0].host<float>();
    const int64_t count = static_cast<int64_t>(scale_.size());
    const int64_t row = inner_ == 1 ? count : inner_, rows = outputs[0].shape.NumElements() / std::max<int64_t>(1, row);
    ParallelFor(rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, row)), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) RunRow(src + r * row, r % count, row, dst + r * row);
    });
    return Status::Ok();
  }

 private:
  static Status Expand(const Tensor* tensor, int64_t count, float absent, std::vector<float>* values) {
    values->assign(static_cast<size_t>(count), absent);
    if (tensor == nullptr) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(const Tensor f32, tensor->ConvertedTo(DType::kF32));
    for (size_t c = 0; c < values->size(); ++c) (*values)[c] = f32.data<float>()[f32.NumElements() == 1 ? 0 : c];
    return Status::Ok();
  }

  void RunRow(const float* src, int64_t coefficient, int64_t n, float* dst) const {
    if (inner_ == 1) {
      simd::BinaryRow(simd::BinaryOp::kMul, src, 1, scale_.data(), 1, dst, static_cast<size_t>(n));
      simd::BinaryRow(simd::BinaryOp::kAdd, dst, 1, bias_.data(), 1, dst, static_cast<size_t>(n));
      return;
    }
    const size_t c = static_cast<size_t>(coefficient);
    simd::ChannelAffinePlane(1, src, n, &scale_[c], &bias_[c], {}, dst);
  }

  int64_t inner_ = 1;
  std::vector<float> scale_, bias_;
};

}  // namespace

const KernelFunctions kernel_affine = {AffineKernel::Supports, MakeKernel<AffineKernel>};

}  // namespace plumb::cpu
