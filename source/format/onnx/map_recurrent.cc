// LSTM, GRU, RNN, unrolled: one matrix product for all steps' inputs, then the gates of each step. Every step's blobs can be
// dumped and are judged by themselves; the initial and final states are blobs. Steps are named <node>/forward/<t> and
// <node>/reverse/<t>.
#include <algorithm>

#include "format/onnx/node_context.h"
#include "op/activation.h"
#include "op/matmul.h"
#include "op/split_v.h"

namespace plumb::onnx {
namespace {

constexpr int64_t kMaxSteps = 20000;

struct Cell {
  int64_t steps = 0, batch = 0, hidden = 0;
  int gates = 1;
  float clip = 0;
  std::vector<std::string> activations;  // of this direction
};

struct Run {
  std::vector<Value> outputs;  // per step
  Value h, c;                  // the last ones
};

Result<Value> MatMul(NodeContext& c, const Value& a, const Value& b) {
  const Tensor* weight = c.Known(b);
  if (weight == nullptr || c.Known(a) != nullptr || weight->dtype() != DType::kF32) return c.Emit(OpKind::kMatMul, nullptr, {a, b});
  auto param = std::make_shared<MatMulParam>();
  param->weight_position = 1;
  return c.Emit(OpKind::kMatMul, param, {a}, {{"weight", *weight}});
}

Result<Value> Clipped(NodeContext& c, const Cell& cell, const Value& x) {
  if (cell.clip <= 0) return x;
  auto param = std::make_shared<ClipParam>();
  param->min = -cell.clip;
  param->max = cell.clip;
  return c.Emit(OpKind::kClip, param, {x});
}

Result<Value> Activate(NodeContext& c, const Cell& cell, size_t which, const Value& x) {
  PLUMB_ASSIGN_OR_RETURN(const Value clipped, Clipped(c, cell, x));
  const std::string& name = cell.activations[which];
  if (name == "Sigmoid") return c.Emit(OpKind::kSigmoid, nullptr, {clipped});
  if (name == "Tanh") return c.Emit(OpKind::kTanh, nullptr, {clipped});
  if (name == "Relu") return c.Emit(OpKind::kReLU, nullptr, {clipped});
  if (name == "Softsign") return c.Emit(OpKind::kSoftsign, nullptr, {clipped});
  if (name == "Softplus") return c.Emit(OpKind::kSoftplus, nullptr, {clipped});
  return Status::NotSupported("the activation '" + name + "'; Sigmoid, Tanh, Relu, Softsign and Softplus are supported");
}

Result<std::vector<Value>> SplitGates(NodeContext& c, const Value& x, int gates) {
  if (gates == 1) return std::vector<Value>{x};
  auto param = std::make_shared<SplitVParam>();
  param->axis = 1;
  param->slices.assign(static_cast<size_t>(gates), static_cast<int>(c.ShapeOf(x)[1]) / gates);
  return c.EmitMany({OpKind::kSplitV, param, {x}, {}, static_cast<size_t>(gates)});
}

// Everything of one direction, sliced out of the inputs.
struct Direction {
  Value w, r;        // transposed: [input, gates * hidden], [hidden, gates * hidden]
  Value wb, rb;      // [gates * hidden], or absent
  Value p;           // LSTM's peepholes [3 * hidden], or absent
  Value h, c;        // initial states [batch, hidden]
};

Result<Value> Initial(NodeContext& c, const Cell& cell, size_t input, int d, DType dtype) {
  if (c.Has(input)) return c.Cut(c.In(input), c.Int("layout", 0) != 0 ? 1 : 0, d, d + 1, true);
  PLUMB_RETURN_IF_ERROR(c.builder().Reserve(dtype, Shape{cell.batch, cell.hidden}));
  PLUMB_ASSIGN_OR_RETURN(const Tensor zeros, Tensor::Zeros(dtype, Shape{cell.batch, cell.hidden}));
  return c.Const(zeros);
}

Result<Direction> TakeDirection(NodeContext& c, const Cell& cell, int d) {
  Direction dir;
  PLUMB_ASSIGN_OR_RETURN(const Value w, c.Cut(c.In(1), 0, d, d + 1, true));
  PLUMB_ASSIGN_OR_RETURN(dir.w, c.Transpose(w, {1, 0}));
  PLUMB_ASSIGN_OR_RETURN(const Value r, c.Cut(c.In(2), 0, d, d + 1, true));
  PLUMB_ASSIGN_OR_RETURN(dir.r, c.Transpose(r, {1, 0}));
  const int64_t size = cell.gates * cell.hidden;
  if (c.Has(3)) {
    PLUMB_ASSIGN_OR_RETURN(const Value b, c.Cut(c.In(3), 0, d, d + 1, true));
    PLUMB_ASSIGN_OR_RETURN(dir.wb, c.Cut(b, 0, 0, size));
    PLUMB_ASSIGN_OR_RETURN(dir.rb, c.Cut(b, 0, size, 2 * size));
  }
  PLUMB_ASSIGN_OR_RETURN(dir.h, Initial(c, cell, 5, d, c.DTypeOf(0)));
  if (cell.gates != 4) return dir;
  PLUMB_ASSIGN_OR_RETURN(dir.c, Initial(c, cell, 6, d, c.DTypeOf(0)));
  if (c.Has(7)) {
    PLUMB_ASSIGN_OR_RETURN(dir.p, c.Cut(c.In(7), 0, d, d + 1, true));
  }
  return dir;
}

Result<Value> Peep(NodeContext& c, const Cell& cell, const Direction& dir, int part, const Value& state, const Value& gate) {
  if (!dir.p.present()) return gate;
  PLUMB_ASSIGN_OR_RETURN(const Value p, c.Cut(dir.p, 0, part * cell.hidden, (part + 1) * cell.hidden));
  PLUMB_ASSIGN_OR_RETURN(const Value product, c.Binary(OpKind::kMul, state, p));
  return c.Binary(OpKind::kAdd, gate, product);
}

// x: [batch, gates * hidden] with both biases; gates i, o, f, c.
Status StepLstm(NodeContext& c, const Cell& cell, const Direction& dir, const Value& x, Run* run) {
  PLUMB_ASSIGN_OR_RETURN(const Value recurrent, MatMul(c, run->h, dir.r));
  PLUMB_ASSIGN_OR_RETURN(const Value sum, c.Binary(OpKind::kAdd, x, recurrent));
  PLUMB_ASSIGN_OR_RETURN(std::vector<Value> g, SplitGates(c, sum, 4));
  PLUMB_ASSIGN_OR_RETURN(g[0], Peep(c, cell, dir, 0, run->c, g[0]));
  PLUMB_ASSIGN_OR_RETURN(g[2], Peep(c, cell, dir, 2, run->c, g[2]));
  PLUMB_ASSIGN_OR_RETURN(const Value in, Activate(c, cell, 0, g[0]));
  PLUMB_ASSIGN_OR_RETURN(const Value forget, Activate(c, cell, 0, g[2]));
  PLUMB_ASSIGN_OR_RETURN(const Value candidate, Activate(c, cell, 1, g[3]));
  PLUMB_ASSIGN_OR_RETURN(const Value kept, c.Binary(OpKind::kMul, forget, run->c));
  PLUMB_ASSIGN_OR_RETURN(const Value added, c.Binary(OpKind::kMul, in, candidate));
  PLUMB_ASSIGN_OR_RETURN(run->c, c.Binary(OpKind::kAdd, kept, added));
  PLUMB_ASSIGN_OR_RETURN(g[1], Peep(c, cell, dir, 1, run->c, g[1]));
  PLUMB_ASSIGN_OR_RETURN(const Value out, Activate(c, cell, 0, g[1]));
  PLUMB_ASSIGN_OR_RETURN(const Value shown, Activate(c, cell, 2, run->c));
  PLUMB_ASSIGN_OR_RETURN(run->h, c.Binary(OpKind::kMul, out, shown));
  return Status::Ok();
}

// x: with the input's bias and, for z and r, the recurrent one; gates z, r, h.
Status StepGru(NodeContext& c, const Cell& cell, const Direction& dir, const Value& x, Run* run) {
  const int64_t hidden = cell.hidden;
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Value> g, SplitGates(c, x, 3));
  PLUMB_ASSIGN_OR_RETURN(const Value r_zr, c.Cut(dir.r, 1, 0, 2 * hidden));
  PLUMB_ASSIGN_OR_RETURN(const Value r_h, c.Cut(dir.r, 1, 2 * hidden, 3 * hidden));
  PLUMB_ASSIGN_OR_RETURN(const Value product, MatMul(c, run->h, r_zr));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Value> zr, SplitGates(c, product, 2));
  PLUMB_ASSIGN_OR_RETURN(const Value z_sum, c.Binary(OpKind::kAdd, g[0], zr[0]));
  PLUMB_ASSIGN_OR_RETURN(const Value z, Activate(c, cell, 0, z_sum));
  PLUMB_ASSIGN_OR_RETURN(const Value r_sum, c.Binary(OpKind::kAdd, g[1], zr[1]));
  PLUMB_ASSIGN_OR_RETURN(const Value r, Activate(c, cell, 0, r_sum));
  Value bias;
  if (dir.rb.present()) {
    PLUMB_ASSIGN_OR_RETURN(bias, c.Cut(dir.rb, 0, 2 * hidden, 3 * hidden));
  }
  Value inner;
  if (c.Int("linear_before_reset", 0) != 0) {
    PLUMB_ASSIGN_OR_RETURN(inner, MatMul(c, run->h, r_h));
    if (bias.present()) {
      PLUMB_ASSIGN_OR_RETURN(inner, c.Binary(OpKind::kAdd, inner, bias));
    }
    PLUMB_ASSIGN_OR_RETURN(inner, c.Binary(OpKind::kMul, r, inner));
  } else {
    PLUMB_ASSIGN_OR_RETURN(const Value reset, c.Binary(OpKind::kMul, r, run->h));
    PLUMB_ASSIGN_OR_RETURN(inner, MatMul(c, reset, r_h));
    if (bias.present()) {
      PLUMB_ASSIGN_OR_RETURN(inner, c.Binary(OpKind::kAdd, inner, bias));
    }
  }
  PLUMB_ASSIGN_OR_RETURN(const Value h_sum, c.Binary(OpKind::kAdd, g[2], inner));
  PLUMB_ASSIGN_OR_RETURN(const Value candidate, Activate(c, cell, 1, h_sum));
  PLUMB_ASSIGN_OR_RETURN(const Value rest, c.Binary(OpKind::kSub, c.ConstFloat(1, c.DTypeOf(0)), z));
  PLUMB_ASSIGN_OR_RETURN(const Value fresh, c.Binary(OpKind::kMul, rest, candidate));
  PLUMB_ASSIGN_OR_RETURN(const Value kept, c.Binary(OpKind::kMul, z, run->h));
  PLUMB_ASSIGN_OR_RETURN(run->h, c.Binary(OpKind::kAdd, fresh, kept));
  return Status::Ok();
}

