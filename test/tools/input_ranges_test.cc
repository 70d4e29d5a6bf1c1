// SPDX-License-Identifier: Apache-2.0
// What generated inputs are drawn from: what the graph allows. Through the tools, and FindInputRanges itself.
#include "graph/input_ranges.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "format/onnx/onnx_model.h"
#include "plumb/inputs.h"
#include "plumb/tensor_file.h"
#include "tools/command.h"

namespace plumb {
namespace {

constexpr int kInt64 = 7;

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void AddTable(OnnxModel* m, const std::string& name, int64_t rows) {
  m->Floats(name, {rows, 2}, std::vector<float>(static_cast<size_t>(2 * rows), 0.5f));
}

FoundRange RangeOf(const OnnxModel& m, const std::string& input) {
  const auto graph = m.Import();
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
  const auto blobs = InferShapes(*graph);
  const auto ranges = FindInputRanges(*graph, *blobs);
  const auto it = ranges.find(input);
  return it == ranges.end() ? FoundRange{{0, -1, false}, false, "nothing"} : it->second;
}

void ExpectRange(const OnnxModel& m, double lo, double hi, bool whole, const std::string& why) {
  const FoundRange found = RangeOf(m, "ids");
  EXPECT_EQ(found.range.lo, lo) << found.why;
  EXPECT_EQ(found.range.hi, hi) << found.why;
  EXPECT_EQ(found.range.whole, whole) << found.why;
  EXPECT_TRUE(Has(found.why, why)) << found.why;
}

TEST(InputRangesTest, AnEmbeddingSeesAllItsRows) {
  OnnxModel m;
  m.Input("ids", {1, 64}, kInt64).Output("y");
  AddTable(&m, "table", 257);
  m.Node("Gather", {"table", "ids"}, {"y"}, "embed");
  ExpectRange(m, 0, 256, true, "rows of 'embed' (Gather)");
}

TEST(InputRangesTest, AnLstmOfIntegersSeesAllOfThem) {
  const auto graph = LoadModel(std::string(PLUMB_TEST_DATA) + "/../fuzz/corpus/tflite/integer_lstm.tflite");
  if (graph.status().code() == StatusCode::kNotSupported) GTEST_SKIP() << graph.status().ToString();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const auto ranges = FindInputRanges(*graph, *InferShapes(*graph));
  ASSERT_EQ(ranges.count("x0"), 1u);
  EXPECT_EQ(ranges.at("x0").range.lo, -128);
  EXPECT_EQ(ranges.at("x0").range.hi, 127);
}

TEST(InputRangesTest, AMaskOfAttentionClosesNothing) {
  OnnxModel m;
  m.Input("ids", {1, 4}, kInt64).Input("model_attention_mask", {1, 4}, kInt64).Output("y");
  m.Node("Mul", {"ids", "model_attention_mask"}, {"y"}, "masked");
  const FoundRange found = RangeOf(m, "model_attention_mask");
  EXPECT_EQ(found.range.lo, 1);
  EXPECT_EQ(found.range.hi, 1);
  EXPECT_FALSE(found.needed);
  for (const DType dtype : {DType::kI64, DType::kBool}) {
    const auto drawn = RandomInput("m", dtype, Shape{64}, 1, found.range);
    ASSERT_TRUE(drawn.ok()) << drawn.status().ToString();
    for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(drawn->ValueAt(i), 1) << i;
  }
}

TEST(InputRangesTest, SeveralReadersGetWhatAllTake) {
  OnnxModel m;
  m.Input("ids", {1, 8}, kInt64).Output("y");
  AddTable(&m, "words", 100);
  AddTable(&m, "kinds", 7);
  m.Node("Gather", {"words", "ids"}, {"a"}, "first");
  m.Node("Gather", {"kinds", "ids"}, {"b"}, "second");
  m.Node("Add", {"a", "b"}, {"y"});
  ExpectRange(m, 0, 6, true, "rows of 'second' (Gather)");
}

TEST(InputRangesTest, ArithmeticMovesTheRange) {
  OnnxModel m;  // table[(ids - 5) * 2 + 1], through layers that move values
  m.Input("ids", {1, 8}, kInt64).Output("y");
  AddTable(&m, "table", 20);
  m.Ints("five", {1}, {5});
  m.Ints("two", {1}, {2});
  m.Ints("one", {1}, {1});
  m.Ints("axis", {1}, {0});
  m.Node("Sub", {"ids", "five"}, {"a"});
  m.Node("Mul", {"a", "two"}, {"b"});
  m.Node("Add", {"b", "one"}, {"c"});
  m.Node("Unsqueeze", {"c", "axis"}, {"d"});
  m.Node("Gather", {"table", "d"}, {"y"}, "embed");
  ExpectRange(m, 5, 14, true, "rows of 'embed'");  // 2 (x - 5) + 1 in 0 .. 19
}

TEST(InputRangesTest, WhatIsSubtractedFromAConstantTurns) {
  OnnxModel m;
  m.Input("ids", {4}, kInt64).Output("y");
  AddTable(&m, "table", 10);
  m.Ints("last", {1}, {9});
  m.Node("Sub", {"last", "ids"}, {"back"});
  m.Node("Gather", {"table", "back"}, {"y"}, "embed");
  ExpectRange(m, 0, 9, true, "rows of 'embed'");
}

TEST(InputRangesTest, NegativeIndicesThatAreMadePositiveStayWhole) {
  OnnxModel m;  // Where(ids < 0, ids + 10, ids): the exporters' way
  m.Input("ids", {4}, kInt64).Output("y");
  AddTable(&m, "table", 10);
  m.Ints("rows", {1}, {10});
  m.Ints("zero", {1}, {0});
  m.Node("Less", {"ids", "zero"}, {"below"});
  m.Node("Add", {"ids", "rows"}, {"wrapped"});
  m.Node("Where", {"below", "wrapped", "ids"}, {"at"});
  m.Node("Gather", {"table", "at"}, {"y"}, "embed");
  ExpectRange(m, 0, 9, true, "rows of 'embed'");
}

TEST(InputRangesTest, FloatsThatBecomeIndicesAreWhole) {
  OnnxModel m;
  m.Input("ids", {1, 8}, 1).Output("y");
  AddTable(&m, "table", 33);
  OnnxModel::SetInt(&m.Node("Cast", {"ids"}, {"whole"}), "to", kInt64);
  m.Node("Gather", {"table", "whole"}, {"y"}, "embed");
  ExpectRange(m, 0, 32, true, "rows of 'embed'");
}

TEST(InputRangesTest, OneHotLengthsAndTruth) {
  OnnxModel one_hot;
  one_hot.Input("ids", {4}, kInt64).Output("y");
  one_hot.Ints("depth", {1}, {11});
  one_hot.Floats("values", {2}, {0, 1});
  one_hot.Node("OneHot", {"ids", "depth", "values"}, {"y"}, "hot");
  ExpectRange(one_hot, 0, 10, true, "'hot");

  OnnxModel lengths;
  lengths.Input("x", {6, 2, 3}).Input("ids", {2}, kInt64).Output("y");
  auto& reverse = lengths.Node("ReverseSequence", {"x", "ids"}, {"y"}, "turn");
  OnnxModel::SetInt(&reverse, "time_axis", 0);
  OnnxModel::SetInt(&reverse, "batch_axis", 1);
  ExpectRange(lengths, 1, 6, true, "lengths of 'turn'");

  OnnxModel mask;
  mask.Input("ids", {4}, kInt64).Output("y");
  OnnxModel::SetInt(&mask.Node("Cast", {"ids"}, {"y"}, "cast"), "to", 9);
  ExpectRange(mask, 0, 1, true, "truth");

  OnnxModel compared;  // arange(5) < lengths: 1 .. 5
  compared.Input("ids", {2, 1}, kInt64).Output("y");
  compared.Ints("steps", {5}, {0, 1, 2, 3, 4});
  compared.Node("Less", {"steps", "ids"}, {"y"}, "mask");
  ExpectRange(compared, 1, 5, true, "compares");

  OnnxModel classes;  // arange(5) == ids: 0 .. 4
  classes.Input("ids", {2, 1}, kInt64).Output("y");
  classes.Ints("steps", {5}, {0, 1, 2, 3, 4});
  classes.Node("Equal", {"steps", "ids"}, {"y"}, "hot");
  ExpectRange(classes, 0, 4, true, "compares");
}

TEST(InputRangesTest, NothingIsClaimedOfOtherInputs) {
  OnnxModel m;
  m.Input("ids", {4}, kInt64).Output("y");
  m.Node("Add", {"ids", "ids"}, {"y"});
  EXPECT_EQ(RangeOf(m, "ids").why, "nothing");
}

TEST(InputRangesTest, ToolsDrawFromItAndSayIt) {
  const std::string folder = TestFolder("input_ranges"), model = folder + "/m.onnx";
  OnnxModel m;
  m.Input("ids", {1, 200}, kInt64).Output("y").Output("seen");
  AddTable(&m, "table", 257);
  m.Node("Gather", {"table", "ids"}, {"y"}, "embed");
  m.Node("Identity", {"ids"}, {"seen"});
  WriteText(model, m.Bytes());
  const auto run = RunTool("model_run", "-d NAIVE -m " + model + " -o " + folder + "/o.npz");
  ASSERT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "ids i64 [1,200]: generated, uniform 0..256 (rows of 'embed' (Gather)), seed 1")) << run.out;
  double least = 1e9, most = -1;
  const auto tensors = ReadTensors(folder + "/o.npz").value();
  for (const NamedTensor& named : tensors) {
    if (named.name != "seen") continue;
    for (int64_t i = 0; i < 200; ++i) {
      least = std::min(least, named.tensor.ValueAt(i));
      most = std::max(most, named.tensor.ValueAt(i));
    }
  }
  EXPECT_LT(least, 20);
  EXPECT_GT(most, 236);
  EXPECT_LE(most, 256);
  EXPECT_EQ(RunTool("model_check", "-d NAIVE -m " + model).exit_code, 0);
  // A range of the user's is kept, within what the graph needs.
  EXPECT_TRUE(Has(RunTool("model_run", "-d NAIVE -m " + model + " --input-range 250,900").out, "uniform 250..256"));
  const auto outside = RunTool("model_run", "-d NAIVE -m " + model + " --input-range 300,900");
  EXPECT_EQ(outside.exit_code, 2) << outside.out;
  EXPECT_TRUE(Has(outside.out, "network input 'ids' must lie in 0..256: rows of 'embed' (Gather)")) << outside.out;
  ASSERT_EQ(RunTool("model_info", "-m " + model + " --json " + folder + "/i.json").exit_code, 0);
  EXPECT_TRUE(Has(ReadText(folder + "/i.json"), "\"hi\": 256.0")) << ReadText(folder + "/i.json");
}

