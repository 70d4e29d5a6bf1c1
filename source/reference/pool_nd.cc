// SPDX-License-Identifier: Apache-2.0
// PlumbMaxPool, PlumbPoolND, PlumbMaxUnpool (op/pool_nd.h), plain loops over the windows.
// tau: max and unpool exact; average 12 sqrt(sig^2 + u^2 y^2 + d^2) + 4 eta (tolerance.md, "Other operators"), d for
// plain terms and for terms times fl(1/n), the larger; lp with its sum's sig and d in the result's unit and 16 u |y|
// for the powers and the root (not measured). Uncertain inputs: first order, in quadrature.
#include "op/pool_nd.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/by_dtype.h"
#include "reference/core/elementwise.h"
#include "reference/core/serial_sum.h"

namespace plumb {
namespace {

// One output's window: the elements inside the input, as offsets within its channel, and how many positions of the
// padded input it covers.
struct PoolNdWindow {
  std::vector<int64_t> elements;
  int64_t padded = 1;
};

void FillWindow(const PoolShape& s, int64_t output, PoolNdWindow* window) {
  window->elements.assign(1, 0);
  window->padded = 1;
  for (size_t d = 0; d < s.axes.size(); ++d) {
    const PoolAxis& a = s.axes[d];
    const int64_t start = output / s.out.CountFrom(static_cast<int>(d) + 3) % a.out * a.stride - a.pad_begin;
    std::vector<int64_t> longer;
    int64_t covered = 0;
    for (int64_t k = 0; k < a.kernel; ++k) covered += start + k * a.dilation < a.in + a.pad_end;
    for (const int64_t before : window->elements) {
      for (int64_t k = 0; k < a.kernel; ++k) {
        const int64_t at = start + k * a.dilation;
        if (at >= 0 && at < a.in) longer.push_back(before * a.in + at);
      }
    }
    window->elements = std::move(longer);
    window->padded *= covered;
  }
}

// f(output element, first element of its channel, window)
template <class F>
void ForEachWindow(const PoolShape& s, F f) {
  const int64_t plane = s.out.CountFrom(2);
  ParallelFor(s.out.NumElements(), kElementGrain / 16, [&](int64_t begin, int64_t end) {
    PoolNdWindow window;
    for (int64_t i = begin; i < end; ++i) {
      FillWindow(s, i % plane, &window);
      f(i, i / plane * s.in.CountFrom(2), window);
    }
  });
}

// The same element counted with the first spatial dim running fastest.
int64_t ColumnMajor(const PoolShape& s, int64_t element) {
  int64_t index = 0, step = 1;
  for (size_t d = 0; d < s.axes.size(); ++d) {
    index += element / s.in.CountFrom(static_cast<int>(d) + 3) % s.axes[d].in * step;
    step *= s.axes[d].in;
  }
  return index;
}

template <class T>
bool AbovePoolNd(T v, T best) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(v)) return !std::isnan(best);
  }
  return v > best;
}

Status RunMax(const ReferenceArgs& args) {
  const auto& p = ParamOf<MaxPoolParam>(args.layer);
  PLUMB_ASSIGN_OR_RETURN(const PoolShape s, ResolvePool(p.window, args.inputs[0]->shape()));
  return WithNumber(args.inputs[0]->dtype(), [&](auto number) {
    using T = decltype(number);
    const T* x = args.inputs[0]->data<T>();
    ForEachWindow(s, [&](int64_t i, int64_t channel, const PoolNdWindow& window) {
      int64_t best = window.elements.empty() ? 0 : window.elements[0];
      for (const int64_t at : window.elements) {
        if (AbovePoolNd(x[channel + at], x[channel + best])) best = at;
      }
      args.outputs[0]->data<T>()[i] = x[channel + best];
      args.outputs[1]->data<int64_t>()[i] = channel + (p.column_major ? ColumnMajor(s, best) : best);
    });
    return Status::Ok();
  });
}

