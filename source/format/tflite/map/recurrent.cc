// SPDX-License-Identifier: Apache-2.0
// UNIDIRECTIONAL_SEQUENCE_LSTM, LSTM (one step) and SVDF. Their states are variables of the file: one run is the
// network's first, so they begin as zeros.
#include <fmt/core.h>

#include "format/tflite/op_context.h"

namespace plumb::tflite {
namespace {

constexpr int64_t kMostSteps = 1024;      // that are written out one by one
constexpr int64_t kMostHidden = 1 << 20;  // values of a state

// The places of an LSTM's inputs, in the order of its gates: input, forget, cell, output.
enum LstmInput : size_t { kWeights = 1, kRecurrent = 5, kPeepholes = 9, kBiases = 12, kProjection = 16, kNorms = 20 };
enum Gate : size_t { kInput, kForget, kCell, kOutput };

struct Lstm {
  float cell_clip = 0;
  bool one_step = false, time_major = true;
  std::string x;                 // [steps,batch,channels]
  std::string w, r, bias, peep;  // of all gates in ONNX's order (input, output, forget, cell); "": none
  int64_t steps = 1, batch = 1, hidden = 0;
};

Result<std::string> Flipped(OpContext& c, const std::string& value) {
  return c.Emit("Transpose", {value}, {{"perm", IntsAttribute({1, 0, 2})}});
}

Result<std::string> WithAxis(OpContext& c, const char* type, const std::string& value, int64_t axis) {
  PLUMB_ASSIGN_OR_RETURN(const std::string axes, c.IntsConstant({axis}));
  return c.Emit(type, {value, axes});
}

// A gate's tensor; the input gate of a file that has none is 1 - forget, the sigmoid of the negated sum.
Result<std::string> OfGate(OpContext& c, size_t first, Gate gate) {
  const bool has_input = c.Has(kRecurrent + kInput);
  if (gate != kInput || has_input) return c.Real(first + gate, Order::kFile);
  PLUMB_ASSIGN_OR_RETURN(const std::string forget, c.Real(first + kForget, Order::kFile));
  return c.Emit("Neg", {forget});
}

Result<std::string> OfAllGates(OpContext& c, size_t first) {
  std::vector<std::string> parts;
  for (const Gate gate : {kInput, kOutput, kForget, kCell}) {
    PLUMB_ASSIGN_OR_RETURN(const std::string part, OfGate(c, first, gate));
    parts.push_back(part);
  }
  return c.Emit("Concat", parts, {{"axis", IntAttribute(0)}});
}

Status CheckGates(const OpContext& c) {
  for (size_t i = kWeights; i < kPeepholes; ++i) {
    const bool may_lack = (i == kWeights || i == kRecurrent) && !c.Has(kWeights) && !c.Has(kRecurrent);
    if (!c.Has(i) && !may_lack) return Status::CorruptModel(fmt::format("its input {} is left out", i));
    if (c.Has(i) && c.Rank(i) != 2) return Status::CorruptModel(fmt::format("its input {} has no 2 dims", i));
  }
  for (size_t i = kBiases + kForget; i <= kBiases + kOutput; ++i) {
    if (!c.Has(i)) return Status::CorruptModel(fmt::format("its input {} is left out", i));
  }
  if (c.Has(kProjection)) return Status::NotSupported("its output is projected");
  for (size_t i = kNorms; i < c.NumInputs(); ++i) {
    if (c.Has(i)) return Status::NotSupported("its gates are normalised");
  }
  return c.IsFloat(0) ? Status::Ok() : Status::NotSupported("its states are integers");
}

Result<Lstm> ReadLstm(OpContext& c, Lstm lstm) {
  PLUMB_RETURN_IF_ERROR(CheckGates(c));
  const int rank = lstm.one_step ? 2 : 3;
  if (c.Rank(0) != rank) return Status::CorruptModel(fmt::format("its input is {}", c.InShape(0).ToString()));
  PLUMB_ASSIGN_OR_RETURN(lstm.x, c.Real(0, Order::kFile));
  const Shape shape = c.InShape(0);
  lstm.hidden = c.InShape(kRecurrent + kForget)[0];
  if (lstm.hidden < 1 || lstm.hidden > kMostHidden)
    return Status::CorruptModel(fmt::format("its state has {} values", lstm.hidden));
  lstm.batch = lstm.one_step || !lstm.time_major ? shape[0] : shape[1];
  lstm.steps = lstm.one_step ? 1 : lstm.time_major ? shape[0] : shape[1];
  if (lstm.one_step) {
    PLUMB_ASSIGN_OR_RETURN(lstm.x, WithAxis(c, "Unsqueeze", lstm.x, 0));
  } else if (!lstm.time_major) {
    PLUMB_ASSIGN_OR_RETURN(lstm.x, Flipped(c, lstm.x));
  }
  PLUMB_ASSIGN_OR_RETURN(lstm.w, OfAllGates(c, kWeights));
  PLUMB_ASSIGN_OR_RETURN(lstm.r, OfAllGates(c, kRecurrent));
  PLUMB_ASSIGN_OR_RETURN(lstm.bias, OfAllGates(c, kBiases));
  if (!c.Has(kPeepholes + 1) || !c.Has(kPeepholes + 2)) return lstm;  // of forget and output
  std::vector<std::string> peepholes;                                 // input, output, forget
  if (c.Has(kPeepholes)) {
    PLUMB_ASSIGN_OR_RETURN(const std::string input, c.Real(kPeepholes, Order::kFile));
    peepholes.push_back(input);
  } else {
    PLUMB_ASSIGN_OR_RETURN(const std::string forget, c.Real(kPeepholes + 1, Order::kFile));
    peepholes.push_back(c.Emit("Neg", {forget}));
  }
  for (const size_t i : {kPeepholes + 2, kPeepholes + 1}) {
    PLUMB_ASSIGN_OR_RETURN(const std::string other, c.Real(i, Order::kFile));
    peepholes.push_back(other);
  }
  lstm.peep = c.Emit("Concat", peepholes, {{"axis", IntAttribute(0)}});
  return lstm;
}

// [steps,batch,hidden] by one LSTM.
Result<std::string> AsOneLayer(OpContext& c, const Lstm& lstm) {
  std::vector<std::string> inputs = {lstm.x};
  for (const std::string& value : {lstm.w, lstm.r}) {
    PLUMB_ASSIGN_OR_RETURN(const std::string one, WithAxis(c, "Unsqueeze", value, 0));
    inputs.push_back(one);
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string zeros,
                         c.writer().Floats(std::vector<float>(static_cast<size_t>(4 * lstm.hidden), 0)));
  const std::string both = c.Emit("Concat", {lstm.bias, zeros}, {{"axis", IntAttribute(0)}});
  PLUMB_ASSIGN_OR_RETURN(const std::string bias, WithAxis(c, "Unsqueeze", both, 0));
  inputs.push_back(bias);
  if (!lstm.peep.empty()) {
    PLUMB_ASSIGN_OR_RETURN(const std::string peep, WithAxis(c, "Unsqueeze", lstm.peep, 0));
    inputs.insert(inputs.end(), {"", "", "", peep});
  }
  const std::vector<std::string> outputs =
      c.writer().EmitMany("LSTM", inputs, 3, {{"hidden_size", IntAttribute(lstm.hidden)}});
  return WithAxis(c, "Squeeze", outputs[0], 1);
}

// The same step by step, each with its cell limited, which ONNX's LSTM does not do.
Result<std::string> StepByStep(OpContext& c, const Lstm& lstm) {
  if (lstm.steps < 1 || lstm.steps > kMostSteps || !lstm.peep.empty())
    return Status::NotSupported(fmt::format("its cell is limited to {} in {} steps{}", lstm.cell_clip, lstm.steps,
                                            lstm.peep.empty() ? "" : " with peepholes"));
  const auto turned = [&](const std::string& m) { return c.Emit("Transpose", {m}, {{"perm", IntsAttribute({1, 0})}}); };
  const std::string of_x = c.Emit("Add", {c.Emit("MatMul", {lstm.x, turned(lstm.w)}), lstm.bias});
  const std::string r = turned(lstm.r);
  PLUMB_ASSIGN_OR_RETURN(const std::string low, c.Number(-lstm.cell_clip));
  PLUMB_ASSIGN_OR_RETURN(const std::string high, c.Number(lstm.cell_clip));
  const std::vector<std::string> sums =
      lstm.steps == 1 ? std::vector<std::string>{of_x}
                      : c.writer().EmitMany("Split", {of_x}, static_cast<size_t>(lstm.steps),
                                            {{"axis", IntAttribute(0)}, {"num_outputs", IntAttribute(lstm.steps)}});
  std::string h, cell;
  std::vector<std::string> all;
  for (const std::string& sum : sums) {
    const std::string z = h.empty() ? sum : c.Emit("Add", {sum, c.Emit("MatMul", {h, r})});
    const std::vector<std::string> gates =
        c.writer().EmitMany("Split", {z}, 4, {{"axis", IntAttribute(2)}, {"num_outputs", IntAttribute(4)}});
    const std::string in = c.Emit("Mul", {c.Emit("Sigmoid", {gates[0]}), c.Emit("Tanh", {gates[3]})});
    const std::string next =
        cell.empty() ? in : c.Emit("Add", {in, c.Emit("Mul", {c.Emit("Sigmoid", {gates[2]}), cell})});
    cell = c.Emit("Clip", {next, low, high});
    h = c.Emit("Mul", {c.Emit("Sigmoid", {gates[1]}), c.Emit("Tanh", {cell})});
    all.push_back(h);
  }
  return all.size() == 1 ? h : c.Emit("Concat", all, {{"axis", IntAttribute(0)}});
}

Status WriteLstm(OpContext& c, Lstm given, schema::Activation activation) {
  if (activation != schema::Activation::TANH)
    return Status::NotSupported(fmt::format("its activation is {}, expected TANH", static_cast<int>(activation)));
  PLUMB_ASSIGN_OR_RETURN(const Lstm lstm, ReadLstm(c, std::move(given)));
  PLUMB_ASSIGN_OR_RETURN(std::string y, lstm.cell_clip > 0 ? StepByStep(c, lstm) : AsOneLayer(c, lstm));
  if (lstm.one_step) {
    PLUMB_ASSIGN_OR_RETURN(y, WithAxis(c, "Squeeze", y, 0));
  } else if (!lstm.time_major) {
    PLUMB_ASSIGN_OR_RETURN(y, Flipped(c, y));
  }
  return c.Set(0, y, Order::kFile);
}

}  // namespace

Status MapSequenceLstm(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::UnidirectionalSequenceLSTMOptions>());
  if (options->diagonal_recurrent_tensors()) return Status::NotSupported("its recurrent weights are diagonals");
  if (options->proj_clip() > 0) return Status::NotSupported("its output is projected");
  Lstm lstm;
  lstm.cell_clip = options->cell_clip();
  lstm.time_major = options->time_major();
  return WriteLstm(c, lstm, options->fused_activation_function());
}

