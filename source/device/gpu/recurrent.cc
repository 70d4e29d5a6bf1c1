// SPDX-License-Identifier: Apache-2.0
// PlumbLSTM, PlumbGRU, PlumbRNN, PlumbDynamicQuantizeLSTM: W x + B of all steps at once, then one launch per step (two
// of a GRU that resets h before the product). Between steps the state is f32 and lies as [direction][batch][hidden] in
// two buffers that take turns.
#include "op/recurrent.h"

#include <utility>

#include "device/gpu/kernel_list.h"

namespace plumb::gpu {
namespace {

class RecurrentPlan {
 public:
  RecurrentPlan(Plan* plan, const RecurrentShape& s)
      : plan_(*plan), s_(s), p_(ParamOf<RecurrentParam>(plan->layer())) {}

  Status Make() {
    PLUMB_RETURN_IF_ERROR(TakeLengths());
    PLUMB_RETURN_IF_ERROR(plan_.RequireRounds(s_.hidden));
    rows_ = s_.gates * s_.hidden;
    states_ = s_.directions * s_.batch * s_.hidden;
    if (s_.quantization < 0) {
      AddSums();
    } else {
      PLUMB_RETURN_IF_ERROR(AddQuantizedSums());
    }
    h_ = Begin(s_.initial_h);
    next_ = plan_.Scratch(states_, "f32");
    if (s_.states == 2) c_ = Begin(s_.initial_c);
    std::vector<float> functions;
    for (const auto& of_direction : s_.functions) {
      for (const GateFunction& f : of_direction) {
        functions.insert(functions.end(), {static_cast<float>(f.kind), f.alpha, f.beta});
      }
    }
    functions_ = plan_.Floats(functions);
    none_ = plan_.Floats({0});
    if (s_.gates == 3) update_ = plan_.Scratch(states_, "f32"), reset_ = plan_.Scratch(states_, "f32");
    for (int64_t i = 0; i < s_.time; ++i) {
      AddStep(i);
      std::swap(h_, next_);
    }
    End(1, h_);
    if (s_.states == 2) End(2, c_);
    return Status::Ok();
  }

 private:
  Status TakeLengths() {
    lengths_ = {plan_.Ints(std::vector<int64_t>(static_cast<size_t>(s_.batch), s_.time)), 0};
    if (s_.lengths < 0) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(lengths_, plan_.WholeNumbers(s_.lengths));
    const Port flag = plan_.Flag("a length is outside 0 .. " + std::to_string(s_.time));
    plan_.Add("recurrent_lengths", s_.batch, {lengths_.port, flag}).Int(s_.time).Int(lengths_.wide);
    return Status::Ok();
  }

  void AddSums() {
    const bool linear = s_.gates == 3 && p_.linear_before_reset;
    sums_ = plan_.Scratch(s_.directions * s_.time * s_.batch * rows_, "f32");
    const Port bias = s_.bias >= 0 ? plan_.In(s_.bias, "f32") : plan_.Floats({0});
    Launch sums{"recurrent_input",
                {sums_, plan_.In(0, "real"), plan_.In(1, "f32"), bias},
                {s_.directions * s_.time * s_.batch * rows_}};
    sums.Int(s_.time * s_.batch).Int(rows_).Int(s_.size).Int(linear ? 2 * s_.hidden : rows_).Int(s_.bias >= 0);
    plan_.AddParts(sums, s_.size);
  }

  // Integer weights with their scales and zero points.
  struct Quantized {
    Plan::Whole weights, zeros;
    Port scales;
    bool scale_per_row = false, zero_per_row = false;
  };
  Result<Quantized> QuantizedWeights(int weights, int scale) {
    Quantized q;
    PLUMB_RETURN_IF_ERROR(plan_.RequireF32(scale));
    PLUMB_ASSIGN_OR_RETURN(q.weights, plan_.WholeNumbers(weights));
    PLUMB_ASSIGN_OR_RETURN(q.zeros, plan_.WholeNumbers(scale + 1));
    q.scales = plan_.In(scale, "f32");
    q.scale_per_row = plan_.in(scale).shape.rank() > 1;
    q.zero_per_row = plan_.in(scale + 1).shape.rank() > 1;
    return q;
  }

  Status AddQuantizedSums() {
    PLUMB_RETURN_IF_ERROR(plan_.RequireRounds(s_.size));
    PLUMB_ASSIGN_OR_RETURN(const Quantized w, QuantizedWeights(1, s_.quantization));
    PLUMB_ASSIGN_OR_RETURN(r_, QuantizedWeights(2, s_.quantization + 2));
    sums_ = plan_.Scratch(s_.directions * s_.time * s_.batch * rows_, "f32");
    ranges_ = plan_.Scratch(2 * s_.directions, "f32");
    const Port x = plan_.In(0, "real"), range = plan_.Scratch(2, "f32");
    const int64_t vectors = s_.time * s_.batch;
    plan_.AddParts(Launch{"value_range_real", {range, x}, {1}}.Int(vectors * s_.size), vectors * s_.size);
    AddProduct(w, {"dynamic_product_real", x, range, vectors, s_.size, 0, {0, 0}, false});
    return Status::Ok();
  }

