// SPDX-License-Identifier: Apache-2.0
// What runtimes are known to compute in place of an operator: other functions, other sums, other bounds. A layer that
// one of them explains is wrong all the same; the report names it (check/cause/computed_otherwise.h). Each is defined
// beside the reference of its operator, those of one variable in variants.cc.
#ifndef PLUMB_REFERENCE_CORE_VARIANTS_H_
#define PLUMB_REFERENCE_CORE_VARIANTS_H_

#include <vector>

#include "reference/core/reference_op.h"

namespace plumb {

// A function of one variable. Those of one family are taken for one another; the first that fits a step's values is
// what the graph says.
struct FunctionVariant {
  const char* family;
  const char* name;
  double (*y)(double x);
  ReferenceOp op;  // of one input and one output
  // What fast kernels compute for one of the others.
  bool approximate = false;
};
const std::vector<FunctionVariant>& FunctionVariants();

// Sigmoid, Tanh, Erf and Log with the bound of kernels that are right relatively, however small the result; null for
// others.
const ReferenceOp* RelativeClass(OpKind kind);

// norm.cc, for InstBatchNormCxx, GroupNorm, LayerNorm: variance as E[x^2] - mean^2, which loses mean^2 / variance, and
// divided by n - 1; around zero in place of the mean (RMS); (x - mean) / (sqrt(variance) + eps).
ReferenceOp OnePassNorm();
ReferenceOp UnbiasedNorm();
ReferenceOp RmsNorm();
ReferenceOp OutsideEpsilonNorm();
// The same with the mean and variance of the first batch element (of LayerNorm: row), or of the one before.
ReferenceOp FirstStatisticsNorm();
ReferenceOp PreviousStatisticsNorm();
// lrn.cc: squares added and subtracted along the channels.
ReferenceOp SlidingLrn();
// softmax.cc: exp(x) / sum exp(x) without the maximum; log of Softmax's result, and the same cut off at log(FLT_MIN).
ReferenceOp UnshiftedSoftmax();
ReferenceOp LogOfSoftmax();
ReferenceOp LogOfClippedSoftmax();
// reduce.cc: log sum exp(x) without the maximum.
ReferenceOp UnshiftedLogSumExp();
// resize.cc: linear weights of 8 and of 11 bits.
ReferenceOp SampledResize();
ReferenceOp ElevenBitsResize();
// recurrent.cc: from the states that the same call ends with; an LSTM whose new c is not clipped in front of k.
ReferenceOp KeptStateRecurrent();
ReferenceOp UnclippedCellLstm();
// Each x and h rounded to int8, by its largest value or by its range: LSTM and RNN.
ReferenceOp HybridRecurrent();
ReferenceOp AsymmetricHybridRecurrent();
// quantize_linear.cc
ReferenceOp QuantizeHalfAway();
ReferenceOp QuantizeHalfUp();
ReferenceOp QuantizeHalfDown();
ReferenceOp QuantizeZeroFirst();  // half to even of x / scale + zero point
ReferenceOp QuantizeDown();
ReferenceOp QuantizeTowardsZero();
// matmul_integer.cc: u8 times i8 in pairs that saturate at 16 bits (vpmaddubsw, x86 without VNNI).
ReferenceOp SaturatingMatMulInteger();
ReferenceOp SaturatingSumsMatMulInteger();  // every addition
// dynamic_quantize_lstm.cc: the same of its products; x and h as they are.
ReferenceOp SaturatingDynamicQuantizeLstm();
ReferenceOp UnroundedDynamicQuantizeLstm();
// quantized_lstm.cc: of a PlumbQuantizedLSTM, with the words of Proposal.
struct NamedVariant {
  const char *computed, *says, *family;
  ReferenceOp op;
};
const std::vector<NamedVariant>& QuantizedLstmVariants();
// variants.cc: sums of products whose operands are rounded to 11 bits (tf32) or bf16 first.
ReferenceOp Tf32Operands();
ReferenceOp Bf16Operands();
ReferenceOp F16Operands();
// The same with each operand as the sum of two bf16, without the product of the two small ones.
ReferenceOp SplitBf16Operands();
// variants.cc: powers as exp2(exponent log2 base): NaN for a negative base.
ReferenceOp PowerByLog();

}  // namespace plumb

#endif  // PLUMB_REFERENCE_CORE_VARIANTS_H_
