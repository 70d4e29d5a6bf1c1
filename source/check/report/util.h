// SPDX-License-Identifier: Apache-2.0
// What the report writers share.
#ifndef PLUMB_CHECK_REPORT_UTIL_H_
#define PLUMB_CHECK_REPORT_UTIL_H_

#include <optional>
#include <string>
#include <vector>

#include "check/core/scores.h"
#include "plumb/report.h"

namespace plumb {

// As nlohmann::json::dump has it: -1 is one line.
std::string FormatJson(const CheckResult& result, int indent);

// "Convolution+ReLU": the members' types in order.
std::string TypesOf(const StepInfo& step);
// Where its nodes were written, each place once.
std::vector<std::string> SourceLinesOf(const StepInfo& step);

// The network output that differs most between the device and the reference's own run.
struct Agreement {
  std::string output;
  double relative =
      0;  // the largest difference over the largest value of the reference; infinite where only one side is finite
};
// Nothing where no output has a reference.
std::optional<Agreement> WorstAgreement(const RunReport& run);

// "'conv3' makes 96 % of its error, everything else 4 %", and of scores that changed places what moved them; empty
// where nothing is known.
std::vector<std::string> EffectSentences(const RunReport& run, const OutputSummary& output);

// "'router' (TopK): 7 of 512 choices are not the reference's: 5 by rounding ..."; "" where all are.
std::string ChoiceSentence(const RunReport& run, const ChoiceReport& choice);

// What a run found, in one sentence; FormatSummary without the command.
std::string VerdictSentence(const CheckedModel& checked, const RunReport& run);
// Of a run that is wrong: the command that shows it again; "" otherwise.
std::string ReproduceCommand(const CheckedModel& checked, const RunReport& run);

// What a run's verdict rests on, a sentence each: what was compared, on which values of the network inputs, what was
// not tested and why, and the smallest faults that could have been seen. All reports end with it.
std::vector<std::string> RestsOn(const CheckedModel& checked, const RunReport& run);

// The call that makes all runs again; "" where CheckedModel::reproduce is.
std::string WholeCommand(const CheckResult& result);

// "x=1,3,48,320": ChosenOptions without the fields' names.
std::string ChosenShapes(const CheckedModel& checked);

struct Range {
  double min = 0, max = 0, mean = 0;
};
Range RangeOf(const Tensor& tensor);

// " as int8 weights in 12 of 12 Convolution (found)", of at most three parts; "": in f32.
std::string AsText(const std::vector<ComputedAs>& computed);

}  // namespace plumb

#endif  // PLUMB_CHECK_REPORT_UTIL_H_
