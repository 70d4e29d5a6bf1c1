// Element-wise operators of one input on f64 blobs.
#include "base/threads.h"
#include "device/x86/double_functions.h"
#include "device/x86/kernel_list.h"

namespace plumb::x86 {
namespace {

constexpr int64_t kDoubleUnaryGrain = 4096;  // elements that are worth a second thread

class DoubleUnaryKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF64(spec));
    const bool known = real::UnaryFunctionOf(spec.layer().kind) != nullptr;
    if (known && (spec.inputs.size() == 1 || spec.inputs[0].shape == spec.inputs[1].shape)) return Status::Ok();
    return Status::NotSupported("takes one blob, or two of one shape");
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    function_ = real::UnaryFunctionOf(spec.layer().kind);
    with_ = CoefficientsOf(spec.layer());
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const double *x = inputs[0].host<double>(), *gate = inputs.size() > 1 ? inputs[1].host<double>() : nullptr;
    double* y = outputs[0].host<double>();
    ParallelFor(outputs[0].shape.NumElements(), kDoubleUnaryGrain, [&](int64_t begin, int64_t end) {
      const double a = with_.a, b = with_.b, c = with_.c;
      for (int64_t i = begin; i < end; ++i) {  // HardSwish's gate reads the second blob
        y[i] = gate == nullptr ? function_(x[i], a, b, c) : x[i] * real::hard_sigmoid(gate[i], a, b);
      }
    });
    return Status::Ok();
  }

 private:
  real::UnaryFunction function_ = nullptr;
  UnaryCoefficients with_;
};

}  // namespace

const KernelFunctions kernel_double_unary = {DoubleUnaryKernel::Supports, MakeKernel<DoubleUnaryKernel>};

}  // namespace plumb::x86
