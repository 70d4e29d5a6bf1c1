// SPDX-License-Identifier: Apache-2.0
// Binary element-wise operators with NumPy broadcasting, the rows of binary.def; one operand may be the layer's
// constant. tau: the row's own and, inside a fused group, the spread that the operands' uncertainty causes, in
// quadrature.
#include "op/binary.h"

#include <fmt/core.h>

#include <algorithm>
#include <type_traits>

#include "reference/core/broadcast.h"
#include "reference/core/elementwise.h"
#include "reference/power_tau.h"

namespace plumb {
namespace {

struct Operands {
  const Tensor* a;
  const Tensor* b;
  Shape a_shape, b_shape;
  const double* tau_a = nullptr;
  const double* tau_b = nullptr;
  Tensor constant;  // converted to the storage dtype
};

Status Resolve(const ReferenceArgs& args, const BoundArgs* bound, Operands* o) {
  o->a = args.inputs[0];
  o->a_shape = o->a->shape();
  if (bound != nullptr) o->tau_a = InputTau(*bound, 0);
  if (args.inputs.size() == 2) {
    o->b = args.inputs[1];
    o->b_shape = o->b->shape();
    if (bound != nullptr) o->tau_b = InputTau(*bound, 1);
    return Status::Ok();
  }
  const Tensor* element = args.layer.Resource("element");
  if (element == nullptr) return Status::CorruptModel("the constant operand is missing");
  PLUMB_ASSIGN_OR_RETURN(o->constant, element->ConvertedTo(o->a->dtype()));
  PLUMB_ASSIGN_OR_RETURN(o->b_shape, ConstantOperandShape(*element, o->a_shape));
  o->b = &o->constant;
  if (ParamOf<BinaryParam>(args.layer).weight_input_index == 0) {
    std::swap(o->a, o->b);
    std::swap(o->a_shape, o->b_shape);
    std::swap(o->tau_a, o->tau_b);
  }
  return Status::Ok();
}

template <class T, class F>
void ApplyBinary(const Operands& o, Tensor* out, F f) {
  const T* a = o.a->data<T>();
  const T* b = o.b->data<T>();
  T* y = out->data<T>();
  const Broadcast walk(o.a_shape, o.b_shape, out->shape());
  ParallelFor(out->NumElements(), kElementGrain, [&](int64_t begin, int64_t end) {
    walk.ForEach(begin, end, [&](int64_t i, int64_t ia, int64_t ib) { y[i] = static_cast<T>(f(a[ia], b[ib])); });
  });
}

template <class T>
std::make_unsigned_t<T> Bits(T value) {
  return static_cast<std::make_unsigned_t<T>>(value);
}
template <class T>
T Wrapped(std::make_unsigned_t<T> bits) {
  return static_cast<T>(bits);
}
template <class T>
T Squared(std::make_unsigned_t<T> bits) {
  return static_cast<T>(bits * bits);
}
template <class T>
T Quotient(T a, T b) {
  if (b == 0) return 0;
  return b == -1 ? Wrapped<T>(0 - Bits(a)) : a / b;
}
template <class T>
T Remainder(T a, T b) {
  return b == 0 || b == -1 ? T{0} : a % b;
}
template <class T>
T FloorRemainder(T a, T b) {
  const T rest = Remainder(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
double FloorRemainder(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
// Wraps around; a negative exponent truncates to 0 except for the bases 1 and -1.
template <class T>
T WholePower(T base, T exponent) {
  if (exponent < 0) return base == 1 ? T{1} : (base == -1 ? (exponent % 2 == 0 ? T{1} : T{-1}) : T{0});
  std::make_unsigned_t<T> factor = Bits(base), power = 1;
  for (auto left = Bits(exponent); left != 0; left >>= 1) {
    if (left & 1) power *= factor;
    factor *= factor;
  }
  return Wrapped<T>(power);
}

#define PLUMB_NAIVE_BINARY(name, value, tau, whole)                           \
  struct name##Row {                                                          \
    static double Y(double a, double b) { return value; }                     \
    static double Tau(double a, double b, double y, double u) { return tau; } \
    template <class T>                                                        \
    static T Whole(T a, T b) {                                                \
      return whole;                                                           \
    }                                                                         \
  };
#include "reference/binary.def"
#undef PLUMB_NAIVE_BINARY

template <class Row>
Status RunBinary(const ReferenceArgs& args) {
  Operands o;
  PLUMB_RETURN_IF_ERROR(Resolve(args, nullptr, &o));
  Tensor* out = args.outputs[0];
  const auto real = [](auto a, auto b) { return Row::Y(static_cast<double>(a), static_cast<double>(b)); };
  switch (out->dtype()) {
    case DType::kF32: ApplyBinary<float>(o, out, real); break;
    case DType::kF64: ApplyBinary<double>(o, out, real); break;
    case DType::kI32: ApplyBinary<int32_t>(o, out, Row::template Whole<int32_t>); break;
    case DType::kI64: ApplyBinary<int64_t>(o, out, Row::template Whole<int64_t>); break;
    default: return Status::NotSupported(fmt::format("no reference for {} operands", DTypeName(out->dtype())));
  }
  return Status::Ok();
}

// Values and taus of `run` neighbours, waiting on the stack: the outputs may be the inputs' own memory.
template <class Row>
struct Piece {
  double values[kElementRun], errors[kElementRun];

  void Fill(const Operands& o, const Arithmetic& arithmetic, int64_t ia, int64_t a_step, int64_t ib, int64_t b_step,
            int64_t run) {
    using One = std::integral_constant<int64_t, 1>;  // with steps that a compiler knows loops become vectors
    using None = std::integral_constant<int64_t, 0>;
    if (a_step == 1 && b_step == 1) {
      FillBy(o, arithmetic, ia, ib, run, One(), One());
    } else if (a_step == 1 && b_step == 0) {
      FillBy(o, arithmetic, ia, ib, run, One(), None());
    } else {
      FillBy(o, arithmetic, ia, ib, run, a_step, b_step);
    }
  }

 private:
  template <class AStep, class BStep>
  void FillBy(const Operands& o, const Arithmetic& given, int64_t ia, int64_t ib, int64_t run, AStep a_step,
              BStep b_step) {
    const double* a = o.a->data<double>() + ia;
    const double* b = o.b->data<double>() + ib;
    const Arithmetic arithmetic = given;  // a copy: no store below can change it
    for (int64_t i = 0; i < run; ++i) {
      const double y = Row::Y(a[i * a_step], b[i * b_step]);
      values[i] = y;
      errors[i] = StoredTau(Row::Tau(a[i * a_step], b[i * b_step], y, arithmetic.u), y, arithmetic);
    }
    for (int64_t i = 0; o.tau_a != nullptr && i < run; ++i) {
      const auto f = [&](double v) { return Row::Y(v, b[i * b_step]); };
      errors[i] = Quadrature(errors[i], Spread(f, a[i * a_step], values[i], o.tau_a[ia + i * a_step]));
    }
    for (int64_t i = 0; o.tau_b != nullptr && i < run; ++i) {
      const auto f = [&](double v) { return Row::Y(a[i * a_step], v); };
      errors[i] = Quadrature(errors[i], Spread(f, b[i * b_step], values[i], o.tau_b[ib + i * b_step]));
    }
  }
};

template <class Row>
Status BoundBinary(const ReferenceArgs& args, const BoundArgs& bound) {
  if (!IsFloat(args.outputs[0]->dtype())) {
    SetExact(bound);
    return RunBinary<Row>(args);
  }
  Operands o;
  PLUMB_RETURN_IF_ERROR(Resolve(args, &bound, &o));
  double* y = args.outputs[0]->data<double>();
  double* tau = bound.tau[0]->data<double>();
  const Broadcast walk(o.a_shape, o.b_shape, args.outputs[0]->shape());
  ParallelFor(args.outputs[0]->NumElements(), kElementGrain, [&](int64_t begin, int64_t end) {
    Piece<Row> piece;
    const auto fill = [&](int64_t i, int64_t ia, int64_t a_step, int64_t ib, int64_t b_step, int64_t run) {
      piece.Fill(o, bound.arithmetic, ia, a_step, ib, b_step, run);
      std::copy_n(piece.values, run, y + i);
      std::copy_n(piece.errors, run, tau + i);
    };
    walk.ForEachRun(begin, end, kElementRun, fill);
  });
  return Status::Ok();
}

}  // namespace

#define PLUMB_NAIVE_BINARY(name, value, tau, whole) \
  ReferenceOp Reference##name() { return ElementWise(RunBinary<name##Row>, BoundBinary<name##Row>); }
#include "reference/binary.def"
#undef PLUMB_NAIVE_BINARY

}  // namespace plumb