Status MapLstm(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::LSTMOptions>());
  if (options->kernel_type() != 0) return Status::NotSupported("its kernel is the basic one (kernel_type 1)");
  Lstm lstm;
  lstm.cell_clip = options->cell_clip();
  lstm.one_step = true;
  return WriteLstm(c, lstm, options->fused_activation_function());
}

// SVDF of integers: what the filters make of the features is an integer of the state, and the newest weights are a
// matrix from filters to units.
Status MapIntegerSvdf(OpContext& c, int64_t filters, int64_t memory, int64_t rank) {
  constexpr size_t kTime = 2, kState = 4;
  GraphWriter& writer = c.writer();
  const int time = c.InputIndex(kTime);
  if (!c.Has(kState) || !writer.IsQuantized(c.InputIndex(kState)) || !writer.IsQuantized(time) || !c.IsConstant(kTime))
    return Status::NotSupported("its state or its weights of time have no grid");
  const Grid grid = GridOf(writer.TensorAt(time));
  if (grid.scale.size() != 1) return Status::NotSupported("its weights of time have several scales");
  PLUMB_ASSIGN_OR_RETURN(const Tensor weights, writer.ValueOf(time));
  PLUMB_ASSIGN_OR_RETURN(const Tensor given, weights.ConvertedTo(DType::kI64));
  const int64_t units = filters / rank;
  constexpr int64_t kMostWeights = 1 << 24;  // most of which are zeros
  if (filters > kMostWeights / units) return Status::NotSupported(fmt::format("it has {} filters", filters));
  PLUMB_ASSIGN_OR_RETURN(Tensor matrix, Tensor::Zeros(DType::kI64, Shape{filters, units}));
  for (int64_t f = 0; f < filters; ++f)
    matrix.data<int64_t>()[f * units + f / rank] = given.data<int64_t>()[(f + 1) * memory - 1];
  PLUMB_ASSIGN_OR_RETURN(const std::string scale, writer.Floats(grid.scale, true));
  const std::string newest = c.Emit("DequantizeLinear", {writer.Constant(matrix, writer.TypeOf(time)), scale});
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string feature, c.RealTurned(1, {1, 0}));
  PLUMB_ASSIGN_OR_RETURN(const std::string state, writer.OnGrid(c.InputIndex(kState), c.Emit("MatMul", {x, feature})));
  std::string y = c.Emit("MatMul", {state, newest});
  if (c.Has(3)) {
    const float step = GridOf(c.Input(kState)).scale[0] * grid.scale[0];
    PLUMB_ASSIGN_OR_RETURN(const std::string bias, writer.Dequantized(c.InputIndex(3), {step}));
    y = c.Emit("Add", {y, bias});
  }
  return c.Set(0, y, Order::kFile, schema::Activation::NONE);  // LiteRT's kernel has the type's limits alone
}

