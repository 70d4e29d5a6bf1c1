// SPDX-License-Identifier: Apache-2.0
// Reductions in float64. tau (tolerance.md, "Other operators"), sig and d belonging to the sum, n terms:
//   Sum, L1, SumSquare   12 sqrt(sig^2 + u^2 y^2 + d^2) + n eta            Mean: the same of the mean, without n eta
//   L2                   12 sqrt((sig^2 + d^2) / (2y)^2 + u^2 y^2) + min(sqrt(n eta), n eta / 2y), of sum x^2
//   LogSum, LogSumExp    12 sqrt((sig^2 + d^2) / sum^2 + u^2 y^2 [+ u^2 max x^2 for Exp])
//   Prod                 8 u sqrt(n) |y|                                   Max, Min: exact
#include <limits>
#include <type_traits>

#include "reference/core/axis_rows.h"
#include "reference/core/variants.h"
#include "reference/reduce_terms.h"

namespace plumb {
namespace {

// y of the terms x, and own tau without the 4 eta (kExact: the same bits).
struct Outcome {
  double y, tau;
};

// A sum of terms f(x).
template <class F>
SerialSum SumOf(const ReduceTerms& terms, int64_t output, F term) {
  SerialSum sum(terms.terms());
  terms.ForEach(output, [&](int64_t i) { sum.Add(term(i)); });
  return sum;
}

Outcome PlainSum(const SerialSum& sum, double n, double u) {
  const double y = sum.value();
  return {y, 12 * std::sqrt(SumError2(sum, u) + u * u * y * y) + n * kEta};
}

struct SumOp {
  template <class T>
  static Outcome Of(const ReduceTerms& t, int64_t o, const T* x, double u) {
    return PlainSum(SumOf(t, o, [&](int64_t i) { return static_cast<double>(x[i]); }), static_cast<double>(t.terms()),
                    u);
  }
};
struct L1Op {
  template <class T>
  static Outcome Of(const ReduceTerms& t, int64_t o, const T* x, double u) {
    return PlainSum(SumOf(t, o, [&](int64_t i) { return std::fabs(static_cast<double>(x[i])); }),
                    static_cast<double>(t.terms()), u);
  }
};
template <class T>
SerialSum Squares(const ReduceTerms& t, int64_t o, const T* x) {
  return SumOf(t, o, [&](int64_t i) { return static_cast<double>(x[i]) * static_cast<double>(x[i]); });
}
struct SumSquareOp {
  template <class T>
  static Outcome Of(const ReduceTerms& t, int64_t o, const T* x, double u) {
    return PlainSum(Squares(t, o, x), static_cast<double>(t.terms()), u);
  }
};
struct L2Op {
  template <class T>
  static Outcome Of(const ReduceTerms& t, int64_t o, const T* x, double u) {
    const SerialSum sum = Squares(t, o, x);
    const double y = std::sqrt(sum.value()), underflow = static_cast<double>(t.terms()) * kEta;
    if (y == 0) return {y, std::sqrt(underflow)};
    const double rounding = 12 * std::sqrt(SumError2(sum, u) / (4 * y * y) + u * u * y * y);
    return {y, rounding + std::min(std::sqrt(underflow), underflow / (2 * y))};
  }
};
struct MeanOp {
  template <class T>
  static Outcome Of(const ReduceTerms& t, int64_t o, const T* x, double u) {
    MeanSum mean(t.terms());
    t.ForEach(o, [&](int64_t i) { mean.Add(static_cast<double>(x[i])); });
    const double y = mean.value();
    return {y, 12 * std::sqrt(mean.Error2(u) + u * u * y * y)};
  }
};
struct LogSumOp {
  template <class T>
  static Outcome Of(const ReduceTerms& t, int64_t o, const T* x, double u) {
    const SerialSum sum = SumOf(t, o, [&](int64_t i) { return static_cast<double>(x[i]); });
    const double y = std::log(sum.value());
    return {y, 12 * std::sqrt(SumError2(sum, u) / (sum.value() * sum.value()) + u * u * y * y)};
  }
};
struct LogSumExpOp {
  template <class T>
  static Outcome Of(const ReduceTerms& t, int64_t o, const T* x, double u) {
    double max = -INFINITY, largest = 0;
    t.ForEach(o, [&](int64_t i) {
      const double v = static_cast<double>(x[i]);
      if (!(v <= max)) max = std::isnan(max) ? max : v;
      if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
    });
    if (!std::isfinite(max)) return {max, 0};
    const SerialSum sum = SumOf(t, o, [&](int64_t i) { return std::exp(static_cast<double>(x[i]) - max); });
    const double y = max + std::log(sum.value());
    return {y, 12 * std::sqrt(SumError2(sum, u) / (sum.value() * sum.value()) + u * u * (y * y + largest * largest))};
  }
};
// exp(x) overflows in f32 from 88.7 up (variants.h).
struct UnshiftedLogSumExpOp {
  template <class T>
  static Outcome Of(const ReduceTerms& t, int64_t o, const T* x, double u) {
    double largest = 0;
    const SerialSum sum = SumOf(t, o, [&](int64_t i) {
      const double v = static_cast<double>(x[i]);
      largest = std::max(largest, std::fabs(v));
      return static_cast<double>(static_cast<float>(std::exp(v)));
    });
    const double y = std::log(static_cast<double>(static_cast<float>(sum.value())));
    if (!std::isfinite(y)) return {y, 0};
    return {y, 12 * std::sqrt(SumError2(sum, u) / (sum.value() * sum.value()) + u * u * (y * y + largest * largest))};
  }
};
struct ProdOp {
  template <class T>
  static Outcome Of(const ReduceTerms& t, int64_t o, const T* x, double u) {
    double y = 1;
    t.ForEach(o, [&](int64_t i) { y *= static_cast<double>(x[i]); });
    return {y, 8 * u * std::sqrt(static_cast<double>(t.terms())) * std::fabs(y)};
  }
};
template <bool kMax>
struct ExtremeOp {
  template <class T>
  static Outcome Of(const ReduceTerms& t, int64_t o, const T* x, double u) {
    double y = kMax ? -INFINITY : INFINITY;
    t.ForEach(o, [&](int64_t i) {
      const double v = static_cast<double>(x[i]);
      if (std::isnan(v) || (kMax ? v > y : v < y)) y = v;  // a NaN stays: nothing compares with it
    });
    return {y, kExact};
  }
};

int64_t GrainOf(const ReduceTerms& terms) {
  return std::max<int64_t>(1, kElementGrain / std::max<int64_t>(1, terms.terms()));
}

template <class Op, class T>
void RunFloat(const ReduceTerms& terms, const ReferenceArgs& args, const BoundArgs* bound) {
  const T* x = args.inputs[0]->data<T>();
  T* y = args.outputs[0]->data<T>();
  double* tau = bound == nullptr ? nullptr : bound->tau[0]->data<double>();
  const Arithmetic arithmetic = bound == nullptr ? Arithmetic() : bound->arithmetic;
  ParallelFor(terms.outputs(), GrainOf(terms), [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const Outcome outcome = Op::Of(terms, o, x, arithmetic.u);
      y[o] = static_cast<T>(outcome.y);
      if (tau != nullptr) tau[o] = StoredTau(outcome.tau, outcome.y, arithmetic);
    }
  });
}

// Integers wrap around; f(accumulated, x) on the unsigned type for sums and products, on the type itself for extremes.
template <class T, class F>
void Fold(const ReduceTerms& terms, const ReferenceArgs& args, T start, F f) {
  const T* x = args.inputs[0]->data<T>();
  T* y = args.outputs[0]->data<T>();
  ParallelFor(terms.outputs(), GrainOf(terms), [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      T accumulated = start;
      terms.ForEach(o, [&](int64_t i) { accumulated = f(accumulated, x[i]); });
      y[o] = accumulated;
    }
  });
}

