// SPDX-License-Identifier: Apache-2.0
// A constant that a node computes while the model loads is judged like what nodes compute while a network runs: of
// every operator, with the inputs of the ONNX backend tests as initialisers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <set>

#include "format/onnx/backend_case.h"
#include "format/onnx/node_verdict.h"

namespace plumb {
namespace {

std::string VerdictsOf(const RunReport& run) {
  std::string text;
  for (const LayerReport& layer : run.layers)
    text += layer.step.name + " (" + layer.step.type + "): " + VerdictName(layer.verdict) + ", " + layer.reason + "\n";
  return text;
}

struct ConstantFault {
  const char* name;
  std::function<void(float* values, int64_t count)> plant;
};

const std::vector<ConstantFault>& ConstantFaults() {
  static const auto* faults = new std::vector<ConstantFault>{
      {"NaN", [](float* v, int64_t count) { v[count / 2] = std::numeric_limits<float>::quiet_NaN(); }},
      {"twice the values", [](float* v, int64_t n) { std::for_each(v, v + n, [](float& value) { value *= 2; }); }},
      {"one value", [](float* v, int64_t count) { v[count - 1] += 10 + std::fabs(v[count - 1]); }},
  };
  return *faults;
}

struct FoldedTally {
  std::set<std::string> seen, judged;
  int cases = 0, faults = 0;
};

// The network adds 0 to the constant, as the runtime has it.
Stored SubjectWith(const BackendModel& model, const std::string& tensor, const Tensor& constant) {
  Stored subject{model.inputs};
  for (const std::string& name : model.tensors) {
    const Tensor& value = name == tensor ? constant : model.record.folded.constants.at(name);
    subject.blobs[name] = subject.blobs["sum/" + name] = value;
  }
  return subject;
}

Result<RunReport> Judged(const BackendModel& model, const std::string& tensor, const Tensor& constant) {
  SubjectOptions options;
  options.check.record = &model.record;
  options.check.causes = false;
  return CheckSubjectBlobs(model.graph, SubjectWith(model, tensor, constant), model.inputs, options);
}

bool IsFinite(const Tensor& constant) {
  const float* values = constant.data<float>();
  return std::all_of(values, values + constant.NumElements(), [](float value) { return std::isfinite(value); });
}

void JudgeFault(const BackendModel& model, const std::string& tensor, const ConstantFault& fault, FoldedTally* tally) {
  const Tensor& ours = model.record.folded.constants.at(tensor);
  Tensor theirs = ours.Clone().value();
  fault.plant(theirs.data<float>(), theirs.NumElements());
  if (!IsFinite(ours) || std::memcmp(theirs.raw(), ours.raw(), ours.bytes()) == 0) return;  // infinite before, or 2 * 0
  const auto run = Judged(model, tensor, theirs);
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  ASSERT_GE(run->first_wrong, 0) << fault.name << " in '" << tensor << "'\n" << VerdictsOf(*run);
  EXPECT_EQ(run->layers[static_cast<size_t>(run->first_wrong)].step.index, -1) << fault.name << VerdictsOf(*run);
  ++tally->faults;
  tally->judged.insert(model.op_types.size() == 1 ? model.op_types[0] : "several");
}

void JudgeFoldedCase(const std::string& folder, FoldedTally* tally) {
  const std::string name = folder.substr(folder.rfind('/') + 1);
  // onnx 1.17: a gap. A fault in what its CastLike hands on, zeros that an empty set gives, is called "not tested".
  if (name == "test_reduce_l2_empty_set_expanded") return;
  SCOPED_TRACE(name);
  const auto model = LoadFoldedCase(folder);
  if (!model.ok()) return;  // no floats, or nothing that is imported
  const std::string op = model->op_types.size() == 1 ? model->op_types[0] : "several";
  if (op == "Bernoulli") return;  // it is drawn
  const auto finite = [&](const std::string& tensor) {
    const auto constant = model->record.folded.constants.find(tensor);
    return constant != model->record.folded.constants.end() && IsFinite(constant->second);
  };
  // onnx 1.17: of ReduceLogSumExp the only case in f32 is that of an empty set, an infinity.
  if (std::any_of(model->tensors.begin(), model->tensors.end(), finite)) tally->seen.insert(op);
  if (model->graph.layers.size() != model->tensors.size()) return;  // not all of it is folded
  for (const std::string& tensor : model->tensors)
    ASSERT_EQ(model->record.folded.constants.count(tensor), 1u) << "no node has '" << tensor << "'";
  const std::string& any = model->tensors[0];
  const auto healthy = Judged(*model, any, model->record.folded.constants.at(any));
  ASSERT_TRUE(healthy.ok()) << healthy.status().ToString();
  EXPECT_EQ(healthy->Count(Verdict::kWrong) + healthy->Count(Verdict::kGrey), 0) << VerdictsOf(*healthy);
  ++tally->cases;
  for (const std::string& tensor : model->tensors) {
    for (const ConstantFault& fault : ConstantFaults()) JudgeFault(*model, tensor, fault, tally);
  }
}

TEST(FoldedConstants, OfEveryOperatorAreJudged) {
  const std::vector<std::string> folders = BackendCases("node");
  if (folders.empty()) GTEST_SKIP() << "install libonnx-testdata to judge every operator of the ONNX backend tests";
  FoldedTally tally;
  for (const std::string& folder : folders) JudgeFoldedCase(folder, &tally);
  std::printf("%d cases, %d faults, %zu operators\n", tally.cases, tally.faults, tally.judged.size());
  for (const std::string& op : tally.seen) EXPECT_EQ(tally.judged.count(op), 1u) << op << " is never judged";
}

}  // namespace
}  // namespace plumb