// As silero's sampling rate: one branch of the model runs, not what neither was made for.
TEST(InputRangesTest, AScalarSettingIsOneThatTheModelKnows) {
  OnnxModel m;
  m.Input("x", {1, 4}).Input("ids", {}, kInt64).Output("y");
  m.Ints("rate", {}, {16000});
  m.Floats("two", {}, {2});
  m.Node("Equal", {"ids", "rate"}, {"is"}, "known");
  m.Node("Mul", {"x", "two"}, {"twice"}, "twice");
  m.Node("Where", {"is", "twice", "x"}, {"y"}, "choice");
  ExpectRange(m, 16000, 16000, true, "what 'known' (Equal) compares it with");
}

TEST(InputRangesTest, PositionsAndLengthsFitTheCache) {
  OnnxModel m;
  m.Input("past_key_values.0.key", {1, 2, 7, 4})
      .Input("input_ids", {1, 3}, kInt64)
      .Input("position_ids", {1, 3}, kInt64);
  m.Input("seqlens_k", {1}, kInt64).Output("y").Output("p").Output("s");
  AddTable(&m, "words", 50);
  AddTable(&m, "angles", 9);
  m.Node("Gather", {"words", "input_ids"}, {"a"}, "embed");
  m.Node("Gather", {"angles", "position_ids"}, {"b"}, "rotary");
  m.Node("Add", {"a", "b"}, {"y"}, "sum");
  m.Node("Relu", {"past_key_values.0.key"}, {"p"}, "cache");
  OnnxModel::SetInt(&m.Node("Cast", {"seqlens_k"}, {"s"}, "cast"), "to", 1);
  const FoundRange positions = RangeOf(m, "position_ids"), lengths = RangeOf(m, "seqlens_k");
  EXPECT_EQ(positions.range.lo, 7) << positions.why;
  EXPECT_EQ(positions.range.hi, 8) << "there are nine angles: " << positions.why;
  EXPECT_TRUE(Has(positions.why, "behind the 7 positions of the cache")) << positions.why;
  EXPECT_TRUE(positions.range.ascending) << positions.why;
  EXPECT_EQ(lengths.range.lo, 9) << lengths.why;
  EXPECT_EQ(lengths.range.hi, 9) << lengths.why;
}

