// SPDX-License-Identifier: Apache-2.0
// PlumbLSTM, PlumbGRU, PlumbRNN (op/recurrent.h), sequence by sequence, step by step, float64 throughout. The bound of
// a sum:
//   var = sig^2 + (1.5 d)^2 + sum (w sigma_x)^2, the bias first or last, the larger
// and of what follows: recurrent_cells.h.
#include <algorithm>
#include <cmath>

#include "reference/core/elementwise.h"
#include "reference/core/serial_sum.h"
#include "reference/core/variants.h"
#include "reference/recurrent_cells.h"

namespace plumb {
namespace {

// What an LSTM of f32 with int8 weights makes of each vector that it multiplies with them, in TFLite: 8 bits, of the
// largest value's own grid, or of the range's with a zero point.
enum class Rounding { kNone, kSymmetric, kAsymmetric };

std::vector<Real> RoundedVector(const std::vector<Real>& x, Rounding rounding) {
  double low = 0, high = 0;
  for (const Real& one : x) low = std::min(low, one.v), high = std::max(high, one.v);
  const bool symmetric = rounding == Rounding::kSymmetric;
  const double scale = symmetric ? std::max(high, -low) / 127 : (high - low) / 255;
  if (rounding == Rounding::kNone || !(scale > 0) || !std::isfinite(scale)) return x;
  const double zero = symmetric ? 0 : std::round(-128 - low / scale);
  const auto whole = [&](double v) {
    return std::clamp(std::round(v / scale + zero), symmetric ? -127.0 : -128.0, 127.0);
  };
  std::vector<Real> rounded;
  for (const Real& one : x) {
    const double reach = 8 * std::sqrt(one.var);
    const bool flips = whole(one.v - reach) != whole(one.v + reach);
    rounded.push_back({(whole(one.v) - zero) * scale, flips ? Square(scale) : 0});
  }
  return rounded;
}

class Cells : public RecurrentCells {
 public:
  Cells(const Layer& layer, Rounding rounding)
      : kind_(layer.kind),
        linear_before_reset_(ParamOf<RecurrentParam>(layer).linear_before_reset),
        rounding_(rounding) {}

  void Step(int64_t d, int64_t t, int64_t b, State* state) const {
    const RecurrentShape& s = shape();
    std::vector<Real> x;
    for (int64_t k = 0; k < s.size; ++k) x.push_back(At(0, s.InputAt(t, b) + k));
    if (kind_ == OpKind::kPlumbGRU) return StepGru(d, x, state);
    x = RoundedVector(x, rounding_);
    const std::vector<Real> h = RoundedVector(state->h, rounding_);
    std::vector<Real> sums;
    for (int64_t row = 0; row < s.gates * s.hidden; ++row) sums.push_back(Gate(d, row, x, h));
    if (kind_ == OpKind::kPlumbLSTM) return FinishLstm(d, sums, state);
    for (size_t j = 0; j < sums.size(); ++j) state->h[j] = Activate(d, 0, sums[j]);
  }

 private:
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
        const Real w = At(static_cast<int>(input), (d * shape().gates * shape().hidden + row) * length + k);
        const Real x = (*vector)[static_cast<size_t>(k)];
        value += w.v * x.v;
        if (!with_bound()) continue;
        first.Add(w.v * x.v);
        last.Add(w.v * x.v);
        inherited += w.v * w.v * x.var + x.v * x.v * w.var;
      }
    }
    last.Add(bias);
    if (!with_bound()) return {value, 0};
    const double sig2 = std::max(first.sig2(u()), last.sig2(u()));
    return {value, sig2 + 2.25 * std::max(first.d2(), last.d2()) + inherited};
  }

  Real Gate(int64_t d, int64_t row, const std::vector<Real>& x, const std::vector<Real>& h) const {
    Real z = Sum(Bias(d, row, false) + Bias(d, row, true), {{1, &x}, {2, &h}}, d, row);
    z.var += BiasVariance(d, row);
    return z;
  }

  void StepGru(int64_t d, const std::vector<Real>& x, State* state) const {
    const int64_t n = shape().hidden;
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

  OpKind kind_{};
  bool linear_before_reset_ = false;
  Rounding rounding_ = Rounding::kNone;
};

// What is not as ONNX has it.
struct CellHabits {
  bool keeps_state = false;  // begins where an earlier call on the same input ended
  bool leaves_cell = false;  // RecurrentCells::LeaveCell
  Rounding rounding = Rounding::kNone;
};

// As a sequence leaves it, to what an earlier call's own rounding makes of that.
void RunThrough(const Cells& cells, int64_t d, int64_t b, Cells::State* state) {
  for (int64_t i = 0; i < cells.Steps(b); ++i) cells.Step(d, cells.StepAt(d, b, i), b, state);
  for (std::vector<Real>* values : {&state->h, &state->c}) {
    for (Real& value : *values) value.var += Square(0x1p-22);
  }
}

Status ComputeRecurrent(const ReferenceArgs& args, const BoundArgs* bound, CellHabits habits) {
  PLUMB_RETURN_IF_ERROR(CheckStorage(args));
  Cells cells(args.layer, habits.rounding);
  PLUMB_RETURN_IF_ERROR(cells.Init(args, bound));
  if (habits.leaves_cell) cells.LeaveCell();
  const RecurrentShape& s = cells.shape();
  ParallelFor(s.directions * s.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t sequence = begin; sequence < end; ++sequence) {
      const int64_t d = sequence / s.batch, b = sequence % s.batch;
      Cells::State state = cells.Initial(d, b);
      if (habits.keeps_state) RunThrough(cells, d, b, &state);
      for (int64_t i = 0; i < cells.Steps(b); ++i) {
        cells.Step(d, cells.StepAt(d, b, i), b, &state);
        cells.EndStep(d, b, i, &state);
      }
      cells.EndSequence(d, b, state);
    }
  });
  return Status::Ok();
}

template <bool kKeepsState, bool kLeavesCell, Rounding kRounding = Rounding::kNone>
ReferenceOp Recurrent() {
  ReferenceOp op{[](const ReferenceArgs& args) {
                   return ComputeRecurrent(args, nullptr, CellHabits{kKeepsState, kLeavesCell, kRounding});
                 },
                 [](const ReferenceArgs& args, const BoundArgs& bound) {
                   return ComputeRecurrent(args, &bound, CellHabits{kKeepsState, kLeavesCell, kRounding});
                 }};
  op.feeds_back = true;
  return op;
}

}  // namespace

ReferenceOp ReferencePlumbLSTM() { return Recurrent<false, false>(); }
ReferenceOp ReferencePlumbGRU() { return ReferencePlumbLSTM(); }
ReferenceOp ReferencePlumbRNN() { return ReferencePlumbLSTM(); }
ReferenceOp KeptStateRecurrent() { return Recurrent<true, false>(); }
ReferenceOp UnclippedCellLstm() { return Recurrent<false, true>(); }
ReferenceOp HybridRecurrent() { return Recurrent<false, false, Rounding::kSymmetric>(); }
ReferenceOp AsymmetricHybridRecurrent() { return Recurrent<false, false, Rounding::kAsymmetric>(); }

}  // namespace plumb
