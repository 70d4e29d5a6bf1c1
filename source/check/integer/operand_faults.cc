// SPDX-License-Identifier: Apache-2.0
// Faults of operands: their integers, zero points and scales.
#include <cmath>
#include <utility>

#include "check/integer/integer_faults.h"

namespace plumb {
namespace {

// An operand's whole numbers, changed by f(whole, zero).
template <class F>
bool WithOperand(IntegerStep* step, size_t operand, F f) {
  if (operand >= step->operands.size()) return false;
  IntegerOperand& x = step->operands[operand];
  auto whole = x.whole.Clone();
  if (!whole.ok() || whole->dtype() != DType::kF64) return false;
  // Of sums the zero point counts as often as there are terms.
  const bool sums = step->form == IntegerForm::kReduceMean || step->form == IntegerForm::kReduceSum ||
                    step->form == IntegerForm::kMean;
  const double zero = static_cast<double>(x.zero) * (sums ? static_cast<double>(step->count) : 1);
  for (int64_t i = 0; i < whole->NumElements(); ++i) whole->data<double>()[i] = f(whole->data<double>()[i], zero);
  x.whole = std::move(*whole);
  return true;
}

template <int kOperand>
bool ZeroOfOperandLost(IntegerStep* step, const BlobTable&) {
  const bool has = static_cast<size_t>(kOperand) < step->operands.size() && step->operands[kOperand].zero != 0;
  return has && WithOperand(step, kOperand, [](double v, double zero) { return v + zero; });
}

template <int kOperand, int kBy>
bool OperandOff(IntegerStep* step, const BlobTable&) {
  return WithOperand(step, kOperand, [](double v, double) { return v + kBy; });
}

template <int kOperand>
bool OperandLost(IntegerStep* step, const BlobTable&) {
  return step->operands.size() == 2 && WithOperand(step, kOperand, [](double, double) { return 0; });
}

bool EverySecondEntry(IntegerStep* step, const BlobTable&) {
  return WithOperand(step, 0, [](double v, double zero) { return 2 * std::floor((v + zero) / 2) - zero; });
}

bool ScalesExchanged(IntegerStep* step, const BlobTable&) {
  if (step->operands.size() != 2) return false;
  std::swap(step->operands[0].scale, step->operands[1].scale);
  std::swap(step->operands[0].scales, step->operands[1].scales);
  return true;
}

bool ZerosExchanged(IntegerStep* step, const BlobTable&) {
  if (step->operands.size() != 2 || step->form == IntegerForm::kProduct) return false;
  const auto apart = static_cast<double>(step->operands[0].zero - step->operands[1].zero);
  const auto by = [](double off) { return [off](double v, double) { return v + off; }; };
  return apart != 0 && WithOperand(step, 0, by(apart)) && WithOperand(step, 1, by(-apart));
}

bool ScaleOfFirstOperand(IntegerStep* step, const BlobTable&) {
  if (step->operands.size() != 2 || step->operands[0].scale == step->operands[1].scale) return false;
  step->operands[1].scale = step->operands[0].scale;
  return true;
}

bool FirstOperandTwice(IntegerStep* step, const BlobTable&) {
  if (step->operands.size() != 2) return false;
  step->operands[1] = step->operands[0];
  return true;
}

// Integers that are taken as those of the result.
bool NotRescaled(IntegerStep* step, const BlobTable&) {
  const bool sums = step->form == IntegerForm::kReduceMean || step->form == IntegerForm::kMean ||
                    step->form == IntegerForm::kWindowMean;
  const bool moves = step->form == IntegerForm::kJoin || step->form == IntegerForm::kRequantise;
  if (!sums && !moves && step->form != IntegerForm::kSum) return false;
  for (size_t k = 0; k < step->operands.size(); ++k) {
    IntegerOperand& x = step->operands[k];
    const auto apart = static_cast<double>(x.zero - step->zero);
    if (sums && !step->counts.empty() && apart != 0) return false;
    const double times = sums ? static_cast<double>(step->count) : 1;
    if (!WithOperand(step, k, [&](double v, double) { return v + apart * times; })) return false;
    x.scale = step->scale;
    x.zero = step->zero;
  }
  return !step->operands.empty();
}

// A table that is read as if its index had the other sign.
bool HighestBitOfOperand(IntegerStep* step, const BlobTable&) {
  const bool is_signed = step->type_low < 0 || step->low < 0;
  const double half = is_signed ? 0 : 128;
  return step->form == IntegerForm::kElement && !step->of_16_bits() &&
         WithOperand(step, 0, [half](double v, double zero) { return v + zero >= half ? v - 128 : v + 128; });
}

bool OperandsExchanged(IntegerStep* step, const BlobTable&) {
  if (!step->subtracts) return false;
  std::swap(step->operands[0], step->operands[1]);
  return true;
}

bool AddedForSubtracted(IntegerStep* step, const BlobTable&) {
  step->subtracts = !step->subtracts;
  return step->form == IntegerForm::kSum;
}

template <int kBits>
bool ShiftedLeftBy(IntegerStep* step, const BlobTable&) {
  step->left = kBits;
  return step->form == IntegerForm::kSum;
}

template <int kOperand>
bool ScaleOfOperandLost(IntegerStep* step, const BlobTable&) {
  if (static_cast<size_t>(kOperand) >= step->operands.size()) return false;
  step->operands[kOperand].scale = 1;
  return true;
}

template <int kOperand, int kNumerator, int kDenominator>
bool ScaleOfOperandTimes(IntegerStep* step, const BlobTable&) {
  if (static_cast<size_t>(kOperand) >= step->operands.size() || step->form == IntegerForm::kProduct) return false;
  step->operands[kOperand].scale *= static_cast<float>(kNumerator) / kDenominator;
  return true;
}

bool RatioInverted(IntegerStep* step, const BlobTable&) {
  if (step->form != IntegerForm::kRequantise) return false;
  std::swap(step->operands[0].scale, step->scale);
  return true;
}

}  // namespace

const std::vector<StepFault>& OperandFaults() {
  static const auto* faults = new std::vector<StepFault>{
      {"without the zero point of the input", "with it", ZeroOfOperandLost<0>},
      {"without the zero point of the second operand", "with it", ZeroOfOperandLost<1>},
      {"with the next integer of the input (an entry further in its table)", "its own", OperandOff<0, 1>},
      {"with the integer of the input before (the entry before in its table)", "its own", OperandOff<0, -1>},
      {"with the second operand and one more", "its own", OperandOff<1, 1>},
      {"without the first operand", "both", OperandLost<0>},
      {"without the second operand", "both", OperandLost<1>},
      {"with every second integer of the input", "all", EverySecondEntry},
      {"with the scales of its operands exchanged", "each its own", ScalesExchanged},
      {"with the zero points of its operands exchanged", "each its own", ZerosExchanged},
      {"with the scale of the first operand for both", "each its own", ScaleOfFirstOperand},
      {"with the first operand twice", "both", FirstOperandTwice},
      {"with its integers not rescaled", "taken from their scales to the result's", NotRescaled},
      {"with the highest bit of its input turned (a table of the other sign)", "as it is", HighestBitOfOperand},
      {"with its operands exchanged", "in order", OperandsExchanged},
      {"with the sum in place of the difference, or the other way", "the other", AddedForSubtracted},
      {"without a shift to the left in front of the sum", "all bits", ShiftedLeftBy<0>},
      {"shifted by 4 bits to the left in front of the sum", "all bits", ShiftedLeftBy<4>},
      {"shifted by 8 bits to the left in front of the sum", "all bits", ShiftedLeftBy<8>},
      {"without the scale of the first operand", "with it", ScaleOfOperandLost<0>},
      {"without the scale of the second operand", "with it", ScaleOfOperandLost<1>},
      {"with half the scale of the input", "the scale", ScaleOfOperandTimes<0, 1, 2>},
      {"with twice the scale of the input", "the scale", ScaleOfOperandTimes<0, 2, 1>},
      {"with the ratio of the scales upside down", "the ratio", RatioInverted},
  };
  return *faults;
}

}  // namespace plumb
