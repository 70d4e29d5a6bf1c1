// PlumbIsNaN and PlumbIsInf in plain order.
#include <cmath>

#include "device/x86/kernel_list.h"
#include "op/classify.h"

namespace plumb::x86 {
namespace {

class ClassifyKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.inputs[0].dtype;
    if (dtype == DType::kF32) return Status::Ok();
    return Status::NotSupported(std::string("takes f32, found ") + DTypeName(dtype));
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    nan_ = spec.layer().kind == OpKind::kPlumbIsNaN;
    if (nan_) return Status::Ok();
    negative_ = ParamOf<IsInfParam>(spec.layer()).detect_negative;
    positive_ = ParamOf<IsInfParam>(spec.layer()).detect_positive;
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const float* x = inputs[0].host<float>();
    bool* y = outputs[0].host<bool>();
    for (int64_t i = 0; i < outputs[0].shape.NumElements(); ++i) {
      y[i] = nan_ ? x[i] != x[i] : (positive_ && x[i] == INFINITY) || (negative_ && x[i] == -INFINITY);
    }
    return Status::Ok();
  }

 private:
  bool nan_ = false, negative_ = false, positive_ = false;
};

}  // namespace

const KernelFunctions kernel_classify = {ClassifyKernel::Supports, MakeKernel<ClassifyKernel>};

}  // namespace plumb::x86
