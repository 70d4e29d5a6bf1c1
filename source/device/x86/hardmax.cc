// PlumbHardmax in plain order: 1 at the first of the largest elements along the axis (a NaN is larger than all), else
// 0.
#include <cmath>
#include <cstring>

#include "device/x86/function_kernel.h"
#include "op/hardmax.h"

namespace plumb::x86 {
namespace {

Status Hardmax(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<HardmaxParam>(layer).axis, in[0].shape.rank()));
  const int64_t size = in[0].shape[axis], inner = in[0].shape.CountFrom(axis + 1);
  const float* x = in[0].host<float>();
  float* y = out[0].host<float>();
  std::memset(y, 0, out[0].bytes());
  for (int64_t r = 0; size > 0 && r < in[0].shape.Count(0, axis) * inner; ++r) {
    const int64_t start = r / inner * size * inner + r % inner;
    int64_t best = start;
    for (int64_t i = start; i < start + size * inner && !std::isnan(x[best]); i += inner) {
      if (x[i] > x[best] || std::isnan(x[i])) best = i;
    }
    y[best] = 1;
  }
  return Status::Ok();
}

// Hardmax computes in f32 only.
Status SupportsHardmax(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  return RequireF32(spec);
}

}  // namespace

const KernelFunctions kernel_hardmax = {SupportsHardmax, MakeKernel<FunctionKernel<Hardmax, Takes::kF32>>};

}  // namespace plumb::x86