// Filters of rank 1 over the features, then over the last so many steps: of the first step the others are zero, so the
// newest weight of each filter counts alone.
Status MapSvdf(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::SVDFOptions>());
  if (c.Rank(0) != 2 || c.Rank(1) != 2 || c.Rank(2) != 2)
    return Status::CorruptModel("its input and its weights must have 2 dims");
  const int64_t filters = c.InShape(1)[0], memory = c.InShape(2)[1], rank = options->rank();
  if (rank < 1 || filters % rank != 0 || memory < 1 || c.InShape(2)[0] != filters)
    return Status::CorruptModel(fmt::format("it has {} filters of rank {} over {} steps", filters, rank, memory));
  if (!c.IsFloat(0)) return MapIntegerSvdf(c, filters, memory, rank);
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string feature, c.RealTurned(1, {1, 0}));
  PLUMB_ASSIGN_OR_RETURN(const std::string time, c.Real(2, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string last, c.IntsConstant({memory - 1}));
  PLUMB_ASSIGN_OR_RETURN(const std::string flat, c.IntsConstant({filters}));
  const std::string newest = c.Emit("Reshape", {c.Emit("Gather", {time, last}, {{"axis", IntAttribute(1)}}), flat});
  PLUMB_ASSIGN_OR_RETURN(const std::string split, c.IntsConstant({-1, filters / rank, rank}));
  PLUMB_ASSIGN_OR_RETURN(const std::string axes, c.IntsConstant({2}));
  const std::string terms = c.Emit("Mul", {c.Emit("MatMul", {x, feature}), newest});
  std::string y = c.Emit("ReduceSum", {c.Emit("Reshape", {terms, split}), axes}, {{"keepdims", IntAttribute(0)}});
  if (c.Has(3)) {
    PLUMB_ASSIGN_OR_RETURN(const std::string bias, c.Real(3, Order::kFile));
    y = c.Emit("Add", {y, bias});
  }
  return c.Set(0, y, Order::kFile, options->fused_activation_function());
}

}  // namespace plumb::tflite
