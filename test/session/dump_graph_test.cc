// SPDX-License-Identifier: Apache-2.0
// A dump that carries its own graph, judged without a model: ggml's operators, blocks of weights, memory that is
// written into between two reads. Manifests that cannot be a graph end in one sentence.
#include <algorithm>
#include <array>

#include "base/half.h"
#include "session/ggml_dump.h"

namespace plumb {
namespace {

// x [1,32] times rows of Q8_0 is h [1,2], a = ReLU(h) is copied into the cache's last two values of four, of which v
// reads the last three.
class GraphOfDump : public GgmlDump {
 protected:
  GraphOfDump() {
    for (int i = 0; i < 32; ++i) x_[static_cast<size_t>(i)] = static_cast<float>(i == 5 ? 127 : 3 * i - 40);
    for (size_t row = 0; row < 2; ++row) {
      const uint16_t scale = FloatToHalf(0.5f);
      blocks_.append(reinterpret_cast<const char*>(&scale), 2);
      for (int i = 0; i < 32; ++i) {
        const int quant = static_cast<int>(row) * 50 + i - 12;
        blocks_.push_back(static_cast<char>(quant));
        h_[row] += 0.5f * static_cast<float>(quant) * x_[static_cast<size_t>(i)];
      }
    }
    for (size_t i = 0; i < 2; ++i) a_[i] = std::max(0.0f, h_[i]);
    v_ = {2, a_[0], a_[1]};
  }

  template <size_t n>
  static std::string Bytes(const std::array<float, n>& values) {
    return {reinterpret_cast<const char*>(values.data()), sizeof(values)};
  }
  // The manifest with one text in place of another, each time that it is there.
  void Write(const std::string& from = "", const std::string& to = "") {
    const std::array<float, 4> cache = {1, 2, 3, 4};
    Add({"w", "NONE", "q8_0", "32 2 1 1", "34 34 68 68", "[2, 34]", {}, "", "0", "in"}, blocks_, "u8");
    Add({"x", "NONE", "f32", "32 1 1 1", "4 128 128 128", "[32]", {}, "", "0", "in"}, Bytes(x_));
    Add({"h", "MUL_MAT", "f32", "2 1 1 1", "4 8 8 8", "[2]", {"w", "x"}}, Bytes(h_));
    Add({"a", op_, "f32", "2 1 1 1", "4 8 8 8", "[2]", {"h"}}, Bytes(a_));
    Add({"cache", "NONE", "f32", "4 1 1 1", "4 16 16 16", "[4]", {}, "", "0", "in"}, Bytes(cache));
    Add({"c", "CPY", "f32", "2 1 1 1", "4 8 8 8", "[2]", {"a", "place"}, "cache", "8"}, Bytes(a_));
    Add({"v", "VIEW", "f32", "3 1 1 1", "4 12 12 12", "[3]", {"cache"}, "cache", "4"}, Bytes(v_));
    WriteManifest(from, to);
  }
  std::string Refused() const {
    const auto report = Judge();
    EXPECT_FALSE(report.ok());
    return report.status().message();
  }

  std::string blocks_, op_ = "RELU";
  std::array<float, 32> x_ = {};
  std::array<float, 2> h_ = {}, a_ = {};
  std::array<float, 3> v_ = {};
};

TEST_F(GraphOfDump, IsJudgedWithoutAModel) {
  Write();
  const auto report = Judge();
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->verdict, Verdict::kAligned);
  EXPECT_EQ(report->coverage.steps, 4) << "h, a, c, v";
  EXPECT_EQ(report->Count(Verdict::kNotTested), 0);
}

TEST_F(GraphOfDump, NamesAWrongProduct) {
  h_[1] *= 1.001f;
  a_[1] = h_[1];
  v_[2] = a_[1];
  Write();
  EXPECT_EQ(Guilty(), "h");
}

TEST_F(GraphOfDump, NamesAStaleValueOfTheCache) {
  v_[1] = 3;
  Write();
  EXPECT_EQ(Guilty(), "v");
}

TEST_F(GraphOfDump, AnUnknownOperatorIsNotTested) {
  op_ = "FLIP";
  Write();
  const auto report = Judge();
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->Count(Verdict::kNotTested), 1);
  EXPECT_EQ(report->layers.back().step.name, "a");
  EXPECT_EQ(report->layers.back().reason.find("Plumb has no operator for ggml's FLIP"), 0u)
      << report->layers.back().reason;
}

