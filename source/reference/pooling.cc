// Pooling and PlumbAveragePool (2-D), plain loops (op/pooling.h has the rules).
//
// Max is exact: tau 0, or the largest tau in the window where the input is uncertain. Average: tau = 12 sqrt(sig^2 +
// u^2 y^2
// + d^2) + 4 eta over the window's terms (tolerance.md, "Other operators"), plus the inputs' own tau in quadrature.
// Level 0 leaves d out; level 1 has it, for plain terms and for terms multiplied by fl(1/n) first, the larger one.
#include "op/pooling.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/core/elementwise.h"
#include "reference/core/serial_sum.h"

namespace plumb {
namespace {

struct Range {
  int64_t begin, end, window;  // valid pixels, and the whole window's length
  int64_t size() const { return std::max<int64_t>(0, end - begin); }
};

Range WindowOf(const WindowAxis& a, bool adaptive, int64_t o) {
  if (adaptive) {
    const int64_t begin = o * a.in / a.out;
    const int64_t end = ((o + 1) * a.in + a.out - 1) / a.out;
    return {begin, end, end - begin};
  }
  const int64_t start = o * a.stride - a.pad_begin;
  const int64_t stop = std::min(start + a.kernel, a.in + a.pad_end);
  return {std::max<int64_t>(start, 0), std::min(start + a.kernel, a.in), stop - start};
}

// One output's window on one channel of the input.
struct PoolingWindow {
  Range h, w;
  int64_t row_size;
  double divisor;

  int64_t terms() const { return h.size() * w.size(); }
  template <class F>
  void ForEach(F f) const {
    for (int64_t i = h.begin; i < h.end; ++i) {
      for (int64_t j = w.begin; j < w.end; ++j) f(i * row_size + j);
    }
  }
};

template <class T>
double MaxOfPooling(const PoolingWindow& window, const T* x) {
  double max = -INFINITY;
  window.ForEach([&](int64_t i) {
    const double v = static_cast<double>(x[i]);
    max = v <= max || std::isnan(max) ? max : v;
  });
  return max;
}

template <class T>
double AverageOf(const PoolingWindow& window, const T* x) {
  double sum = 0;
  window.ForEach([&](int64_t i) { sum += static_cast<double>(x[i]); });
  return window.divisor == 0 ? 0 : sum / window.divisor;
}

double MaxTau(const PoolingWindow& window, const double* tau_x) {
  double tau = 0;
  if (tau_x != nullptr) window.ForEach([&](int64_t i) { tau = std::max(tau, tau_x[i]); });
  return tau;
}

// The largest of |serial fp32 - float64| over the block ends, in the result's unit.
double Drift2(const PoolingWindow& window, const double* x) {
  SerialSum plain(window.terms());
  SerialSum scaled(window.terms());
  const float inverse = 1 / static_cast<float>(window.divisor);
  window.ForEach([&](int64_t i) {
    plain.Add(x[i]);
    scaled.Add(static_cast<double>(static_cast<float>(x[i]) * inverse));
  });
  const double d2 = std::max(plain.d2() / (window.divisor * window.divisor), scaled.d2());
  return std::isfinite(d2) ? d2 : 0;  // fp32 overflowed: no rounding to bound
}

double AverageTau(const PoolingWindow& window, const double* x, const double* tau_x, double y, const BoundArgs& bound) {
  if (window.divisor == 0) return 0;
  const int64_t block = std::max<int64_t>(1, (window.terms() + 15) / 16);
  double sum = 0, squares = 0, inherited = 0;
  int64_t length = 0;
  window.ForEach([&](int64_t i) {
    sum += x[i];
    if (tau_x != nullptr) inherited += tau_x[i] * tau_x[i];
    if (++length < block) return;
    squares += static_cast<double>(length) * sum * sum;
    length = 0;
  });
  squares += static_cast<double>(length) * sum * sum;
  const double scale = 1 / (window.divisor * window.divisor);
  const double u2 = bound.arithmetic.u * bound.arithmetic.u;
  const double d2 = bound.level > 0 ? Drift2(window, x) : 0;
  const double own2 = u2 * squares * scale + bound.arithmetic.u_out * bound.arithmetic.u_out * y * y + d2;
  return std::sqrt(144 * own2 + inherited * scale) + 4 * bound.arithmetic.min_normal;
}

// Calls f(window, first element of the input channel, output element) for every output.
template <class F>
void ForEachOutputPooling(const PoolingShape& s, F f) {
  const WindowAxis& h = s.window.h;
  const WindowAxis& w = s.window.w;
  std::vector<Range> columns;
  for (int64_t x = 0; x < w.out; ++x) columns.push_back(WindowOf(w, s.adaptive, x));
  ParallelFor(s.batch * s.channels * h.out, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      PoolingWindow window{WindowOf(h, s.adaptive, row % h.out), {}, w.in, 0};
      for (int64_t x = 0; x < w.out; ++x) {
        window.w = columns[static_cast<size_t>(x)];
        window.divisor = static_cast<double>(s.count_include_pad ? window.h.window * window.w.window : window.terms());
        f(window, row / h.out * h.in * w.in, row * w.out + x);
      }
    }
  });
}

Status RunPooling(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const PoolingShape s, ResolvePooling(args.layer, args.inputs[0]->shape()));
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    const T* x = args.inputs[0]->data<T>();
    T* y = args.outputs[0]->data<T>();
    ForEachOutputPooling(s, [&](const PoolingWindow& window, int64_t in, int64_t out) {
      y[out] = static_cast<T>(s.average ? AverageOf(window, x + in) : MaxOfPooling(window, x + in));
    });
    return Status::Ok();
  });
}

Status BoundPooling(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_ASSIGN_OR_RETURN(const PoolingShape s, ResolvePooling(args.layer, args.inputs[0]->shape()));
  PLUMB_RETURN_IF_ERROR(RunPooling(args));
  if (!s.average && InputTau(bound, 0) == nullptr) {
    SetExact(bound);
    return Status::Ok();
  }
  const double* x = args.inputs[0]->data<double>();
  const double* y = args.outputs[0]->data<double>();
  const double* tau_x = InputTau(bound, 0);
  double* tau = bound.tau[0]->data<double>();
  ForEachOutputPooling(s, [&](const PoolingWindow& window, int64_t in, int64_t out) {
    const double* own_tau_x = tau_x == nullptr ? nullptr : tau_x + in;
    tau[out] = s.average ? AverageTau(window, x + in, own_tau_x, y[out], bound) : MaxTau(window, own_tau_x);
  });
  return Status::Ok();
}

}  // namespace

ReferenceOp ReferencePooling() { return {RunPooling, BoundPooling, 1}; }
ReferenceOp ReferencePlumbAveragePool() { return {RunPooling, BoundPooling, 1}; }

}  // namespace plumb
