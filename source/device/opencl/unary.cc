// Element-wise operators of one input: the rows of unary.cl, in the form in which the blob arrives.
#include "op/activation.h"

#include <cmath>
#include <limits>

#include "device/opencl/kernel_list.h"

namespace plumb::opencl {
namespace {

struct Params {
  float a = 0, b = 0, c = 0;
  bool keeps_zero = true;  // f(0) = 0, so that the lanes behind the last channel stay zero
};

Params ParamsOf(const Layer& layer) {
  const std::string& type = layer.type;
  if (type == "LeakyRelu") return {ParamOf<LeakyReluParam>(layer).slope};
  if (type == "Elu") return {ParamOf<EluParam>(layer).alpha};
  if (type == "Selu") return {ParamOf<SeluParam>(layer).alpha, ParamOf<SeluParam>(layer).gamma};
  if (type == "PlumbCelu") return {ParamOf<CeluParam>(layer).alpha};
  if (type == "PlumbThresholdedRelu") return {ParamOf<ThresholdedReluParam>(layer).alpha};
  if (type == "PlumbShrink") {  // 0 moves only where lambda is negative
    const auto& p = ParamOf<ShrinkParam>(layer);
    return {p.lambda, p.bias, 0, p.lambda >= 0};
  }
  if (type == "Clip") {
    const auto& p = ParamOf<ClipParam>(layer);
    return {p.min, p.max, 0, p.min <= 0 && p.max >= 0};
  }
  if (type == "Power") {
    const auto& p = ParamOf<PowerParam>(layer);
    return {p.scale, p.shift, p.exponent, false};
  }
  if (type == "HardSigmoid" || type == "HardSwish") {
    const auto& p = ParamOf<HardParam>(layer);
    return {p.alpha, p.beta, 0, type == "HardSwish"};
  }
  for (const char* moves_zero : {"Exp", "Log", "Sigmoid", "LogSigmoid", "Softplus", "Rsqrt", "Reciprocal", "Cos",
                                 "Acos", "PlumbCosh", "PlumbAcosh"}) {
    if (type == moves_zero) return {0, 0, 0, false};
  }
  return {};
}

class UnaryKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    if (spec.inputs.size() == 1) return Status::Ok();
    return Status::NotSupported("takes one input, found " + std::to_string(spec.inputs.size()));
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    const LayoutPtr layout = StoredLayout(spec, DType::kF32, IsBlocked(arriving[0]));
    choice->inputs = {layout};
    choice->outputs = {layout};
    choice->shares = {{ShareWish::kOverwrite, 0, 0}};
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&,
                 const std::vector<DeviceTensor>& outputs) override {
    params_ = ParamsOf(spec.layer());
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "unary.cl", "unary_" + spec.layer().type));
    return params_.keeps_zero ? Status::Ok() : tail_.Prepare(spec, outputs[0]);
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t count = PlanesOf(outputs[0]).elements();
    PLUMB_RETURN_IF_ERROR(launcher_.Run({count}, outputs[0], inputs[0], count, params_.a, params_.b, params_.c));
    return tail_.Run(outputs[0]);
  }

 private:
  Params params_;
  Launcher launcher_;
  TailZero tail_;
};

// ReLU, Abs, Neg, Sign and Clip of whole numbers.
class UnaryIntKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.inputs[0].dtype;
    if (dtype == DType::kI32 || dtype == DType::kI64) return Status::Ok();
    return Status::NotSupported(std::string("takes i32 and i64, found ") + DTypeName(dtype));
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const char* const types[] = {"ReLU", "Abs", "Neg", "Sign", "Clip"};
    for (int i = 0; i < 5; ++i) op_ = spec.layer().type == types[i] ? i : op_;
    wide_ = spec.inputs[0].dtype == DType::kI64;
    if (op_ == 4) {
      const auto& p = ParamOf<ClipParam>(spec.layer());
      low_ = Limit(p.min);
      high_ = Limit(p.max);
    }
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "unary.cl", wide_ ? "unary_long" : "unary_int"));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t count = outputs[0].shape.NumElements();
    if (!wide_) {
      return launcher_.Run({count}, outputs[0], inputs[0], count, op_, static_cast<int>(low_), static_cast<int>(high_));
    }
    return launcher_.Run({count}, outputs[0], inputs[0], count, op_, Long{low_}, Long{high_});
  }

 private:
  struct Long {
    int64_t value;  // a struct: whole numbers are passed as int
  };

  // A float bound as a whole number: towards zero, cut to the type's range; NaN is 0.
  int64_t Limit(float bound) const {
    const double value = std::isnan(bound) ? 0.0 : std::trunc(static_cast<double>(bound));
    const int64_t low = wide_ ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
    const int64_t high = wide_ ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int32_t>::max();
    if (value >= static_cast<double>(high)) return high;
    if (value <= static_cast<double>(low)) return low;
    return static_cast<int64_t>(value);
  }

  int op_ = 0;
  bool wide_ = false;
  int64_t low_ = 0, high_ = 0;
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_unary = {UnaryKernel::Supports, MakeKernel<UnaryKernel>};
const KernelFunctions kernel_unary_int = {UnaryIntKernel::Supports, MakeKernel<UnaryIntKernel>};

}  // namespace plumb::opencl
