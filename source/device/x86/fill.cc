// ConstantOfShape and f32 Range: made once, when the kernel is prepared, and copied at each Forward.
#include "op/fill.h"

#include <cmath>
#include <cstring>

#include "device/x86/kernel_list.h"
#include "op/strided.h"

namespace plumb::x86 {
namespace {

Result<Tensor> Make(const KernelSpec& spec) {
  const BlobInfo& out = spec.outputs[0];
  PLUMB_ASSIGN_OR_RETURN(Tensor made, Tensor::Create(out.dtype, out.shape));
  if (spec.layer().kind == OpKind::kConstantOfShape) {
    const Tensor* value = spec.layer().Resource("value");
    if (value == nullptr) return Status::CorruptModel("the value is missing");
    const size_t size = DTypeSize(out.dtype);
    char* to = static_cast<char*>(made.raw());
    for (int64_t i = 0; i < made.NumElements(); ++i, to += size) std::memcpy(to, value->raw(), size);
    return made;
  }
  const float start = *spec.inputs[0].value.data<float>(), delta = *spec.inputs[2].value.data<float>();
  for (int64_t i = 0; i < made.NumElements(); ++i)
    made.data<float>()[i] = std::fma(static_cast<float>(i), delta, start);
  return made;
}

class FillKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.outputs[0].dtype;
    if (spec.layer().kind == OpKind::kConstantOfShape || dtype == DType::kF32) return Status::Ok();
    return Status::NotSupported(std::string("ranges of more than ") + std::to_string(kMaxHostValues) + " " +
                                DTypeName(dtype) + " have no kernel");
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(made_, Make(spec));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>& outputs) override {
    std::memcpy(outputs[0].host<char>(), made_.raw(), made_.bytes());
    return Status::Ok();
  }

 private:
  Tensor made_;
};

}  // namespace

const KernelFunctions kernel_fill = {FillKernel::Supports, MakeKernel<FillKernel>};

}  // namespace plumb::x86
