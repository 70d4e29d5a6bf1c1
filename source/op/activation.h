// Element-wise operators with parameters, in the order in which the tnnproto has them.
// TNN has no interpreter for LeakyRelu (its files hold a shared-slope PReLU instead); the field order here is ours.
#ifndef PLUMB_OP_ACTIVATION_H_
#define PLUMB_OP_ACTIVATION_H_

#include "op/op.h"

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

}  // namespace plumb

#endif  // PLUMB_OP_ACTIVATION_H_
