// SPDX-License-Identifier: Apache-2.0
// Cast, PlumbCast in plain order: f32 beside f16 and i32 on vector conversions, all other pairs with the scalar
// conversions of base.
#include "op/cast.h"

#include <cstring>

#include "base/convert.h"
#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/kernel_list.h"
#include "simd/convert.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kCastGrain = 16384;

class CastKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    return CastTarget(spec.layer()).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    choice->inputs = {PlainLayout()};
    choice->outputs = {PlainLayout()};
    if (spec.inputs[0].dtype == spec.outputs[0].dtype) choice->shares.push_back({ShareWish::kView, 0, 0, 0});
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const DeviceTensor& in = inputs[0];
    const DeviceTensor& out = outputs[0];
    if (in.host<char>() == out.host<char>()) return Status::Ok();  // the view was granted
    const size_t in_size = DTypeSize(in.dtype), out_size = DTypeSize(out.dtype);
    ParallelFor(in.shape.NumElements(), kCastGrain, [&](int64_t begin, int64_t end) {
      const char* src = in.host<char>() + static_cast<size_t>(begin) * in_size;
      char* dst = out.host<char>() + static_cast<size_t>(begin) * out_size;
      const auto count = static_cast<size_t>(end - begin);
      if (in.dtype == DType::kF32 && out.dtype == DType::kF16) {
        simd::FloatToHalf(reinterpret_cast<const float*>(src), reinterpret_cast<uint16_t*>(dst), count);
      } else if (in.dtype == DType::kF16 && out.dtype == DType::kF32) {
        simd::HalfToFloat(reinterpret_cast<const uint16_t*>(src), reinterpret_cast<float*>(dst), count);
      } else if (in.dtype == DType::kF32 && out.dtype == DType::kI32) {
        simd::FloatToInt(reinterpret_cast<const float*>(src), reinterpret_cast<int32_t*>(dst), count);
      } else if (in.dtype == DType::kI32 && out.dtype == DType::kF32) {
        simd::IntToFloat(reinterpret_cast<const int32_t*>(src), reinterpret_cast<float*>(dst), count);
      } else {
        ConvertElements(in.dtype, src, out.dtype, dst, end - begin);
      }
    });
    return Status::Ok();
  }
};

}  // namespace

const KernelFunctions kernel_cast = {CastKernel::Supports, MakeKernel<CastKernel>};

}  // namespace plumb::cpu