double PoolOf(const PoolNDParam& p, const PoolNdWindow& window, const double* terms) {
  double sum = 0;
  if (p.mode == "lp") {
    for (size_t k = 0; k < window.elements.size(); ++k) sum += std::pow(std::fabs(terms[k]), p.p);
    return std::pow(sum, 1.0 / p.p);
  }
  for (size_t k = 0; k < window.elements.size(); ++k) sum += terms[k];
  const auto count = p.count_include_pad ? window.padded : static_cast<int64_t>(window.elements.size());
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

double TauOfPoolNd(const PoolNDParam& p, const PoolNdWindow& window, const double* terms, const double* tau_x, double y,
                   const Arithmetic& arithmetic) {
  const auto n = static_cast<int64_t>(window.elements.size());
  if (n == 0) return 0;
  SerialSum sum(n), scaled(n);
  const auto count = static_cast<double>(p.count_include_pad ? window.padded : n);
  const float inverse = 1 / static_cast<float>(count);
  const bool lp = p.mode == "lp";
  double inherited = 0;
  for (int64_t k = 0; k < n; ++k) {
    const double x = terms[k], term = lp ? std::pow(std::fabs(x), p.p) : x;
    sum.Add(term);
    scaled.Add(static_cast<double>(static_cast<float>(term) * inverse));
    // dy / dx: 1 / count, or (|x| / y)^(p - 1)
    const double slope = !lp ? 1 / count : y == 0 ? 1 : std::pow(std::fabs(x) / y, p.p - 1);
    if (tau_x != nullptr)
      inherited += slope * slope * tau_x[window.elements[static_cast<size_t>(k)]] *
                   tau_x[window.elements[static_cast<size_t>(k)]];
  }
  const double unit = !lp ? 1 / count : sum.value() == 0 ? 0 : y / (p.p * sum.value());
  const double d2 = std::max(sum.d2() * unit * unit, lp ? 0 : scaled.d2());
  const double own = lp ? 16 * arithmetic.u * y : 0;
  return std::sqrt(144 * (sum.sig2(arithmetic.u) * unit * unit + arithmetic.u_out * arithmetic.u_out * y * y + d2) +
                   own * own + inherited) +
         4 * kEta;
}

Status ComputePoolNd(const ReferenceArgs& args, const BoundArgs* bound) {
  const auto& p = ParamOf<PoolNDParam>(args.layer);
  PLUMB_ASSIGN_OR_RETURN(const PoolShape s, ResolvePool(p.window, args.inputs[0]->shape()));
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    const T* x = args.inputs[0]->data<T>();
    ForEachWindow(s, [&](int64_t i, int64_t channel, const PoolNdWindow& window) {
      std::vector<double> terms;
      for (const int64_t at : window.elements) terms.push_back(static_cast<double>(x[channel + at]));
      const double y = PoolOf(p, window, terms.data());
      args.outputs[0]->data<T>()[i] = static_cast<T>(y);
      if (bound == nullptr) return;
      const double* tau_x = InputTau(*bound, 0);
      bound->tau[0]->data<double>()[i] =
          TauOfPoolNd(p, window, terms.data(), tau_x == nullptr ? nullptr : tau_x + channel, y, bound->arithmetic);
    });
    return Status::Ok();
  });
}

Status RunPool(const ReferenceArgs& args) { return ComputePoolNd(args, nullptr); }
Status BoundPool(const ReferenceArgs& args, const BoundArgs& bound) { return ComputePoolNd(args, &bound); }

Status RunUnpool(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const UnpoolShape s, ResolveUnpool(args.layer, InfosOf(args)));
  Tensor* out = args.outputs[0];
  std::memset(out->raw(), 0, out->bytes());
  const int64_t* indices = args.inputs[1]->data<int64_t>();
  return WithBits(out->dtype(), [&](auto bits) {
    using T = decltype(bits);
    for (int64_t i = 0; i < args.inputs[0]->NumElements(); ++i) {
      const int64_t index = indices[i];
      if (index < 0 || index >= s.inferred.NumElements()) {
        return Status::InvalidArgument(
            fmt::format("index {} at position {} is outside {}", index, i, s.inferred.ToString()));
      }
      int64_t to = 0;
      for (int d = 0; d < s.out.rank(); ++d)
        to += index / s.inferred.CountFrom(d + 1) % s.inferred[d] * s.out.CountFrom(d + 1);
      static_cast<T*>(out->raw())[to] = static_cast<const T*>(args.inputs[0]->raw())[i];
    }
    return Status::Ok();
  });
}

Status BoundUnpool(const ReferenceArgs& args, const BoundArgs& bound) {
  return RunMovedWithBound(RunUnpool, args, bound);
}

}  // namespace

ReferenceOp ReferencePlumbMaxPool() {
  ReferenceOp op{RunMax, RunExact<RunMax>};
  op.propagates = false;  // the indices step
  return op;
}
ReferenceOp ReferencePlumbPoolND() { return {RunPool, BoundPool}; }
ReferenceOp ReferencePlumbMaxUnpool() { return {RunUnpool, BoundUnpool}; }

}  // namespace plumb
