// SPDX-License-Identifier: Apache-2.0
// PlumbIsNaN and PlumbIsInf in plain order.
#include <limits>

#include "device/cpu/kernel_list.h"
#include "op/classify.h"

namespace plumb::cpu {
namespace {

class ClassifyKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.inputs[0].dtype;
    if (dtype == DType::kF32 || dtype == DType::kF64) return Status::Ok();
    return Status::NotSupported(std::string("takes f32 and f64, found ") + DTypeName(dtype));
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    nan_ = spec.layer().kind == OpKind::kPlumbIsNaN;
    if (nan_) return Status::Ok();
    negative_ = ParamOf<IsInfParam>(spec.layer()).detect_negative;
    positive_ = ParamOf<IsInfParam>(spec.layer()).detect_positive;
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    bool* y = outputs[0].host<bool>();
    if (inputs[0].dtype == DType::kF64) return Classify(inputs[0].host<double>(), outputs[0].shape.NumElements(), y);
    return Classify(inputs[0].host<float>(), outputs[0].shape.NumElements(), y);
  }

 private:
  template <class T>
  Status Classify(const T* x, int64_t count, bool* y) const {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    for (int64_t i = 0; i < count; ++i) {
      y[i] = nan_ ? x[i] != x[i] : (positive_ && x[i] == kInfinity) || (negative_ && x[i] == -kInfinity);
    }
    return Status::Ok();
  }

  bool nan_ = false, negative_ = false, positive_ = false;
};

}  // namespace

const KernelFunctions kernel_classify = {ClassifyKernel::Supports, MakeKernel<ClassifyKernel>};

}  // namespace plumb::cpu
