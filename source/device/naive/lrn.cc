// LRN, y = x / q^beta. tau = 24 u |y| sqrt(1 + ln^2 q) (tolerance.md, "Other operators"), for kernels that sum each
// window afresh; a sliding sum that adds and subtracts is judged by the same.
#include "op/lrn.h"

#include "device/naive/rows.h"

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

Status Run(const NaiveArgs& args) {
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

Status Bound(const NaiveArgs& args, const BoundArgs& bound) {
  if (InputTau(bound, 0) != nullptr) return Status::NotSupported("LRN is not judged inside a fused group");
  PLUMB_RETURN_IF_ERROR(Run(args));
  const auto& p = ParamOf<LrnParam>(args.layer);
  const Rows rows = Rows::Over(args.inputs[0]->shape(), 1, 2);
  const double* x = args.inputs[0]->data<double>();
  const double* y = args.outputs[0]->data<double>();
  double* tau = bound.tau[0]->data<double>();
  rows.ForEach([&](int64_t, int64_t at) {
    for (int64_t c = 0; c < rows.n; ++c) {
      const int64_t i = at + c * rows.inner;
      const double log_base = std::log(Base(p, rows, x + at, c));
      const double amplification = std::isfinite(log_base) ? std::sqrt(1 + log_base * log_base) : 1;
      tau[i] = StoredTau(24 * bound.arithmetic.u * std::fabs(y[i]) * amplification, y[i], bound.arithmetic);
    }
  });
  return Status::Ok();
}

}  // namespace

NaiveOp NaiveLRN() { return {Run, Bound, 0, false, true}; }

}  // namespace plumb
