// SPDX-License-Identifier: Apache-2.0
// Values rounded to formats of few bits: floats one by one, whole steps by the range of those that share a scale.
#ifndef PLUMB_CHECK_NUMBERS_FEW_BITS_H_
#define PLUMB_CHECK_NUMBERS_FEW_BITS_H_

#include <cstdint>
#include <vector>

#include "check/numbers/value_range.h"

namespace plumb::few_bits {

double InHalf(double v);
double InBrain(double v);
// Bits cut off, as quick conversions do (ncnn's to f16).
double InCutHalf(double v);
double InCutBrain(double v);
double InTwoBrains(double v);
// A significand of so many bits.
double InBits(double v, int bits);
double CutBits(double v, int bits);
double InTf32(double v);
double InE4M3(double v);
double InE5M2(double v);

// -levels ... levels steps; of 127.5, all of -128 ... 127.
void Symmetric(const ValueRange& range, double levels, std::vector<double>* values);
// The value of the largest size is -levels steps of either sign: all of two's complement.
void Lopsided(const ValueRange& range, double levels, std::vector<double>* values);
// 0 ... levels steps, of which a whole one is zero.
void WithZeroPoint(const ValueRange& range, double levels, std::vector<double>* values);
// 0 ... levels steps above the smallest, all 0 where a step would be less than 1e-6 (MNN: channels that training left
// all but dead). The step is an f32, whose error would be that of a bias.
void WithOffset(const ValueRange& range, double levels, std::vector<double>* values);
// Steps that are kept in f16 when all values are rounded (OpenVINO's compressed weights).
void LopsidedKeptInHalf(const ValueRange& range, double levels, std::vector<double>* values);
void WithZeroPointKeptInHalf(const ValueRange& range, double levels, std::vector<double>* values);

constexpr double kMoved = 0x1p-21;  // of the largest: a quotient in f32 and, of a folded weight, some ulps more
// Of 255 steps one of 4096 is expected next to a tie.
bool IsByChance(int64_t next_to_ties, int64_t count);

}  // namespace plumb::few_bits

#endif  // PLUMB_CHECK_NUMBERS_FEW_BITS_H_
