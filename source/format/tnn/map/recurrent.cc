// SPDX-License-Identifier: Apache-2.0
// The LSTM, whose weights TNN keeps as ONNX does.
#include <fmt/core.h>

#include "format/tnn/translate.h"
#include "op/permute.h"
#include "op/recurrent.h"
#include "op/reshape.h"
#include "op/squeeze.h"

namespace plumb::tnn {
namespace {

struct LstmOnnxParam : ParamBase<LstmOnnxParam> {
  float clip_threshold = 0;
  int hidden_size = 0, direction = 0;  // 0 forward, 1 reverse, 2 both
  void Visit(ParamVisitor& v) override {
    v.Float("clip_threshold", clip_threshold);
    v.Int("hidden_size", hidden_size);
    v.Int("direction", direction);
  }
};

// TNN's result is [time, batch, directions * hidden] where ONNX's is [time, directions, batch, hidden].
Status TranslateLstm(LineLayers* layers) {
  const auto& p = ParamOf<LstmOnnxParam>(layers->line());
  PLUMB_RETURN_IF_ERROR(layers->ExpectInputs(4, 6, "x, W, R and B, and possibly h and c"));
  if (p.direction < 0 || p.direction > 2)
    return Status::CorruptModel(fmt::format("expects direction 0, 1 or 2, found {}", p.direction));
  const bool states = layers->line().inputs.size() == 6;
  std::vector<std::string> inputs = layers->line().inputs, outputs = layers->line().outputs;
  inputs.resize(states ? 6 : 4);  // TNN does not read an h without a c
  const std::string y = outputs[0], by_direction = layers->Name("by_direction");
  outputs[0] = by_direction;
  if (outputs.size() < 2) outputs.push_back(layers->Name("h"));
  if (outputs.size() < 3) outputs.push_back(layers->Name("c"));
  layers->Add(OpKind::kPlumbLSTM, inputs, outputs, ParamWith<RecurrentParam>([&](RecurrentParam* q) {
                constexpr const char* kDirections[] = {"forward", "reverse", "bidirectional"};
                q->hidden_size = p.hidden_size;
                q->direction = kDirections[p.direction];
                q->has_bias = true;
                q->has_initial_h = q->has_initial_c = states;
                q->clip = p.clip_threshold;
              }));
  if (p.direction < 2) {
    layers->Add(OpKind::kSqueeze, {by_direction}, {y}, ParamWith<SqueezeParam>([](SqueezeParam* q) { q->axes = {1}; }));
    return Status::Ok();
  }
  const std::string by_batch = layers->Name("by_batch");
  layers->Add(OpKind::kPermute, {by_direction}, {by_batch}, ParamWith<PermuteParam>([](PermuteParam* q) {
                q->orders = {0, 2, 1, 3};
              }));
  layers->Add(OpKind::kReshape, {by_batch}, {y}, ParamWith<ReshapeParam>([](ReshapeParam* q) {
                q->shape = {0, 0, -1};
                q->num_axes = -1;
              }));
  return Status::Ok();
}

}  // namespace

Translation LSTMONNXTranslation() { return {MakeParam<LstmOnnxParam>, TranslateLstm}; }

}  // namespace plumb::tnn
