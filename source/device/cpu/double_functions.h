// SPDX-License-Identifier: Apache-2.0
// The expressions of op/unary.def, op/binary.def and op/reduce.def on double: f64 blobs are computed by plain loops
// over them, since no network spends its time there. The functions that the expressions name are those of the GPUs'
// dialects (device/opencl/include/math.clh), in double.
#ifndef PLUMB_DEVICE_CPU_DOUBLE_FUNCTIONS_H_
#define PLUMB_DEVICE_CPU_DOUBLE_FUNCTIONS_H_

#include <cmath>

#include "device/cpu/function_kernel.h"
#include "op/activation.h"

namespace plumb::cpu {

inline Status RequireF64(const KernelSpec& spec) {
  for (const auto* blobs : {&spec.inputs, &spec.outputs}) {
    for (const BlobInfo& blob : *blobs) {
      if (blob.dtype != DType::kF64)
        return Status::NotSupported(std::string("takes and makes f64, found ") + DTypeName(blob.dtype));
    }
  }
  return Status::Ok();
}

// A kernel of f64 whose work is one function.
template <RunFunction run>
constexpr KernelFunctions DoubleKernelOf() {
  const auto supports = [](const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    return RequireF64(spec);
  };
  return {supports, MakeKernel<FunctionKernel<run, Takes::kAny>>};
}

namespace real {

using std::acos, std::acosh, std::asin, std::asinh, std::atan, std::atanh, std::ceil, std::cos, std::cosh, std::erf,
    std::exp, std::expm1, std::fabs, std::floor, std::fmod, std::log, std::pow, std::rint, std::sin, std::sinh,
    std::sqrt, std::tan, std::tanh;

inline bool is_nan(double x) { return x != x; }
inline double clip(double x, double low, double high) {
  const double v = x < low ? low : x;
  return v > high ? high : v;
}
inline double sigmoid(double x) {
  const double e = exp(-fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}
inline double softplus(double x) { return (x < 0 ? 0 : x) + std::log1p(exp(-fabs(x))); }
inline double gelu(double x) { return std::isinf(x) && x > 0 ? x : 0.5 * x * std::erfc(-0.70710678118654752440 * x); }
inline double floor_mod(double a, double b) {
  const double rest = fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
inline double hard_sigmoid(double x, double a, double b) { return clip(std::fma(x, a, b), 0, 1); }
inline double power(double x, double scale, double shift, double exponent) {
  return pow(std::fma(x, scale, shift), exponent);
}

using UnaryFunction = double (*)(double x, double a, double b, double c);

// Null for an operator that has no row.
inline UnaryFunction UnaryFunctionOf(OpKind kind) {
  switch (kind) {
#define PLUMB_UNARY(name, file, max_inputs, zero, spread, cpu, expression)                                           \
  case OpKind::k##name:                                                                                              \
    return [](double x, [[maybe_unused]] double a, [[maybe_unused]] double b, [[maybe_unused]] double c) -> double { \
      return expression;                                                                                             \
    };
#include "op/unary.def"
#undef PLUMB_UNARY
    default: return nullptr;
  }
}

using BinaryFunction = double (*)(double a, double b);

inline BinaryFunction BinaryFunctionOf(OpKind kind) {
  switch (kind) {
#define PLUMB_BINARY(name, min_inputs, fill, cpu, whole, expression) \
  case OpKind::k##name:                                              \
    return [](double a, double b) -> double { return expression; };
#include "op/binary.def"
#undef PLUMB_BINARY
    default: return nullptr;
  }
}

}  // namespace real
}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_DOUBLE_FUNCTIONS_H_
