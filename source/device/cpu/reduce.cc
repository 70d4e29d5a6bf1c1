// SPDX-License-Identifier: Apache-2.0
// Reductions on the shared vector kernels, in plain order. Reduced axes that lie side by side are one axis [outer, n,
// inner]; others are gathered first, so that the terms of each output are a row. Whole numbers are plain loops and wrap
// around.
#include "simd/reduce.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <type_traits>
#include <vector>

#include "device/cpu/double_functions.h"
#include "device/cpu/kernel_list.h"
#include "device/shared/axis_view.h"
#include "op/reduce.h"

namespace plumb::cpu {
namespace {

// The input as outputs x terms: either a view, or offsets of outputs and terms.
struct Terms {
  bool adjacent = true;
  AxisView view;
  std::vector<int64_t> outputs, terms;
};

void Extend(int64_t size, int64_t stride, std::vector<int64_t>* offsets) {
  std::vector<int64_t> longer;
  longer.reserve(offsets->size() * static_cast<size_t>(size));
  for (const int64_t offset : *offsets) {
    for (int64_t i = 0; i < size; ++i) longer.push_back(offset + i * stride);
  }
  offsets->swap(longer);
}

Result<Terms> TermsOf(const Layer& layer, const Shape& shape) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<bool> reduced, ReducedDims(ParamOf<ReduceParam>(layer), shape.rank()));
  Terms t;
  int begin = -1, end = -1;
  for (int d = 0; d < shape.rank(); ++d) {
    if (!reduced[static_cast<size_t>(d)] || shape[d] == 1) continue;
    if (begin < 0) begin = d;
    end = d + 1;
  }
  if (begin < 0) {  // nothing but axes of 1
    t.view = {shape.NumElements(), 1, 1};
    return t;
  }
  for (int d = begin; d < end; ++d) t.adjacent = t.adjacent && (reduced[static_cast<size_t>(d)] || shape[d] == 1);
  t.view = AxisView::Over(shape, begin, end);
  if (t.adjacent) return t;
  t.outputs = t.terms = {0};
  for (int d = 0; d < shape.rank(); ++d) {
    Extend(shape[d], shape.CountFrom(d + 1), reduced[static_cast<size_t>(d)] ? &t.terms : &t.outputs);
  }
  return t;
}

Result<simd::ReduceOp> VectorReduceOf(const Layer& layer) {
  switch (layer.kind) {
#define PLUMB_REDUCE(name, ...) \
  case OpKind::k##name:         \
    return simd::ReduceOp::k##name;
#include "op/reduce.def"
#undef PLUMB_REDUCE
    default: return Status::NotSupported(fmt::format("no vector kernel is named for '{}'", layer.type));
  }
}

class ReduceKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    return VectorReduceOf(spec.layer()).status();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(op_, VectorReduceOf(spec.layer()));
    PLUMB_ASSIGN_OR_RETURN(terms_, TermsOf(spec.layer(), spec.inputs[0].shape));
    if (!terms_.adjacent) gathered_.resize(terms_.outputs.size() * terms_.terms.size());
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const float* src = inputs[0].host<float>();
    float* dst = outputs[0].host<float>();
    if (!terms_.adjacent) return RunGathered(src, dst);
    const AxisView view = terms_.view;
    view.ForEachTile([&](int64_t outer, int64_t begin, int64_t end) {
      simd::Reduce(op_, src + outer * view.n * view.inner, view.n, view.inner, begin, end,
                   dst + outer * view.inner + begin);
    });
    return Status::Ok();
  }

 private:
  Status RunGathered(const float* src, float* dst) {
    const auto n = static_cast<int64_t>(terms_.terms.size());
    const int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, n));
    ParallelFor(static_cast<int64_t>(terms_.outputs.size()), grain, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        const float* from = src + terms_.outputs[static_cast<size_t>(o)];
        float* row = gathered_.data() + o * n;
        for (int64_t i = 0; i < n; ++i) row[i] = from[terms_.terms[static_cast<size_t>(i)]];
        simd::Reduce(op_, row, n, 1, 0, 1, dst + o);
      }
    });
    return Status::Ok();
  }

  simd::ReduceOp op_ = simd::ReduceOp::kReduceSum;
  Terms terms_;
  std::vector<float> gathered_;
};

