#include "reference/core/variants.h"

#include <algorithm>
#include <cstring>

#include "base/half.h"
#include "op/activation.h"
#include "op/convolution.h"
#include "reference/core/elementwise.h"

namespace plumb {
namespace {

double PlainLogistic(double x) { return 1 / (1 + std::exp(-x)); }
double PlainSoftplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double ErfGelu(double x) { return 0.5 * x * std::erfc(-x * 0.70710678118654752440); }
double TanhGelu(double x) { return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))); }
// Lambert's continued fraction for tanh, seven terms; MNN 3.6's GELU.
double RationalGelu(double x) {
  const double t = 0.79788456080286535588 * (x + 0.044715 * x * x * x), s = t * t;
  const double above = t * (135135 + s * (17325 + s * (378 + s))), below = 135135 + s * (62370 + s * (3150 + 28 * s));
  return 0.5 * x * (1 + std::clamp(above / below, -1.0, 1.0));
}
double Exp2Limit(double x, double limit) { return std::exp(std::min(x, limit)); }

#define PLUMB_FUNCTION(id, family, name, value, tau)                \
  struct id {                                                       \
    static double Y(double x) { return value; }                     \
    static double Tau(double x, double y, double u) { return tau; } \
  };
#include "reference/core/variants.def"
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

template <int kBits>
Status Narrow(const Tensor& tensor, Tensor* narrow) {
  PLUMB_ASSIGN_OR_RETURN(*narrow, tensor.Clone());
  const auto each = [&](auto* data) {
    for (int64_t i = 0; i < narrow->NumElements(); ++i)
      data[i] = static_cast<std::decay_t<decltype(*data)>>(Narrowed<kBits>(static_cast<double>(data[i])));
  };
  if (tensor.dtype() == DType::kF32) each(narrow->data<float>());
  if (tensor.dtype() == DType::kF64) each(narrow->data<double>());
  return Status::Ok();
}

// Calls f with the layer's operands rounded: blobs and weight, not the bias.
template <int kBits, class F>
Status WithNarrowOperands(const ReferenceArgs& args, F f) {
  Layer layer = args.layer;
  if (args.layer.Resource("weight") != nullptr) {
    PLUMB_RETURN_IF_ERROR(Narrow<kBits>(*args.layer.Resource("weight"), &layer.resources["weight"]));
  }
  std::vector<Tensor> inputs(args.inputs.size());
  ReferenceArgs narrow{layer, {}, args.outputs};
  for (size_t i = 0; i < inputs.size(); ++i) {
    PLUMB_RETURN_IF_ERROR(Narrow<kBits>(*args.inputs[i], &inputs[i]));
    narrow.inputs.push_back(&inputs[i]);
  }
  return f(narrow);
}

template <int kBits>
ReferenceOp NarrowOperands() {
  return {[](const ReferenceArgs& args) {
            return WithNarrowOperands<kBits>(
                args, [](const ReferenceArgs& a) { return GetReferenceOp(a.layer.kind).run(a); });
          },
          [](const ReferenceArgs& args, const BoundArgs& bound) {
            return WithNarrowOperands<kBits>(
                args, [&](const ReferenceArgs& a) { return GetReferenceOp(a.layer.kind).run_with_bound(a, bound); });
          }};
}

// The padded input of a 2-D convolution with kBy pads moved from the end of both axes to their beginning.
template <int kBy>
Result<Tensor> PaddedOtherwise(const ReferenceArgs& args) {
  const Tensor& x = *args.inputs[0];
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape s, ResolveConvolution(args.layer, x.shape()));
  const WindowAxis &h = s.window.h, &w = s.window.w;
  const int64_t top = h.pad_begin + kBy, left = w.pad_begin + kBy, bottom = h.pad_end - kBy, right = w.pad_end - kBy;
  if (x.dtype() != DType::kF64 || x.shape().rank() != 4 || std::min({top, left, bottom, right}) < 0) {
    return Status::NotSupported("there is no pad to move");
  }
  const int64_t width = w.in + left + right, height = h.in + top + bottom;
  PLUMB_ASSIGN_OR_RETURN(Tensor padded, Tensor::Zeros(x.dtype(), {s.batch, s.in_channels, height, width}));
  for (int64_t i = 0; i < x.NumElements(); ++i) {
    const int64_t plane = i / (h.in * w.in), row = i / w.in % h.in + top, column = i % w.in + left;
    padded.data<double>()[(plane * height + row) * width + column] = x.data<double>()[i];
  }
  return padded;
}

template <int kBy, class F>
Status WithMovedPads(const ReferenceArgs& args, F f) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor x, PaddedOtherwise<kBy>(args));
  auto param = std::make_shared<ConvolutionParam>(ParamOf<ConvolutionParam>(args.layer));
  param->pad_type = kPadExplicit;
  param->pad_h = param->pad_w = 0;
  Layer layer = args.layer;
  layer.param = param;
  return f({layer, {&x}, args.outputs});
}

template <int kBy>
ReferenceOp MovedPads() {
  return {[](const ReferenceArgs& args) {
            return WithMovedPads<kBy>(args, [](const ReferenceArgs& a) { return GetReferenceOp(a.layer.kind).run(a); });
          },
          [](const ReferenceArgs& args, const BoundArgs& bound) {
            if (InputTau(bound, 0) != nullptr) return Status::NotSupported("the input is uncertain");
            return WithMovedPads<kBy>(
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
#define PLUMB_FUNCTION(id, family, name, value, tau) {family, name, id::Y, OpOf<id>()},
  static const std::vector<FunctionVariant>* variants = new std::vector<FunctionVariant>{
#include "reference/core/variants.def"
  };
#undef PLUMB_FUNCTION
  return *variants;
}

const ReferenceOp* RelativeClass(OpKind kind) {
  static const ReferenceOp *sigmoid = new ReferenceOp(OpOf<RelativeSigmoid>()),
                           *tanh = new ReferenceOp(OpOf<RelativeTanh>()), *erf = new ReferenceOp(OpOf<RelativeErf>());
  switch (kind) {
    case OpKind::kSigmoid: return sigmoid;
    case OpKind::kTanh: return tanh;
    case OpKind::kErf: return erf;
    default: return nullptr;
  }
}

ReferenceOp Tf32Operands() { return NarrowOperands<11>(); }
ReferenceOp Bf16Operands() { return NarrowOperands<8>(); }
ReferenceOp F16Operands() { return NarrowOperands<0>(); }
ReferenceOp PadsToTheEnd() { return MovedPads<-1>(); }
ReferenceOp PadsToTheBeginning() { return MovedPads<1>(); }

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
