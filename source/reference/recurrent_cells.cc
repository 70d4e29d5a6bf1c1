// SPDX-License-Identifier: Apache-2.0
#include "reference/recurrent_cells.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "reference/core/elementwise.h"

namespace plumb {
namespace {

double ApplyRecurrentCells(const GateFunction& f, double x) {
  const auto alpha = static_cast<double>(f.alpha), beta = static_cast<double>(f.beta);
  switch (f.kind) {
    case GateFunction::kRelu: return x < 0 ? 0 : x;
    case GateFunction::kTanh: return std::tanh(x);
    case GateFunction::kSigmoid: return 1 / (1 + std::exp(-x));
    case GateFunction::kAffine: return alpha * x + beta;
    case GateFunction::kLeakyRelu: return x < 0 ? alpha * x : x;
    case GateFunction::kThresholdedRelu: return x > alpha ? x : 0;
    case GateFunction::kScaledTanh: return alpha * std::tanh(beta * x);
    case GateFunction::kHardSigmoid: return std::min(std::max(alpha * x + beta, 0.0), 1.0);
    case GateFunction::kElu: return x < 0 ? alpha * std::expm1(x) : x;
    case GateFunction::kSoftsign: return x / (1 + std::fabs(x));
    case GateFunction::kSoftplus: return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
  }
  return x;
}

}  // namespace

Status RecurrentCells::Init(const ReferenceArgs& args, const BoundArgs* bound) {
  PLUMB_ASSIGN_OR_RETURN(s_, ResolveRecurrent(args.layer, InfosOf(args)));
  const auto& p = ParamOf<RecurrentParam>(args.layer);
  clip_ = p.clip > 0 ? static_cast<double>(p.clip) : INFINITY;
  input_forget_ = p.input_forget;
  bound_ = bound;
  outputs_ = args.outputs;
  if (bound != nullptr) u_ = bound->arithmetic.u;
  if (bound != nullptr && !bound->device_outputs.empty()) device_ = bound->device_outputs[0];
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    tau_.push_back(bound != nullptr ? InputTau(*bound, i) : nullptr);
    operands_.push_back(*args.inputs[i]);
    if (!IsFloat(args.inputs[i]->dtype())) continue;
    PLUMB_ASSIGN_OR_RETURN(operands_.back(), args.inputs[i]->ConvertedTo(DType::kF64));
  }
  const Tensor* lengths = s_.lengths < 0 ? nullptr : args.inputs[static_cast<size_t>(s_.lengths)];
  PLUMB_ASSIGN_OR_RETURN(steps_, SequenceLengths(s_, lengths));
  return Status::Ok();
}

Real RecurrentCells::At(int input, int64_t at) const {
  if (input < 0) return {};
  const auto i = static_cast<size_t>(input);
  return {operands_[i].data<double>()[at], tau_[i] == nullptr ? 0 : Square(tau_[i][at] / 8)};
}

double RecurrentCells::Bias(int64_t d, int64_t row, bool recurrent) const {
  const int64_t rows = s_.gates * s_.hidden;
  return At(s_.bias, d * 2 * rows + (recurrent ? rows : 0) + row).v;
}

double RecurrentCells::BiasVariance(int64_t d, int64_t row) const {
  const int64_t rows = s_.gates * s_.hidden;
  return At(s_.bias, d * 2 * rows + row).var + At(s_.bias, d * 2 * rows + rows + row).var;
}

RecurrentCells::State RecurrentCells::Initial(int64_t d, int64_t b) const {
  State state;
  for (int64_t j = 0; j < s_.hidden; ++j) {
    state.h.push_back(At(s_.initial_h, s_.StateAt(d, b) + j));
    state.c.push_back(At(s_.initial_c, s_.StateAt(d, b) + j));
  }
  return state;
}

Real RecurrentCells::Times(Real a, Real b) const {
  const double y = a.v * b.v;
  return {y, b.v * b.v * a.var + a.v * a.v * b.var + u_ * u_ * y * y};
}

