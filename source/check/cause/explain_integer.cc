// SPDX-License-Identifier: Apache-2.0
// The cause of integers that are what a kernel's rule gives with one fault, to the last one.
#include "check/cause/explainers.h"
#include "check/integer/integer_faults.h"

namespace plumb {

std::optional<Answer> ExplainAsIntegerFault(const Question& question) {
  for (size_t output = 0; output < question.record.device.size(); ++output) {
    std::string cause = NameIntegerFault(question.scene, question.record, output);
    if (!cause.empty()) return Answer(std::move(cause));
  }
  return std::nullopt;
}

std::optional<Answer> ExplainAsIntegerFactor(const Question& question) {
  for (size_t output = 0; output < question.record.device.size(); ++output) {
    std::string cause = NameIntegerFactor(question.scene, question.record, output);
    if (!cause.empty()) return Answer(std::move(cause));
  }
  return std::nullopt;
}

}  // namespace plumb
