// SPDX-License-Identifier: Apache-2.0
// PlumbQuantizedLSTM: TFLite's LSTM of int8 activations and weights, whose gates and cells have 16 bits. It is defined
// by its integers: each product, sum and function is that of LiteRT's kernel, with its roundings in its order.
//   gate = f(limited(limited((W x + B) * a) + R h * b) [+ c P * p]) as Q0.15; i, f, o: sigmoid, g: tanh of Q3.12
//   c' = f c / 2^15 + i g / 2^(15 + cell_bits)      h' = o tanh(c') * k, and with a projection H h' * q
// a, b, p, k, q are real factors as 31 bits and a shift (op/core/fixed_factor.h), rounded twice. Without an input gate
// i is 1 - f. Norms make a gate's numbers those of mean 0 and deviation 1, times N, plus B, which W x then has not.
// Inputs: x [time, batch, size], W [gates * cells, size], R [gates * cells, hidden], B [gates * cells], then those that
// the flags announce: P [peepholes * cells] of i f o, N [gates * cells], H [hidden, cells] and its bias [hidden]. Gates
// in TFLite's order: i f g o. Output: Y [time, batch, hidden]. The states begin as 0.
#ifndef PLUMB_OP_QUANTIZED_LSTM_H_
#define PLUMB_OP_QUANTIZED_LSTM_H_

#include "op/core/fixed_factor.h"
#include "op/core/op.h"

namespace plumb {

struct QuantizedLstmParam : ParamBase<QuantizedLstmParam> {
  bool batch_first = false, has_input_gate = true, has_peepholes = false, has_norms = false, has_projection = false;
  int x_zero = 0, y_zero = 0, inner_zero = 0;  // inner: of h' in front of a projection
  int cell_bits = 4;                           // of c, in front of the point
  int cell_clip = 0, projection_clip = 0;      // 0: none
  // Of each gate those of W, R, P and N; then k and q.
  std::vector<int> multipliers, shifts;
  std::vector<int> guards;  // of each gate: what a variance below 1 becomes
  void Visit(ParamVisitor& v) override;
};

struct QuantizedLstmShape {
  enum Factor { kOfX, kOfH, kOfCell, kOfNorm };
  static constexpr int kGates = 4, kFactors = 18, kInner = 16, kProjected = 17;
  int64_t time = 1, batch = 1, size = 1, hidden = 1, cells = 1;
  // Which input each is; -1: none.
  int peepholes = -1, norms = -1, projection = -1;
};

Result<QuantizedLstmShape> ResolveQuantizedLstm(const Layer& layer, const std::vector<BlobInfo>& inputs);

// What runtimes compute in place of the definition (reference/core/variants.h); as it begins: the definition.
struct QuantizedLstmWay {
  enum Rounding { kTwice, kTwiceUp, kOnce, kDown, kUp, kTowardsZero };
  enum Functions { kFixedPoint, kNearest, kLines };
  Rounding gates = kTwice, output = kTwice;     // of products with real factors
  Rounding cell = kTwice;                       // of both products of c': kTwice or kDown
  Functions functions = kFixedPoint;            // sigmoid and tanh: rounded to the nearest, by a table with lines
  bool limits_sums = true, limits_cell = true;  // to 16 bits, which wrap round otherwise
  bool keeps_h = true, keeps_c = true;          // from step to step
  bool twice = false;                           // from the states that the same call left before
  int h_more = 0;                               // to the zero point of h in front of R
  bool h_plain = false;                         // h without its zero point there
  bool h_from_zero = false;                     // h begins as the integer 0, not as its zero point
  bool coupled = false;                         // i is 1 - f
  bool tanh_of_cell = true;
  bool new_cell = true;  // that o's peepholes read
};

// y: i64. `given`: the y of a judged device, from which each step takes its h; null: y's own. InvalidArgument where an
// input holds an integer that its type does not have.
Status ComputeQuantizedLstm(const Layer& layer, const std::vector<const Tensor*>& inputs, const Tensor* given,
                            int64_t* y, const QuantizedLstmWay& way = {});

}  // namespace plumb

#endif  // PLUMB_OP_QUANTIZED_LSTM_H_
