// SPDX-License-Identifier: Apache-2.0
// IntegerStep: what a step between a DequantizeLinear and a QuantizeLinear (or an operator that is both and itself)
// computes from integers: the form of the operator, the integers that it reads, and the scales and zero points.
//   [QuantizeLinear] <- tail: what only moves or limits values <- operator <- [DequantizeLinear]
// A QLinearConv and the like, which become an integer product, a scale and a QuantizeLinear, are read so, too.
#ifndef PLUMB_CHECK_INTEGER_INTEGER_STEP_H_
#define PLUMB_CHECK_INTEGER_INTEGER_STEP_H_

#include <algorithm>
#include <vector>

#include "check/integer/integer_operand.h"
#include "check/judge/scene.h"
#include "check/judge/step_record.h"
#include "op/core/window.h"

namespace plumb {

enum class IntegerForm {
  kProduct,
  kSum,
  kTimes,
  kMean,
  kWindowMean,
  kReduceMean,
  kReduceSum,
  kSquaredDifference,
  kSoftmax,
  kLogSoftmax,
  kNorm,        // by the root of the sum of squares
  kElement,     // a function of one value
  kRequantise,  // the same values on another grid
  kJoin,        // several, one behind the other along an axis
  kPRelu,
  kResize
};

struct IntegerStep {
  IntegerForm form = IntegerForm::kProduct;
  // kSum, kTimes, kSquaredDifference, kPRelu (the slopes second): both operands, shaped like the result; of softmax,
  // norms, elements, resizes, kRequantise: the input; of kJoin: all; of means and kReduceSum: the sums; of kProduct
  // what a fused Add adds.
  std::vector<IntegerOperand> operands;
  bool subtracts = false;       // kSum: the second
  int left = -1;                // kSum: so many bits to the left in place of the rule's
  Layer base;                   // kElement, kResize
  int64_t count = 1;            // kMean, kReduceMean, kReduceSum: of each sum
  std::vector<int64_t> counts;  // kWindowMean: of each sum its own
  Window2D window;              // kWindowMean, kProduct: of x; of a transposed one its cuts, negative
  int axis = 0;                 // kSoftmax, kLogSoftmax, kNorm, kJoin
  float beta = 1;               // kSoftmax: what the input is multiplied with
  // kProduct: exact sums, the bias included (f64), each times the scale of its channel, i / inner % scales.size().
  Tensor sums;
  std::vector<float> scales;         // of the input times of the weights, rounded to f32
  std::vector<double> exact_scales;  // the same product in f64; empty: not known
  int64_t inner = 1;
  // What the sums were made of, where the layer says it: without it only the sums are known. The bias in whole steps.
  bool knows_terms = false;
  Layer product;              // with whole weights and a bias of 0
  std::vector<Layer> behind;  // a PadV2, which cuts or adds pixels
  IntegerOperand x;           // kWindowMean: what the sums are of
  int64_t weight_zero = 0;
  std::vector<double> bias;                     // of each channel; empty: none
  std::vector<float> real_bias, weight_scales;  // of each channel, as the graph has them

  Shape shape;  // of the operator's result
  float scale = 1;
  std::vector<float> channel_scales;  // in its place, as of an operand
  int64_t zero = 0, low = 0, high = 0;
  // kProduct: low and high are those of its own activation, and these what the type has.
  bool activated = false;
  bool rectified = false;  // kProduct: by a ReLU in front of the Add
  int64_t type_low = 0, type_high = 0;

  // What the device wrote behind a tail of no layer but ReLU; empty: not known, or there are others. For rules that
  // leave a number open which the integers tell.
  std::vector<int64_t> written;

  // What the tail makes of the operator's integers (q, zero point included), which are replaced.
  LayerGroup tail;
  std::vector<Tensor> tail_inputs;  // the first is left out
  std::vector<Layer> tail_layers;   // that are not the graph's

  // What a faulty kernel does otherwise.
  bool wraps = false;         // integers beyond the limits
  int factor_bits = 31;       // kProduct in fixed point
  int entry = 0;              // tables of 16 bits: so many entries further on
  bool lines = true;          // tables of 16 bits: between two entries
  bool halves = true;         // tables of 16 bits: rounded to the nearest, not down
  bool signed_bytes = false;  // the tail takes bytes of q + 128 for signed ones

  bool of_16_bits() const { return high - low > 255; }
  int64_t Limited(int64_t whole) const {
    if (!wraps) return std::clamp(whole + zero, low, high);
    const int64_t range = high - low + 1, off = (whole + zero - low) % range;
    return (off + range) % range + low;
  }
  float scale_at(int64_t i) const { return ScaleAt(channel_scales, scale, shape, i); }
  float operand_scale_at(size_t operand, int64_t i) const {
    return ScaleAt(operands[operand].scales, operands[operand].scale, shape, i);
  }
  size_t scale_index(int64_t i) const { return static_cast<size_t>(i / inner) % scales.size(); }
};

// Fills `written` with all that the device wrote, where the tail allows it.
void NoteWritten(std::vector<int64_t> integers, IntegerStep* step);

// The integers behind the tail, shaped like the step's output, i64.
Result<Tensor> BehindTail(const IntegerStep& step, const BlobTable& blobs, const std::vector<int64_t>& integers);

}  // namespace plumb

#endif  // PLUMB_CHECK_INTEGER_INTEGER_STEP_H_
