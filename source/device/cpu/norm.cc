// SPDX-License-Identifier: Apache-2.0
// InstBatchNormCxx, GroupNorm and LayerNorm in plain order: moments of each row in two float64 passes
// (simd/norm.h).
#include "op/norm.h"

#include <algorithm>

#include "base/threads.h"
#include "device/cpu/kernel_list.h"
#include "simd/norm.h"

namespace plumb::cpu {
namespace {

class NormKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    return RequireF32(spec);
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const Layer& layer = spec.layer();
    PLUMB_ASSIGN_OR_RETURN(shape_, ResolveNorm(layer, spec.inputs[0].shape));
    elementwise_ = layer.kind == OpKind::kLayerNorm;
    PLUMB_RETURN_IF_ERROR(Take(layer, "scale", &scale_));
    return Take(layer, "bias", &bias_);
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const float* src = inputs[0].host<float>();
    float* dst = outputs[0].host<float>();
    const float* gamma = inputs.size() > 1 ? inputs[1].host<float>() : Data(scale_);
    const float* beta = inputs.size() > 2 ? inputs[2].host<float>() : Data(bias_);
    if (shape_.n == 0) return Status::Ok();
    ParallelFor(shape_.rows, std::max<int64_t>(1, 4096 / shape_.n), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t at = row * shape_.n;
        if (elementwise_) {
          simd::LayerNormRow(src + at, shape_.n, shape_.eps, gamma, beta, dst + at);
        } else {
          NormChannels(src + at, row % shape_.groups * shape_.per_row, gamma, beta, dst + at);
        }
      }
    });
    return Status::Ok();
  }

 private:
  static Status Take(const Layer& layer, const char* slot, Tensor* values) {
    const Tensor* resource = layer.Resource(slot);
    if (resource == nullptr) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(*values, resource->ConvertedTo(DType::kF32));
    return Status::Ok();
  }
  static const float* Data(const Tensor& values) { return values.empty() ? nullptr : values.data<float>(); }

  void NormChannels(const float* src, int64_t first, const float* gamma, const float* beta, float* dst) const {
    const simd::RowMoments moments = simd::Moments(src, shape_.n, shape_.eps);
    for (int64_t c = 0; c < shape_.per_row; ++c) {
      const int64_t at = c * shape_.inner;
      simd::NormRow(src + at, shape_.inner, moments, gamma == nullptr ? 1 : gamma[first + c],
                    beta == nullptr ? 0 : beta[first + c], dst + at);
    }
  }

  NormShape shape_;
  bool elementwise_ = false;
  Tensor scale_, bias_;
};

}  // namespace

const KernelFunctions kernel_norm = {NormKernel::Supports, MakeKernel<NormKernel>};

}  // namespace plumb::cpu