Status StepRnn(NodeContext& c, const Cell& cell, const Direction& dir, const Value& x, Run* run) {
  PLUMB_ASSIGN_OR_RETURN(const Value recurrent, MatMul(c, run->h, dir.r));
  PLUMB_ASSIGN_OR_RETURN(const Value sum, c.Binary(OpKind::kAdd, x, recurrent));
  PLUMB_ASSIGN_OR_RETURN(run->h, Activate(c, cell, 0, sum));
  return Status::Ok();
}

// x W' + biases of all steps. The GRU's recurrent bias of h belongs inside its reset gate: StepGru adds it.
Result<Value> Projected(NodeContext& c, const Cell& cell, const Direction& dir, const Value& x) {
  PLUMB_ASSIGN_OR_RETURN(Value y, MatMul(c, x, dir.w));
  if (!dir.wb.present()) return y;
  Value bias = dir.rb;
  if (cell.gates == 3) {
    PLUMB_ASSIGN_OR_RETURN(const Value zr, c.Cut(dir.rb, 0, 0, 2 * cell.hidden));
    PLUMB_ASSIGN_OR_RETURN(const Tensor zeros, Tensor::Zeros(c.DTypeOf(0), Shape{cell.hidden}));
    PLUMB_ASSIGN_OR_RETURN(bias, c.Join({zr, c.Const(zeros)}, 0));
  }
  PLUMB_ASSIGN_OR_RETURN(bias, c.Binary(OpKind::kAdd, dir.wb, bias));
  return c.Binary(OpKind::kAdd, y, bias);
}

