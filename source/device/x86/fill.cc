// ConstantOfShape and Range: made once, when the kernel is prepared, and copied at each Forward.
#include "op/fill.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "device/x86/kernel_list.h"

namespace plumb::x86 {
namespace {

// Whole numbers wrap around.
template <class T>
void FillRange(const Tensor& start, const Tensor& delta, Tensor* made) {
  using U = std::make_unsigned_t<T>;
  U at = static_cast<U>(*start.data<T>());
  for (int64_t i = 0; i < made->NumElements(); ++i, at += static_cast<U>(*delta.data<T>())) made->data<T>()[i] = static_cast<T>(at);
}

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
  const Tensor &start = spec.inputs[0].value, &delta = spec.inputs[2].value;
  if (out.dtype == DType::kI32) {
    FillRange<int32_t>(start, delta, &made);
  } else if (out.dtype == DType::kI64) {
    FillRange<int64_t>(start, delta, &made);
  } else {
    const float first = *start.data<float>(), step = *delta.data<float>();
    for (int64_t i = 0; i < made.NumElements(); ++i) made.data<float>()[i] = std::fma(static_cast<float>(i), step, first);
  }
  return made;
}

class FillKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.outputs[0].dtype;
    if (spec.layer().kind == OpKind::kConstantOfShape || dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kI64) {
      return Status::Ok();
    }
    return Status::NotSupported(std::string("ranges of ") + DTypeName(dtype) + " have no kernel");
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