Real RecurrentCells::Activate(int64_t d, int which, Real z) const {
  const GateFunction& f = s_.functions[d][which];
  const double clip = which == 2 && !clips_cell_ ? INFINITY : clip_;
  const auto cut = [&](double x) {
    return ApplyRecurrentCells(f, std::isnan(x) ? x : std::min(std::max(x, -clip), clip));
  };
  const double y = cut(z.v);
  if (!with_bound()) return {y, 0};
  // 1 sigma, too: where 8 of them leave the function's range, an eighth of the range is less than z's error makes of
  // it.
  const double sigma = std::sqrt(z.var);
  const double spread = std::max(Spread(cut, z.v, y, 8 * sigma) / 8, Spread(cut, z.v, y, sigma));
  return {y, Square(spread) + u_ * u_ * std::max(1.0, y * y)};
}

Real RecurrentCells::Peep(int64_t d, int which, int64_t j, Real c) const {
  if (s_.peepholes < 0) return {};
  return Times(At(s_.peepholes, (d * 3 + which) * s_.hidden + j), c);
}

void RecurrentCells::FinishLstm(int64_t d, const std::vector<Real>& sums, State* state) const {
  const auto n = static_cast<size_t>(s_.hidden);
  for (size_t i = 0; i < n; ++i) {
    const auto j = static_cast<int64_t>(i);
    const Real c = state->c[i];
    const Real in = Activate(d, 0, Plus(sums[i], Peep(d, 0, j, c)));
    Real forget = {1 - in.v, in.var};
    if (!input_forget_) forget = Activate(d, 0, Plus(sums[2 * n + i], Peep(d, 2, j, c)));
    const Real g = Activate(d, 1, sums[3 * n + i]);
    state->c[i] = Rounded(Plus(Times(forget, c), Times(in, g)));
    const Real out = Activate(d, 0, Plus(sums[n + i], Peep(d, 1, j, state->c[i])));
    state->h[i] = Times(out, Activate(d, 2, state->c[i]));
  }
}

void RecurrentCells::EndStep(int64_t d, int64_t b, int64_t i, State* state) const {
  const int64_t at = s_.OutputAt(StepAt(d, b, i), d, b);
  Store(state->h, 0, at);
  if (device_ == nullptr || i + 1 == Steps(b)) return;
  for (int64_t j = 0; j < s_.hidden; ++j) state->h[static_cast<size_t>(j)] = {device_->ValueAt(at + j), 0};
}

void RecurrentCells::EndSequence(int64_t d, int64_t b, const State& state) const {
  Store(state.h, 1, s_.StateAt(d, b));
  if (s_.states == 2) Store(state.c, 2, s_.StateAt(d, b));
  const std::vector<Real> zeros(static_cast<size_t>(s_.hidden));
  for (int64_t t = Steps(b); t < s_.time; ++t) {
    Store(zeros, 0, s_.OutputAt(t, d, b));
    if (with_bound()) std::fill_n(bound_->tau[0]->data<double>() + s_.OutputAt(t, d, b), s_.hidden, 0.0);
  }
}

void RecurrentCells::Store(const std::vector<Real>& values, size_t output, int64_t at) const {
  Tensor* out = outputs_[output];
  for (size_t j = 0; j < values.size(); ++j) {
    const int64_t i = at + static_cast<int64_t>(j);
    if (out->dtype() == DType::kF64) {
      out->data<double>()[i] = values[j].v;
    } else {
      out->data<float>()[i] = static_cast<float>(values[j].v);
    }
    if (!with_bound()) continue;
    bound_->tau[output]->data<double>()[i] = StoredTau(16 * std::sqrt(values[j].var), values[j].v, bound_->arithmetic);
  }
}

Status CheckStorage(const ReferenceArgs& args) {
  const DType dtype = args.inputs[0]->dtype();
  if (dtype == DType::kF32 || dtype == DType::kF64) return Status::Ok();
  return Status::NotSupported(fmt::format("the reference has no kernel for {} blobs here", DTypeName(dtype)));
}

}  // namespace plumb
