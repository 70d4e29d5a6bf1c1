// SPDX-License-Identifier: Apache-2.0
// PlumbQuantizedLSTM: two launches per step, the gates and the state; more where gates are normalised, the output gate
// sees the new cell (peepholes), or h is projected. All numbers are whole, products have 64 bits.
#include <algorithm>

#include "device/gpu/kernel_list.h"
#include "op/quantized_lstm.h"

namespace plumb::gpu {
namespace {

using Lstm = QuantizedLstmShape;

class IntegerLstmPlan {
 public:
  IntegerLstmPlan(Plan* plan, const Lstm& shape)
      : plan_(*plan), s_(shape), p_(ParamOf<QuantizedLstmParam>(plan->layer())) {}

  Status Make() {
    PLUMB_RETURN_IF_ERROR(plan_.RequireRounds(std::max({s_.size + s_.hidden, s_.cells})));
    PLUMB_RETURN_IF_ERROR(TakeInputs());
    const int64_t inner = s_.batch * s_.cells;
    gates_ = plan_.Scratch(Lstm::kGates * inner, "i32");
    sums_ = p_.has_norms ? plan_.Scratch(Lstm::kGates * inner, "i32") : gates_;
    cell_ = Filled(inner, 0);
    h_ = Filled(s_.batch * s_.hidden, p_.y_zero);
    inner_ = p_.has_projection ? plan_.Scratch(inner, "i32") : h_;
    std::vector<int64_t> factors(p_.multipliers.begin(), p_.multipliers.end());
    factors.insert(factors.end(), p_.shifts.begin(), p_.shifts.end());
    factors_ = plan_.Ints(factors);
    for (int64_t t = 0; t < s_.time; ++t) AddStep(t);
    return Status::Ok();
  }

 private:
  enum Parts { kCell = 1, kHidden = 2, kNoProjection = 4, kNoInputGate = 8 };

  Status TakeInputs() {
    std::vector<int> limits = {127, 127, 127, INT32_MAX};
    if (p_.has_peepholes) limits.push_back(INT16_MAX);
    if (p_.has_norms) limits.push_back(INT16_MAX);
    if (p_.has_projection) limits.insert(limits.end(), {127, INT32_MAX});
    for (size_t i = 0; i < limits.size(); ++i) {
      const int input = static_cast<int>(i);
      PLUMB_ASSIGN_OR_RETURN(const Plan::Whole whole, plan_.WholeNumbers(input));
      inputs_.push_back(whole);
      if (limits[i] == INT32_MAX) continue;
      const std::string most = std::to_string(limits[i]), least = std::to_string(-limits[i] - 1);
      const Port flag = plan_.Flag("input " + std::to_string(i) + " holds an integer outside " + least + " .. " + most);
      plan_.Add("whole_limits", plan_.in(input).shape.NumElements(), {whole.port, flag}).Int(limits[i]).Int(whole.wide);
    }
    return Status::Ok();
  }

  Port Filled(int64_t count, int64_t value) {
    const Port port = plan_.Scratch(count, "i32");
    plan_.Add("fill", count, {port}).Int(value);
    return port;
  }

  int64_t FirstGate() const { return p_.has_input_gate ? 0 : 1; }

  // Gates `first` to `last` of step t.
  void AddGates(int64_t t, int64_t first, int64_t last) {
    const auto& peepholes = p_.has_peepholes ? inputs_[static_cast<size_t>(s_.peepholes)] : inputs_[3];
    const int64_t items = (last - first + 1) * s_.batch * s_.cells;
    plan_
        .Add("integer_lstm_gate", items,
             {sums_, inputs_[0].port, inputs_[1].port, inputs_[2].port, inputs_[3].port, peepholes.port, h_, cell_,
              factors_})
        .Ints({s_.batch, s_.cells, first, s_.size, s_.hidden, s_.time, t}, 7)
        .Ints({p_.batch_first, p_.x_zero, p_.y_zero, FirstGate()}, 4)
        .Int((p_.has_peepholes ? 1 : 0) + (p_.has_norms ? 2 : 0))
        .Ints({inputs_[0].wide, inputs_[1].wide, inputs_[2].wide, inputs_[3].wide, peepholes.wide}, 5);
    if (!p_.has_norms) return;
    const auto& norms = inputs_[static_cast<size_t>(s_.norms)];
    Launch& launch = plan_.Add("integer_lstm_norm", items, {gates_, sums_, norms.port, inputs_[3].port, factors_});
    launch.Ints({s_.batch, s_.cells, first, FirstGate(), norms.wide, inputs_[3].wide}, 6);
    for (const int guard : p_.guards) launch.Int(guard);
  }

  void AddState(int64_t t, int64_t parts) {
    const int64_t options = parts + (p_.has_projection ? 0 : kNoProjection) + (p_.has_input_gate ? 0 : kNoInputGate);
    plan_.Add("integer_lstm_state", s_.batch * s_.cells, {plan_.Out(0, "i64"), inner_, cell_, gates_, factors_})
        .Ints({s_.batch, s_.cells, options, s_.time, t}, 5)
        .Ints({p_.batch_first, p_.cell_bits, p_.cell_clip, p_.inner_zero}, 4);
  }

  void AddStep(int64_t t) {
    AddGates(t, FirstGate(), p_.has_peepholes ? Lstm::kGates - 2 : Lstm::kGates - 1);
    if (p_.has_peepholes) {
      AddState(t, kCell);
      AddGates(t, Lstm::kGates - 1, Lstm::kGates - 1);
    }
    AddState(t, p_.has_peepholes ? kHidden : kCell + kHidden);
    if (!p_.has_projection) return;
    const auto& weights = inputs_[static_cast<size_t>(s_.projection)];
    const auto& bias = inputs_[static_cast<size_t>(s_.projection) + 1];
    plan_
        .Add("integer_lstm_project", s_.batch * s_.hidden,
             {plan_.Out(0, "i64"), h_, inner_, weights.port, bias.port, factors_})
        .Ints({s_.batch, s_.hidden, s_.cells, s_.time, t, p_.batch_first}, 6)
        .Ints({p_.inner_zero, p_.y_zero, p_.projection_clip, weights.wide, bias.wide}, 5);
  }

  Plan& plan_;
  const Lstm& s_;
  const QuantizedLstmParam& p_;
  std::vector<Plan::Whole> inputs_;
  Port gates_, sums_, cell_, h_, inner_, factors_;
};

}  // namespace

Status plan_integer_lstm(Plan* plan) {
  PLUMB_ASSIGN_OR_RETURN(const Lstm s, ResolveQuantizedLstm(plan->layer(), plan->spec.inputs));
  return IntegerLstmPlan(plan, s).Make();
}

}  // namespace plumb::gpu
