// SPDX-License-Identifier: Apache-2.0
#include "op/recurrent.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

namespace plumb {
namespace {

struct NamedFunction {
  const char* name;
  GateFunction function;  // with the usual alpha and beta
};

const NamedFunction kFunctions[] = {
    {"relu", {GateFunction::kRelu, 0, 0}},
    {"tanh", {GateFunction::kTanh, 0, 0}},
    {"sigmoid", {GateFunction::kSigmoid, 0, 0}},
    {"affine", {GateFunction::kAffine, 1, 0}},
    {"leakyrelu", {GateFunction::kLeakyRelu, 0.01f, 0}},
    {"thresholdedrelu", {GateFunction::kThresholdedRelu, 1, 0}},
    {"scaledtanh", {GateFunction::kScaledTanh, 1, 1}},
    {"hardsigmoid", {GateFunction::kHardSigmoid, 0.2f, 0.5f}},
    {"elu", {GateFunction::kElu, 1, 0}},
    {"softsign", {GateFunction::kSoftsign, 0, 0}},
    {"softplus", {GateFunction::kSoftplus, 0, 0}},
};

std::vector<std::string> SplitAt(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

Result<float> ParseNumber(const std::string& text) {
  char* end = nullptr;
  const float value = std::strtof(text.c_str(), &end);
  if (!text.empty() && *end == '\0' && std::isfinite(value)) return value;
  return Status::InvalidArgument(fmt::format("'{}' is no number", text));
}

bool IsQuantized(const Layer& layer) { return layer.kind == OpKind::kPlumbDynamicQuantizeLSTM; }
bool IsLstm(const Layer& layer) { return layer.kind == OpKind::kPlumbLSTM || IsQuantized(layer); }

Status SetFunctions(const Layer& layer, RecurrentShape* s) {
  const std::string& text = ParamOf<RecurrentParam>(layer).activations;
  const size_t each = IsLstm(layer) ? 3 : layer.kind == OpKind::kPlumbGRU ? 2 : 1;
  const auto directions = static_cast<size_t>(s->directions);
  if (text == "default") {
    for (auto& functions : s->functions) {
      for (size_t i = 0; i < 3; ++i)
        functions[i].kind = i == 0 && each > 1 ? GateFunction::kSigmoid : GateFunction::kTanh;
    }
    return Status::Ok();
  }
  const std::vector<std::string> names = SplitAt(text, ';');
  if (names.size() != each * directions) {
    return Status::InvalidArgument(
        fmt::format("expects {} activations ({} per direction), found '{}'", each * directions, each, text));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    PLUMB_ASSIGN_OR_RETURN(s->functions[i / each][i % each], ParseGateFunction(names[i]));
  }
  return Status::Ok();
}

Status TakeInputs(const Layer& layer, size_t count, RecurrentShape* s) {
  const auto& p = ParamOf<RecurrentParam>(layer);
  if (!IsLstm(layer) && (p.has_initial_c || p.has_peepholes || p.input_forget)) {
    return Status::InvalidArgument("only PlumbLSTM has an initial c, peepholes and input_forget");
  }
  if (IsQuantized(layer) && (p.has_lengths || p.layout != 0)) {
    return Status::InvalidArgument("PlumbDynamicQuantizeLSTM has no lengths and no layout 1");
  }
  if (layer.kind != OpKind::kPlumbGRU && p.linear_before_reset) {
    return Status::InvalidArgument("only PlumbGRU has linear_before_reset");
  }
  int next = 3;
  const auto take = [&](bool present) { return present ? next++ : -1; };
  s->bias = take(p.has_bias);
  s->lengths = take(p.has_lengths);
  s->initial_h = take(p.has_initial_h);
  s->initial_c = take(p.has_initial_c);
  s->peepholes = take(p.has_peepholes);
  s->quantization = take(IsQuantized(layer));
  if (IsQuantized(layer)) next += 3;
  if (static_cast<size_t>(next) == count) return Status::Ok();
  return Status::InvalidArgument(fmt::format("the flags announce {} inputs, found {}", next, count));
}

Status Expect(const std::vector<BlobInfo>& inputs, int at, const char* what, const Shape& shape) {
  if (at < 0) return Status::Ok();
  const Shape& found = inputs[static_cast<size_t>(at)].shape;
  if (found == shape) return Status::Ok();
  return Status::InvalidArgument(fmt::format("{} must be {}, found {}", what, shape.ToString(), found.ToString()));
}

// Integer weights with their scales and zero points, one per direction or also one per gate.
Status CheckQuantization(const std::vector<BlobInfo>& inputs, const RecurrentShape& s) {
  const int64_t rows = s.gates * s.hidden;
  PLUMB_RETURN_IF_ERROR(Expect(inputs, 1, "W", {s.directions, s.size, rows}));
  PLUMB_RETURN_IF_ERROR(Expect(inputs, 2, "R", {s.directions, s.hidden, rows}));
  for (int i = 0; i < 4; ++i) {
    const BlobInfo& info = inputs[static_cast<size_t>(s.quantization + i)];
    if (info.shape.rank() == 1) PLUMB_RETURN_IF_ERROR(Expect(inputs, s.quantization + i, "a scale", {s.directions}));
    if (info.shape.rank() != 1)
      PLUMB_RETURN_IF_ERROR(Expect(inputs, s.quantization + i, "a scale", {s.directions, rows}));
  }
  return Status::Ok();
}

// Integers: the lengths; weights and zero points of a quantised layer.
bool IsInteger(const RecurrentShape& s, int input) {
  if (s.quantization < 0) return input == s.lengths;
  return input == 1 || input == 2 || input == s.quantization + 1 || input == s.quantization + 3;
}

Status CheckShapes(const std::vector<BlobInfo>& inputs, const RecurrentShape& s) {
  const int64_t rows = s.gates * s.hidden;
  const Shape state = s.batch_first ? Shape{s.batch, s.directions, s.hidden} : Shape{s.directions, s.batch, s.hidden};
  if (s.quantization >= 0) {
    PLUMB_RETURN_IF_ERROR(CheckQuantization(inputs, s));
  } else {
    PLUMB_RETURN_IF_ERROR(Expect(inputs, 1, "W", {s.directions, rows, s.size}));
    PLUMB_RETURN_IF_ERROR(Expect(inputs, 2, "R", {s.directions, rows, s.hidden}));
  }
  PLUMB_RETURN_IF_ERROR(Expect(inputs, s.bias, "B", {s.directions, 2 * rows}));
  PLUMB_RETURN_IF_ERROR(Expect(inputs, s.lengths, "the lengths", {s.batch}));
  PLUMB_RETURN_IF_ERROR(Expect(inputs, s.initial_h, "the initial h", state));
  PLUMB_RETURN_IF_ERROR(Expect(inputs, s.initial_c, "the initial c", state));
  PLUMB_RETURN_IF_ERROR(Expect(inputs, s.peepholes, "P", {s.directions, 3 * s.hidden}));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool whole = IsInteger(s, static_cast<int>(i));
    const DType dtype = inputs[i].dtype;
    if (whole ? dtype == DType::kI32 || dtype == DType::kI64 : dtype == inputs[0].dtype && IsFloat(dtype)) continue;
    return Status::InvalidArgument(
        fmt::format("expects lengths, integer weights and zero points of i32 or i64 and all other inputs in one float "
                    "dtype, found {} in input {}",
                    DTypeName(dtype), i));
  }
  return Status::Ok();
}

Status InferRecurrent(ShapeContext& context) {
  PLUMB_ASSIGN_OR_RETURN(const RecurrentShape s, ResolveRecurrent(context.layer, context.inputs));
  const DType dtype = context.inputs[0].dtype;
  const Shape state = s.batch_first ? Shape{s.batch, s.directions, s.hidden} : Shape{s.directions, s.batch, s.hidden};
  context.SetAll(dtype, state);
  context.outputs[0].shape =
      s.batch_first ? Shape{s.batch, s.time, s.directions, s.hidden} : Shape{s.time, s.directions, s.batch, s.hidden};
  return context.outputs[0].shape.Validate();
}

double FlopsRecurrent(const Layer& layer, const std::vector<BlobInfo>& inputs, const std::vector<BlobInfo>&) {
  const auto s = ResolveRecurrent(layer, inputs);
  if (!s.ok()) return 0;
  return 2 * static_cast<double>(s->directions * s->time * s->batch) * static_cast<double>(s->gates * s->hidden) *
         static_cast<double>(s->size + s->hidden);
}

OpDef DefineRecurrent() {
  OpDef op;
  op.make_param = MakeParam<RecurrentParam>;
  op.infer = InferRecurrent;
  op.flops = FlopsRecurrent;
  return op;
}

}  // namespace

void RecurrentParam::Visit(ParamVisitor& v) {
  v.Int("hidden_size", hidden_size, ParamVisitor::kRequired);
  v.Text("direction", direction);
  v.Int("layout", layout);
  v.Bool("has_bias", has_bias);
  v.Bool("has_lengths", has_lengths);
  v.Bool("has_initial_h", has_initial_h);
  v.Bool("has_initial_c", has_initial_c);
  v.Bool("has_peepholes", has_peepholes);
  v.Float("clip", clip);
  v.Bool("input_forget", input_forget);
  v.Bool("linear_before_reset", linear_before_reset);
  v.Text("activations", activations);
}

int GateFunction::NumParameters() const {
  switch (kind) {
    case kAffine:
    case kScaledTanh:
    case kHardSigmoid: return 2;
    case kLeakyRelu:
    case kThresholdedRelu:
    case kElu: return 1;
    default: return 0;
  }
}

Result<GateFunction> ParseGateFunction(const std::string& text) {
  const std::vector<std::string> parts = SplitAt(text, ':');
  std::string name = parts[0];
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const NamedFunction& known : kFunctions) {
    if (name != known.name || parts.size() > 3) continue;
    GateFunction function = known.function;
    if (parts.size() > 1) {
      PLUMB_ASSIGN_OR_RETURN(function.alpha, ParseNumber(parts[1]));
    }
    if (parts.size() > 2) {
      PLUMB_ASSIGN_OR_RETURN(function.beta, ParseNumber(parts[2]));
    }
    return function;
  }
  return Status::InvalidArgument(
      fmt::format("activation '{}' is none of Relu, Tanh, Sigmoid, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, "
                  "HardSigmoid, Elu, Softsign, Softplus, each with up to two numbers behind ':'",
                  text));
}

