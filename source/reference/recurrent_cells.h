// SPDX-License-Identifier: Apache-2.0
// What the reference of every recurrent layer rests on: operands in f64 with variances, gates, the LSTM's states.
//
// Where the device's own Y is known, each step of the bound starts from the h that the device had; what no output shows
// (c between the steps, h without Y) is carried from step to step as a variance beside each value (tolerance.md, "LSTM,
// GRU, one step"):
//   gate var = (largest slope within 8 sigma * sigma)^2 + u^2 max(1, y^2)      products and sums to first order, one
//   rounding each tau  = 16 sigma + 4 eta
#ifndef PLUMB_REFERENCE_RECURRENT_CELLS_H_
#define PLUMB_REFERENCE_RECURRENT_CELLS_H_

#include <vector>

#include "op/recurrent.h"
#include "reference/core/reference_op.h"

namespace plumb {

// A value and its variance.
struct Real {
  double v = 0, var = 0;
};

inline double Square(double x) { return x * x; }

class RecurrentCells {
 public:
  // Of one sequence.
  struct State {
    std::vector<Real> h, c;
  };

  Status Init(const ReferenceArgs& args, const BoundArgs* bound);
  // clip does not cut an LSTM's new c in front of k.
  void LeaveCell() { clips_cell_ = false; }

  const RecurrentShape& shape() const { return s_; }
  int64_t Steps(int64_t b) const { return steps_[static_cast<size_t>(b)]; }
  int64_t StepAt(int64_t d, int64_t b, int64_t i) const { return s_.reversed[d] ? Steps(b) - 1 - i : i; }
  bool with_bound() const { return bound_ != nullptr; }
  double u() const { return u_; }

  // Element `at` of input `input` (0 when the layer has none). REQUIRES: a float input.
  Real At(int input, int64_t at) const;
  double Bias(int64_t d, int64_t row, bool recurrent) const;
  double BiasVariance(int64_t d, int64_t row) const;
  State Initial(int64_t d, int64_t b) const;

  static Real Plus(Real a, Real b) { return {a.v + b.v, a.var + b.var}; }
  Real Times(Real a, Real b) const;
  Real Rounded(Real a) const { return {a.v, a.var + u_ * u_ * a.v * a.v}; }
  // The direction's gate function f, g or k (0, 1, 2) of z.
  Real Activate(int64_t d, int which, Real z) const;

  // An LSTM's new states from the sums of its gates i, o, f, c (one after the other), without the peepholes' part.
  void FinishLstm(int64_t d, const std::vector<Real>& sums, State* state) const;

  // Stores h as step i of a sequence leaves it, and goes on from what the device has there.
  void EndStep(int64_t d, int64_t b, int64_t i, State* state) const;
  // Stores the final states, and zeros behind the last step.
  void EndSequence(int64_t d, int64_t b, const State& state) const;

 private:
  Real Peep(int64_t d, int which, int64_t j, Real c) const;
  void Store(const std::vector<Real>& values, size_t output, int64_t at) const;

  RecurrentShape s_;
  double clip_ = 0, u_ = 0;
  bool input_forget_ = false, clips_cell_ = true;
  std::vector<Tensor> operands_;
  std::vector<const double*> tau_;
  std::vector<int64_t> steps_;
  std::vector<Tensor*> outputs_;
  const BoundArgs* bound_ = nullptr;
  const Tensor* device_ = nullptr;  // its Y
};

// NotSupported for blobs that the reference has no kernel for.
Status CheckStorage(const ReferenceArgs& args);

}  // namespace plumb

#endif  // PLUMB_REFERENCE_RECURRENT_CELLS_H_