// Four of five operators, but not the one product.
TEST_F(GraphOfDump, AnUnknownProductMakesTheRunNotTested) {
  Write("\"MUL_MAT\"", "\"MUL_FLIP\"");
  const auto report = Judge();
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->verdict, Verdict::kNotTested);
  EXPECT_EQ(report->coverage.all_multiply_adds - report->coverage.multiply_adds, 2 * 32);
  EXPECT_NE(report->why_not_tested.find("of the multiply-adds were compared, fewer than 50 %"), std::string::npos)
      << report->why_not_tested;
}

TEST_F(GraphOfDump, AnUnknownOutputMakesTheRunNotTested) {
  Write("\"VIEW\"", "\"FLIP\"");
  const auto report = Judge();
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->verdict, Verdict::kNotTested);
  EXPECT_NE(report->why_not_tested.find("network output 'v'"), std::string::npos) << report->why_not_tested;
}

TEST_F(GraphOfDump, RefusesWhatIsNoGraph) {
  const struct {
    std::string from, to, sentence;
  } cases[] = {
      {"\"layer_inputs\": [\"h\"]", "\"layer_inputs\": [\"v\"]",
       "layer 'a' (RELU): it reads 'v', which is written later"},
      {"\"layer_inputs\": [\"h\"]", "\"layer_inputs\": [\"a\"]",
       "layer 'a' (RELU): it reads 'a', which is written later"},
      {"[\"w\", \"x\"]", "[\"w\", \"y\"]", "it reads 'y', which no layer wrote and no file holds"},
      {"[\"w\", \"x\"]", "[\"w\"]", "layer 'h' (MUL_MAT)"},
      {"[\"w\", \"x\"]", "[\"x\", \"cache\"]", "cannot be multiplied"},
      {"\"32 2 1 1\"", "\"64 2 1 1\"", "are no blocks of q8_0"},
      {"\"32 2 1 1\"", "\"32 2 1\"", "attribute 'ne' is '32 2 1', expected 4 whole numbers"},
      {"\"32 1 1 1\"", "\"99999999999999999999 1 1 1\"", "attribute 'ne'"},
      {"\"32 1 1 1\"", "\"32 268435456 268435456 268435456\"", "attributes 'ne' and 'nb'"},
      {"\"32 1 1 1\"", "\"-32 1 1 1\"", "attributes 'ne' and 'nb'"},
      {"\"view_offset\", \"4\"", "\"view_offset\", \"8\"", "which has 4 values"},
      {"\"view_offset\", \"4\"", "\"view_offset\", \"6\"", "is byte 6 of 'cache'"},
      {"\"view_offset\", \"4\"", "\"view_offset\", \"9223372036854775807\"", "attribute 'view_offset'"},
      {"\"4 12 12 12\"", "\"9223372036854775807 1 1 1\"", "bytes from one to the next"},
      {"\"view_of\", \"cache\"", "\"view_of\", \"nothing\"", "which no layer wrote and no file holds"},
      {"[32]", "[1, 1, 1, 1, 1, 1, 1, 32]", "attribute 'ne' says"},
      {"[32]", "[16]", "[16] of f32 takes 64"},
      {"\"shape\": [3]", "\"shape\": [2]", "attribute 'ne' says"},
      {"\"blob\": \"v\"", "\"blob\": \"a\"", "a blob of that name is there already"},
      {"v.raw", "gone.raw", "there is no file"},
      {"\"op_params\"", "\"other\"", "says no types and inputs of layers"},
      {"\"CPU\"", "\"Vulkan0\"", "none of its layers is known"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.from + " -> " + c.to);
    files_.clear();
    Write(c.from, c.to);
    if (c.to == "\"Vulkan0\"") {  // the product alone is not known there
      EXPECT_EQ(Judge()->Count(Verdict::kNotTested), 1);
      continue;
    }
    const std::string sentence = Refused();
    EXPECT_NE(sentence.find(c.sentence), std::string::npos) << sentence;
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
  }
}

TEST_F(GraphOfDump, NoModelNeedsADumpAlone) {
  SessionOptions options;
  EXPECT_EQ(Session::Open("", options).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace plumb