// How whole numbers combine, in unsigned arithmetic where overflow wraps: what `combine` of op/reduce.def says.
template <class T>
struct WholeSum {
  static constexpr T kStart = 0;
  static T Of(T s, T x) { return static_cast<T>(Bits(s) + Bits(x)); }
  static std::make_unsigned_t<T> Bits(T v) { return static_cast<std::make_unsigned_t<T>>(v); }
};
template <class T>
struct WholeProduct {
  static constexpr T kStart = 1;
  static T Of(T s, T x) { return static_cast<T>(WholeSum<T>::Bits(s) * WholeSum<T>::Bits(x)); }
};
template <class T>
struct WholeLargest {
  static constexpr T kStart = std::numeric_limits<T>::min();
  static T Of(T s, T x) { return std::max(s, x); }
};
template <class T>
struct WholeSmallest {
  static constexpr T kStart = std::numeric_limits<T>::max();
  static T Of(T s, T x) { return std::min(s, x); }
};

template <class U>
U Magnitude(U bits) {
  return static_cast<std::make_signed_t<U>>(bits) < 0 ? 0 - bits : bits;
}

// One step of a reduction of whole numbers, and what it starts from.
template <class T>
struct WholeOp {
  T start;
  T (*step)(T accumulated, T x);
};

template <class T>
Result<WholeOp<T>> WholeOpOf(const Layer& layer) {
  using U = std::make_unsigned_t<T>;
  switch (layer.kind) {
#define PLUMB_REDUCE_floats(...)
#define PLUMB_REDUCE_whole(name, combine, term)                                \
  case OpKind::k##name:                                                        \
    return WholeOp<T>{Whole##combine<T>::kStart, [](T s, T value) {            \
                        const U x = static_cast<U>(value);                     \
                        return Whole##combine<T>::Of(s, static_cast<T>(term)); \
                      }};
#define PLUMB_REDUCE(name, combine, numbers, term, ...) PLUMB_REDUCE_##numbers(name, combine, term)
#include "op/reduce.def"
#undef PLUMB_REDUCE
#undef PLUMB_REDUCE_whole
#undef PLUMB_REDUCE_floats
    default: return Status::NotSupported(fmt::format("'{}' of whole numbers has no kernel", layer.type));
  }
}

class ReduceIntKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const DType dtype = spec.inputs[0].dtype;
    if (dtype != DType::kI32 && dtype != DType::kI64) {
      return Status::NotSupported(std::string("takes i32 and i64, found ") + DTypeName(dtype));
    }
    return WholeOpOf<int32_t>(spec.layer()).status();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(i32_, WholeOpOf<int32_t>(spec.layer()));
    PLUMB_ASSIGN_OR_RETURN(i64_, WholeOpOf<int64_t>(spec.layer()));
    PLUMB_ASSIGN_OR_RETURN(terms_, TermsOf(spec.layer(), spec.inputs[0].shape));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    return inputs[0].dtype == DType::kI32 ? RunAs(i32_, inputs[0], outputs[0]) : RunAs(i64_, inputs[0], outputs[0]);
  }

 private:
  template <class T>
  Status RunAs(const WholeOp<T>& op, const DeviceTensor& input, const DeviceTensor& output) {
    const T* src = input.host<T>();
    T* dst = output.host<T>();
    const auto fold = [&](T accumulated, int64_t at) { return op.step(accumulated, src[at]); };
    if (!terms_.adjacent) {
      for (size_t o = 0; o < terms_.outputs.size(); ++o) {
        dst[o] = op.start;
        for (const int64_t term : terms_.terms) dst[o] = fold(dst[o], terms_.outputs[o] + term);
      }
      return Status::Ok();
    }
    const AxisView view = terms_.view;
    for (int64_t o = 0; o < view.outer * view.inner; ++o) {
      dst[o] = op.start;
      const int64_t first = o / view.inner * view.n * view.inner + o % view.inner;
      for (int64_t i = 0; i < view.n; ++i) dst[o] = fold(dst[o], first + i * view.inner);
    }
    return Status::Ok();
  }

  WholeOp<int32_t> i32_{};
  WholeOp<int64_t> i64_{};
  Terms terms_;
};