template <class T>
Status RunWhole(const ReduceTerms& terms, const ReferenceArgs& args) {
  using U = std::make_unsigned_t<T>;
  using Limits = std::numeric_limits<T>;
  const auto bits = [](T v) { return static_cast<U>(v); };
  const auto wrapped = [](U v) { return static_cast<T>(v); };
  switch (args.layer.kind) {
    case OpKind::kReduceSum: Fold<T>(terms, args, 0, [&](T s, T v) { return wrapped(bits(s) + bits(v)); }); break;
    case OpKind::kReduceL1:
      Fold<T>(terms, args, 0, [&](T s, T v) { return wrapped(bits(s) + (v < 0 ? U{0} - bits(v) : bits(v))); });
      break;
    case OpKind::kReduceSumSquare:
      Fold<T>(terms, args, 0, [&](T s, T v) { return wrapped(bits(s) + bits(v) * bits(v)); });
      break;
    case OpKind::kReduceProd: Fold<T>(terms, args, 1, [&](T s, T v) { return wrapped(bits(s) * bits(v)); }); break;
    case OpKind::kReduceMax: Fold<T>(terms, args, Limits::min(), [](T s, T v) { return std::max(s, v); }); break;
    case OpKind::kReduceMin: Fold<T>(terms, args, Limits::max(), [](T s, T v) { return std::min(s, v); }); break;
    default: return Status::NotSupported(std::string(args.layer.type) + " has no integer reference");
  }
  return Status::Ok();
}

