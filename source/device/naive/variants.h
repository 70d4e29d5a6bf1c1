// What runtimes are known to compute in place of an operator: other functions, other sums, other bounds. A layer that
// one of them explains is wrong all the same; the report names it (check/alternatives.h). Each is defined beside the
// reference of its operator, those of one variable in variants.cc.
#ifndef PLUMB_DEVICE_NAIVE_VARIANTS_H_
#define PLUMB_DEVICE_NAIVE_VARIANTS_H_

#include <vector>

#include "device/naive/naive_op.h"

namespace plumb {

// A function of one variable. Those of one family are taken for one another; the first that fits a step's values is
// what the graph says.
struct FunctionVariant {
  const char* family;
  const char* name;
  double (*y)(double x);
  NaiveOp op;  // of one input and one output
};
const std::vector<FunctionVariant>& FunctionVariants();

// Sigmoid, Tanh and Erf with the bound of kernels that are right relatively, however small the result; null for others.
const NaiveOp* RelativeClass(OpKind kind);

// norm.cc, for InstBatchNormCxx, GroupNorm, LayerNorm: variance as E[x^2] - mean^2, which loses mean^2 / variance, and
// divided by n - 1.
NaiveOp OnePassNorm();
NaiveOp UnbiasedNorm();
// lrn.cc: squares added and subtracted along the channels.
NaiveOp SlidingLrn();
// softmax.cc: exp(x) / sum exp(x) without the maximum; log of Softmax's result, and the same cut off at log(FLT_MIN).
NaiveOp UnshiftedSoftmax();
NaiveOp LogOfSoftmax();
NaiveOp LogOfClippedSoftmax();
// reduce.cc: log sum exp(x) without the maximum.
NaiveOp UnshiftedLogSumExp();
// resize.cc: linear weights of 8 bits.
NaiveOp SampledResize();
// quantize_linear.cc
NaiveOp QuantizeHalfAway();
NaiveOp QuantizeHalfUp();
NaiveOp QuantizeDown();
NaiveOp QuantizeTowardsZero();
// matmul_integer.cc: u8 times i8 in pairs that saturate at 16 bits (vpmaddubsw, x86 without VNNI).
NaiveOp SaturatingMatMulInteger();
// variants.cc: sums of products whose operands are rounded to 11 bits (tf32) or bf16 first.
NaiveOp Tf32Operands();
NaiveOp Bf16Operands();
NaiveOp F16Operands();
// variants.cc: a Convolution with one pad of each axis moved to the other end.
NaiveOp PadsToTheEnd();
NaiveOp PadsToTheBeginning();
// variants.cc: powers as exp2(exponent log2 base): NaN for a negative base.
NaiveOp PowerByLog();

}  // namespace plumb

#endif  // PLUMB_DEVICE_NAIVE_VARIANTS_H_
