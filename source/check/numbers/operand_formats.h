// SPDX-License-Identifier: Apache-2.0
// Formats of few bits into which runtimes put what a product reads while the network runs.
#ifndef PLUMB_CHECK_NUMBERS_OPERAND_FORMATS_H_
#define PLUMB_CHECK_NUMBERS_OPERAND_FORMATS_H_

#include <string>
#include <vector>

#include "check/numbers/weight_formats.h"

namespace plumb {

// Activations: element by element, or to whole steps of a scale that is found when the network runs.
struct OperandFormat {
  std::string words;
  double (*round)(double) = nullptr;  // else whole steps:
  bool zero_point = false;
  // Values that share a scale: all; those of the last axis; those of all channels at one place of an image, which are
  // the rows of a convolution that is computed as a matrix product; those of one image.
  enum Share { kAll, kRow, kPixel, kImage } share = kAll;
  const WeightFormat* bits = nullptr;  // one of BitFormats()
  size_t block = 0;                    // so many neighbours share a scale; 0: all do
};
const std::vector<OperandFormat>& OperandFormats();
// In the order of BitFormats().
const std::vector<OperandFormat>& BitOperandFormats();
// The one that is called so. REQUIRES: it is among OperandFormats().
const OperandFormat& OperandFormatOf(const std::string& words);

// Values that share a scale.
void RoundOperands(const OperandFormat& format, const ValueRange& range, std::vector<double>* values);
// Of whole steps: how far elements that lie next to a tie may be off. Empty: none is, or too many for chance.
Result<Tensor> UncertainOperand(const OperandFormat& format, const Tensor& operand);
// A whole operand.
Result<Tensor> RoundedOperand(const OperandFormat& format, const Tensor& operand, double moved = 0);

}  // namespace plumb

#endif  // PLUMB_CHECK_NUMBERS_OPERAND_FORMATS_H_
