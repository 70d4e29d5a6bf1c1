// SPDX-License-Identifier: Apache-2.0
// What a kernel of integers does wrong: a step with one thing changed, whose integers by a rule are those that were
// written; or what is done with the reals that are quantised.
#ifndef PLUMB_CHECK_INTEGER_INTEGER_FAULTS_H_
#define PLUMB_CHECK_INTEGER_INTEGER_FAULTS_H_

#include <string>
#include <utility>
#include <vector>

#include "check/integer/integer_step.h"

namespace plumb {

struct StepFault {
  const char* computed;  // "without the bias"
  const char* says;      // "with it"
  // Changes the step. False: it does not apply.
  bool (*change)(IntegerStep* step, const BlobTable& blobs);
  // Both words, where they depend on the step; null: those above.
  std::pair<std::string, std::string> (*words)(const IntegerStep& step) = nullptr;
};

// What a kernel of 16 bits makes of an integer whose upper byte is lost, or whose bytes are exchanged: moved_faults.cc.
int64_t LowerByteOf(int64_t whole);
int64_t BytesExchanged(int64_t whole);

// product_faults.cc, window_faults.cc, value_faults.cc, operand_faults.cc
const std::vector<StepFault>& ProductFaults();
const std::vector<StepFault>& WindowFaults();
const std::vector<StepFault>& ValueFaults();
const std::vector<StepFault>& OperandFaults();

// product_faults.cc: the sums of a product whose input, weights or layers behind were changed; false: unknown.
bool SumAnew(IntegerStep* step, const BlobTable& blobs);

// The reals that a QuantizeLinear reads, in steps of its scale, and what it may give.
struct QuantisedReals {
  std::vector<double> steps;  // without the zero point
  int64_t zero = 0, low = 0, high = 0;
  bool away_from_zero = false;  // how halves are rounded; else to an even one
};

struct RealFault {
  const char* computed;
  const char* says;
  // The integer of one real.
  int64_t (*integer)(const QuantisedReals& reals, double steps);
};

// real_faults.cc
// Where halves are rounded away from zero, or to an even one.
const std::vector<RealFault>& RealFaults(bool away_from_zero);
// "with its values times 1.005", where a factor explains the integers better than 1; "": none does.
std::string NameRealFactor(const QuantisedReals& reals, const std::vector<int64_t>& device);

// moved_faults.cc: what became of right integers, by where they stand; "": nothing of what is known.
std::string NameMoved(const Shape& shape, const std::vector<int64_t>& right, int64_t zero,
                      const std::vector<int64_t>& device);

// A few integers are off by one.
std::string NameFew(const std::vector<int64_t>& right, const std::vector<int64_t>& device);
// channel_faults.cc: where only some channels are wrong, what became of them; "": nothing of what is known.
std::string NameChannels(const Shape& shape, const std::vector<int64_t>& right, int64_t zero,
                         const std::vector<int64_t>& device);

// The bits of saying which integers differ, and by how much: some hundred faults are tried, and one fits a few small
// differences by chance. Infinite of floats, and where none differs from what the graph says.
double BitsOfDifference(const StepRecord& record, size_t output);

// "computed with ...; the graph says ..." of what explains the output, which no rule does, best; "": nothing does.
std::string NameIntegerFault(const Scene& scene, const StepRecord& record, size_t output);
// "computed with its scale times 1.005; ...", where a factor of all values explains the output; "": none does.
std::string NameIntegerFactor(const Scene& scene, const StepRecord& record, size_t output);

}  // namespace plumb

#endif  // PLUMB_CHECK_INTEGER_INTEGER_FAULTS_H_
