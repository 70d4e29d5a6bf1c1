// SPDX-License-Identifier: Apache-2.0
// What a kernel of integers does wrong, exactly: ONNX Runtime's rule with one thing changed that gives a step's
// integers to the last one.
#ifndef PLUMB_CHECK_INTEGER_INTEGER_FAULTS_H_
#define PLUMB_CHECK_INTEGER_INTEGER_FAULTS_H_

#include <string>
#include <vector>

#include "check/integer/integer_step.h"

namespace plumb {

struct IntegerFault {
  const char* computed;  // "with rounding half away from zero"
  const char* says;      // "half to even"
  // The integers of the product in front of the tail. False: it does not apply.
  bool (*replay)(const IntegerStep& step, const BlobTable& blobs, std::vector<int64_t>* integers);
};

const std::vector<IntegerFault>& IntegerFaults();

// "computed with ...; the graph says ..." of the first that explains the output, which no rule does; "": none.
std::string NameIntegerFault(const Scene& scene, const StepRecord& record, size_t output);

}  // namespace plumb

#endif  // PLUMB_CHECK_INTEGER_INTEGER_FAULTS_H_
