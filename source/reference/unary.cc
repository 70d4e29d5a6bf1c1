// SPDX-License-Identifier: Apache-2.0
// The element-wise operators without parameters: the rows of unary.def.
#include "reference/core/elementwise.h"
#include "reference/core/gelu.h"

namespace plumb {
namespace {

double Logistic(double x) {
  const double e = std::exp(-std::fabs(x));  // never overflows
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

double Softplus(double x) { return std::isnan(x) ? x : std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

// Wraps around: the lowest value is its own negative.
template <class T>
T Negated(T x) {
  return static_cast<T>(std::make_unsigned_t<T>{0} - static_cast<std::make_unsigned_t<T>>(x));
}

#define PLUMB_NAIVE_UNARY(name, value, tau)                         \
  struct name##Row {                                                \
    static double Y(double x) { return value; }                     \
    static double Tau(double x, double y, double u) { return tau; } \
  };
#define PLUMB_NAIVE_UNARY_INT(name, value, tau, whole) \
  PLUMB_NAIVE_UNARY(name, value, tau)                  \
  struct name##Int {                                   \
    template <class T>                                 \
    static T Y(T x) {                                  \
      return whole;                                    \
    }                                                  \
  };
#include "reference/unary.def"
#undef PLUMB_NAIVE_UNARY
#undef PLUMB_NAIVE_UNARY_INT

template <class Row>
Status RunOfUnary(const ReferenceArgs& args) {
  return RunUnary(args, [](double x) { return Row::Y(x); });
}

template <class Row>
Status BoundUnary(const ReferenceArgs& args, const BoundArgs& bound) {
  return RunUnaryWithBound(
      args, bound, [](double x) { return Row::Y(x); }, [](double x, double y, double u) { return Row::Tau(x, y, u); });
}

template <class IntRow, class T>
Status RunInt(const ReferenceArgs& args) {
  const T* x = args.inputs[0]->data<T>();
  T* y = args.outputs[0]->data<T>();
  ParallelFor(args.inputs[0]->NumElements(), kElementGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = IntRow::Y(x[i]);
  });
  return Status::Ok();
}

template <class Row, class IntRow>
Status RunNumber(const ReferenceArgs& args) {
  switch (args.inputs[0]->dtype()) {
    case DType::kI32: return RunInt<IntRow, int32_t>(args);
    case DType::kI64: return RunInt<IntRow, int64_t>(args);
    default: return RunOfUnary<Row>(args);
  }
}

template <class Row, class IntRow>
Status BoundNumber(const ReferenceArgs& args, const BoundArgs& bound) {
  if (IsFloat(args.inputs[0]->dtype())) return BoundUnary<Row>(args, bound);
  SetExact(bound);
  return RunNumber<Row, IntRow>(args);
}

}  // namespace

#define PLUMB_NAIVE_UNARY(name, value, tau) \
  ReferenceOp Reference##name() { return ElementWise(RunOfUnary<name##Row>, BoundUnary<name##Row>); }
#define PLUMB_NAIVE_UNARY_INT(name, value, tau, whole)                                      \
  ReferenceOp Reference##name() {                                                           \
    return ElementWise(RunNumber<name##Row, name##Int>, BoundNumber<name##Row, name##Int>); \
  }
#include "reference/unary.def"
#undef PLUMB_NAIVE_UNARY
#undef PLUMB_NAIVE_UNARY_INT

}  // namespace plumb
