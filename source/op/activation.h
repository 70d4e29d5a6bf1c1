// SPDX-License-Identifier: Apache-2.0
// Element-wise operators with parameters, in the order in which the tnnproto has them.
// TNN has no interpreter for LeakyRelu (its files hold a shared-slope PReLU instead); the field order here is ours.
#ifndef PLUMB_OP_ACTIVATION_H_
#define PLUMB_OP_ACTIVATION_H_

#include <cstdint>
#include <optional>

#include "op/core/op.h"

namespace plumb {

struct LeakyReluParam : ParamBase<LeakyReluParam> {
  float slope = 0.01f;  // y = x < 0 ? slope * x : x
  void Visit(ParamVisitor& v) override { v.Float("slope", slope); }
};

struct EluParam : ParamBase<EluParam> {
  float alpha = 1;  // y = x > 0 ? x : alpha * (e^x - 1)
  void Visit(ParamVisitor& v) override { v.Float("alpha", alpha); }
};

// y = gamma * (x > 0 ? x : alpha * (e^x - 1)). TNN leaves missing tokens undefined; ours are the usual constants.
struct SeluParam : ParamBase<SeluParam> {
  float alpha = 1.67326319f;
  float gamma = 1.05070102f;
  void Visit(ParamVisitor& v) override {
    v.Float("alpha", alpha);
    v.Float("gamma", gamma);
  }
};

// HardSigmoid: y = clip(alpha * x + beta, 0, 1). HardSwish: y = x0 * clip(alpha * x1 + beta, 0, 1), with one input x1 =
// x0.
struct HardParam : ParamBase<HardParam> {
  float alpha = 1;
  float beta = 0;
  void Visit(ParamVisitor& v) override {
    v.Float("alpha", alpha);
    v.Float("beta", beta);
  }
};

// y = min(max(x, min), max); both 0 when missing, so that an empty Clip is all zeros, as in TNN. i32 and i64 too.
struct ClipParam : ParamBase<ClipParam> {
  float min = 0;
  float max = 0;
  void Visit(ParamVisitor& v) override {
    v.Float("min", min);
    v.Float("max", max);
  }
};

// y = (x * scale + shift)^exponent, as pow: a negative base with a fractional exponent is NaN.
struct PowerParam : ParamBase<PowerParam> {
  float exponent = 1;
  float scale = 1;
  float shift = 0;
  void Visit(ParamVisitor& v) override {
    v.Float("exponent", exponent);
    v.Float("scale", scale);
    v.Float("shift", shift);
  }
};

// y = max(x, 0) + min(alpha * (e^(x / alpha) - 1), 0)
struct CeluParam : ParamBase<CeluParam> {
  float alpha = 1;
  void Visit(ParamVisitor& v) override { v.Float("alpha", alpha); }
};

// y = x > alpha ? x : 0
struct ThresholdedReluParam : ParamBase<ThresholdedReluParam> {
  float alpha = 1;
  void Visit(ParamVisitor& v) override { v.Float("alpha", alpha); }
};

// y = x < -lambda ? x + bias : x > lambda ? x - bias : 0
struct ShrinkParam : ParamBase<ShrinkParam> {
  float lambda = 0.5f;
  float bias = 0;
  void Visit(ParamVisitor& v) override {
    v.Float("lambda", lambda);
    v.Float("bias", bias);
  }
};

// What an element-wise operator's expression (op/unary.def) calls a, b and c:
//   Elu, PlumbCelu, PlumbThresholdedRelu: alpha     LeakyRelu: slope           Selu: alpha, -, gamma
//   HardSigmoid, HardSwish: alpha, beta             Clip: min, max             PlumbShrink: lambda, bias
//   Power: scale, shift, exponent
struct UnaryCoefficients {
  float a = 0, b = 0, c = 0;
};
UnaryCoefficients CoefficientsOf(const Layer& layer);

// f(0) = 0. REQUIRES: a row of op/unary.def.
bool UnaryKeepsZero(const Layer& layer);

// The shape rule of element-wise operators: the input's shape and dtype, a float or, where op/unary_int.def has a row,
// i32 or i64.
Status InferUnary(ShapeContext& context);

// The row of op/unary_int.def, by which the GPU programs know it.
std::optional<int> UnaryIntRow(OpKind kind);

// Clip's ends for whole numbers of that dtype: towards zero, cut to its range; NaN is 0. Other layers have none.
struct WholeLimits {
  int64_t low = 0, high = 0;
};
WholeLimits WholeLimitsOf(const Layer& layer, DType dtype);

}  // namespace plumb

#endif  // PLUMB_OP_ACTIVATION_H_
