// SPDX-License-Identifier: Apache-2.0
// Was a sum of products accumulated in fewer bits than it should have been? The signature of a low-precision
// accumulator: the difference collapses when the same terms are summed in f16 or bf16 in the device's order.
#ifndef PLUMB_CHECK_CAUSE_ACCUMULATOR_H_
#define PLUMB_CHECK_CAUSE_ACCUMULATOR_H_

#include <cstddef>
#include <string>
#include <vector>

#include "check/cause/computed_otherwise.h"
#include "check/cause/sample_sums.h"

namespace plumb {

// How terms may have been added up.
struct SumWay {
  bool half = false;  // f16, else bf16
  bool channels_inner = false, fused = false, bias_first = false;
  bool operands = false;  // rounded, too
  size_t lanes = 1;
  bool by_halves = false;  // lanes are put together in pairs
  bool cuts = false;       // each addition is cut off towards zero
  bool single = false;     // f32, of those that cut
};

float RoundedBy(const SumWay& way, float x);
float Accumulate(const SampleSum& sum, const SumWay& way);
// All that make a difference to such sums, the plainest first.
std::vector<SumWay> WaysOf(const SampleSum& sum);
// Those that cut, also in f32.
std::vector<SumWay> CuttingWaysOf(const SampleSum& sum);
// "accumulated in bf16, in 8 partial sums"
std::string Describe(const SumWay& way, const SampleSum& sum);

// "accumulated in f16, channels innermost, in 4 partial sums", or "". For steps of one Convolution, InnerProduct,
// MatMul with a constant operand, sum, mean or average pooling, on a sample of its outputs.
std::string NameAccumulator(const ReplayedStep& step);

// Of these only f32 whose additions are cut off towards zero: they drift, though within the bound where sums are short
// or in several parts.
std::string NameCuttingF32(const ReplayedStep& step);

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_ACCUMULATOR_H_
