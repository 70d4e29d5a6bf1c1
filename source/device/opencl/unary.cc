// Element-wise operators of one input: the rows of op/unary.def, in the form in which the blob arrives.
#include "op/activation.h"

#include "device/opencl/kernel_list.h"

namespace plumb::opencl {
namespace {

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
    with_ = CoefficientsOf(spec.layer());
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "unary.cl", "unary_" + spec.layer().type));
    return UnaryKeepsZero(spec.layer()) ? Status::Ok() : tail_.Prepare(spec, outputs[0]);
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t count = PlanesOf(outputs[0]).elements();
    PLUMB_RETURN_IF_ERROR(launcher_.Run({count}, outputs[0], inputs[0], count, with_.a, with_.b, with_.c));
    return tail_.Run(outputs[0]);
  }

 private:
  UnaryCoefficients with_;
  Launcher launcher_;
  TailZero tail_;
};

// ReLU, Abs, Neg, Sign and Clip of whole numbers.
class UnaryIntKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.inputs[0].dtype;
    if (dtype != DType::kI32 && dtype != DType::kI64) {
      return Status::NotSupported(std::string("takes i32 and i64, found ") + DTypeName(dtype));
    }
    return WholeUnaryOf(spec.layer().kind) ? Status::Ok() : Status::NotSupported("has no whole-number form");
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    const WholeUnary op = WholeUnaryOf(spec.layer().kind).value();
    op_ = static_cast<int>(op);
    wide_ = spec.inputs[0].dtype == DType::kI64;
    if (op == WholeUnary::kClip) limits_ = WholeLimitsOf(ParamOf<ClipParam>(spec.layer()), spec.inputs[0].dtype);
    PLUMB_ASSIGN_OR_RETURN(launcher_, Load(spec, "unary.cl", wide_ ? "unary_long" : "unary_int"));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t count = outputs[0].shape.NumElements();
    if (!wide_) {
      return launcher_.Run({count}, outputs[0], inputs[0], count, op_, static_cast<int>(limits_.low),
                           static_cast<int>(limits_.high));
    }
    return launcher_.Run({count}, outputs[0], inputs[0], count, op_, Long{limits_.low}, Long{limits_.high});
  }

 private:
  struct Long {
    int64_t value;  // a struct: whole numbers are passed as int
  };

  int op_ = 0;
  bool wide_ = false;
  WholeLimits limits_;
  Launcher launcher_;
};

}  // namespace

const KernelFunctions kernel_unary = {UnaryKernel::Supports, MakeKernel<UnaryKernel>};
const KernelFunctions kernel_unary_int = {UnaryIntKernel::Supports, MakeKernel<UnaryIntKernel>};

}  // namespace plumb::opencl
