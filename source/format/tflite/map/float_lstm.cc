// SPDX-License-Identifier: Apache-2.0
// LSTMs of floats: one LSTM of ONNX, or step by step what that has not: a limited cell, normalised gates, a projection,
// a second input.
#include <fmt/core.h>

#include <algorithm>

#include "format/tflite/map/lstm.h"

namespace plumb::tflite {
namespace {

constexpr int64_t kMostSteps = 1024;     // that are written out one by one
constexpr float kLeastVariance = 1e-8f;  // what a norm adds to a variance

bool HasInputGate(const OpContext& c, const LstmPlaces& p) { return c.Has(p.recurrent + kInput); }
bool HasPeepholes(const OpContext& c, const LstmPlaces& p) {
  return c.Has(p.peepholes + 1) && c.Has(p.peepholes + 2);  // of forget and output
}
bool HasNorms(const OpContext& c, const LstmPlaces& p) { return c.Has(p.norms + kForget); }

Status CheckGates(const OpContext& c, const LstmPlaces& p) {
  for (const size_t first : {p.weights, p.recurrent}) {
    for (size_t i = first; i < first + 4; ++i) {
      const bool may_lack = i == first && !c.Has(p.weights) && !c.Has(p.recurrent);
      if (!c.Has(i) && !may_lack) return Status::CorruptModel(fmt::format("its input {} is left out", i));
      if (c.Has(i) && c.Rank(i) != 2) return Status::CorruptModel(fmt::format("its input {} has no 2 dims", i));
    }
  }
  for (size_t i = p.biases + kForget; i <= p.biases + kOutput; ++i) {
    if (!c.Has(i)) return Status::CorruptModel(fmt::format("its input {} is left out", i));
  }
  const int64_t cells = c.InShape(p.recurrent + kForget)[0];
  if (cells < 1 || cells > kMostHidden) return Status::CorruptModel(fmt::format("its state has {} values", cells));
  return Status::Ok();
}

// A gate's tensor; the input gate of a file that has none is 1 - forget, the sigmoid of the negated sum.
Result<std::string> OfGate(OpContext& c, const LstmPlaces& p, size_t first, Gate gate) {
  if (gate != kInput || HasInputGate(c, p)) return c.Real(first + gate, Order::kFile);
  PLUMB_ASSIGN_OR_RETURN(const std::string forget, c.Real(first + kForget, Order::kFile));
  return c.Emit("Neg", {forget});
}

Result<std::string> InOnnxOrder(OpContext& c, const LstmPlaces& p, size_t first) {
  std::vector<std::string> parts;
  for (const Gate gate : {kInput, kOutput, kForget, kCell}) {
    PLUMB_ASSIGN_OR_RETURN(const std::string part, OfGate(c, p, first, gate));
    parts.push_back(part);
  }
  return c.Emit("Concat", parts, {{"axis", IntAttribute(0)}});
}

Result<std::string> PeepholesInOnnxOrder(OpContext& c, const LstmPlaces& p) {
  std::vector<std::string> parts;  // input, output, forget
  for (const size_t i : {p.peepholes, p.peepholes + 2, p.peepholes + 1}) {
    const bool negated = i == p.peepholes && !c.Has(i);
    PLUMB_ASSIGN_OR_RETURN(const std::string part, c.Real(negated ? i + 1 : i, Order::kFile));
    parts.push_back(negated ? c.Emit("Neg", {part}) : part);
  }
  return c.Emit("Concat", parts, {{"axis", IntAttribute(0)}});
}

Result<std::string> AsOneLayer(OpContext& c, const LstmPlaces& p, const Sequence& sequence) {
  const int64_t cells = c.InShape(p.recurrent + kForget)[0];
  std::vector<std::string> inputs = {sequence.x};
  for (const size_t first : {p.weights, p.recurrent}) {
    PLUMB_ASSIGN_OR_RETURN(const std::string all, InOnnxOrder(c, p, first));
    PLUMB_ASSIGN_OR_RETURN(const std::string one, WithAxis(c, "Unsqueeze", all, 0));
    inputs.push_back(one);
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string zeros,
                         c.writer().Floats(std::vector<float>(static_cast<size_t>(4 * cells), 0)));
  PLUMB_ASSIGN_OR_RETURN(const std::string biases, InOnnxOrder(c, p, p.biases));
  const std::string both = c.Emit("Concat", {biases, zeros}, {{"axis", IntAttribute(0)}});
  PLUMB_ASSIGN_OR_RETURN(const std::string bias, WithAxis(c, "Unsqueeze", both, 0));
  inputs.push_back(bias);
  if (HasPeepholes(c, p)) {
    PLUMB_ASSIGN_OR_RETURN(const std::string peepholes, PeepholesInOnnxOrder(c, p));
    PLUMB_ASSIGN_OR_RETURN(const std::string one, WithAxis(c, "Unsqueeze", peepholes, 0));
    inputs.insert(inputs.end(), {"", "", "", one});
  }
  const std::vector<std::string> outputs = c.writer().EmitMany(
      "LSTM", inputs, 3,
      {{"hidden_size", IntAttribute(cells)}, {"direction", TextAttribute(sequence.reversed ? "reverse" : "forward")}});
  return WithAxis(c, "Squeeze", outputs[0], 1);
}

// An LSTM that is written out.
class WrittenLstm {
 public:
  WrittenLstm(OpContext& c, const LstmPlaces& p, const LstmOptions& options) : c_(c), p_(p), options_(options) {}

