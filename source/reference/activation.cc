// SPDX-License-Identifier: Apache-2.0
// Element-wise operators with parameters. tau (tolerance.md, "Other operators"): LeakyRelu 8 u |y|; Elu 16 u for x < 0,
// else exact; Selu 32 u max(1, |x|); HardSigmoid 8 u; HardSwish 12 u |x|; Clip exact. They are measured with the usual
// alpha and beta and grow with larger ones. Celu has Elu's, ThresholdedRelu is exact, Shrink one rounding. Power: that
// of pow's class exp2(e log2 x), 8 u |y| (1 + |e ln base|), the larger of the two classes, and the rounding of base = x
// * scale + shift.
#include "op/activation.h"

#include <algorithm>
#include <limits>

#include "reference/core/broadcast.h"
#include "reference/core/elementwise.h"
#include "reference/power_tau.h"

namespace plumb {
namespace {

double ClipTo(double x, double low, double high) {
  const double y = x < low ? low : x;  // NaN stays
  return y > high ? high : y;
}

struct LeakyReluRow {
  using Param = LeakyReluParam;
  static double Y(const Param& p, double x) { return x < 0 ? static_cast<double>(p.slope) * x : x; }
  static double Tau(const Param&, double, double y, double u) { return 8 * u * std::fabs(y); }
};
struct EluRow {
  using Param = EluParam;
  static double Y(const Param& p, double x) { return x > 0 ? x : static_cast<double>(p.alpha) * std::expm1(x); }
  static double Tau(const Param& p, double x, double, double u) {
    return x < 0 ? 16 * u * std::fabs(static_cast<double>(p.alpha)) : kExact;
  }
};
struct SeluRow {
  using Param = SeluParam;
  static double Y(const Param& p, double x) {
    return static_cast<double>(p.gamma) * (x > 0 ? x : static_cast<double>(p.alpha) * std::expm1(x));
  }
  static double Tau(const Param& p, double x, double y, double u) {
    const double gain = std::fabs(static_cast<double>(p.alpha) * static_cast<double>(p.gamma)) / 1.7580993;
    return 32 * u * std::max(1.0, Reach(x, y)) * std::max(1.0, gain);
  }
};
struct HardSigmoidRow {
  using Param = HardParam;
  static double Y(const Param& p, double x) {
    return ClipTo(static_cast<double>(p.alpha) * x + static_cast<double>(p.beta), 0, 1);
  }
  static double Tau(const Param& p, double, double, double u) {
    return 8 * u * std::max(1.0, std::fabs(static_cast<double>(p.beta)));
  }
};
struct HardSwishRow {
  using Param = HardParam;
  static double Y(const Param& p, double x) { return x * HardSigmoidRow::Y(p, x); }
  static double Tau(const Param& p, double x, double y, double u) {
    return 12 * u * Reach(x, y) * std::max(1.0, std::fabs(static_cast<double>(p.beta)));
  }
};
struct ClipRow {
  using Param = ClipParam;
  static double Y(const Param& p, double x) {
    return ClipTo(x, static_cast<double>(p.min), static_cast<double>(p.max));
  }
  static double Tau(const Param&, double, double, double) { return kExact; }
};
struct PowerRow {
  using Param = PowerParam;
  static double Base(const Param& p, double x) {
    return x * static_cast<double>(p.scale) + static_cast<double>(p.shift);
  }
  static double Y(const Param& p, double x) { return std::pow(Base(p, x), static_cast<double>(p.exponent)); }
  static double Tau(const Param& p, double x, double y, double u) {
    const double base = Base(p, x), exponent = static_cast<double>(p.exponent);
    const double own = PowerTau(base, exponent, y, u);
    if (p.scale == 1 && p.shift == 0) return own;
    const double base_tau = 4 * u * (std::fabs(x * static_cast<double>(p.scale)) + std::fabs(base));
    return Quadrature(own, Spread([&](double b) { return std::pow(b, exponent); }, base, y, base_tau));
  }
};

struct CeluRow {
  using Param = CeluParam;
  static double Y(const Param& p, double x) {
    const auto alpha = static_cast<double>(p.alpha);
    const double low = alpha * std::expm1(x / alpha);
    return (x < 0 ? 0.0 : x) + (low > 0 ? 0.0 : low);
  }
  static double Tau(const Param& p, double x, double y, double u) {
    return 16 * u * std::max(std::fabs(static_cast<double>(p.alpha)), x > 0 ? std::fabs(y) : 0.0);
  }
};
struct ThresholdedReluRow {
  using Param = ThresholdedReluParam;
  static double Y(const Param& p, double x) { return x > static_cast<double>(p.alpha) || std::isnan(x) ? x : 0; }
  static double Tau(const Param&, double, double, double) { return kExact; }
};
struct ShrinkRow {
  using Param = ShrinkParam;
  static double Y(const Param& p, double x) {
    const auto lambda = static_cast<double>(p.lambda), bias = static_cast<double>(p.bias);
    if (x < -lambda) return x + bias;
    return x > lambda ? x - bias : (std::isnan(x) ? x : 0);
  }
  static double Tau(const Param&, double, double y, double u) { return 8 * u * std::fabs(y); }
};

template <class Row>
Status RunActivation(const ReferenceArgs& args) {
  const auto& p = ParamOf<typename Row::Param>(args.layer);
  return RunUnary(args, [&](double x) { return Row::Y(p, x); });
}

template <class Row>
Status BoundActivation(const ReferenceArgs& args, const BoundArgs& bound) {
  const auto& p = ParamOf<typename Row::Param>(args.layer);
  return RunUnaryWithBound(
      args, bound, [&](double x) { return Row::Y(p, x); },
      [&](double x, double y, double u) { return Row::Tau(p, x, y, u); });
}

template <class T>
T WholeLimit(float limit) {
  const double value = std::isnan(limit) ? 0.0 : std::trunc(static_cast<double>(limit));
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

template <class T>
Status RunWholeClip(const ReferenceArgs& args) {
  const auto& p = ParamOf<ClipParam>(args.layer);
  const T low = WholeLimit<T>(p.min), high = WholeLimit<T>(p.max);
  const T* x = args.inputs[0]->data<T>();
  T* y = args.outputs[0]->data<T>();
  for (int64_t i = 0; i < args.inputs[0]->NumElements(); ++i) y[i] = std::min(std::max(x[i], low), high);
  return Status::Ok();
}

Status RunClip(const ReferenceArgs& args) {
  switch (args.inputs[0]->dtype()) {
    case DType::kI32: return RunWholeClip<int32_t>(args);
    case DType::kI64: return RunWholeClip<int64_t>(args);
    default: return RunActivation<ClipRow>(args);
  }
}

Status BoundClip(const ReferenceArgs& args, const BoundArgs& bound) {
  if (IsFloat(args.inputs[0]->dtype())) return BoundActivation<ClipRow>(args, bound);
  SetExact(bound);
  return RunClip(args);
}

// HardSwish with a gate of its own.
template <class F>
void ForEachGated(const ReferenceArgs& args, F f) {
  const Broadcast walk(args.inputs[0]->shape(), args.inputs[1]->shape(), args.outputs[0]->shape());
  ParallelFor(args.outputs[0]->NumElements(), kElementGrain,
              [&](int64_t begin, int64_t end) { walk.ForEach(begin, end, f); });
}

Status RunHardSwish(const ReferenceArgs& args) {
  if (args.inputs.size() == 1) return RunActivation<HardSwishRow>(args);
  const auto& p = ParamOf<HardParam>(args.layer);
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    const T* x = args.inputs[0]->data<T>();
    const T* gate = args.inputs[1]->data<T>();
    T* y = args.outputs[0]->data<T>();
    ForEachGated(args, [&](int64_t i, int64_t ix, int64_t ig) {
      y[i] = static_cast<T>(static_cast<double>(x[ix]) * HardSigmoidRow::Y(p, static_cast<double>(gate[ig])));
    });
    return Status::Ok();
  });
}

Status BoundHardSwish(const ReferenceArgs& args, const BoundArgs& bound) {
  if (args.inputs.size() == 1) return BoundActivation<HardSwishRow>(args, bound);
  PLUMB_RETURN_IF_ERROR(RunHardSwish(args));
  const auto& p = ParamOf<HardParam>(args.layer);
  const double* x = args.inputs[0]->data<double>();
  const double* gate = args.inputs[1]->data<double>();
  const double* y = args.outputs[0]->data<double>();
  const double* tau_x = InputTau(bound, 0);
  const double* tau_gate = InputTau(bound, 1);
  double* tau = bound.tau[0]->data<double>();
  ForEachGated(args, [&](int64_t i, int64_t ix, int64_t ig) {
    const double factor = HardSigmoidRow::Y(p, gate[ig]);
    const double own =
        12 * bound.arithmetic.u * std::fabs(x[ix]) * std::max(1.0, std::fabs(static_cast<double>(p.beta)));
    tau[i] = StoredTau(own, y[i], bound.arithmetic);
    if (tau_x != nullptr) tau[i] = Quadrature(tau[i], factor * tau_x[ix]);
    if (tau_gate != nullptr) {
      const auto gated = [&](double g) { return x[ix] * HardSigmoidRow::Y(p, g); };
      tau[i] = Quadrature(tau[i], Spread(gated, gate[ig], y[i], tau_gate[ig]));
    }
  });
  return Status::Ok();
}

}  // namespace

