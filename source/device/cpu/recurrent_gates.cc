// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/recurrent_gates.h"

#include <cstring>

#include "simd/unary.h"

namespace plumb::cpu {

using simd::UnaryOp;

void RecurrentGates::Init(const Layer& layer, const RecurrentShape& shape) {
  const auto& p = ParamOf<RecurrentParam>(layer);
  s_ = shape;
  clip_ = p.clip;
  input_forget_ = p.input_forget;
}

void RecurrentGates::Activate(int64_t d, int which, int64_t count, float* z) const {
  const GateFunction& f = s_.functions[d][which];
  const auto n = static_cast<size_t>(count);
  const auto apply = [&](UnaryOp op) { simd::Unary(op, {f.alpha, f.beta, 1}, z, z, n); };
  if (clip_ > 0) simd::Unary(UnaryOp::kClip, {-clip_, clip_, 1}, z, z, n);
  switch (f.kind) {
    case GateFunction::kRelu: return apply(UnaryOp::kReLU);
    case GateFunction::kTanh: return apply(UnaryOp::kTanh);
    case GateFunction::kSigmoid: return apply(UnaryOp::kSigmoid);
    case GateFunction::kLeakyRelu: return apply(UnaryOp::kLeakyRelu);
    case GateFunction::kHardSigmoid: return apply(UnaryOp::kHardSigmoid);
    case GateFunction::kElu: return apply(UnaryOp::kElu);
    case GateFunction::kSoftsign: return apply(UnaryOp::kSoftsign);
    case GateFunction::kSoftplus: return apply(UnaryOp::kSoftplus);
    case GateFunction::kAffine:
      for (size_t i = 0; i < n; ++i) z[i] = f.alpha * z[i] + f.beta;
      return;
    case GateFunction::kThresholdedRelu:
      for (size_t i = 0; i < n; ++i) z[i] = z[i] > f.alpha ? z[i] : 0;
      return;
    case GateFunction::kScaledTanh:
      for (size_t i = 0; i < n; ++i) z[i] *= f.beta;
      apply(UnaryOp::kTanh);
      for (size_t i = 0; i < n; ++i) z[i] *= f.alpha;
  }
}

void RecurrentGates::Lstm(int64_t d, const float* peep, float* z, float* c, float* h, float* line) const {
  const int64_t n = s_.hidden;
  float *in = z, *out = z + n, *forget = z + 2 * n, *g = z + 3 * n;
  for (int64_t j = 0; peep != nullptr && j < n; ++j) {
    in[j] += peep[j] * c[j];
    forget[j] += peep[2 * n + j] * c[j];
  }
  Activate(d, 0, n, in);
  Activate(d, 1, n, g);
  if (input_forget_) {
    for (int64_t j = 0; j < n; ++j) forget[j] = 1 - in[j];
  } else {
    Activate(d, 0, n, forget);
  }
  for (int64_t j = 0; j < n; ++j) c[j] = forget[j] * c[j] + in[j] * g[j];
  for (int64_t j = 0; peep != nullptr && j < n; ++j) out[j] += peep[n + j] * c[j];
  Activate(d, 0, n, out);
  std::memcpy(line, c, static_cast<size_t>(n) * sizeof(float));
  Activate(d, 2, n, line);
  for (int64_t j = 0; j < n; ++j) h[j] = out[j] * line[j];
}

}  // namespace plumb::cpu
