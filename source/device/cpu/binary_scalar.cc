// SPDX-License-Identifier: Apache-2.0
// Operators of two inputs that no network spends its time in, in plain order and with broadcasting: remainders, bit
// operations, and whole numbers, which wrap around.
#include <fmt/core.h>

#include <cmath>
#include <type_traits>

#include "device/cpu/broadcast_rows.h"
#include "device/cpu/kernel_list.h"
#include "op/bitwise.h"
#include "op/core/whole_numbers.h"

namespace plumb::cpu {
namespace {

template <class T>
T FloatFloorRemainder(T a, T b) {
  const T rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

template <class T>
T Shifted(T a, T b, bool left) {
  using U = std::make_unsigned_t<T>;
  const U bits = static_cast<U>(a), by = static_cast<U>(b);
  return by >= sizeof(T) * 8 ? T{0} : static_cast<T>(left ? bits << by : bits >> by);
}

using ScalarRows = BroadcastRows<2>;

template <class T>
bool CombineScalar(OpKind kind, const ScalarRows& rows, bool left, const T* a, const T* b, T* y) {
  const auto apply = [&](auto f) {
    rows.ForEach([&](int64_t at, const ScalarRows::Offsets& from, const ScalarRows::Offsets& step, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        y[at + i] = static_cast<T>(f(a[from[0] + i * step[0]], b[from[1] + i * step[1]]));
      }
    });
    return true;
  };
  if constexpr (std::is_floating_point_v<T>) {
    if (kind == OpKind::kPlumbMod) return apply(FloatFloorRemainder<T>);
    if (kind == OpKind::kPlumbFmod) return apply([](T l, T r) { return std::fmod(l, r); });
  } else {
    constexpr T ONES = std::is_same_v<T, uint8_t> ? 1 : static_cast<T>(-1);  // bool is one byte
#define PLUMB_BITWISE(name, inputs, expression) \
  if (kind == OpKind::k##name) return apply([](T a, [[maybe_unused]] T b) { return expression; });
#include "op/bitwise.def"
#undef PLUMB_BITWISE
    if constexpr (!std::is_same_v<T, uint8_t>) {
      if (whole::WithBinary<T>(kind, apply)) return true;
      if (kind == OpKind::kPlumbBitShift) return apply([&](T l, T r) { return Shifted(l, r, left); });
    }
  }
  return false;
}

class ScalarBinaryKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.inputs[0].dtype;
    const OpKind kind = spec.layer().kind;
    const bool remainder = kind == OpKind::kPlumbMod || kind == OpKind::kPlumbFmod;
    if (dtype == DType::kI32 || dtype == DType::kI64 || dtype == (remainder ? DType::kF32 : DType::kBool))
      return Status::Ok();
    if (remainder && dtype == DType::kF64) return Status::Ok();
    return Status::NotSupported(
        fmt::format("takes i32, i64 and {}, found {}", remainder ? "f32, f64" : "bool", DTypeName(dtype)));
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    kind_ = spec.layer().kind;
    left_ = kind_ == OpKind::kPlumbBitShift && ParamOf<BitShiftParam>(spec.layer()).left;
    rows_ = ScalarRows({spec.inputs.front().shape, spec.inputs.back().shape}, spec.outputs[0].shape);
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    switch (outputs[0].dtype) {
      case DType::kF32: return RunAs<float>(inputs, outputs);
      case DType::kF64: return RunAs<double>(inputs, outputs);
      case DType::kI32: return RunAs<int32_t>(inputs, outputs);
      case DType::kI64: return RunAs<int64_t>(inputs, outputs);
      default: return RunAs<uint8_t>(inputs, outputs);
    }
  }

 private:
  template <class T>
  Status RunAs(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) {
    const bool done =
        CombineScalar<T>(kind_, rows_, left_, inputs.front().host<T>(), inputs.back().host<T>(), outputs[0].host<T>());
    return done ? Status::Ok() : Status::Internal("no loop for this operator and dtype");
  }

  OpKind kind_{};
  bool left_ = false;
  ScalarRows rows_;
};

}  // namespace

const KernelFunctions kernel_scalar_binary = {ScalarBinaryKernel::Supports, MakeKernel<ScalarBinaryKernel>};

}  // namespace plumb::cpu
