// SPDX-License-Identifier: Apache-2.0
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

// The larger one; NaN once there is one.
double LargerOf(double max, double v) { return v <= max || std::isnan(max) ? max : v; }

template <class T>
double MaxOfPooling(const PoolingWindow& window, const T* x) {
  double max = -INFINITY;
  window.ForEach([&](int64_t i) { max = LargerOf(max, static_cast<double>(x[i])); });
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

double TauOfAverage(double squares, double inherited, double divisor, double y, double d2,
                    const Arithmetic& arithmetic) {
  const double scale = 1 / (divisor * divisor);
  const double u2 = arithmetic.u * arithmetic.u;
  const double own2 = u2 * squares * scale + arithmetic.u_out * arithmetic.u_out * y * y + d2;
  return std::sqrt(144 * own2 + inherited * scale) + 4 * arithmetic.min_normal;
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
  return TauOfAverage(squares, inherited, window.divisor, y, bound.level > 0 ? Drift2(window, x) : 0, bound.arithmetic);
}

// The windows of all outputs of a row along it.
std::vector<Range> ColumnsOf(const PoolingShape& s) {
  std::vector<Range> columns;
  for (int64_t x = 0; x < s.window.w.out; ++x) columns.push_back(WindowOf(s.window.w, s.adaptive, x));
  return columns;
}

double DivisorOf(const PoolingShape& s, const Range& h, const Range& w) {
  return static_cast<double>(s.count_include_pad ? h.window * w.window : h.size() * w.size());
}

// Calls f(window, first element of the input channel, output element) for every output.
template <class F>
void ForEachOutputPooling(const PoolingShape& s, F f) {
  const WindowAxis& h = s.window.h;
  const WindowAxis& w = s.window.w;
  const std::vector<Range> columns = ColumnsOf(s);
  ParallelFor(s.batch * s.channels * h.out, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      PoolingWindow window{WindowOf(h, s.adaptive, row % h.out), {}, w.in, 0};
      for (int64_t x = 0; x < w.out; ++x) {
        window.w = columns[static_cast<size_t>(x)];
        window.divisor = DivisorOf(s, window.h, window.w);
        f(window, row / h.out * h.in * w.in, row * w.out + x);
      }
    }
  });
}

// Windows of so few terms that each ends a block are gone through a row of outputs at a time, tap after tap: loops
// without branches, and each output's terms in the same order.
bool IsByRows(const PoolingShape& s) { return !s.adaptive && s.window.h.kernel * s.window.w.kernel <= 16; }

// Calls f(output, element) for the elements that the row's outputs have at each tap; elements count from `in`.
template <class F>
void ForEachTap(const PoolingShape& s, const Range& rows, int64_t in, F f) {
  const WindowAxis& w = s.window.w;
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    for (int64_t j = -w.pad_begin; j < w.kernel - w.pad_begin; ++j) {
      const int64_t first = j >= 0 ? 0 : (-j + w.stride - 1) / w.stride;
      const int64_t last = j >= w.in ? 0 : std::min(w.out, (w.in - 1 - j) / w.stride + 1);
      const int64_t at = in + i * w.in + j;
      if (w.stride == 1) {
        for (int64_t o = first; o < last; ++o) f(o, at + o);
      } else {
        for (int64_t o = first; o < last; ++o) f(o, at + o * w.stride);
      }
    }
  }
}

template <class T>
void PoolRows(const PoolingShape& s, const T* x, T* y) {
  const WindowAxis& h = s.window.h;
  const std::vector<Range> columns = ColumnsOf(s);
  const size_t outs = columns.size();
  ParallelFor(s.batch * s.channels * h.out, 1, [&](int64_t begin, int64_t end) {
    std::vector<double> room(outs);
    double* results = room.data();
    for (int64_t row = begin; row < end; ++row) {
      const Range rows = WindowOf(h, false, row % h.out);
      const int64_t in = row / h.out * h.in * s.window.w.in;
      std::fill_n(results, outs, s.average ? 0.0 : -INFINITY);
      T* to = y + row * static_cast<int64_t>(outs);
      if (s.average) {
        ForEachTap(s, rows, in, [&](int64_t o, int64_t i) { results[o] += static_cast<double>(x[i]); });
        for (size_t o = 0; o < outs; ++o) {
          const double divisor = DivisorOf(s, rows, columns[o]);
          to[o] = static_cast<T>(divisor == 0 ? 0 : results[o] / divisor);
        }
      } else {
        ForEachTap(s, rows, in,
                   [&](int64_t o, int64_t i) { results[o] = LargerOf(results[o], static_cast<double>(x[i])); });
        for (size_t o = 0; o < outs; ++o) to[o] = static_cast<T>(results[o]);
      }
    }
  });
}

// AverageTau at level 0 of the same.
void BoundRows(const PoolingShape& s, const double* x, const double* tau_x, const double* y,
               const Arithmetic& arithmetic, double* tau) {
  const WindowAxis& h = s.window.h;
  const std::vector<Range> columns = ColumnsOf(s);
  const size_t outs = columns.size();
  ParallelFor(s.batch * s.channels * h.out, 1, [&](int64_t begin, int64_t end) {
    std::vector<double> room(3 * outs);
    double *sums = room.data(), *squares = sums + outs, *inherited = squares + outs;
    for (int64_t row = begin; row < end; ++row) {
      const Range rows = WindowOf(h, false, row % h.out);
      const int64_t in = row / h.out * h.in * s.window.w.in;
      std::fill(room.begin(), room.end(), 0.0);
      ForEachTap(s, rows, in, [&](int64_t o, int64_t i) {
        sums[o] += x[i];
        squares[o] += sums[o] * sums[o];
      });
      if (tau_x != nullptr) ForEachTap(s, rows, in, [&](int64_t o, int64_t i) { inherited[o] += tau_x[i] * tau_x[i]; });
      for (size_t o = 0; o < outs; ++o) {
        const int64_t out = row * static_cast<int64_t>(outs) + static_cast<int64_t>(o);
        const double divisor = DivisorOf(s, rows, columns[o]);
        const double all = squares[o] + 0 * sums[o] * sums[o];  // an infinite sum has no bound, not an infinite one
        tau[out] = divisor == 0 ? 0 : TauOfAverage(all, inherited[o], divisor, y[out], 0, arithmetic);
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
    if (IsByRows(s)) {
      PoolRows(s, x, y);
      return Status::Ok();
    }
    ForEachOutputPooling(s, [&](const PoolingWindow& window, int64_t in, int64_t out) {
      y[out] = static_cast<T>(s.average ? AverageOf(window, x + in) : MaxOfPooling(window, x + in));
    });
    return Status::Ok();
  });
}

Status BoundPooling(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_ASSIGN_OR_RETURN(const PoolingShape s, ResolvePooling(args.layer, args.inputs[0]->shape()));
  PLUMB_RETURN_IF_ERROR(RunPooling(args));
  const double* tau_x = InputTau(bound, 0);
  if (!s.average && tau_x == nullptr) {
    SetExact(bound);
    return Status::Ok();
  }
  const double* x = args.inputs[0]->data<double>();
  const double* y = args.outputs[0]->data<double>();
  double* tau = bound.tau[0]->data<double>();
  if (s.average && bound.level == 0 && IsByRows(s)) {
    BoundRows(s, x, tau_x, y, bound.arithmetic, tau);
    return Status::Ok();
  }
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
