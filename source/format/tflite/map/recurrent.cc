// SPDX-License-Identifier: Apache-2.0
// LSTMs and RNNs, of a sequence or of one step. Their states are variables of the file: one run is the network's first,
// so they begin as zeros.
#include <fmt/core.h>

#include <algorithm>

#include "format/tflite/map/lstm.h"

namespace plumb::tflite {
namespace {

constexpr char kOfIntegers[] = "it reads integers, which LiteRT refuses of this operator, too";

Result<std::string> Flipped(OpContext& c, const std::string& value) {
  return c.Emit("Transpose", {value}, {{"perm", IntsAttribute({1, 0, 2})}});
}

// An input of a sequence, [steps,batch,channels].
Result<std::string> StepsFirst(OpContext& c, size_t i, bool one_step, bool time_major) {
  if (c.Rank(i) != (one_step ? 2 : 3))
    return Status::CorruptModel(fmt::format("its input {} is {}", i, c.InShape(i).ToString()));
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(i, Order::kFile));
  if (one_step) return WithAxis(c, "Unsqueeze", x, 0);
  return time_major ? Result<std::string>(x) : Flipped(c, x);
}

Result<Sequence> ReadSequence(OpContext& c, bool one_step, bool time_major) {
  Sequence sequence;
  PLUMB_ASSIGN_OR_RETURN(sequence.x, StepsFirst(c, 0, one_step, time_major));
  const Shape shape = c.InShape(0);
  sequence.batch = one_step || !time_major ? shape[0] : shape[1];
  sequence.steps = one_step ? 1 : time_major ? shape[0] : shape[1];
  return sequence;
}

// As the file has it.
Result<std::string> StepsBack(OpContext& c, const std::string& y, bool one_step, bool time_major) {
  if (one_step) return WithAxis(c, "Squeeze", y, 0);
  return time_major ? Result<std::string>(y) : Flipped(c, y);
}

Status WriteLstm(OpContext& c, const LstmOptions& options, schema::Activation activation) {
  if (activation != schema::Activation::TANH)
    return Status::NotSupported(fmt::format("its activation is {}, expected TANH", static_cast<int>(activation)));
  if (!c.IsFloat(0)) return WriteIntegerLstm(c, options);
  PLUMB_ASSIGN_OR_RETURN(const Sequence sequence, ReadSequence(c, options.one_step, options.time_major));
  PLUMB_ASSIGN_OR_RETURN(const std::string h, FloatLstm(c, LstmPlaces(), options, sequence));
  PLUMB_ASSIGN_OR_RETURN(const std::string y, StepsBack(c, h, options.one_step, options.time_major));
  return c.Set(0, y, Order::kFile);
}

// Both directions, in one output or in two.
Status SetBoth(OpContext& c, const std::string& forward, const std::string& backward, bool merged, bool time_major) {
  std::vector<std::string> found = {forward, backward};
  if (merged) found = {c.Emit("Concat", found, {{"axis", IntAttribute(2)}})};
  if (c.NumOutputs() < found.size()) return Status::CorruptModel("its second output is left out");
  for (size_t i = 0; i < found.size(); ++i) {
    PLUMB_ASSIGN_OR_RETURN(const std::string y, StepsBack(c, found[i], false, time_major));
    PLUMB_RETURN_IF_ERROR(c.Set(i, y, Order::kFile));
  }
  return Status::Ok();
}

// The second input is read by weights of its own or, where it has none, by the second direction in place of the first.
Status TakeSecondInput(OpContext& c, size_t place, bool has_weights, bool time_major, Sequence* forward,
                       Sequence* backward) {
  if (!c.Has(place)) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const std::string second, StepsFirst(c, place, false, time_major));
  if (has_weights) {
    forward->aux = backward->aux = second;
  } else {
    backward->x = second;
  }
  return Status::Ok();
}

// --- h' = activation(W x + A aux + R h + b)

struct RnnPlaces {
  size_t weights, recurrent, bias, aux_weights;
};

