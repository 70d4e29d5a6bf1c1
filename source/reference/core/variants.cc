// SPDX-License-Identifier: Apache-2.0
#include "reference/core/variants.h"

#include <algorithm>
#include <cstring>

#include "base/half.h"
#include "op/activation.h"
#include "op/convolution.h"
#include "reference/core/elementwise.h"
#include "reference/core/gelu.h"

namespace plumb {
namespace {

double PlainLogistic(double x) { return 1 / (1 + std::exp(-x)); }
double PlainSoftplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double TanhGelu(double x) { return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))); }
// Lambert's continued fraction for tanh, seven terms; MNN 3.6's GELU.
double RationalGelu(double x) {
  const double t = 0.79788456080286535588 * (x + 0.044715 * x * x * x), s = t * t;
  const double above = t * (135135 + s * (17325 + s * (378 + s))), below = 135135 + s * (62370 + s * (3150 + 28 * s));
  return 0.5 * x * (1 + std::clamp(above / below, -1.0, 1.0));
}
double Exp2Limit(double x, double limit) { return std::exp(std::min(x, limit)); }

// Of what terms of size 1 or |x| are subtracted in.
double Size(double x, double y) { return std::max(std::fabs(y), std::min(1.0, std::fabs(x))); }

// 2^23 / ln 2 x + 127 2^23 - shift as the bits of an f32.
double ExpByBits(double x, int shift) {
  const double bits = 12102203.161561485 * x + 1065353216.0 - shift;
  if (!(bits > 0)) return 0;
  if (bits >= 2139095040.0) return INFINITY;
  return static_cast<double>(BitsToFloat(static_cast<uint32_t>(bits)));
}

double PowerOfTwoTimes(double x, int squarings) {
  for (int i = 0; i < squarings; ++i) x *= x;
  return x;
}

double ExpByTaylor(double x, int degree) {
  const double k = std::nearbyint(x * 1.4426950408889634), r = x - k * 0.6931471805599453;
  double sum = 1, term = 1;
  for (int i = 1; i <= degree; ++i) term *= r / i, sum += term;
  return std::isfinite(k) ? std::ldexp(sum, static_cast<int>(std::clamp(k, -1e4, 1e4))) : std::exp(x);
}

double ExpByQuadratic(double x) {
  const double scaled = x * 1.4426950408889634, k = std::floor(scaled), f = scaled - k;
  const double part = 1 + f * (0.6565 + 0.3435 * f);
  return std::isfinite(k) ? std::ldexp(part, static_cast<int>(std::clamp(k, -1e4, 1e4))) : std::exp(x);
}

double RationalTanh(double x, int kind) {
  const double s = x * x;
  double value = 0;
  switch (kind) {
    case 1: value = x * (27 + s) / (27 + 9 * s); break;
    case 2: value = x * (15 + s) / (15 + 6 * s); break;
    case 3: value = x * (105 + 10 * s) / (105 + s * (45 + s)); break;
    case 4: value = x * (945 + s * (105 + s)) / (945 + s * (420 + 15 * s)); break;
    default: value = x * (135135 + s * (17325 + s * (378 + s))) / (135135 + s * (62370 + s * (3150 + 28 * s)));
  }
  return std::isfinite(value) ? std::clamp(value, -1.0, 1.0) : std::tanh(x);
}

double PlanSigmoid(double x) {
  const double a = std::fabs(x);
  const double y = a >= 5 ? 1 : a >= 2.375 ? 0.03125 * a + 0.84375 : a >= 1 ? 0.125 * a + 0.625 : 0.25 * a + 0.5;
  return x < 0 ? 1 - y : y;
}

double ErfByTerms(double x) {
  const double t = 1 / (1 + 0.47047 * std::fabs(x));
  const double y = 1 - t * (0.3480242 + t * (-0.0958798 + t * 0.7478556)) * std::exp(-x * x);
  return std::copysign(y, x);
}

double ErfByPowers(double x) {
  const double a = std::fabs(x), sum = 1 + a * (0.278393 + a * (0.230389 + a * (0.000972 + a * 0.078108)));
  return std::copysign(1 - 1 / (sum * sum * sum * sum), x);
}

double QuadraticErf(double x) {
  const double b = std::min(std::fabs(x), 1.769) - 1.769;
  return std::copysign(-0.2888 * b * b + 1, x);
}

