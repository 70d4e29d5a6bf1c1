// Softmax and LogSoftmax along any axis, in plain order, on the shared vector kernel.
#include "simd/softmax.h"

#include <algorithm>

#include "base/threads.h"
#include "device/x86/kernel_list.h"
#include "op/softmax.h"

namespace plumb::x86 {
namespace {

constexpr int64_t kSoftmaxColumns =
    64;  // positions behind the axis that one task takes: contiguous loads, and enough tasks

class SoftmaxKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    return RequireF32(spec);
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const Shape& shape = spec.inputs[0].shape;
    PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<SoftmaxParam>(spec.layer()).axis, shape.rank()));
    log_ = spec.layer().type == "LogSoftmax";
    outer_ = shape.Count(0, axis);
    n_ = shape[axis];
    inner_ = shape.CountFrom(axis + 1);
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const float* src = inputs[0].host<float>();
    float* dst = outputs[0].host<float>();
    const int64_t tiles = (inner_ + kSoftmaxColumns - 1) / kSoftmaxColumns, slice = n_ * inner_;
    const int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, n_ * std::min(inner_, kSoftmaxColumns)));
    ParallelFor(outer_ * tiles, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % tiles * kSoftmaxColumns, at = i / tiles * slice;
        simd::Softmax(log_, src + at, n_, inner_, first, std::min(inner_, first + kSoftmaxColumns), dst + at);
      }
    });
    return Status::Ok();
  }

 private:
  bool log_ = false;
  int64_t outer_ = 1, n_ = 1, inner_ = 1;
};

}  // namespace

const KernelFunctions kernel_softmax = {SoftmaxKernel::Supports, MakeKernel<SoftmaxKernel>};

}  // namespace plumb::x86