Result<RecurrentShape> ResolveRecurrent(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  const auto& p = ParamOf<RecurrentParam>(layer);
  RecurrentShape s;
  s.gates = IsLstm(layer) ? 4 : layer.kind == OpKind::kPlumbGRU ? 3 : 1;
  s.states = IsLstm(layer) ? 2 : 1;
  if (p.direction != "forward" && p.direction != "reverse" && p.direction != "bidirectional") {
    return Status::InvalidArgument(
        fmt::format("direction '{}' is none of forward, reverse, bidirectional", p.direction));
  }
  if (p.hidden_size <= 0 || p.layout < 0 || p.layout > 1 || !(p.clip >= 0)) {
    return Status::InvalidArgument(
        fmt::format("expects a positive hidden_size, layout 0 or 1 and clip >= 0, found {}, {} and {}", p.hidden_size,
                    p.layout, p.clip));
  }
  s.directions = p.direction == "bidirectional" ? 2 : 1;
  s.reversed[0] = p.direction == "reverse";
  s.reversed[1] = true;
  s.batch_first = p.layout == 1;
  s.hidden = p.hidden_size;
  PLUMB_RETURN_IF_ERROR(TakeInputs(layer, inputs.size(), &s));
  const Shape& x = inputs[0].shape;
  if (x.rank() != 3) return Status::InvalidArgument("x must have 3 dims, found " + x.ToString());
  s.time = x[s.batch_first ? 1 : 0];
  s.batch = x[s.batch_first ? 0 : 1];
  s.size = x[2];
  PLUMB_RETURN_IF_ERROR(CheckShapes(inputs, s));
  PLUMB_RETURN_IF_ERROR(SetFunctions(layer, &s));
  return s;
}