Status CheckRnn(const OpContext& c, const RnnPlaces& p, bool has_aux) {
  for (const size_t i : {p.weights, p.recurrent, has_aux ? p.aux_weights : p.weights}) {
    if (!c.Has(i) || c.Rank(i) != 2) return Status::CorruptModel(fmt::format("its input {} has no 2 dims", i));
  }
  if (!c.Has(p.bias)) return Status::CorruptModel(fmt::format("its input {} is left out", p.bias));
  const int64_t hidden = c.InShape(p.recurrent)[0];
  if (hidden >= 1 && hidden <= kMostHidden) return Status::Ok();
  return Status::CorruptModel(fmt::format("its state has {} values", hidden));
}

Result<std::string> AsOneRnn(OpContext& c, const RnnPlaces& p, const char* activation, const Sequence& sequence) {
  const int64_t hidden = c.InShape(p.recurrent)[0];
  std::vector<std::string> inputs = {sequence.x};
  for (const size_t i : {p.weights, p.recurrent}) {
    PLUMB_ASSIGN_OR_RETURN(const std::string weights, c.Real(i, Order::kFile));
    PLUMB_ASSIGN_OR_RETURN(const std::string one, WithAxis(c, "Unsqueeze", weights, 0));
    inputs.push_back(one);
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string zeros,
                         c.writer().Floats(std::vector<float>(static_cast<size_t>(hidden), 0)));
  PLUMB_ASSIGN_OR_RETURN(const std::string given, c.Real(p.bias, Order::kFile));
  const std::string both = c.Emit("Concat", {given, zeros}, {{"axis", IntAttribute(0)}});
  PLUMB_ASSIGN_OR_RETURN(const std::string bias, WithAxis(c, "Unsqueeze", both, 0));
  inputs.push_back(bias);
  onnx::AttributeIr names;
  names.kind = onnx::AttributeIr::kStrings;
  names.strings = {activation};
  const std::vector<std::string> outputs =
      c.writer().EmitMany("RNN", inputs, 2,
                          {{"hidden_size", IntAttribute(hidden)},
                           {"activations", names},
                           {"direction", TextAttribute(sequence.reversed ? "reverse" : "forward")}});
  return WithAxis(c, "Squeeze", outputs[0], 1);
}

Result<std::string> WrittenRnn(OpContext& c, const RnnPlaces& p, schema::Activation activation,
                               const Sequence& sequence) {
  PLUMB_ASSIGN_OR_RETURN(const std::string weights, c.RealTurned(p.weights, {1, 0}));
  PLUMB_ASSIGN_OR_RETURN(const std::string recurrent, c.RealTurned(p.recurrent, {1, 0}));
  PLUMB_ASSIGN_OR_RETURN(const std::string bias, c.Real(p.bias, Order::kFile));
  std::string sums = c.Emit("Add", {c.Emit("MatMul", {sequence.x, weights}), bias});
  if (!sequence.aux.empty()) {
    PLUMB_ASSIGN_OR_RETURN(const std::string aux, c.RealTurned(p.aux_weights, {1, 0}));
    sums = c.Emit("Add", {sums, c.Emit("MatMul", {sequence.aux, aux})});
  }
  PLUMB_ASSIGN_OR_RETURN(const std::vector<std::string> steps, StepsOf(c, sums, sequence));
  std::vector<std::string> all;
  for (const std::string& sum : steps) {
    const std::string z = all.empty() ? sum : c.Emit("Add", {sum, c.Emit("MatMul", {all.back(), recurrent})});
    PLUMB_ASSIGN_OR_RETURN(const std::string h, c.Activated(z, activation));
    all.push_back(h == z ? c.Emit("Identity", {z}) : h);
  }
  return JoinedSteps(c, std::move(all), sequence);
}

Result<std::string> FloatRnn(OpContext& c, const RnnPlaces& p, schema::Activation activation,
                             const Sequence& sequence) {
  if (!c.IsFloat(0)) return Status::NotSupported(kOfIntegers);
  PLUMB_RETURN_IF_ERROR(CheckRnn(c, p, !sequence.aux.empty()));
  if (sequence.aux.empty() && activation == schema::Activation::TANH) return AsOneRnn(c, p, "Tanh", sequence);
  if (sequence.aux.empty() && activation == schema::Activation::RELU) return AsOneRnn(c, p, "Relu", sequence);
  return WrittenRnn(c, p, activation, sequence);
}

