// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU, RNN and com.microsoft's DynamicQuantizeLSTM: one layer of op/recurrent.h each, whose inputs stand in the
// same order.
#include <fmt/core.h>

#include <charconv>

#include "format/onnx/node_context.h"
#include "op/recurrent.h"

namespace plumb::onnx {
namespace {

std::string Digits(float value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

// The next number of `list`, or else what the activation has by itself.
float Next(const std::vector<float>& list, size_t* used, float usual) {
  return *used < list.size() ? list[(*used)++] : usual;
}

// "HardSigmoid:0.2:0.5;Tanh". As in ONNX Runtime, activation_alpha and activation_beta hold one number for each
// activation that reads one, in order.
Result<std::string> Activations(NodeContext& c) {
  const AttributeIr* names = c.Attribute("activations");
  if (names == nullptr || names->strings.empty()) return std::string("default");
  const std::vector<float> alphas = c.FloatList("activation_alpha"), betas = c.FloatList("activation_beta");
  size_t used_alphas = 0, used_betas = 0;
  std::string text;
  for (const std::string& name : names->strings) {
    PLUMB_ASSIGN_OR_RETURN(const GateFunction usual, ParseGateFunction(name));
    text += (text.empty() ? "" : ";") + name;
    if (usual.NumParameters() > 0) text += ":" + Digits(Next(alphas, &used_alphas, usual.alpha));
    if (usual.NumParameters() > 1) text += ":" + Digits(Next(betas, &used_betas, usual.beta));
  }
  return text;
}

Status MapRecurrent(NodeContext& c, OpKind kind) {
  if (c.Rank(2) != 3) return Status::CorruptModel("R must have 3 dims, found " + c.ShapeOf(2).ToString());
  const bool quantized = kind == OpKind::kPlumbDynamicQuantizeLSTM;  // R lies transposed
  auto param = std::make_shared<RecurrentParam>();
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int> sizes, Narrow({c.ShapeOf(2)[quantized ? 1 : 2], c.Int("layout", 0)}));
  param->hidden_size = sizes[0];
  if (c.Int("hidden_size", sizes[0]) != sizes[0]) {
    return Status::CorruptModel(
        fmt::format("hidden_size is {}, but R is {}", c.Int("hidden_size", 0), c.ShapeOf(2).ToString()));
  }
  param->layout = sizes[1];
  param->direction = c.Text("direction", "forward");
  param->clip = c.Float("clip", 0);
  param->input_forget = c.Int("input_forget", 0) != 0;
  param->linear_before_reset = c.Int("linear_before_reset", 0) != 0;
  PLUMB_ASSIGN_OR_RETURN(param->activations, Activations(c));
  bool* const flags[] = {&param->has_bias, &param->has_lengths, &param->has_initial_h, &param->has_initial_c,
                         &param->has_peepholes};
  std::vector<Value> inputs = {c.In(0), c.In(1), c.In(2)};
  for (size_t i = 3; i < c.NumInputs() && i < 8; ++i) {
    if (!c.Has(i)) continue;
    *flags[i - 3] = true;
    inputs.push_back(c.In(i));
  }
  for (size_t i = 8; quantized && i < 12; ++i) inputs.push_back(c.In(i));
  const size_t num_outputs = kind == OpKind::kPlumbLSTM || quantized ? 3 : 2;
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Value> outputs, c.EmitMany({kind, param, inputs, {}, num_outputs}));
  for (size_t i = 0; i < outputs.size(); ++i) c.Set(i, outputs[i]);
  return Status::Ok();
}

}  // namespace

Status MapLSTM(NodeContext& c) { return MapRecurrent(c, OpKind::kPlumbLSTM); }
Status MapGRU(NodeContext& c) { return MapRecurrent(c, OpKind::kPlumbGRU); }
Status MapRNN(NodeContext& c) { return MapRecurrent(c, OpKind::kPlumbRNN); }
Status MapMicrosoftDynamicQuantizeLSTM(NodeContext& c) { return MapRecurrent(c, OpKind::kPlumbDynamicQuantizeLSTM); }

}  // namespace plumb::onnx