  Result<std::string> Run(const Sequence& sequence) {
    PLUMB_ASSIGN_OR_RETURN(std::string sums, Product(sequence.x, p_.weights));
    if (!sequence.aux.empty()) {
      PLUMB_ASSIGN_OR_RETURN(const std::string of_aux, Product(sequence.aux, p_.aux_weights));
      sums = c_.Emit("Add", {sums, of_aux});
    }
    if (!HasNorms(c_, p_)) {
      PLUMB_ASSIGN_OR_RETURN(const std::string bias, Stacked(p_.biases));
      sums = c_.Emit("Add", {sums, bias});
    }
    PLUMB_ASSIGN_OR_RETURN(const std::string recurrent, Stacked(p_.recurrent));
    recurrent_ = TurnedMatrix(c_, recurrent);
    PLUMB_ASSIGN_OR_RETURN(const std::vector<std::string> steps, StepsOf(c_, sums, sequence));
    std::vector<std::string> all;
    for (const std::string& sum : steps) {
      PLUMB_RETURN_IF_ERROR(Step(sum));
      all.push_back(h_);
    }
    return JoinedSteps(c_, std::move(all), sequence);
  }

 private:
  std::vector<Gate> Gates() const {
    return HasInputGate(c_, p_) ? std::vector<Gate>{kInput, kForget, kCell, kOutput}
                                : std::vector<Gate>{kForget, kCell, kOutput};
  }

  Result<std::string> Stacked(size_t first) {
    std::vector<std::string> parts;
    for (const Gate gate : Gates()) {
      if (!c_.Has(first + gate)) return Status::CorruptModel(fmt::format("its input {} is left out", first + gate));
      PLUMB_ASSIGN_OR_RETURN(const std::string part, c_.Real(first + gate, Order::kFile));
      parts.push_back(part);
    }
    return c_.Emit("Concat", parts, {{"axis", IntAttribute(0)}});
  }

  Result<std::string> Product(const std::string& x, size_t first) {
    PLUMB_ASSIGN_OR_RETURN(const std::string weights, Stacked(first));
    return c_.Emit("MatMul", {x, TurnedMatrix(c_, weights)});
  }

  Result<std::string> Limited(const std::string& value, float limit) {
    if (!(limit > 0)) return value;
    PLUMB_ASSIGN_OR_RETURN(const std::string low, c_.Number(-limit));
    PLUMB_ASSIGN_OR_RETURN(const std::string high, c_.Number(limit));
    return c_.Emit("Clip", {value, low, high});
  }

  // What the gate makes of its sum.
  Result<std::string> Opened(Gate gate, std::string sum) {
    if (HasPeepholes(c_, p_) && gate != kCell && !cell_.empty()) {
      const size_t place = p_.peepholes + (gate == kOutput ? size_t{2} : gate);
      PLUMB_ASSIGN_OR_RETURN(const std::string peephole, c_.Real(place, Order::kFile));
      sum = c_.Emit("Add", {sum, c_.Emit("Mul", {cell_, peephole})});
    }
    if (HasNorms(c_, p_)) {
      PLUMB_ASSIGN_OR_RETURN(const std::string norm, c_.Real(p_.norms + gate, Order::kFile));
      PLUMB_ASSIGN_OR_RETURN(const std::string bias, c_.Real(p_.biases + gate, Order::kFile));
      sum = c_.Emit("LayerNormalization", {sum, norm, bias}, {{"epsilon", FloatAttribute(kLeastVariance)}});
    }
    return c_.Emit(gate == kCell ? "Tanh" : "Sigmoid", {sum});
  }

