// SPDX-License-Identifier: Apache-2.0
#include "device/shared/fill.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "op/core/strided.h"
#include "op/selection.h"

namespace plumb {
namespace {

template <class T>
void FillRange(const KernelSpec& spec, Tensor* made) {
  const T start = *spec.inputs[0].value.data<T>(), delta = *spec.inputs[2].value.data<T>();
  T* to = made->data<T>();
  for (int64_t i = 0; i < made->NumElements(); ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      to[i] = std::fma(static_cast<T>(i), delta, start);
    } else {
      using U = std::make_unsigned_t<T>;  // in which overflow is defined
      to[i] = static_cast<T>(static_cast<U>(start) + static_cast<U>(i) * static_cast<U>(delta));
    }
  }
}

Status FillConstant(const KernelSpec& spec, Tensor* made) {
  const Tensor* value = spec.layer().Resource("value");
  if (value == nullptr) return Status::CorruptModel("the value is missing");
  const size_t size = DTypeSize(made->dtype());
  char* to = static_cast<char*>(made->raw());
  for (int64_t i = 0; i < made->NumElements(); ++i, to += size) std::memcpy(to, value->raw(), size);
  return Status::Ok();
}

bool Selects(const KernelSpec& spec) {
  const OpKind kind = spec.layer().kind;
  return kind == OpKind::kPlumbNonZero || kind == OpKind::kPlumbUnique || kind == OpKind::kPlumbNonMaxSuppression;
}

Result<Tensor> MakeOne(const KernelSpec& spec) {
  const BlobInfo& out = spec.outputs[0];
  if (!out.value.empty()) return out.value;
  PLUMB_ASSIGN_OR_RETURN(Tensor made, Tensor::Create(out.dtype, out.shape));
  if (spec.layer().kind == OpKind::kConstantOfShape) {
    PLUMB_RETURN_IF_ERROR(FillConstant(spec, &made));
    return made;
  }
  switch (out.dtype) {
    case DType::kI32: FillRange<int32_t>(spec, &made); break;
    case DType::kI64: FillRange<int64_t>(spec, &made); break;
    default: FillRange<float>(spec, &made); break;
  }
  return made;
}

}  // namespace

Status SupportsFill(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  const OpKind kind = spec.layer().kind;
  const BlobInfo& out = spec.outputs[0];
  if (kind == OpKind::kConstantOfShape || Selects(spec) || !out.value.empty()) return Status::Ok();
  if (kind != OpKind::kRange) {
    return Status::NotSupported(fmt::format("makes at most {} values, got {}", kMaxHostValues, out.shape.ToString()));
  }
  if (out.dtype == DType::kF32 || out.dtype == DType::kI32 || out.dtype == DType::kI64) return Status::Ok();
  return Status::NotSupported(fmt::format("ranges of {} have no kernel", DTypeName(out.dtype)));
}

Result<std::vector<Tensor>> MakeFill(const KernelSpec& spec) {
  if (Selects(spec)) return Select(spec.layer(), spec.inputs);
  PLUMB_ASSIGN_OR_RETURN(Tensor one, MakeOne(spec));
  return std::vector<Tensor>{std::move(one)};
}

}  // namespace plumb
