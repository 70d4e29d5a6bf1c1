// SPDX-License-Identifier: Apache-2.0
// Einsum in plain order, as plain loops: floats are summed in float64, integers wrap around.
#include <fmt/core.h>

#include <algorithm>
#include <type_traits>

#include "device/cpu/function_kernel.h"
#include "op/einsum.h"

namespace plumb::cpu {
namespace {

class EinsumKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.inputs[0].dtype;
    const bool real = dtype == DType::kF32 || dtype == DType::kF64;
    if (real || dtype == DType::kI32 || dtype == DType::kI64) return Status::Ok();
    return Status::NotSupported(fmt::format("takes f32, f64, i32 and i64, found {}", DTypeName(dtype)));
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    std::vector<Shape> shapes;
    for (const BlobInfo& in : spec.inputs) shapes.push_back(in.shape);
    PLUMB_ASSIGN_OR_RETURN(plan_, PlanEinsum(spec.layer(), shapes));
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    return WithNumber(outputs[0].dtype, [&](auto number) {
      using T = decltype(number);
      ParallelFor(plan_.out.NumElements(), std::max<int64_t>(1, kFunctionGrain / (plan_.terms + 1)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) outputs[0].host<T>()[i] = SumAt<T>(inputs, i);
                  });
      return Status::Ok();
    });
  }

 private:
  template <class T>
  T SumAt(const std::vector<DeviceTensor>& inputs, int64_t element) const {
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
    const auto out_rank = static_cast<size_t>(plan_.out.rank());
    Sum sum = 0;
    for (int64_t term = 0; term < plan_.terms; ++term) {
      Sum product = 1;
      for (size_t i = 0; i < inputs.size(); ++i) {
        int64_t at = 0, inner = term, outer = element;
        for (size_t d = plan_.dims.size(); d-- > out_rank; inner /= plan_.dims[d])
          at += inner % plan_.dims[d] * plan_.strides[i][d];
        for (size_t d = out_rank; d-- > 0; outer /= plan_.dims[d]) at += outer % plan_.dims[d] * plan_.strides[i][d];
        product *= static_cast<Sum>(inputs[i].host<T>()[at]);
      }
      sum += product;
    }
    return static_cast<T>(sum);
  }

  EinsumPlan plan_;
};

}  // namespace

const KernelFunctions kernel_einsum = {EinsumKernel::Supports, MakeKernel<EinsumKernel>};

}  // namespace plumb::cpu