  struct Product {
    const char* program;
    Port from, ranges;
    int64_t vectors, length, apart;  // from one direction's vectors to the next's
    int64_t first[2];                // of the sums, per direction
    bool adds;                       // to the sums, not to the bias
  };
  void AddProduct(const Quantized& w, const Product& p) {
    const Port bias = s_.bias >= 0 ? plan_.In(s_.bias, "f32") : plan_.Floats({0});
    plan_
        .Add(p.program, s_.directions * p.vectors * rows_,
             {sums_, p.from, p.ranges, w.weights.port, w.scales, w.zeros.port, bias})
        .Int(p.vectors)
        .Int(rows_)
        .Int(s_.time * s_.batch)
        .Int(p.first[0])
        .Int(p.first[1])
        .Int(p.adds)
        .Int(s_.bias >= 0)
        .Int(p.length)
        .Int(p.apart)
        .Int(w.weights.wide)
        .Int(w.zeros.wide)
        .Int(w.scale_per_row)
        .Int(w.zero_per_row);
  }

  // R h of step i, for all sequences of a direction by one range.
  void AddQuantizedState(int64_t i) {
    const int64_t values = s_.batch * s_.hidden;
    plan_.AddParts(Launch{"value_range_f32", {ranges_, h_}, {s_.directions}}.Int(values), values);
    const auto first = [&](int d) { return (s_.reversed[d] ? s_.time - 1 - i : i) * s_.batch; };
    AddProduct(r_, {"dynamic_product_f32", h_, ranges_, s_.batch, s_.hidden, values, {first(0), first(1)}, true});
  }

  Port Begin(int input) {
    const Port state = plan_.Scratch(states_, "f32");
    if (input < 0) {
      plan_.Add("fill", states_, {plan_.Again(state, "i32")}).Int(0);
    } else {
      AddShape(&plan_.Add("recurrent_begin", states_, {state, plan_.In(input, "real")}));
    }
    return state;
  }

  void End(int output, const Port& state) {
    AddShape(&plan_.Add("recurrent_end", states_, {plan_.Out(output, "real"), state}));
  }

  void AddShape(Launch* launch) const { launch->Int(s_.directions).Int(s_.batch).Int(s_.hidden).Int(s_.batch_first); }

  void AddStep(int64_t i) {
    const bool quantized = s_.quantization >= 0;
    if (quantized) AddQuantizedState(i);
    std::vector<Port> ports = {plan_.Out(0, "real"), next_,     h_, sums_, quantized ? none_ : plan_.In(2, "f32"),
                               lengths_.port,        functions_};
    if (s_.gates == 1) return AddLaunch("rnn_step", i, 0, ports);
    if (s_.gates == 4) {
      ports.push_back(c_);
      ports.push_back(s_.peepholes >= 0 ? plan_.In(s_.peepholes, "f32") : none_);
      return AddLaunch("lstm_step", i, (s_.peepholes >= 0 ? 1 : 0) + (p_.input_forget ? 2 : 0) + (quantized ? 4 : 0),
                       ports);
    }
    ports.push_back(update_);
    ports.push_back(reset_);
    const std::vector<Port> second = ports;
    ports.push_back(s_.bias >= 0 ? plan_.In(s_.bias, "f32") : none_);
    AddLaunch("gru_gates", i, (p_.linear_before_reset ? 1 : 0) + (s_.bias >= 0 ? 2 : 0), ports);
    if (!p_.linear_before_reset) AddLaunch("gru_candidate", i, 0, second);
  }

  void AddLaunch(const char* program, int64_t i, int64_t options, const std::vector<Port>& ports) {
    plan_.Add(program, states_, ports)
        .Int(s_.directions)
        .Int(s_.batch)
        .Int(s_.hidden)
        .Int(s_.time)
        .Int(i)
        .Int(s_.batch_first)
        .Int(s_.reversed[0])
        .Int(s_.reversed[1])
        .Float(p_.clip)
        .Int(options)
        .Int(lengths_.wide);
  }

  Plan& plan_;
  const RecurrentShape& s_;
  const RecurrentParam& p_;
  int64_t rows_ = 0, states_ = 0;
  Plan::Whole lengths_;
  Quantized r_;
  Port ranges_, sums_, h_, next_, c_, functions_, none_, update_, reset_;
};

}  // namespace

Status plan_recurrent(Plan* plan) {
  PLUMB_RETURN_IF_ERROR(plan->RequireF32(0));
  PLUMB_ASSIGN_OR_RETURN(const RecurrentShape s, ResolveRecurrent(plan->layer(), plan->spec.inputs));
  return RecurrentPlan(plan, s).Make();
}

}  // namespace plumb::gpu