Status OneWayRnn(OpContext& c, bool one_step, bool time_major, schema::Activation activation) {
  PLUMB_ASSIGN_OR_RETURN(const Sequence sequence, ReadSequence(c, one_step, time_major));
  PLUMB_ASSIGN_OR_RETURN(const std::string h, FloatRnn(c, {1, 2, 3, kNoPlace}, activation, sequence));
  PLUMB_ASSIGN_OR_RETURN(const std::string y, StepsBack(c, h, one_step, time_major));
  return c.Set(0, y, Order::kFile);
}

}  // namespace

Status MapSequenceLstm(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::UnidirectionalSequenceLSTMOptions>());
  if (options->diagonal_recurrent_tensors()) return Status::NotSupported("its recurrent weights are diagonals");
  return WriteLstm(c, {options->cell_clip(), options->proj_clip(), false, options->time_major()},
                   options->fused_activation_function());
}

Status MapLstm(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::LSTMOptions>());
  if (options->kernel_type() != 0) return Status::NotSupported("its kernel is the basic one (kernel_type 1)");
  return WriteLstm(c, {options->cell_clip(), options->proj_clip(), true, true}, options->fused_activation_function());
}

Status MapBidirectionalLstm(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::BidirectionalSequenceLSTMOptions>());
  if (options->fused_activation_function() != schema::Activation::TANH)
    return Status::NotSupported("its activation is not TANH");
  if (!c.IsFloat(0)) return Status::NotSupported(kOfIntegers);
  constexpr size_t kSecondInput = 39;
  const LstmPlaces places[2] = {{1, 5, 9, 12, 16, 17, 35, 36, kNoPlace, 40},
                                {18, 22, 26, 29, 33, 34, 37, 38, kNoPlace, 44}};
  const LstmOptions shared = {options->cell_clip(), options->proj_clip(), false, options->time_major()};
  PLUMB_ASSIGN_OR_RETURN(Sequence forward, ReadSequence(c, false, shared.time_major));
  Sequence backward = forward;
  backward.reversed = true;
  PLUMB_RETURN_IF_ERROR(
      TakeSecondInput(c, kSecondInput, c.Has(places[0].aux_weights + kForget), shared.time_major, &forward, &backward));
  PLUMB_ASSIGN_OR_RETURN(const std::string first, FloatLstm(c, places[0], shared, forward));
  PLUMB_ASSIGN_OR_RETURN(const std::string second, FloatLstm(c, places[1], shared, backward));
  return SetBoth(c, first, second, options->merge_outputs(), shared.time_major);
}

Status MapRnn(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::RNNOptions>());
  return OneWayRnn(c, true, true, options->fused_activation_function());
}

Status MapSequenceRnn(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::SequenceRNNOptions>());
  return OneWayRnn(c, false, options->time_major(), options->fused_activation_function());
}

Status MapBidirectionalRnn(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::BidirectionalSequenceRNNOptions>());
  constexpr size_t kSecondInput = 9;
  const RnnPlaces places[2] = {{1, 2, 3, 10}, {5, 6, 7, 11}};
  const schema::Activation activation = options->fused_activation_function();
  PLUMB_ASSIGN_OR_RETURN(Sequence forward, ReadSequence(c, false, options->time_major()));
  Sequence backward = forward;
  backward.reversed = true;
  PLUMB_RETURN_IF_ERROR(
      TakeSecondInput(c, kSecondInput, c.Has(places[0].aux_weights), options->time_major(), &forward, &backward));
  PLUMB_ASSIGN_OR_RETURN(const std::string first, FloatRnn(c, places[0], activation, forward));
  PLUMB_ASSIGN_OR_RETURN(const std::string second, FloatRnn(c, places[1], activation, backward));
  return SetBoth(c, first, second, options->merge_outputs(), options->time_major());
}

}  // namespace plumb::tflite
