// PlumbLSTM, PlumbGRU, PlumbRNN (op/recurrent.h), sequence by sequence, step by step, float64 throughout.
//
// The bound is carried from step to step as a variance beside each value (tolerance.md, "LSTM, GRU, one step"):
//   sum  var = sig^2 + (1.5 d)^2 + sum (w sigma_x)^2, the bias first or last, the larger
//   gate var = (largest slope within 8 sigma)^2 + u^2 max(1, y^2)      products and sums to first order, one rounding
//   each tau  = 16 sigma + 4 eta
#include "op/recurrent.h"

#include <cmath>

#include "device/naive/elementwise.h"
#include "device/naive/serial_sum.h"

namespace plumb {
namespace {

// A value and its variance.
struct Real {
  double v = 0, var = 0;
};

double Square(double x) { return x * x; }

double Apply(const GateFunction& f, double x) {
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

// One layer's operands in f64, and how to compute with them.
class Cells {
 public:
  Status Init(const NaiveArgs& args, const BoundArgs* bound) {
    PLUMB_ASSIGN_OR_RETURN(s_, ResolveRecurrent(args.layer, InfosOf(args)));
    kind_ = args.layer.kind;
    const auto& p = ParamOf<RecurrentParam>(args.layer);
    clip_ = p.clip > 0 ? static_cast<double>(p.clip) : INFINITY;
    input_forget_ = p.input_forget;
    linear_before_reset_ = p.linear_before_reset;
    with_bound_ = bound != nullptr;
    u_ = with_bound_ ? bound->arithmetic.u : 0;
    for (size_t i = 0; i < args.inputs.size(); ++i) {
      tau_.push_back(with_bound_ ? InputTau(*bound, i) : nullptr);
      operands_.push_back(*args.inputs[i]);
      if (static_cast<int>(i) == s_.lengths) continue;
      PLUMB_ASSIGN_OR_RETURN(operands_.back(), args.inputs[i]->ConvertedTo(DType::kF64));
    }
    const Tensor* lengths = s_.lengths < 0 ? nullptr : args.inputs[static_cast<size_t>(s_.lengths)];
    PLUMB_ASSIGN_OR_RETURN(steps_, SequenceLengths(s_, lengths));
    return Status::Ok();
  }

  const RecurrentShape& shape() const { return s_; }
  int64_t Steps(int64_t b) const { return steps_[static_cast<size_t>(b)]; }

  // Element `at` of input `input` (0 when the layer has none).
  Real At(int input, int64_t at) const {
    if (input < 0) return {};
    const auto i = static_cast<size_t>(input);
    return {operands_[i].data<double>()[at], tau_[i] == nullptr ? 0 : Square(tau_[i][at] / 8)};
  }

  struct State {
    std::vector<Real> h, c;
  };
  State Initial(int64_t d, int64_t b) const {
    State state;
    for (int64_t j = 0; j < s_.hidden; ++j) {
      state.h.push_back(At(s_.initial_h, s_.StateAt(d, b) + j));
      state.c.push_back(At(s_.initial_c, s_.StateAt(d, b) + j));
    }
    return state;
  }

  void Step(int64_t d, int64_t t, int64_t b, State* state) const {
    std::vector<Real> x;
    for (int64_t k = 0; k < s_.size; ++k) x.push_back(At(0, s_.InputAt(t, b) + k));
    if (kind_ == OpKind::kPlumbLSTM) return StepLstm(d, x, state);
    if (kind_ == OpKind::kPlumbGRU) return StepGru(d, x, state);
    std::vector<Real> h;
    for (int64_t j = 0; j < s_.hidden; ++j) h.push_back(Activate(d, 0, Gate(d, j, x, state->h)));
    state->h = std::move(h);
  }

 private:
  static Real Plus(Real a, Real b) { return {a.v + b.v, a.var + b.var}; }
  Real Times(Real a, Real b) const {
    const double y = a.v * b.v;
    return {y, b.v * b.v * a.var + a.v * a.v * b.var + u_ * u_ * y * y};
  }
  Real Rounded(Real a) const { return {a.v, a.var + u_ * u_ * a.v * a.v}; }

  Real Activate(int64_t d, int which, Real z) const {
    const GateFunction& f = s_.functions[d][which];
    const auto cut = [&](double x) { return Apply(f, std::isnan(x) ? x : std::min(std::max(x, -clip_), clip_)); };
    const double y = cut(z.v);
    if (!with_bound_) return {y, 0};
    const double spread = Spread(cut, z.v, y, 8 * std::sqrt(z.var)) / 8;
    return {y, Square(spread) + u_ * u_ * std::max(1.0, y * y)};
  }

  // sum over k of w[row][k] x[k] (and r[row][k] h[k]) + bias
  Real Sum(double bias, const std::vector<std::pair<int64_t, const std::vector<Real>*>>& parts, int64_t d,
           int64_t row) const {
    int64_t terms = 1;
    for (const auto& part : parts) terms += static_cast<int64_t>(part.second->size());
    SerialSum first(terms), last(terms);
    double value = bias, inherited = 0;
    first.Add(bias);
    for (const auto& [input, vector] : parts) {
      const auto length = static_cast<int64_t>(vector->size());
      for (int64_t k = 0; k < length; ++k) {
        const Real w = At(static_cast<int>(input), (d * s_.gates * s_.hidden + row) * length + k);
        const Real x = (*vector)[static_cast<size_t>(k)];
        value += w.v * x.v;
        if (!with_bound_) continue;
        first.Add(w.v * x.v);
        last.Add(w.v * x.v);
        inherited += w.v * w.v * x.var + x.v * x.v * w.var;
      }
    }
    last.Add(bias);
    if (!with_bound_) return {value, 0};
    const double sig2 = std::max(first.sig2(u_), last.sig2(u_));
    return {value, sig2 + 2.25 * std::max(first.d2(), last.d2()) + inherited};
  }

  double Bias(int64_t d, int64_t row, bool recurrent) const {
    const int64_t rows = s_.gates * s_.hidden;
    return At(s_.bias, d * 2 * rows + (recurrent ? rows : 0) + row).v;
  }
  double BiasVariance(int64_t d, int64_t row) const {
    const int64_t rows = s_.gates * s_.hidden;
    return At(s_.bias, d * 2 * rows + row).var + At(s_.bias, d * 2 * rows + rows + row).var;
  }

  Real Gate(int64_t d, int64_t row, const std::vector<Real>& x, const std::vector<Real>& h) const {
    Real z = Sum(Bias(d, row, false) + Bias(d, row, true), {{1, &x}, {2, &h}}, d, row);
    z.var += BiasVariance(d, row);
    return z;
  }

  Real Peep(int64_t d, int which, int64_t j, Real c) const {
    if (s_.peepholes < 0) return {};
    return Times(At(s_.peepholes, (d * 3 + which) * s_.hidden + j), c);
  }

  void StepLstm(int64_t d, const std::vector<Real>& x, State* state) const {
    const int64_t n = s_.hidden;
    State next;
    for (int64_t j = 0; j < n; ++j) {
      const Real c = state->c[static_cast<size_t>(j)];
      const Real in = Activate(d, 0, Plus(Gate(d, j, x, state->h), Peep(d, 0, j, c)));
      Real forget = {1 - in.v, in.var};
      if (!input_forget_) forget = Activate(d, 0, Plus(Gate(d, 2 * n + j, x, state->h), Peep(d, 2, j, c)));
      const Real g = Activate(d, 1, Gate(d, 3 * n + j, x, state->h));
      const Real new_c = Rounded(Plus(Times(forget, c), Times(in, g)));
      const Real out = Activate(d, 0, Plus(Gate(d, n + j, x, state->h), Peep(d, 1, j, new_c)));
      next.c.push_back(new_c);
      next.h.push_back(Times(out, Activate(d, 2, new_c)));
    }
    *state = std::move(next);
  }

  void StepGru(int64_t d, const std::vector<Real>& x, State* state) const {
    const int64_t n = s_.hidden;
    std::vector<Real> reset, reset_h, next;
    for (int64_t j = 0; j < n; ++j) {
      reset.push_back(Activate(d, 0, Gate(d, n + j, x, state->h)));
      reset_h.push_back(Times(reset.back(), state->h[static_cast<size_t>(j)]));
    }
    for (int64_t j = 0; j < n; ++j) {
      const auto i = static_cast<size_t>(j);
      const int64_t row = 2 * n + j;
      Real z;
      if (linear_before_reset_) {
        const Real recurrent = Sum(Bias(d, row, true), {{2, &state->h}}, d, row);
        z = Rounded(Plus(Sum(Bias(d, row, false), {{1, &x}}, d, row), Times(reset[i], recurrent)));
        z.var += BiasVariance(d, row);
      } else {
        z = Gate(d, row, x, reset_h);
      }
      const Real g = Activate(d, 1, z), update = Activate(d, 0, Gate(d, j, x, state->h)), h = state->h[i];
      const Real keep = {1 - update.v, update.var};
      next.push_back(Rounded(Plus(Times(keep, g), Times(update, h))));
    }
    state->h = std::move(next);
  }

  RecurrentShape s_;
  OpKind kind_{};
  double clip_ = INFINITY, u_ = 0;
  bool input_forget_ = false, linear_before_reset_ = false, with_bound_ = false;
  std::vector<Tensor> operands_;
  std::vector<const double*> tau_;
  std::vector<int64_t> steps_;
};

// Stores `values` at element `at` of output `output`.
void Store(const std::vector<Real>& values, size_t output, int64_t at, const NaiveArgs& args, const BoundArgs* bound) {
  if (output >= args.outputs.size()) return;
  Tensor* out = args.outputs[output];
  for (size_t j = 0; j < values.size(); ++j) {
    const int64_t i = at + static_cast<int64_t>(j);
    if (out->dtype() == DType::kF64) {
      out->data<double>()[i] = values[j].v;
    } else {
      out->data<float>()[i] = static_cast<float>(values[j].v);
    }
    if (bound == nullptr) continue;
    bound->tau[output]->data<double>()[i] = StoredTau(16 * std::sqrt(values[j].var), values[j].v, bound->arithmetic);
  }
}

Status Compute(const NaiveArgs& args, const BoundArgs* bound) {
  if (args.inputs[0]->dtype() != DType::kF32 && args.inputs[0]->dtype() != DType::kF64) {
    return Status::NotSupported(std::string("the reference has no kernel for ") + DTypeName(args.inputs[0]->dtype()) +
                                " blobs here");
  }
  Cells cells;
  PLUMB_RETURN_IF_ERROR(cells.Init(args, bound));
  const RecurrentShape& s = cells.shape();
  const std::vector<Real> zeros(static_cast<size_t>(s.hidden));
  ParallelFor(s.directions * s.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t sequence = begin; sequence < end; ++sequence) {
      const int64_t d = sequence / s.batch, b = sequence % s.batch, steps = cells.Steps(b);
      Cells::State state = cells.Initial(d, b);
      for (int64_t i = 0; i < steps; ++i) {
        const int64_t t = s.reversed[d] ? steps - 1 - i : i;
        cells.Step(d, t, b, &state);
        Store(state.h, 0, s.OutputAt(t, d, b), args, bound);
      }
      for (int64_t t = steps; t < s.time; ++t) {
        Store(zeros, 0, s.OutputAt(t, d, b), args, nullptr);
        if (bound != nullptr) std::fill_n(bound->tau[0]->data<double>() + s.OutputAt(t, d, b), s.hidden, 0.0);
      }
      Store(state.h, 1, s.StateAt(d, b), args, bound);
      if (s.states == 2) Store(state.c, 2, s.StateAt(d, b), args, bound);
    }
  });
  return Status::Ok();
}

Status Run(const NaiveArgs& args) { return Compute(args, nullptr); }
Status Bound(const NaiveArgs& args, const BoundArgs& bound) { return Compute(args, &bound); }

}  // namespace

NaiveOp NaivePlumbLSTM() { return {Run, Bound}; }
NaiveOp NaivePlumbGRU() { return {Run, Bound}; }
NaiveOp NaivePlumbRNN() { return {Run, Bound}; }

}  // namespace plumb
