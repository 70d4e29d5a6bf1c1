// SPDX-License-Identifier: Apache-2.0
// LRN, y = x / q^beta. tau = 24 u |y| sqrt(1 + ln^2 q) (tolerance.md, "Other operators"), for kernels that sum each
// window afresh. A sliding sum that adds and subtracts has a class of its own (variants.h), which adds
// 24 u beta |y| (alpha / size) max over the channels of (sum) / q in quadrature.
#include "op/lrn.h"

#include <algorithm>

#include "reference/core/axis_rows.h"
#include "reference/core/variants.h"

namespace plumb {
namespace {

// q of channel c; x is the first channel's element.
template <class T>
double Base(const LrnParam& p, const Rows& rows, const T* x, int64_t c) {
  const int64_t begin = std::max<int64_t>(0, c - (p.size - 1) / 2);
  const int64_t end = std::min<int64_t>(rows.n, c + p.size / 2 + 1);
  double sum = 0;
  for (int64_t i = begin; i < end; ++i) {
    const double v = static_cast<double>(x[i * rows.inner]);
    sum += v * v;
  }
  return static_cast<double>(p.bias) + static_cast<double>(p.alpha) / p.size * sum;
}

Status RunLrn(const ReferenceArgs& args) {
  const auto& p = ParamOf<LrnParam>(args.layer);
  const Rows rows = Rows::Over(args.inputs[0]->shape(), 1, 2);
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    const T* x = args.inputs[0]->data<T>();
    T* y = args.outputs[0]->data<T>();
    rows.ForEach([&](int64_t, int64_t at) {
      for (int64_t c = 0; c < rows.n; ++c) {
        const double divisor = std::pow(Base(p, rows, x + at, c), static_cast<double>(p.beta));
        y[at + c * rows.inner] = static_cast<T>(static_cast<double>(x[at + c * rows.inner]) / divisor);
      }
    });
    return Status::Ok();
  });
}

template <bool kSliding>
Status BoundLrn(const ReferenceArgs& args, const BoundArgs& bound) {
  if (InputTau(bound, 0) != nullptr) return Status::NotSupported("LRN is not judged inside a fused group");
  PLUMB_RETURN_IF_ERROR(RunLrn(args));
  const auto& p = ParamOf<LrnParam>(args.layer);
  const Rows rows = Rows::Over(args.inputs[0]->shape(), 1, 2);
  const double* x = args.inputs[0]->data<double>();
  const double* y = args.outputs[0]->data<double>();
  double* tau = bound.tau[0]->data<double>();
  rows.ForEach([&](int64_t, int64_t at) {
    double largest = 0;  // alpha / size times the largest sum
    for (int64_t c = 0; kSliding && c < rows.n; ++c)
      largest = std::max(largest, Base(p, rows, x + at, c) - static_cast<double>(p.bias));
    for (int64_t c = 0; c < rows.n; ++c) {
      const int64_t i = at + c * rows.inner;
      const double base = Base(p, rows, x + at, c), log_base = std::log(base);
      const double cancelled = kSliding ? static_cast<double>(p.beta) * largest / base : 0;
      const double squares = 1 + log_base * log_base + cancelled * cancelled;
      const double amplification = std::isfinite(squares) ? std::sqrt(squares) : 1;
      tau[i] = StoredTau(24 * bound.arithmetic.u * std::fabs(y[i]) * amplification, y[i], bound.arithmetic);
    }
  });
  return Status::Ok();
}

}  // namespace

ReferenceOp ReferenceLRN() { return {RunLrn, BoundLrn<false>, 0, false, true}; }
ReferenceOp SlidingLrn() { return {RunLrn, BoundLrn<true>, 0, false, true}; }

}  // namespace plumb
