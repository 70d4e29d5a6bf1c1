// SPDX-License-Identifier: Apache-2.0
// PlumbLSTM, PlumbGRU, PlumbRNN: ONNX's recurrent layers. PlumbDynamicQuantizeLSTM: com.microsoft's.
//   LSTM  i = f(W_i x + R_i h + b_i [+ P_i . c])      o, f likewise (o with the new c)      g = g(W_c x + R_c h + b_c)
//         c' = f . c + i . g      h' = o . k(c')      with input_forget f = 1 - i
//   GRU   z = f(W_z x + R_z h + b_z)   r likewise   g = g(W_h x + R_h (r . h) + b_h)   h' = (1 - z) . g + z . h
//         with linear_before_reset g = g(W_h x + Wb_h + r . (R_h h + Rb_h))
//   RNN   h' = f(W x + R h + b)
// clip > 0 cuts the input of every activation to [-clip, clip].
// Inputs: x [time, batch, size], W [directions, gates * hidden, size], R [directions, gates * hidden, hidden], then
// those that the flags announce: B [directions, 2 * gates * hidden], lengths [batch], h and c [directions, batch,
// hidden], P [directions, 3 * hidden]. Outputs: Y [time, directions, batch, hidden], Y_h and (LSTM) Y_c [directions,
// batch, hidden]. Gates in ONNX's order: LSTM i o f c (P: i o f), GRU z r h. layout 1 puts the batch first in x, h, c
// and the outputs. Y is 0 behind a sequence's length; Y_h and Y_c are the state after its last step. "reverse" reads
// each sequence from its end and writes Y at the places that it read. TNN's LSTMONNX lacks lengths, peepholes, layout
// and activations.
// PlumbDynamicQuantizeLSTM is a PlumbLSTM of integer weights that lie transposed, W [directions, size, gates * hidden]
// and R [directions, hidden, gates * hidden], without lengths and layout 1, and behind the flags' inputs their scales
// and zero points: W_scale, W_zero, R_scale, R_zero, each [directions] or [directions, gates * hidden]. All of x, and
// at every step the h of all sequences, become u8 as by DynamicQuantizeLinear; with those q and zero points,
//   W x = x_scale W_scale sum (q_x - x_zero) (W - W_zero)      R h likewise
// exact but for the scales. All scale arithmetic is f32, so that every q is one defined number.
#ifndef PLUMB_OP_RECURRENT_H_
#define PLUMB_OP_RECURRENT_H_

#include "op/core/op.h"

namespace plumb {

struct RecurrentParam : ParamBase<RecurrentParam> {
  int hidden_size = 0;
  std::string direction = "forward";  // forward, reverse, bidirectional
  int layout = 0;
  bool has_bias = false, has_lengths = false, has_initial_h = false, has_initial_c = false, has_peepholes = false;
  float clip = 0;
  bool input_forget = false;         // LSTM
  bool linear_before_reset = false;  // GRU
  // "default", or one per gate function (LSTM f g k, GRU f g, RNN f) and direction, separated by ';', each with its
  // alpha and beta where they are not the usual ones: "HardSigmoid:0.2:0.5;Tanh;Tanh".
  std::string activations = "default";
  void Visit(ParamVisitor& v) override;
};

struct GateFunction {
  enum Kind {
    kRelu,
    kTanh,
    kSigmoid,
    kAffine,
    kLeakyRelu,
    kThresholdedRelu,
    kScaledTanh,
    kHardSigmoid,
    kElu,
    kSoftsign,
    kSoftplus
  };
  Kind kind = kTanh;
  float alpha = 0, beta = 0;

  // 2: reads alpha and beta, 1: alpha, 0: neither.
  int NumParameters() const;
};

struct RecurrentShape {
  int gates = 1, states = 1;  // LSTM 4, 2; GRU 3, 1; RNN 1, 1
  int64_t directions = 1, time = 1, batch = 1, size = 1, hidden = 1;
  bool batch_first = false;
  bool reversed[2] = {false, false};
  GateFunction functions[2][3];
  // Which input each is; -1: none. quantization: the first of the scales and zero points.
  int bias = -1, lengths = -1, initial_h = -1, initial_c = -1, peepholes = -1, quantization = -1;

  // Vectors before x(t, b); elements before x(t, b), Y(t, d, b) and state(d, b).
  int64_t VectorAt(int64_t t, int64_t b) const { return batch_first ? b * time + t : t * batch + b; }
  int64_t InputAt(int64_t t, int64_t b) const { return VectorAt(t, b) * size; }
  int64_t OutputAt(int64_t t, int64_t d, int64_t b) const {
    return (batch_first ? (b * time + t) * directions + d : (t * directions + d) * batch + b) * hidden;
  }
  int64_t StateAt(int64_t d, int64_t b) const { return (batch_first ? b * directions + d : d * batch + b) * hidden; }
};

Result<RecurrentShape> ResolveRecurrent(const Layer& layer, const std::vector<BlobInfo>& inputs);
// One activation as it stands in `activations`; `name` is ONNX's, in any case.
Result<GateFunction> ParseGateFunction(const std::string& text);
// How DynamicQuantizeLinear makes u8 of such f32 numbers: the scale and zero point that their range, with 0, asks for.
struct DynamicQuantization {
  DynamicQuantization(const float* x, int64_t count);
  // q - zero point.
  int Of(float x) const;

  float scale = 1;
  int zero = 0;
};
// The number of steps of each sequence; InvalidArgument when one is outside 0 .. time.
Result<std::vector<int64_t>> SequenceLengths(const RecurrentShape& s, const Tensor* lengths);

}  // namespace plumb

#endif  // PLUMB_OP_RECURRENT_H_