Result<Run> RunDirection(NodeContext& c, const Cell& cell, const Value& x, int d, bool reverse) {
  const std::string node = c.builder().node_name();
  PLUMB_ASSIGN_OR_RETURN(const Direction dir, TakeDirection(c, cell, d));
  PLUMB_ASSIGN_OR_RETURN(const Value projected, Projected(c, cell, dir, x));
  Run run;
  run.h = dir.h;
  run.c = dir.c;
  run.outputs.resize(static_cast<size_t>(cell.steps));
  for (int64_t i = 0; i < cell.steps; ++i) {
    const int64_t t = reverse ? cell.steps - 1 - i : i;
    c.builder().BeginNode(node + (reverse ? "/reverse/" : "/forward/") + std::to_string(t));
    PLUMB_ASSIGN_OR_RETURN(const Value step, c.Cut(projected, 0, t, t + 1, true));
    const auto run_step = cell.gates == 4 ? StepLstm : cell.gates == 3 ? StepGru : StepRnn;
    PLUMB_RETURN_IF_ERROR(run_step(c, cell, dir, step, &run));
    run.outputs[static_cast<size_t>(t)] = run.h;
  }
  c.builder().BeginNode(node);
  return run;
}

// Values of all directions, stacked behind a new first dim.
Result<Value> StackDirections(NodeContext& c, const std::vector<Value>& values, int axis) {
  std::vector<Value> parts;
  for (const Value& value : values) {
    PLUMB_ASSIGN_OR_RETURN(const Value part, c.Unsqueeze(value, axis));
    parts.push_back(part);
  }
  return c.Join(parts, axis);
}

