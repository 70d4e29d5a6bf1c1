// SPDX-License-Identifier: Apache-2.0
// Two dumps or sets of tensors compared: what is paired with what, what is judged how, and what the reports hold.
#include "plumb/diff.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "session/session_test_util.h"
#include "tensor/npy.h"

namespace plumb {
namespace {

const std::string kDigits = PLUMB_EXAMPLES "/digits/digits.tnnproto";

class DiffTest : public ScratchFolder {
 protected:
  // Digits on NAIVE; with another seed another input.
  std::string Dump(const std::string& name, uint64_t seed, bool inputs = true) {
    auto network = CreateNetwork(LoadModel(kDigits).value(), "NAIVE").value();
    DumpOptions dump;
    dump.inputs = inputs;
    dump.outputs = true;
    dump.format = DumpOptions::Format::kNpy;
    dump.folder = At(name);
    EXPECT_TRUE(AddDump(network.get(), dump).ok());
    InputOptions options;
    options.seed = seed;
    EXPECT_TRUE(RunNetwork(network.get(), PrepareInputs(options, network->graph()).value().values).ok());
    return At(name);
  }
};

TEST_F(DiffTest, TwoFilesAreOnePairByTheRule) {
  const std::string a = WriteText("a.txt", "1\n-2\n6\n"), b = WriteText("b.txt", "1\n-1\n3\n");
  const DiffReport report = DiffDumps(a, b).value();
  ASSERT_EQ(report.pairs.size(), 1u);
  const DiffPair& pair = report.pairs[0];
  EXPECT_EQ(report.verdict, Verdict::kWrong);
  EXPECT_EQ(pair.sum_diff, 2);
  EXPECT_EQ(pair.sum_abs_diff, 4);
  EXPECT_EQ(pair.result.metrics.max_abs, 3);
  EXPECT_EQ(pair.result.metrics.worst, 2);
  EXPECT_EQ(pair.result.failing, 2);
  EXPECT_EQ(pair.a.min, -2);
  EXPECT_EQ(pair.b.mean, 1);
  EXPECT_EQ(report.FirstWrong(), &pair);
  DiffOptions wide;
  wide.rule.atol = 3;
  EXPECT_EQ(DiffDumps(a, b, wide)->verdict, Verdict::kAligned);
}

TEST_F(DiffTest, AFileThatIsNotThereIsNamedAndARuleThatReadsNoToleranceSaysSo) {
  EXPECT_EQ(DiffDumps(At("a.txt"), At("b.txt")).status().message(), "there is no file or folder '" + At("a.txt") + "'");
  const std::string a = WriteText("a.txt", "1\n");
  DiffOptions options;
  options.rule.kind = ComparisonRule::kTnn;
  options.rule.atol = 1;
  const std::string message = DiffDumps(a, a, options).status().message();
  EXPECT_EQ(message.rfind("ComparisonRule::atol does nothing with ComparisonRule::kind tnn, which is ", 0), 0u)
      << message;
  EXPECT_TRUE(
      Has(ParseRule("best").status().message(), "ComparisonRule::kind: expected default, allclose, tnn or cosine"));
}

TEST_F(DiffTest, SpecialValuesAndWideIntegersAreNotLost) {
  const auto diff = [&](const Tensor& a, const Tensor& b) {
    return DiffDumps(WriteNpz("a.npz", {{"x", a}}), WriteNpz("b.npz", {{"x", b}})).value();
  };
  const DiffReport specials = diff(Values({1, NAN, INFINITY, 4}), Values({1, NAN, INFINITY, 5}));
  const DiffPair& special = specials.pairs.at(0);
  EXPECT_EQ(special.result.failing, 1);
  EXPECT_EQ(special.sum_abs_diff, 1);
  EXPECT_EQ(special.a.nans, 1);
  EXPECT_EQ(special.b.infinities, 1);
  EXPECT_EQ(diff(Values({1, NAN}), Values({1, 2})).verdict, Verdict::kWrong);
  Tensor big = Tensor::Create(DType::kI64, {1}).value(), next = Tensor::Create(DType::kI64, {1}).value();
  big.data<int64_t>()[0] = int64_t{1} << 60;
  next.data<int64_t>()[0] = (int64_t{1} << 60) + 1;
  const DiffReport integers = diff(big, next);
  EXPECT_EQ(integers.verdict, Verdict::kWrong);
  EXPECT_EQ(integers.pairs.at(0).sum_diff, -1);
}

TEST_F(DiffTest, AnotherShapeIsSaidAndTheOrderOfTheAxes) {
  Tensor first = Tensor::Create(DType::kF32, {1, 3, 2, 2}).value(),
         last = Tensor::Create(DType::kF32, {1, 2, 2, 3}).value();
  for (int i = 0; i < 12; ++i) {
    first.data<float>()[i] = static_cast<float>(i * i + 1);
    last.data<float>()[i % 4 * 3 + i / 4] = first.data<float>()[i];
  }
  ASSERT_TRUE(WriteNpy(At("a.npy"), first).ok());
  ASSERT_TRUE(WriteNpy(At("b.npy"), last).ok());
  const DiffReport turned = DiffDumps(At("a.npy"), At("b.npy")).value();
  EXPECT_EQ(turned.verdict, Verdict::kWrong);
  EXPECT_EQ(
      turned.pairs[0].reason,
      "shapes differ: [1,3,2,2] in A, [1,2,2,3] in B, the values are right in NHWC order; 10 of 12 values differ");
  last.data<float>()[0] = 77;
  ASSERT_TRUE(WriteNpy(At("b.npy"), last).ok());
  const DiffReport other = DiffDumps(At("a.npy"), At("b.npy")).value();
  EXPECT_EQ(other.pairs[0].reason,
            "shapes differ: [1,3,2,2] in A, [1,2,2,3] in B, compared in memory's order; 11 of 12 values differ");
}

TEST_F(DiffTest, DumpsArePairedPlaceByPlace) {
  const std::string one = Dump("one", 1), again = Dump("again", 1, false);
  size_t told = 0, total = 0;
  DiffOptions options;
  options.progress = [&](size_t done, size_t all) { told = done, total = all; };
  const DiffReport report = DiffDumps(one, again, options).value();
  EXPECT_EQ(report.verdict, Verdict::kAligned);
  EXPECT_EQ(report.pairs.size(), 10u);
  EXPECT_EQ(told, 10u);
  EXPECT_EQ(total, 10u);
  EXPECT_EQ(report.only_a.size(), 10u) << "the inputs, which the other dump lacks";
  EXPECT_TRUE(report.only_b.empty());
  EXPECT_EQ(report.pairs[0].Name(), "00000 conv1 out 0 'conv1'");
  EXPECT_EQ(report.pairs[0].type, "Convolution");
}

TEST_F(DiffTest, OtherInputsAreToldFromOtherLayers) {
  const DiffReport same = DiffDumps(Dump("one", 1), Dump("again", 1)).value();
  EXPECT_TRUE(same.DifferentInputs().empty());
  const DiffReport other = DiffDumps(At("one"), Dump("two", 2)).value();
  ASSERT_EQ(other.DifferentInputs().size(), 1u);
  EXPECT_EQ(other.DifferentInputs()[0]->blob, "input");
  EXPECT_EQ(FormatDiffSummary(other).rfind("The network inputs differ: 'input' by up to ", 0), 0u)
      << FormatDiffSummary(other);
}

TEST_F(DiffTest, NamesAndOrderPairWhatIsCalledOtherwise) {
  const std::string a = WriteNpz("a.npz", {{"conv", Values({1, 2})}, {"fc", Values({3})}});
  const std::string b = WriteNpz("b.npz", {{"layer_0", Values({1, 2})}, {"layer_1", Values({3})}});
  EXPECT_EQ(DiffDumps(a, b)->verdict, Verdict::kNotTested);
  DiffOptions named;
  named.names = {{"conv", "layer_0"}};
  const DiffReport report = DiffDumps(a, b, named).value();
  EXPECT_EQ(report.verdict, Verdict::kAligned);
  EXPECT_EQ(report.only_a, std::vector<std::string>{"'fc'"});
  named.pair_by_order = true;
  const DiffReport ordered = DiffDumps(a, b, named).value();
  EXPECT_EQ(ordered.pairs.size(), 2u);
  EXPECT_EQ(ordered.notes, std::vector<std::string>{"paired by order only, as asked: 'fc' = 'layer_1'"});
  named.names = {{"conv", "nowhere"}};
  EXPECT_EQ(DiffDumps(a, b, named).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(DiffTest, AllFormsHoldTheSameNumbers) {
  const DiffReport report = DiffDumps(WriteText("a.txt", "1\n2.5\n"), WriteText("b.txt", "1\n2\n")).value();
  const auto json = nlohmann::json::parse(FormatDiffJson(report));
  EXPECT_EQ(json["verdict"], "wrong");
  EXPECT_EQ(json["pairs"][0]["max_abs"], 0.5);
  EXPECT_EQ(json["pairs"][0]["worst"]["index"], 1);
  EXPECT_EQ(json["pairs"][0]["b"]["max"], 2.0);
  EXPECT_TRUE(Has(FormatDiffCsv(report), "wrong,,,,0,")) << FormatDiffCsv(report);
  EXPECT_TRUE(Has(FormatDiffText(report), "0.5")) << FormatDiffText(report);
  EXPECT_TRUE(Has(FormatDiffText(report), "rule: " + report.rule.Describe()));
}

}  // namespace
}  // namespace plumb
