// SPDX-License-Identifier: Apache-2.0
// A dump that was written over after it was read: left out and said. What a layer really wrote stays wrong.
#include "check/subject/overwritten.h"

#include <cmath>

#include "computed_otherwise_util.h"

namespace plumb {
namespace {

// x -> Sigmoid -> a -> Exp -> b -> Tanh -> c
Graph ThreeLayers() {
  return GraphOf({MakeLayer(OpKind::kSigmoid, "A", {"x"}, {"a"}), MakeLayer(OpKind::kSoftplus, "B", {"a"}, {"b"}),
                  MakeLayer(OpKind::kTanh, "C", {"b"}, {"c"})},
                 {1, 100});
}

Tensor Of(const Tensor& x, double (*f)(double)) {
  Tensor y = x.Clone().value();
  for (int64_t i = 0; i < y.NumElements(); ++i)
    y.data<float>()[i] = static_cast<float>(f(static_cast<double>(y.data<float>()[i])));
  return y;
}

double SigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }
double SoftplusOf(double x) { return std::log1p(std::exp(x)); }
double TanhOf(double x) { return std::tanh(x); }
double Unrelated(double x) { return 1e20 * x; }

Stored Healthy() {
  Stored subject;
  subject.blobs["x"] = Gauss({1, 100});
  subject.blobs["a"] = Of(subject.blobs.at("x"), SigmoidOf);
  subject.blobs["b"] = Of(subject.blobs.at("a"), SoftplusOf);
  subject.blobs["c"] = Of(subject.blobs.at("b"), TanhOf);
  return subject;
}

RunReport JudgeAll(const Graph& graph, const Stored& subject, const std::set<std::string>& expected_left_out = {}) {
  const std::map<std::string, Tensor> inputs = {{"x", subject.blobs.at("x")}};
  RunReport report = CheckSubjectBlobs(graph, subject, inputs, {}).value();
  std::set<std::string> left_out;
  report = LeaveOutOverwritten(graph, subject, inputs, {}, std::move(report), &left_out).value();
  EXPECT_EQ(left_out, expected_left_out);
  return report;
}

TEST(Overwritten, IsLeftOutAndSaid) {
  const Graph graph = ThreeLayers();
  Stored subject = Healthy();
  EXPECT_EQ(JudgeAll(graph, subject).verdict, Verdict::kAligned);
  subject.blobs["a"] = Of(subject.blobs.at("a"), Unrelated);
  const RunReport run = JudgeAll(graph, subject, {"a"});
  EXPECT_EQ(run.verdict, Verdict::kGrey);
  ASSERT_EQ(run.layers.size(), 2u);
  EXPECT_EQ(run.layers[0].step.members.size(), 2u);
  EXPECT_EQ(run.layers[0].verdict, Verdict::kGrey);
  const std::string says =
      "the dump of 'a' is neither what 'A' makes nor what its readers read: 'B' works in its memory";
  EXPECT_EQ(run.layers[0].reason.rfind(says, 0), 0u) << run.layers[0].reason;
  ASSERT_FALSE(run.notes.empty());
  EXPECT_EQ(run.notes.back().rfind(says, 0), 0u) << run.notes.back();
}

// What was written is what was read.
TEST(Overwritten, ATrueFaultStaysWrong) {
  const Graph graph = ThreeLayers();
  Stored subject = Healthy();
  subject.blobs["a"] = Of(subject.blobs.at("a"), Unrelated);
  subject.blobs["b"] = Of(subject.blobs.at("a"), SoftplusOf);
  subject.blobs["c"] = Of(subject.blobs.at("b"), TanhOf);
  EXPECT_EQ(JudgeAll(graph, subject).first_wrong, 0);
  // Two layers, each wrong in its own way.
  subject.blobs["b"] = Of(subject.blobs.at("b"), Unrelated);
  subject.blobs["c"] = Of(subject.blobs.at("b"), TanhOf);
  const RunReport both = JudgeAll(graph, subject);
  EXPECT_EQ(both.first_wrong, 0);
  EXPECT_EQ(both.layers.size(), 3u);
}

// A value or two that differ are no memory that another layer uses.
TEST(Overwritten, AFewValuesStayWrong) {
  const Graph graph = ThreeLayers();
  Stored subject = Healthy();
  subject.blobs.at("a").data<float>()[7] += 0.1f;
  EXPECT_EQ(JudgeAll(graph, subject).first_wrong, 0);
}

// The network's output is what its reader gets.
TEST(Overwritten, AnOutputStaysWrong) {
  Graph graph = ThreeLayers();
  graph.outputs.emplace_back("a");
  Stored subject = Healthy();
  subject.blobs["a"] = Of(subject.blobs.at("a"), Unrelated);
  EXPECT_EQ(JudgeAll(graph, subject).first_wrong, 0);
}

}  // namespace
}  // namespace plumb
