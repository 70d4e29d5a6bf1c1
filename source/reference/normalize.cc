// SPDX-License-Identifier: Apache-2.0
// Normalize, y = x / max(norm, epsilon). Its tau is not measured; it follows from those of Div and of the norm's
// reduction:
//   12 |y| sqrt(2 u^2 + r^2), r^2 = (sig^2 + d^2) / (2 norm^2)^2 for p = 2, / norm^2 for p = 1, 0 for max and min,
// and for p = 2 the squares that underflow, |y| / norm times min(sqrt(n eta), n eta / (2 norm)).
#include "op/normalize.h"

#include <algorithm>

#include "reference/core/axis_rows.h"

namespace plumb {
namespace {

struct Norm {
  double value;
  double relative2 = 0;  // squared relative error, (12 sqrt(..))^2 apart
  double underflow = 0;  // relative
};

template <class T>
double ExtremeNorm(const Rows& rows, const T* x, bool max) {
  double norm = max ? 0 : INFINITY;
  for (int64_t i = 0; i < rows.n; ++i) {
    const double v = std::fabs(static_cast<double>(x[i * rows.inner]));
    if (std::isnan(v) || (max ? v > norm : v < norm)) norm = v;
  }
  return norm;
}

template <class T>
Norm NormOf(const NormalizeParam& p, const Rows& rows, const T* x, double u) {
  if (p.p == INT_MAX || p.p == INT_MIN) return {ExtremeNorm(rows, x, p.p == INT_MAX)};
  SerialSum sum(rows.n);
  for (int64_t i = 0; i < rows.n; ++i) {
    const double v = static_cast<double>(x[i * rows.inner]);
    sum.Add(p.p == 1 ? std::fabs(v) : v * v);
  }
  const double value = sum.value(), error2 = SumError2(sum, u);
  if (p.p == 1) return {value, error2 / (value * value)};
  const double norm = std::sqrt(value), lost = static_cast<double>(rows.n) * kEta;
  return {norm, error2 / (4 * value * value), std::min(std::sqrt(lost), lost / (2 * norm)) / norm};
}

Rows RowsOfNormalize(const NormalizeParam& p, const Shape& shape) {
  const int axis = p.axis < 0 ? p.axis + shape.rank() : p.axis;
  return Rows::Over(shape, axis, p.across_spatial != 0 ? shape.rank() : axis + 1);
}

// f(element, norm, the norm itself rather than epsilon) in parallel over the rows.
template <class T, class F>
void ForEachElement(const ReferenceArgs& args, const T* x, double u, F f) {
  const auto& p = ParamOf<NormalizeParam>(args.layer);
  const Rows rows = RowsOfNormalize(p, args.inputs[0]->shape());
  const double epsilon = static_cast<double>(p.epsilon);
  rows.ForEach([&](int64_t, int64_t at) {
    Norm norm = NormOf(p, rows, x + at, u);
    if (norm.value < epsilon) norm = {epsilon};
    for (int64_t i = 0; i < rows.n; ++i) f(at + i * rows.inner, norm);
  });
}

Status RunNormalize(const ReferenceArgs& args) {
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    const T* x = args.inputs[0]->data<T>();
    T* y = args.outputs[0]->data<T>();
    ForEachElement(args, x, 0,
                   [&](int64_t i, const Norm& norm) { y[i] = static_cast<T>(static_cast<double>(x[i]) / norm.value); });
    return Status::Ok();
  });
}

Status BoundNormalize(const ReferenceArgs& args, const BoundArgs& bound) {
  if (InputTau(bound, 0) != nullptr) return Status::NotSupported("Normalize is not judged inside a fused group");
  PLUMB_RETURN_IF_ERROR(RunNormalize(args));
  const double u = bound.arithmetic.u;
  const double* y = args.outputs[0]->data<double>();
  double* tau = bound.tau[0]->data<double>();
  ForEachElement(args, args.inputs[0]->data<double>(), u, [&](int64_t i, const Norm& norm) {
    const double own = std::fabs(y[i]) * (12 * std::sqrt(2 * u * u + norm.relative2) + norm.underflow);
    tau[i] = StoredTau(own, y[i], bound.arithmetic);
  });
  return Status::Ok();
}

}  // namespace

ReferenceOp ReferenceNormalize() { return {RunNormalize, BoundNormalize, 0, false, true}; }

}  // namespace plumb
