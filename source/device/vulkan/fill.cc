// ConstantOfShape and Range: made once, when the kernel is prepared, and copied at each Forward.
#include "op/fill.h"

#include <cmath>
#include <cstring>

#include "device/vulkan/copy.h"

namespace plumb::vulkan {
namespace {

template <class T>
void Count(const KernelSpec& spec, Tensor* made) {
  const T start = *spec.inputs[0].value.data<T>(), delta = *spec.inputs[2].value.data<T>();
  for (int64_t i = 0; i < made->NumElements(); ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      made->data<T>()[i] = std::fma(static_cast<T>(i), delta, start);
    } else {
      made->data<T>()[i] = static_cast<T>(start + static_cast<T>(i) * delta);
    }
  }
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
  switch (out.dtype) {
    case DType::kI32: Count<int32_t>(spec, &made); break;
    case DType::kI64: Count<int64_t>(spec, &made); break;
    default: Count<float>(spec, &made); break;
  }
  return made;
}

Status Supports(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  const DType dtype = spec.outputs[0].dtype;
  const bool number = dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kI64;
  if (spec.layer().kind == OpKind::kRange && !number) {
    return Status::NotSupported(std::string("counts f32, i32 and i64, found ") + DTypeName(dtype));
  }
  return RequireDType(spec, dtype);
}

Status Build(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor made, Make(b->spec));
  PLUMB_ASSIGN_OR_RETURN(const Argument constant, b->Constant(made));
  b->launches.push_back(CopyAllSpec(made.dtype(), Argument::Output(0), constant, made.NumElements()));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_fill = {Supports, Build};

}  // namespace plumb::vulkan