// The angle whose sine XNNPACK takes for sin(x), or for cos(x): less whole turns of 2 pi in two parts, each with an
// FMA, then folded into [-pi / 2, pi / 2] by a pi of 24 bits. `rest`: of pi / 2 behind its 24 bits, as far as it is
// added.
double FoldedAngle(double x, bool cosine, float rest = 0) {
  constexpr float kPi = 3.14159274f, kHalfPi = 1.57079637f, kTurn = 0.15915494f;
  const auto value = static_cast<float>(x), turns = std::nearbyint(value * kTurn);
  float angle = std::fma(-turns, 6.28125f, value);
  angle = std::fma(-turns, 1.9353072e-3f, angle);
  if (cosine) angle = (kHalfPi - angle) + rest;
  angle = std::min(angle, kPi - angle);
  angle = std::max(angle, -kPi - angle);
  return static_cast<double>(std::min(angle, kPi - angle));
}

#define PLUMB_FUNCTION(id, family, name, value, tau)                \
  struct id {                                                       \
    static double Y(double x) { return value; }                     \
    static double Tau(double x, double y, double u) { return tau; } \
  };
#define PLUMB_APPROXIMATION(id, family, name, value, tau) PLUMB_FUNCTION(id, family, name, value, tau)
#include "reference/core/variants.def"
#undef PLUMB_APPROXIMATION
#undef PLUMB_FUNCTION

struct RelativeSigmoid : SigmoidRow {
  static double Tau(double, double y, double u) { return 40 * u * y + 8 * kEta; }
};
struct RelativeTanh : TanhRow {
  static double Tau(double, double y, double u) { return 20 * u * std::fabs(y); }
};
struct RelativeErf {
  static double Y(double x) { return std::erf(x); }
  static double Tau(double, double y, double u) { return 8 * u * std::fabs(y); }
};

struct RelativeLog {
  static double Y(double x) { return std::log(x); }
  static double Tau(double, double y, double u) { return 16 * u * std::fabs(y); }
};

template <class Row>
ReferenceOp OpOf() {
  return ElementWise([](const ReferenceArgs& args) { return RunUnary(args, Row::Y); },
                     [](const ReferenceArgs& args, const BoundArgs& bound) {
                       return RunUnaryWithBound(args, bound, Row::Y, Row::Tau);
                     });
}

// x with the significand of `kBits` bits, to nearest even.
template <int kBits>
double Narrowed(double x) {
  if (kBits == 0) return static_cast<double>(HalfToFloat(FloatToHalf(static_cast<float>(x))));
  if (!std::isfinite(x) || x == 0) return x;
  int exponent;
  const double significand = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(significand, kBits)), exponent - kBits);
}

template <double (*kAs)(double)>
Status Narrow(const Tensor& tensor, Tensor* narrow) {
  PLUMB_ASSIGN_OR_RETURN(*narrow, tensor.Clone());
  const auto each = [&](auto* data) {
    for (int64_t i = 0; i < narrow->NumElements(); ++i)
      data[i] = static_cast<std::decay_t<decltype(*data)>>(kAs(static_cast<double>(data[i])));
  };
  if (tensor.dtype() == DType::kF32) each(narrow->data<float>());
  if (tensor.dtype() == DType::kF64) each(narrow->data<double>());
  return Status::Ok();
}

// Calls f with the layer's operands as that of each: blobs and weight, not the bias.
template <double (*kAs)(double), class F>
Status WithOperandsAs(const ReferenceArgs& args, F f) {
  Layer layer = args.layer;
  if (args.layer.Resource("weight") != nullptr) {
    PLUMB_RETURN_IF_ERROR(Narrow<kAs>(*args.layer.Resource("weight"), &layer.resources["weight"]));
  }
  std::vector<Tensor> inputs(args.inputs.size());
  ReferenceArgs narrow{layer, {}, args.outputs};
  for (size_t i = 0; i < inputs.size(); ++i) {
    PLUMB_RETURN_IF_ERROR(Narrow<kAs>(*args.inputs[i], &inputs[i]));
    narrow.inputs.push_back(&inputs[i]);
  }
  return f(narrow);
}

template <int kBits>
ReferenceOp NarrowOperands() {
  return {[](const ReferenceArgs& args) {
            return WithOperandsAs<Narrowed<kBits>>(
                args, [](const ReferenceArgs& a) { return GetReferenceOp(a.layer.kind).run(a); });
          },
          [](const ReferenceArgs& args, const BoundArgs& bound) {
            return WithOperandsAs<Narrowed<kBits>>(
                args, [&](const ReferenceArgs& a) { return GetReferenceOp(a.layer.kind).run_with_bound(a, bound); });
          }};
}

// x as two values of kBits bits, or only the second, small one.
template <int kBits, bool kSmall>
double SplitPart(double x) {
  const double large = Narrowed<kBits>(x), small = Narrowed<kBits>(x - large);
  return kSmall ? small : large + small;
}