// The rows of op/reduce.def on doubles: s is what `combine` makes of the terms, m the largest element.
struct DoubleTerms {
  const double* x = nullptr;
  const Terms* terms = nullptr;
  int64_t first = 0;

  int64_t size() const { return terms->adjacent ? terms->view.n : static_cast<int64_t>(terms->terms.size()); }
  double operator[](int64_t i) const {
    return x[first + (terms->adjacent ? i * terms->view.inner : terms->terms[static_cast<size_t>(i)])];
  }
  template <class F>
  double Fold(double s, F f) const {
    for (int64_t i = 0; i < size(); ++i) s = f(s, (*this)[i]);
    return s;
  }
  double Largest() const {
    return Fold(-INFINITY, [](double s, double x) { return x > s || x != x ? x : s; });
  }
};

double Magnitude(double x) { return std::fabs(x); }

// clang-format off
#define PLUMB_COMBINE_Sum(term) terms.Fold(0, [&](double sum, double x) { return sum + (term); })
#define PLUMB_COMBINE_Product(term) terms.Fold(1, [&](double product, double x) { return product * (term); })
#define PLUMB_COMBINE_Largest(term) terms.Largest()
#define PLUMB_COMBINE_Smallest(term) \
  terms.Fold(INFINITY, [](double best, double x) { return x < best || x != x ? x : best; })
#define PLUMB_COMBINE_ShiftedSum(term) PLUMB_COMBINE_Sum(term)
// clang-format on

// The result of one output; `kind` has a row.
double ReducedDouble(OpKind kind, const DoubleTerms& terms) {
  using namespace real;  // NOLINT(google-build-using-namespace): what the rows' expressions name
  const double n = static_cast<double>(terms.size());
  switch (kind) {
#define PLUMB_REDUCE(name, combine, numbers, term, result)                \
  case OpKind::k##name: {                                                 \
    constexpr bool kShifted = std::string_view(#combine) == "ShiftedSum"; \
    const double largest = kShifted ? terms.Largest() : 0;                \
    if (kShifted && !std::isfinite(largest)) return largest;              \
    [[maybe_unused]] const double m = largest;                            \
    const double s = PLUMB_COMBINE_##combine(term);                       \
    return result;                                                        \
  }
#include "op/reduce.def"
#undef PLUMB_REDUCE
    default: return n;
  }
}

class ReduceDoubleKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    return RequireF64(spec);
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    kind_ = spec.layer().kind;
    PLUMB_ASSIGN_OR_RETURN(terms_, TermsOf(spec.layer(), spec.inputs[0].shape));
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const AxisView& view = terms_.view;
    double* y = outputs[0].host<double>();
    ParallelFor(outputs[0].shape.NumElements(), 64, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        const int64_t first = terms_.adjacent ? o / view.inner * view.n * view.inner + o % view.inner
                                              : terms_.outputs[static_cast<size_t>(o)];
        y[o] = ReducedDouble(kind_, {inputs[0].host<double>(), &terms_, first});
      }
    });
    return Status::Ok();
  }

 private:
  OpKind kind_{};
  Terms terms_;
};

}  // namespace

const KernelFunctions kernel_reduce_double = {ReduceDoubleKernel::Supports, MakeKernel<ReduceDoubleKernel>};
const KernelFunctions kernel_reduce = {ReduceKernel::Supports, MakeKernel<ReduceKernel>};
const KernelFunctions kernel_reduce_int = {ReduceIntKernel::Supports, MakeKernel<ReduceIntKernel>};

}  // namespace plumb::cpu