Status CheckLengths(NodeContext& c, const Cell& cell) {
  if (!c.Has(4)) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, c.Ints(4, "the sequence lengths"));
  for (const int64_t length : lengths) {
    if (length != cell.steps) return Status::NotSupported("sequences of different lengths; all must have the input's " + std::to_string(cell.steps) + " steps");
  }
  return Status::Ok();
}

Result<Cell> TakeCell(NodeContext& c, int gates, const Shape& x, const std::vector<std::string>& defaults) {
  Cell cell;
  if (x.rank() != 3 || c.Rank(1) != 3 || c.Rank(2) != 3) return Status::CorruptModel("input, weights and recurrence must have rank 3");
  cell.steps = x[0];
  cell.batch = x[1];
  cell.gates = gates;
  cell.hidden = c.ShapeOf(2)[2];
  cell.clip = c.Float("clip", 0);
  cell.activations = defaults;
  if (cell.steps > kMaxSteps) return Status::NotSupported(std::to_string(cell.steps) + " steps; at most " + std::to_string(kMaxSteps) + " are unrolled");
  if (cell.steps < 1 || c.ShapeOf(2)[1] != gates * cell.hidden || c.ShapeOf(1)[1] != gates * cell.hidden) return Status::CorruptModel("the weights " + c.ShapeOf(1).ToString() + " and " + c.ShapeOf(2).ToString() + " do not fit together");
  if (c.Int("input_forget", 0) != 0) return Status::NotSupported("input_forget");
  if (c.HasAttribute("activation_alpha") || c.HasAttribute("activation_beta")) return Status::NotSupported("activations with alpha and beta");
  PLUMB_RETURN_IF_ERROR(CheckLengths(c, cell));
  return cell;
}

Status Map(NodeContext& c, int gates, const std::vector<std::string>& defaults) {
  const bool batch_first = c.Int("layout", 0) != 0;
  Value x = c.In(0);
  if (batch_first && c.Rank(0) == 3) {
    PLUMB_ASSIGN_OR_RETURN(x, c.Transpose(x, {1, 0, 2}));
  }
  PLUMB_ASSIGN_OR_RETURN(Cell cell, TakeCell(c, gates, c.ShapeOf(x), defaults));
  const std::string direction = c.Text("direction", "forward");
  const int count = direction == "bidirectional" ? 2 : 1;
  const AttributeIr* names = c.Attribute("activations");
  if (names != nullptr && names->strings.size() != static_cast<size_t>(count) * defaults.size()) return Status::CorruptModel("there are " + std::to_string(names->strings.size()) + " activations");
  if (c.ShapeOf(1)[0] != count || c.ShapeOf(2)[0] != count) return Status::CorruptModel("the weights have not one entry per direction");
  std::vector<Run> runs;
  for (int d = 0; d < count; ++d) {
    if (names != nullptr) cell.activations.assign(names->strings.begin() + d * static_cast<int>(defaults.size()), names->strings.begin() + (d + 1) * static_cast<int>(defaults.size()));
    PLUMB_ASSIGN_OR_RETURN(const Run run, RunDirection(c, cell, x, d, direction == "reverse" || d == 1));
    runs.push_back(run);
  }
  std::vector<Value> h, cs, steps;
  for (const Run& run : runs) {
    h.push_back(run.h);
    cs.push_back(run.c);
  }
  if (c.Wants(0)) {
    for (int64_t t = 0; t < cell.steps; ++t) {
      std::vector<Value> now;
      for (const Run& run : runs) now.push_back(run.outputs[static_cast<size_t>(t)]);
      PLUMB_ASSIGN_OR_RETURN(const Value both, StackDirections(c, now, 0));
      steps.push_back(both);
    }
    PLUMB_ASSIGN_OR_RETURN(Value y, StackDirections(c, steps, 0));
    if (batch_first) {
      PLUMB_ASSIGN_OR_RETURN(y, c.Transpose(y, {2, 0, 1, 3}));
    }
    c.Set(0, y);
  }
  const int axis = batch_first ? 1 : 0;
  if (c.Wants(1)) {
    PLUMB_ASSIGN_OR_RETURN(const Value last, StackDirections(c, h, axis));
    c.Set(1, last);
  }
  if (c.Wants(2) && gates == 4) {
    PLUMB_ASSIGN_OR_RETURN(const Value last, StackDirections(c, cs, axis));
    c.Set(2, last);
  }
  return Status::Ok();
}

}  // namespace

Status MapLSTM(NodeContext& c) { return Map(c, 4, {"Sigmoid", "Tanh", "Tanh"}); }
Status MapGRU(NodeContext& c) { return Map(c, 3, {"Sigmoid", "Tanh"}); }
Status MapRNN(NodeContext& c) { return Map(c, 1, {"Tanh"}); }

}  // namespace plumb::onnx