// Operands as the sum of their two parts, less the product of the small ones, whose bias counts nothing.
template <int kBits, class F>
Status WithSplitOperands(const ReferenceArgs& args, F run) {
  PLUMB_RETURN_IF_ERROR((WithOperandsAs<SplitPart<kBits, false>>(args, run)));
  Tensor& y = *args.outputs[0];
  PLUMB_ASSIGN_OR_RETURN(Tensor small, Tensor::Create(y.dtype(), y.shape()));
  Layer plain = args.layer;
  const Tensor* bias = args.layer.Resource("bias");
  if (bias != nullptr) {
    PLUMB_ASSIGN_OR_RETURN(plain.resources["bias"], Tensor::Zeros(bias->dtype(), bias->shape()));
  }
  const ReferenceArgs of_small{plain, args.inputs, {&small}};
  PLUMB_RETURN_IF_ERROR((WithOperandsAs<SplitPart<kBits, true>>(
      of_small, [](const ReferenceArgs& a) { return GetReferenceOp(a.layer.kind).run(a); })));
  if (y.dtype() != DType::kF64) return Status::NotSupported("variants are replays in f64");
  for (int64_t i = 0; i < y.NumElements(); ++i) y.data<double>()[i] -= small.data<double>()[i];
  return Status::Ok();
}

template <int kBits>
ReferenceOp SplitOperands() {
  return {[](const ReferenceArgs& args) {
            return WithSplitOperands<kBits>(args,
                                            [](const ReferenceArgs& a) { return GetReferenceOp(a.layer.kind).run(a); });
          },
          [](const ReferenceArgs& args, const BoundArgs& bound) {
            return WithSplitOperands<kBits>(
                args, [&](const ReferenceArgs& a) { return GetReferenceOp(a.layer.kind).run_with_bound(a, bound); });
          }};
}

// NaN where the base is negative; a broadcast base stays as it is.
void LoseNegativeBases(const ReferenceArgs& args) {
  const Tensor& x = *args.inputs[0];
  Tensor& y = *args.outputs[0];
  if (x.shape() != y.shape() || x.dtype() != DType::kF64 || y.dtype() != DType::kF64) return;
  const bool scaled = args.layer.kind == OpKind::kPower;
  const PowerParam plain, &p = scaled ? ParamOf<PowerParam>(args.layer) : plain;
  for (int64_t i = 0; i < y.NumElements(); ++i) {
    const double base = x.data<double>()[i] * static_cast<double>(p.scale) + static_cast<double>(p.shift);
    if (base < 0) y.data<double>()[i] = NAN;
  }
}

}  // namespace

const std::vector<FunctionVariant>& FunctionVariants() {
#define PLUMB_FUNCTION(id, family, name, value, tau) {family, name, id::Y, OpOf<id>(), false},
#define PLUMB_APPROXIMATION(id, family, name, value, tau) {family, name, id::Y, OpOf<id>(), true},
  static const std::vector<FunctionVariant>* variants = new std::vector<FunctionVariant>{
#include "reference/core/variants.def"
  };
#undef PLUMB_APPROXIMATION
#undef PLUMB_FUNCTION
  return *variants;
}

const ReferenceOp* RelativeClass(OpKind kind) {
  static const ReferenceOp *sigmoid = new ReferenceOp(OpOf<RelativeSigmoid>()),
                           *tanh = new ReferenceOp(OpOf<RelativeTanh>()), *erf = new ReferenceOp(OpOf<RelativeErf>()),
                           *log = new ReferenceOp(OpOf<RelativeLog>());
  switch (kind) {
    case OpKind::kSigmoid: return sigmoid;
    case OpKind::kTanh: return tanh;
    case OpKind::kErf: return erf;
    case OpKind::kLog: return log;
    default: return nullptr;
  }
}

ReferenceOp Tf32Operands() { return NarrowOperands<11>(); }
ReferenceOp Bf16Operands() { return NarrowOperands<8>(); }
ReferenceOp F16Operands() { return NarrowOperands<0>(); }
ReferenceOp SplitBf16Operands() { return SplitOperands<8>(); }
ReferenceOp PowerByLog() {
  return {[](const ReferenceArgs& args) {
            PLUMB_RETURN_IF_ERROR(GetReferenceOp(args.layer.kind).run(args));
            LoseNegativeBases(args);
            return Status::Ok();
          },
          [](const ReferenceArgs& args, const BoundArgs& bound) {
            PLUMB_RETURN_IF_ERROR(GetReferenceOp(args.layer.kind).run_with_bound(args, bound));
            LoseNegativeBases(args);
            return Status::Ok();
          }};
}

}  // namespace plumb
