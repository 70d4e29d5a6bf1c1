// SPDX-License-Identifier: Apache-2.0
// Element-wise operators of one input on f64 blobs.
#include "base/threads.h"
#include "device/cpu/broadcast_rows.h"
#include "device/cpu/double_functions.h"
#include "device/cpu/kernel_list.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kDoubleUnaryGrain = 4096;  // elements that are worth a second thread

class DoubleUnaryKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF64(spec));
    if (real::UnaryFunctionOf(spec.layer().kind) != nullptr) return Status::Ok();
    return Status::NotSupported(fmt::format("no function of double is named for '{}'", spec.layer().type));
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    function_ = real::UnaryFunctionOf(spec.layer().kind);
    with_ = CoefficientsOf(spec.layer());
    if (spec.inputs.size() == 2) rows_ = GateRows({spec.inputs[0].shape, spec.inputs[1].shape}, spec.outputs[0].shape);
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const double* x = inputs[0].host<double>();
    double* y = outputs[0].host<double>();
    if (inputs.size() == 2) return RunGate(x, inputs[1].host<double>(), y);
    ParallelFor(outputs[0].shape.NumElements(), kDoubleUnaryGrain, [&](int64_t begin, int64_t end) {
      const double a = with_.a, b = with_.b, c = with_.c;
      for (int64_t i = begin; i < end; ++i) y[i] = function_(x[i], a, b, c);
    });
    return Status::Ok();
  }

 private:
  using GateRows = BroadcastRows<2>;

  // HardSwish whose gate reads a second blob.
  Status RunGate(const double* x, const double* gate, double* y) const {
    rows_.ForEach([&](int64_t at, const GateRows::Offsets& from, const GateRows::Offsets& step, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        y[at + i] = x[from[0] + i * step[0]] * real::hard_sigmoid(gate[from[1] + i * step[1]], with_.a, with_.b);
      }
    });
    return Status::Ok();
  }

  GateRows rows_;
  real::UnaryFunction function_ = nullptr;
  UnaryCoefficients with_;
};

}  // namespace

const KernelFunctions kernel_double_unary = {DoubleUnaryKernel::Supports, MakeKernel<DoubleUnaryKernel>};

}  // namespace plumb::cpu
