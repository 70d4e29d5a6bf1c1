// SPDX-License-Identifier: Apache-2.0
// ConstantOfShape: exact. Range: start + i * delta; tau 8 u (|start| + |i delta|) for floats, 0 for integers.
#include "op/fill.h"

#include <cmath>
#include <cstring>

#include "reference/core/elementwise.h"

namespace plumb {
namespace {

Status RunConstant(const ReferenceArgs& args) {
  const Tensor* value = args.layer.Resource("value");
  if (value == nullptr) return Status::CorruptModel("the value is missing");
  Tensor* out = args.outputs[0];
  PLUMB_ASSIGN_OR_RETURN(const Tensor one, value->ConvertedTo(out->dtype()));
  const size_t size = DTypeSize(out->dtype());
  for (int64_t i = 0; i < out->NumElements(); ++i) {
    std::memcpy(static_cast<char*>(out->raw()) + static_cast<size_t>(i) * size, one.raw(), size);
  }
  return Status::Ok();
}

Status BoundConstant(const ReferenceArgs& args, const BoundArgs& bound) {
  std::memset(bound.tau[0]->raw(), 0, bound.tau[0]->bytes());
  return RunConstant(args);
}

template <class T>
void Count(const ReferenceArgs& args) {
  const T start = *args.inputs[0]->data<T>(), delta = *args.inputs[2]->data<T>();
  T* y = args.outputs[0]->data<T>();
  for (int64_t i = 0; i < args.outputs[0]->NumElements(); ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      y[i] = static_cast<T>(std::fma(static_cast<double>(i), static_cast<double>(delta), static_cast<double>(start)));
    } else {
      y[i] = static_cast<T>(start + static_cast<T>(i) * delta);
    }
  }
}

Status RunRange(const ReferenceArgs& args) {
  switch (args.inputs[0]->dtype()) {
    case DType::kF32: Count<float>(args); return Status::Ok();
    case DType::kF64: Count<double>(args); return Status::Ok();
    case DType::kI32: Count<int32_t>(args); return Status::Ok();
    case DType::kI64: Count<int64_t>(args); return Status::Ok();
    default:
      return Status::NotSupported(std::string("no reference for a range of ") + DTypeName(args.inputs[0]->dtype()));
  }
}

Status BoundRange(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(RunRange(args));
  const bool real = IsFloat(args.inputs[0]->dtype());
  const double start = args.inputs[0]->ValueAt(0), delta = args.inputs[2]->ValueAt(0);
  double* tau = bound.tau[0]->data<double>();
  for (int64_t i = 0; i < bound.tau[0]->NumElements(); ++i) {
    const double step = static_cast<double>(i) * delta;
    tau[i] = real ? 8 * bound.arithmetic.u_out * (std::fabs(start) + std::fabs(step)) + 4 * kEta : 0;
  }
  return Status::Ok();
}

}  // namespace

ReferenceOp ReferenceConstantOfShape() { return {RunConstant, BoundConstant}; }
ReferenceOp ReferenceRange() {
  ReferenceOp op{RunRange, BoundRange};
  op.propagates = false;  // the number of elements would be uncertain
  return op;
}

}  // namespace plumb
