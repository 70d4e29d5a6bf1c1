// SPDX-License-Identifier: Apache-2.0
// The comparisons of op/compare.def in plain order, one scalar loop per dtype that the compiler
// may turn into vectors.
#include "op/compare.h"

#include <fmt/core.h>

#include "device/cpu/broadcast_rows.h"
#include "device/cpu/kernel_list.h"

namespace plumb::cpu {
namespace {

using CompareRows = BroadcastRows<2>;

#define ZERO T(0)
#define PLUMB_COMPARE(name, min_inputs, max_inputs, expression) \
  struct name {                                                 \
    template <class T>                                          \
    bool operator()(T a, [[maybe_unused]] T b) const {          \
      return expression;                                        \
    }                                                           \
  };
#include "op/compare.def"
#undef PLUMB_COMPARE
#undef ZERO

template <class T, class F>
void CompareEach(const CompareRows& rows, const void* a_data, const void* b_data, bool* y) {
  const T* a = static_cast<const T*>(a_data);
  const T* b = static_cast<const T*>(b_data);
  rows.ForEach([&](int64_t at, const CompareRows::Offsets& from, const CompareRows::Offsets& step, int64_t count) {
    for (int64_t i = 0; i < count; ++i) y[at + i] = F()(a[from[0] + i * step[0]], b[from[1] + i * step[1]]);
  });
}

using Function = void (*)(const CompareRows&, const void*, const void*, bool*);

template <class F>
Function ForDType(DType dtype) {
  switch (dtype) {
    case DType::kF32: return CompareEach<float, F>;
    case DType::kF64: return CompareEach<double, F>;
    case DType::kI8: return CompareEach<int8_t, F>;
    case DType::kU8: return CompareEach<uint8_t, F>;
    case DType::kBool: return CompareEach<bool, F>;
    case DType::kI16: return CompareEach<int16_t, F>;
    case DType::kU16: return CompareEach<uint16_t, F>;
    case DType::kI32: return CompareEach<int32_t, F>;
    case DType::kU32: return CompareEach<uint32_t, F>;
    case DType::kI64: return CompareEach<int64_t, F>;
    default: return nullptr;
  }
}

Function FunctionOf(OpKind kind, DType dtype) {
  switch (kind) {
#define PLUMB_COMPARE(name, ...) \
  case OpKind::k##name:          \
    return ForDType<name>(dtype);
#include "op/compare.def"
#undef PLUMB_COMPARE
    default: return nullptr;
  }
}

Result<CompareOperands> OperandsOf(const KernelSpec& spec) {
  if (spec.layer().kind != OpKind::kNot) return ResolveCompare(spec.layer(), spec.inputs);
  return CompareOperands{spec.inputs[0], spec.inputs[0], spec.inputs[0].shape};
}

class CompareKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_ASSIGN_OR_RETURN(const CompareOperands o, OperandsOf(spec));
    if (FunctionOf(spec.layer().kind, o.a.dtype) != nullptr) return Status::Ok();
    return Status::NotSupported(fmt::format("compares no {} operands", DTypeName(o.a.dtype)));
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(const CompareOperands o, OperandsOf(spec));
    function_ = FunctionOf(spec.layer().kind, o.a.dtype);
    rows_ = CompareRows({o.a.shape, o.b.shape}, o.out);
    if (spec.inputs.size() == 2 || spec.layer().kind == OpKind::kNot) return Status::Ok();
    element_first_ = ParamOf<BinaryParam>(spec.layer()).weight_input_index == 0;
    element_ = element_first_ ? o.a.value : o.b.value;
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const void* a = inputs[0].host<char>();
    const void* b = inputs.back().host<char>();
    if (!element_.empty()) (element_first_ ? a : b) = element_.raw();
    function_(rows_, a, b, outputs[0].host<bool>());
    return Status::Ok();
  }

 private:
  Function function_ = nullptr;
  CompareRows rows_;
  Tensor element_;
  bool element_first_ = false;
};

}  // namespace

const KernelFunctions kernel_compare = {CompareKernel::Supports, MakeKernel<CompareKernel>};

}  // namespace plumb::cpu