DynamicQuantization::DynamicQuantization(const float* x, int64_t count) {
  constexpr int kLanes = 8;  // a vector's: one chain of comparisons takes four times as long
  float lows[kLanes] = {}, highs[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      lows[l] = x[i + l] < lows[l] ? x[i + l] : lows[l];
      highs[l] = x[i + l] > highs[l] ? x[i + l] : highs[l];
    }
  }
  float low = *std::min_element(lows, lows + kLanes), high = *std::max_element(highs, highs + kLanes);
  for (; i < count; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
  }
  scale = low == high ? 1 : (high - low) / 255;
  zero = static_cast<int>(std::nearbyint(std::clamp(-low / scale, 0.0f, 255.0f)));
}

int DynamicQuantization::Of(float x) const {
  const float q = std::nearbyint(x / scale) + static_cast<float>(zero);
  return std::isnan(q) ? 0 : static_cast<int>(std::clamp(q, 0.0f, 255.0f)) - zero;
}

Result<std::vector<int64_t>> SequenceLengths(const RecurrentShape& s, const Tensor* lengths) {
  std::vector<int64_t> steps(static_cast<size_t>(s.batch), s.time);
  if (lengths == nullptr) return steps;
  for (size_t b = 0; b < steps.size(); ++b) {
    steps[b] = static_cast<int64_t>(lengths->ValueAt(static_cast<int64_t>(b)));
    if (steps[b] >= 0 && steps[b] <= s.time) continue;
    return Status::InvalidArgument(fmt::format("length {} of sequence {} is outside 0 .. {}", steps[b], b, s.time));
  }
  return steps;
}

OpDef DefinePlumbLSTM() { return DefineRecurrent(); }
OpDef DefinePlumbGRU() { return DefineRecurrent(); }
OpDef DefinePlumbRNN() { return DefineRecurrent(); }
OpDef DefinePlumbDynamicQuantizeLSTM() { return DefineRecurrent(); }

}  // namespace plumb
