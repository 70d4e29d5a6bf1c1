// Softmax: y = exp(x - m) / sum exp(x - m) along one axis.
// tau = 12 p sqrt(u^2 (4 + (m-x)^2 + D^2) + (sig^2 + d^2) / sum^2) + 12 eta, D = sum p (m-x) (tolerance.md).
#include "op/softmax.h"

#include <cmath>

#include "device/naive/elementwise.h"
#include "device/naive/serial_sum.h"

namespace plumb {
namespace {

struct Rows {
  int64_t outer, n, inner;
};

Result<Rows> RowsOf(const NaiveArgs& args) {
  const Shape& shape = args.inputs[0]->shape();
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<SoftmaxParam>(args.layer).axis, shape.rank()));
  return Rows{shape.Count(0, axis), shape[axis], shape.CountFrom(axis + 1)};
}

template <class T, class F>
void ForEachRow(const Rows& rows, F f) {
  ParallelFor(rows.outer * rows.inner, std::max<int64_t>(1, kElementGrain / std::max<int64_t>(rows.n, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) f(r / rows.inner * rows.n * rows.inner + r % rows.inner);
  });
}

template <class T>
void SoftmaxRow(const Rows& rows, const T* x, T* y) {
  double max = -INFINITY;
  for (int64_t i = 0; i < rows.n; ++i) {
    const double v = static_cast<double>(x[i * rows.inner]);
    if (!(v <= max)) max = v;  // a NaN wins and stays
    if (std::isnan(max)) break;
  }
  double sum = 0;
  for (int64_t i = 0; i < rows.n; ++i) sum += std::exp(static_cast<double>(x[i * rows.inner]) - max);
  for (int64_t i = 0; i < rows.n; ++i) {
    y[i * rows.inner] = static_cast<T>(std::exp(static_cast<double>(x[i * rows.inner]) - max) / sum);
  }
}

Status Run(const NaiveArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const Rows rows, RowsOf(args));
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    const T* x = args.inputs[0]->data<T>();
    T* y = args.outputs[0]->data<T>();
    ForEachRow<T>(rows, [&](int64_t at) { SoftmaxRow(rows, x + at, y + at); });
    return Status::Ok();
  });
}

void BoundRow(const Rows& rows, const double* x, const double* p, double u, double* tau) {
  double max = -INFINITY;
  for (int64_t i = 0; i < rows.n; ++i) max = std::max(max, x[i * rows.inner]);
  SerialSum sum(rows.n);
  double mean_distance = 0;
  for (int64_t i = 0; i < rows.n; ++i) {
    sum.Add(std::exp(x[i * rows.inner] - max));
    if (p[i * rows.inner] > 0) mean_distance += p[i * rows.inner] * (max - x[i * rows.inner]);
  }
  const double relative = (sum.sig2(u) + sum.d2()) / (sum.value() * sum.value());
  for (int64_t i = 0; i < rows.n; ++i) {
    const double distance = std::isfinite(x[i * rows.inner]) ? max - x[i * rows.inner] : 0;
    const double spread = u * u * (4 + distance * distance + mean_distance * mean_distance) + relative;
    tau[i * rows.inner] = 12 * p[i * rows.inner] * std::sqrt(spread) + 12 * kEta;
  }
}

Status Bound(const NaiveArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(Run(args));
  PLUMB_ASSIGN_OR_RETURN(const Rows rows, RowsOf(args));
  if (InputTau(bound, 0) != nullptr) return Status::NotSupported("Softmax is not judged inside a fused group");
  ForEachRow<double>(rows, [&](int64_t at) {
    BoundRow(rows, args.inputs[0]->data<double>() + at, args.outputs[0]->data<double>() + at, bound.arithmetic.u,
             bound.tau[0]->data<double>() + at);
  });
  return Status::Ok();
}

}  // namespace

NaiveOp NaiveSoftmax() { return {Run, Bound, 0, false}; }

}  // namespace plumb