ReferenceOp ReferenceLeakyRelu() { return ElementWise(RunActivation<LeakyReluRow>, BoundActivation<LeakyReluRow>); }
ReferenceOp ReferenceElu() { return ElementWise(RunActivation<EluRow>, BoundActivation<EluRow>); }
ReferenceOp ReferenceSelu() { return ElementWise(RunActivation<SeluRow>, BoundActivation<SeluRow>); }
ReferenceOp ReferenceHardSigmoid() {
  return ElementWise(RunActivation<HardSigmoidRow>, BoundActivation<HardSigmoidRow>);
}
ReferenceOp ReferenceHardSwish() { return {RunHardSwish, BoundHardSwish}; }
ReferenceOp ReferenceClip() { return ElementWise(RunClip, BoundClip); }
ReferenceOp ReferencePlumbCelu() { return ElementWise(RunActivation<CeluRow>, BoundActivation<CeluRow>); }
ReferenceOp ReferencePlumbThresholdedRelu() {
  return ElementWise(RunActivation<ThresholdedReluRow>, BoundActivation<ThresholdedReluRow>);
}
ReferenceOp ReferencePlumbShrink() { return ElementWise(RunActivation<ShrinkRow>, BoundActivation<ShrinkRow>); }
ReferenceOp ReferencePower() { return ElementWise(RunActivation<PowerRow>, BoundActivation<PowerRow>); }

}  // namespace plumb