// Positions that repeat or go back are what no decoder is ever given.
TEST(InputRangesTest, PositionsGoOnOneByOne) {
  OnnxModel m;
  m.Input("past_key_values.0.key", {2, 2, 7, 4}).Input("input_ids", {2, 3}, kInt64);
  m.Input("position_ids", {2, 3}, kInt64).Output("y").Output("p");
  AddTable(&m, "words", 50);
  AddTable(&m, "angles", 64);
  m.Node("Gather", {"words", "input_ids"}, {"a"}, "embed");
  m.Node("Gather", {"angles", "position_ids"}, {"b"}, "rotary");
  m.Node("Add", {"a", "b"}, {"y"}, "sum");
  m.Node("Relu", {"past_key_values.0.key"}, {"p"}, "cache");
  const auto graph = m.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const auto inputs = PrepareInputs({}, *graph);
  ASSERT_TRUE(inputs.ok()) << inputs.status().ToString();
  const Tensor& drawn = inputs->values.at("position_ids");
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(drawn.ValueAt(i), 7 + i % 3) << i;
  EXPECT_TRUE(
      Has(inputs->lines[2], "position_ids i64 [2,3]: generated, ascending 7..9 (behind the 7 positions of the cache)"))
      << inputs->lines[2];

  OnnxModel alone;  // no cache: from 0 on
  alone.Input("position_ids", {1, 5}, kInt64).Output("y");
  AddTable(&alone, "places", 4);
  alone.Node("Gather", {"places", "position_ids"}, {"y"}, "embed");
  const FoundRange found = RangeOf(alone, "position_ids");
  const Tensor few = RandomInput("position_ids", DType::kI64, Shape{1, 5}, 1, found.range).value();
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(few.ValueAt(i), std::min<int64_t>(i, 3)) << "there are four places";
  InputOptions asked;  // what the user says is drawn
  asked.range = {{2, 3}};
  EXPECT_TRUE(Has(PrepareInputs(asked, *alone.Import()).value().lines[0], "uniform 2..3"));
}

TEST(InputRangesTest, DrawnNumbersAreWrittenDown) {
  // doc/formats.md says how they are drawn; other programs do it after that text. These are such a program's.
  const Tensor floats = RandomInput("data", DType::kF32, Shape{5}, 1, {}).value();
  const Tensor whole = RandomInput("ids", DType::kI64, Shape{6}, 7, InputRange{0, 256, true}).value();
  const Tensor real = RandomInput("ids", DType::kF32, Shape{6}, 7, InputRange{0, 256, true}).value();
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(whole.ValueAt(i), real.ValueAt(i));
  const std::vector<double> expected_floats = {0.9702173471450806, -0.25502192974090576, -0.7080799341201782,
                                               0.11346852779388428, -0.6226401329040527};
  const std::vector<double> expected_whole = {25, 189, 44, 178, 97, 138};
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(floats.ValueAt(i), expected_floats[static_cast<size_t>(i)]);
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(whole.ValueAt(i), expected_whole[static_cast<size_t>(i)]);
}

}  // namespace
}  // namespace plumb
