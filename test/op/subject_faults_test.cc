// SPDX-License-Identifier: Apache-2.0
// Every operator of op_list.def is judged in a subject: its cases as NAIVE computes them are never wrong, and each of
// their outputs spoilt is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "op/core/op.h"
#include "op/device_test.h"
#include "plumb/check.h"
#include "util/op_case.h"
#include "util/op_graph.h"
#include "util/spoilt.h"
#include "util/stored_blobs.h"

namespace plumb {
namespace {

// Of which nothing is computed while a network runs.
const std::map<std::string, std::string>& NeverSpoilt() {
  static const std::map<std::string, std::string> ops = {
      {"PlumbEyeLike", "follows from the shape"},
      {"PlumbNonMaxSuppression", "its input must be known before the network runs"},
      {"PlumbNonZero", "its input must be known before the network runs"},
      {"PlumbUnique", "its input must be known before the network runs"},
      {"Shape", "follows from the shape"},
      {"Size", "follows from the shape"}};
  return ops;
}

// Where the fault is as right as the value.
const std::map<std::string, std::string>& AnythingIsRight() {
  static const std::map<std::string, std::string> cases = {
      {"ArgMaxOrMin/all_equal", "any index names a largest one"},
      {"GridSample/far_outside", "f32 has no places between the pixels there"}};
  return cases;
}

bool SaysSomething(const Tensor& tensor) {
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    if (std::isfinite(tensor.ValueAt(i))) return true;
  }
  return false;
}

std::string ReasonsOf(const RunReport& run) {
  std::string text;
  for (const LayerReport& layer : run.layers)
    text += layer.step.name + ": " + VerdictName(layer.verdict) + " " + layer.reason + "\n";
  return text;
}

struct SpoiltTally {
  std::set<std::string> judged;
  int cases = 0, faults = 0;
};

void JudgeOpCase(const OpCase& c, SpoiltTally* tally) {
  SCOPED_TRACE(c.op + "/" + c.name);
  const auto instance = Instantiate(c);
  if (!instance.ok()) return;  // Reference/* says why
  const auto is_half = [](const BlobInfo& out) { return out.dtype == DType::kF16 || out.dtype == DType::kBF16; };
  // Importers make f32 of these; blobs that only move would be judged, but Resize computes.
  if (std::any_of(instance->outputs.begin(), instance->outputs.end(), is_half)) return;
  const auto outputs = RunOnDevice(*instance, "NAIVE");
  if (!outputs.ok()) return;
  const Layer& layer = instance->layer();
  std::map<std::string, Tensor> inputs;
  for (size_t i = 0; i < layer.inputs.size(); ++i) {
    if (instance->graph.constants.count(layer.inputs[i]) == 0) inputs[layer.inputs[i]] = instance->inputs[i];
  }
  Stored subject{inputs};
  for (size_t i = 0; i < outputs->size(); ++i) subject.blobs[layer.outputs[i]] = (*outputs)[i];
  const auto healthy = CheckSubjectBlobs(instance->graph, subject, inputs, {});
  ASSERT_TRUE(healthy.ok()) << healthy.status().ToString();
  EXPECT_EQ(healthy->Count(Verdict::kWrong) + healthy->Count(Verdict::kGrey), 0) << ReasonsOf(*healthy);
  ++tally->cases;
  for (const LayerReport& step : healthy->layers) {
    for (const OutputReport& output : step.outputs) {
      const Tensor value = subject.blobs.at(output.blob);
      if (!SaysSomething(value)) continue;
      subject.blobs[output.blob] = Spoilt(value);
      const auto faulty = CheckSubjectBlobs(instance->graph, subject, inputs, {});
      ASSERT_TRUE(faulty.ok()) << faulty.status().ToString();
      const bool right = AnythingIsRight().count(c.op + "/" + c.name) != 0;
      EXPECT_EQ(faulty->verdict == Verdict::kWrong, !right) << "a fault in '" << output.blob << "'\n"
                                                            << ReasonsOf(*faulty);
      subject.blobs[output.blob] = value;
      ++tally->faults;
      tally->judged.insert(c.op);
    }
  }
}

TEST(SubjectFaults, EveryOperatorIsJudged) {
  SpoiltTally tally;
  for (const OpCase& c : AllOpCases()) {
    if (c.refused.empty()) JudgeOpCase(c, &tally);
  }
  std::printf("%d cases, %d faults, %zu operators\n", tally.cases, tally.faults, tally.judged.size());
  for (const OpDef& op : AllOps()) {
    EXPECT_EQ(tally.judged.count(op.name) + NeverSpoilt().count(op.name), 1u)
        << op.name << " is never judged, or is by now";
  }
}

}  // namespace
}  // namespace plumb
