// Element-wise operators that no network spends its time in, as plain loops over scalar functions (evaluated in double
// for floats, so that they are rounded once): hyperbolic functions and their inverses, Mish, Round, Celu,
// ThresholdedRelu, Shrink, IsNaN, IsInf, remainders and bit operations; in plain order.
#include <cmath>

#include "device/x86/broadcast_rows.h"
#include "device/x86/kernel_list.h"
#include "op/activation.h"
#include "op/bitwise.h"
#include "op/classify.h"
#include "op/core/whole_numbers.h"

namespace plumb::x86 {
namespace {

constexpr int64_t kScalarGrain = 4096;  // elements that are worth a second thread

double Mish(double x) {
  const double e = std::exp(-std::fabs(x));  // tanh(log(1 + e^x)) = (s^2 - 1) / (s^2 + 1), s = 1 + e^x
  const double up = e * (2 + e), down = 1 + 2 * e;
  return std::isnan(x) ? x : x * (x < 0 ? up / (up + 2) : down / (down + 2 * e * e));
}

using UnaryFunction = double (*)(const UnaryCoefficients&, double);

UnaryFunction UnaryOf(OpKind kind) {
  using P = const UnaryCoefficients&;
  switch (kind) {
    case OpKind::kPlumbSinh: return [](P, double x) { return std::sinh(x); };
    case OpKind::kPlumbCosh: return [](P, double x) { return std::cosh(x); };
    case OpKind::kPlumbAsinh: return [](P, double x) { return std::asinh(x); };
    case OpKind::kPlumbAcosh: return [](P, double x) { return std::acosh(x); };
    case OpKind::kPlumbAtanh: return [](P, double x) { return std::atanh(x); };
    case OpKind::kPlumbMish: return [](P, double x) { return Mish(x); };
    case OpKind::kPlumbRound: return [](P, double x) { return std::nearbyint(x); };
    case OpKind::kPlumbCelu: return [](P p, double x) { return x > 0 ? x : double{p.a} * std::expm1(x / double{p.a}); };
    case OpKind::kPlumbThresholdedRelu: return [](P p, double x) { return x <= double{p.a} ? 0 : x; };
    case OpKind::kPlumbShrink:
      return [](P p, double x) {
        return x < -double{p.a} ? x + double{p.b} : x > double{p.a} ? x - double{p.b} : x * 0;
      };
    default: return nullptr;
  }
}

class ScalarUnaryKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    if (UnaryOf(spec.layer().kind) != nullptr) return Status::Ok();
    return Status::NotSupported("no scalar function is named for '" + spec.layer().type + "'");
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    function_ = UnaryOf(spec.layer().kind);
    params_ = CoefficientsOf(spec.layer());
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const float* x = inputs[0].host<float>();
    float* y = outputs[0].host<float>();
    ParallelFor(outputs[0].shape.NumElements(), kScalarGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = static_cast<float>(function_(params_, static_cast<double>(x[i])));
    });
    return Status::Ok();
  }

 private:
  UnaryFunction function_ = nullptr;
  UnaryCoefficients params_;
};

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

float FloatFloorRemainder(float a, float b) {
  const float rest = std::fmod(a, b);
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
    if (kind == OpKind::kPlumbMod) return apply(FloatFloorRemainder);
    if (kind == OpKind::kPlumbFmod) return apply([](T l, T r) { return std::fmod(l, r); });
  } else {
    if (kind == OpKind::kPlumbBitwiseAnd) return apply([](T l, T r) { return l & r; });
    if (kind == OpKind::kPlumbBitwiseOr) return apply([](T l, T r) { return l | r; });
    if (kind == OpKind::kPlumbBitwiseXor) return apply([](T l, T r) { return l ^ r; });
    if constexpr (!std::is_same_v<T, uint8_t>) {
      if (whole::WithBinary<T>(kind, apply)) return true;
      if (kind == OpKind::kPlumbBitShift) return apply([&](T l, T r) { return Shifted(l, r, left); });
      if (kind == OpKind::kPlumbBitwiseNot) return apply([](T l, T) { return ~l; });
    } else if (kind == OpKind::kPlumbBitwiseNot) {
      return apply([](T l, T) { return l == 0; });
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
    return Status::NotSupported(std::string("takes i32, i64 and ") + (remainder ? "f32" : "bool") + ", found " +
                                DTypeName(dtype));
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

const KernelFunctions kernel_scalar_unary = {ScalarUnaryKernel::Supports, MakeKernel<ScalarUnaryKernel>};
const KernelFunctions kernel_classify = {ClassifyKernel::Supports, MakeKernel<ClassifyKernel>};
const KernelFunctions kernel_scalar_binary = {ScalarBinaryKernel::Supports, MakeKernel<ScalarBinaryKernel>};

}  // namespace plumb::x86