  Status Step(const std::string& of_x) {
    const std::string z = h_.empty() ? of_x : c_.Emit("Add", {of_x, c_.Emit("MatMul", {h_, recurrent_})});
    const std::vector<Gate> gates = Gates();
    const auto count = static_cast<int64_t>(gates.size());
    const std::vector<std::string> sums = c_.writer().EmitMany(
        "Split", {z}, gates.size(), {{"axis", IntAttribute(2)}, {"num_outputs", IntAttribute(count)}});
    std::string open[4];
    for (size_t i = 0; i + 1 < gates.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(open[gates[i]], Opened(gates[i], sums[i]));
    }
    if (gates[0] != kInput) {
      PLUMB_ASSIGN_OR_RETURN(const std::string one, c_.Number(1));
      open[kInput] = c_.Emit("Sub", {one, open[kForget]});
    }
    const std::string fresh = c_.Emit("Mul", {open[kInput], open[kCell]});
    const std::string next = cell_.empty() ? fresh : c_.Emit("Add", {fresh, c_.Emit("Mul", {open[kForget], cell_})});
    PLUMB_ASSIGN_OR_RETURN(cell_, Limited(next, options_.cell_clip));
    PLUMB_ASSIGN_OR_RETURN(open[kOutput], Opened(kOutput, sums.back()));
    h_ = c_.Emit("Mul", {open[kOutput], c_.Emit("Tanh", {cell_})});
    return c_.Has(p_.projection) ? Project() : Status::Ok();
  }

  Status Project() {
    PLUMB_ASSIGN_OR_RETURN(const std::string weights, c_.RealTurned(p_.projection, {1, 0}));
    h_ = c_.Emit("MatMul", {h_, weights});
    if (c_.Has(p_.projection_bias)) {
      PLUMB_ASSIGN_OR_RETURN(const std::string bias, c_.Real(p_.projection_bias, Order::kFile));
      h_ = c_.Emit("Add", {h_, bias});
    }
    PLUMB_ASSIGN_OR_RETURN(h_, Limited(h_, options_.projection_clip));
    return Status::Ok();
  }

  OpContext& c_;
  const LstmPlaces& p_;
  const LstmOptions& options_;
  std::string recurrent_, h_, cell_;  // h_, cell_: "" in front of the first step, where they are zeros
};

}  // namespace

std::string TurnedMatrix(OpContext& c, const std::string& matrix) {
  return c.Emit("Transpose", {matrix}, {{"perm", IntsAttribute({1, 0})}});
}

Result<std::string> WithAxis(OpContext& c, const char* type, const std::string& value, int64_t axis) {
  PLUMB_ASSIGN_OR_RETURN(const std::string axes, c.IntsConstant({axis}));
  return c.Emit(type, {value, axes});
}

Result<std::vector<std::string>> StepsOf(OpContext& c, const std::string& sums, const Sequence& sequence) {
  if (sequence.steps < 1 || sequence.steps > kMostSteps)
    return Status::NotSupported(
        fmt::format("it has {} steps, expected 1 to {} where they are written one by one", sequence.steps, kMostSteps));
  if (sequence.steps == 1) return std::vector<std::string>{sums};
  std::vector<std::string> steps =
      c.writer().EmitMany("Split", {sums}, static_cast<size_t>(sequence.steps),
                          {{"axis", IntAttribute(0)}, {"num_outputs", IntAttribute(sequence.steps)}});
  if (sequence.reversed) std::reverse(steps.begin(), steps.end());
  return steps;
}

Result<std::string> JoinedSteps(OpContext& c, std::vector<std::string> steps, const Sequence& sequence) {
  if (sequence.reversed) std::reverse(steps.begin(), steps.end());
  return steps.size() == 1 ? steps[0] : c.Emit("Concat", steps, {{"axis", IntAttribute(0)}});
}

Result<std::string> FloatLstm(OpContext& c, const LstmPlaces& places, const LstmOptions& options,
                              const Sequence& sequence) {
  PLUMB_RETURN_IF_ERROR(CheckGates(c, places));
  const bool one_layer =
      !(options.cell_clip > 0) && !HasNorms(c, places) && !c.Has(places.projection) && sequence.aux.empty();
  if (one_layer) return AsOneLayer(c, places, sequence);
  return WrittenLstm(c, places, options).Run(sequence);
}

}  // namespace plumb::tflite