template <class Op>
Status ComputeReduce(const ReferenceArgs& args, const BoundArgs* bound) {
  PLUMB_ASSIGN_OR_RETURN(const ReduceTerms terms, ReduceTerms::Of(args.layer, args.inputs[0]->shape()));
  const DType dtype = args.inputs[0]->dtype();
  if (bound != nullptr && !IsFloat(dtype)) SetExact(*bound);
  if (dtype == DType::kI32) return RunWhole<int32_t>(terms, args);
  if (dtype == DType::kI64) return RunWhole<int64_t>(terms, args);
  return WithStorage(dtype, [&](auto storage) {
    RunFloat<Op, decltype(storage)>(terms, args, bound);
    return Status::Ok();
  });
}

template <class Op>
Status RunReduce(const ReferenceArgs& args) {
  return ComputeReduce<Op>(args, nullptr);
}

template <class Op>
Status BoundReduce(const ReferenceArgs& args, const BoundArgs& bound) {
  if (InputTau(bound, 0) != nullptr)
    return Status::NotSupported(args.layer.type + " is not judged inside a fused group");
  return ComputeReduce<Op>(args, &bound);
}

template <class Op>
ReferenceOp MakeReduce() {
  return {RunReduce<Op>, BoundReduce<Op>, 0, false, true};
}

}  // namespace

ReferenceOp ReferenceReduceSum() { return MakeReduce<SumOp>(); }
ReferenceOp ReferenceReduceMean() { return MakeReduce<MeanOp>(); }
ReferenceOp ReferenceReduceMax() { return MakeReduce<ExtremeOp<true>>(); }
ReferenceOp ReferenceReduceMin() { return MakeReduce<ExtremeOp<false>>(); }
ReferenceOp ReferenceReduceProd() { return MakeReduce<ProdOp>(); }
ReferenceOp ReferenceReduceL1() { return MakeReduce<L1Op>(); }
ReferenceOp ReferenceReduceL2() { return MakeReduce<L2Op>(); }
ReferenceOp ReferenceReduceSumSquare() { return MakeReduce<SumSquareOp>(); }
ReferenceOp ReferenceReduceLogSum() { return MakeReduce<LogSumOp>(); }
ReferenceOp ReferenceReduceLogSumExp() { return MakeReduce<LogSumExpOp>(); }
ReferenceOp UnshiftedLogSumExp() { return MakeReduce<UnshiftedLogSumExpOp>(); }

}  // namespace plumb
