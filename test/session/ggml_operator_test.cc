// SPDX-License-Identifier: Apache-2.0
// ggml's operators one by one: a dump of one layer whose values NumPy computed in float64, as ggml's documentation and
// tests define the operator, is aligned; with one value off by 2 % of the largest it is wrong. What ggml itself
// computes is judged by test/tools/ggml.
#include <algorithm>
#include <cmath>

#include "interop/dump_graph.h"
#include "session/ggml_dump.h"

namespace plumb {
namespace {

struct GgmlValues {
  std::vector<int64_t> ne;
  std::vector<double> values;
  std::string type = "f32";
};

// A pattern that repeats after 11, around 0 or between 0 and 1.
GgmlValues Pattern(const std::vector<int64_t>& ne, int64_t seed, double from, double step) {
  GgmlValues drawn{ne, {}};
  for (int64_t i = 0; i < Shape(ne).NumElements(); ++i)
    drawn.values.push_back(from + step * static_cast<double>((i * 7 + seed) % 11));
  return drawn;
}
GgmlValues Drawn(const std::vector<int64_t>& ne, int64_t seed) { return Pattern(ne, seed, -1.25, 0.25); }
GgmlValues Share(const std::vector<int64_t>& ne, int64_t seed) { return Pattern(ne, seed, 1.0 / 12, 1.0 / 12); }
GgmlValues Given(const std::vector<int64_t>& ne, const std::vector<double>& values) { return {ne, values}; }
GgmlValues Numbers(const std::vector<int64_t>& ne, const std::vector<double>& values) { return {ne, values, "i32"}; }

struct GgmlCase {
  std::string op;
  std::vector<GgmlValues> inputs;
  std::vector<int32_t> params;  // floats as their bits
  std::vector<int64_t> ne;
  std::string type;
  std::vector<double> expected;
};

std::vector<GgmlCase> AllCases() {
  return {
      {"MUL_MAT_ID",
       {Drawn({4, 2, 3}, 1), Drawn({4, 1, 2}, 2), Numbers({2, 2}, {2, 0, 1, 2})},
       {},
       {2, 2, 2},
       "f32",
       {2.375, -1.5, 2.75, -1.125, -1.3125, 2.4375, -1.375, 2.375}},
      {"MUL_MAT_ID",
       {Drawn({4, 2, 3}, 1), Drawn({4, 2, 1}, 3), Numbers({2, 1}, {2, 0})},
       {},
       {2, 2},
       "f32",
       {2.4375, -1.3125, -1.6875, -0.5625}},
      {"ADD_ID",
       {Drawn({3, 2, 2}, 1), Drawn({3, 4}, 5), Numbers({2, 2}, {3, 0, 1, 1})},
       {},
       {3, 2, 2},
       "f32",
       {-1.75, 1.75, -0.25, -1.25, -0.5, 0.25, 1, -1, -0.25, 0.75, -1.25, -0.5}},
      {"ARGSORT", {Drawn({5, 2}, 4)}, {1}, {5, 2}, "i32", {4, 2, 0, 3, 1, 2, 0, 3, 1, 4}},
      {"ARGSORT", {Drawn({5, 2}, 4)}, {0}, {5, 2}, "i32", {1, 3, 0, 2, 4, 4, 1, 3, 0, 2}},
      {"TOP_K", {Drawn({5, 2}, 4)}, {}, {2, 2}, "i32", {2, 4, 0, 2}},
      {"GET_ROWS",
       {Drawn({2, 3, 2}, 2), Numbers({2, 2}, {2, 0, 1, 1})},
       {},
       {2, 2, 2},
       "f32",
       {0.75, -0.25, -0.75, 1, -0.5, 1.25, -0.5, 1.25}},
      {"SSM_CONV",
       {Drawn({5, 2, 2}, 1), Drawn({3, 2}, 4)},
       {},
       {2, 3, 2},
       "f32",
       {-0.8125, 1.875, -0.5, -0.5, 1.875, -0.8125, 1.625, -0.5625, -0.8125, 1.875, -0.5, -0.5}},
      {"CONV_2D",
       {Drawn({2, 3, 2, 2}, 6), Drawn({4, 3, 2}, 3)},
       {2, 1, 1, 1, 1, 1},
       {3, 3, 2},
       "f32",
       {0.125, -0.0625, -1.3125, -1.6875, 2.25, 2.25, -0.125, -0.6875, 0.375, 1.8125, -1.875, 0, 0.125, 0.5, -0.625,
        -0.3125, -0.75, -0.875}},
      {"CONV_2D_DW",
       {Drawn({2, 2, 1, 2}, 2), Drawn({4, 3, 2}, 3)},
       {1, 2, 0, 1, 2, 1},
       {2, 2, 2},
       "f32",
       {-0.25, 0.75, -2.25, 1.25, -1.9375, 0.1875, 1.125, -0.6875}},
      {"IM2COL",
       {Drawn({2, 3, 2, 2}, 6), Drawn({4, 3, 2}, 3)},
       {1, 2, 1, 0, 2, 1, 1},
       {12, 4, 1},
       "f32",
       {0,     1.25,  0,    0,     0,    -1.25, 0,     0.25, 0,    -1,    0,     0.5,  -0.5,  0.25, 1,    -1,
        -0.25, 0.5,   1.25, -0.75, 0,    0.75,  -1.25, -0.5, 1.25, -0.75, 0,     0.75, -1.25, -0.5, 0.25, 1,
        -1,    -0.25, 0.5,  1.25,  0.25, 0,     -1,    0,    0.5,  0,     -0.75, 0,    0.75,  0,    -0.5, 0}},
      {"IM2COL",
       {Drawn({3, 2}, 1), Drawn({5, 2}, 2)},
       {2, 0, 1, 0, 1, 0, 0},
       {6, 3},
       "f32",
       {0, -0.75, 1, 0, -0.25, -1.25, 1, 0, -1, -1.25, 0.5, -0.5, -1, 0.75, 0, -0.5, 1.25, 0}},
      {"POOL_2D", {Drawn({4, 3, 2}, 3)}, {0, 2, 2, 2, 1, 1, 1}, {3, 4, 2}, "f32", {-0.5, 1.25,  -0.75, 1,    1.25,
                                                                                   0.75, 1,     0.5,   0.75, -0.25,
                                                                                   0.5,  -0.5,  1.25,  0.25, 1,
                                                                                   1.25, 0.75,  1,     0,    0.75,
                                                                                   1.25, -1.25, 0.5,   1.25}},
      {"POOL_2D",
       {Drawn({4, 3, 2}, 3)},
       {1, 3, 2, 1, 2, 1, 1},
       {4, 2, 2},
       "f32",
       {0.125, 0.16666667, 0.125, -0.083333333, -0.083333333, -0.16666667, -0.25, -0.041666667, 0.25, 0.125,
        0.083333333, 0.041666667, -0.29166667, -0.25, 0.125, 0.20833333}},
      {"POOL_1D", {Drawn({5, 2}, 2)}, {1, 3, 2, 1}, {3, 2}, "f32", {0.125, 0, -0.125, -0.75, -0.41666667, 0.375}},
      {"PAD",
       {Drawn({4, 3, 2}, 3)},
       {2, 1, 0, 2, 1, 0, 0, 0},
       {7, 5, 3},
       "f32",
       {0, 0, 0,     0,   0,    0,    0, 0, 0, 0,     0,     0,     0,    0, 0, 0, 0,    0,    0,    0,     0,
        0, 0, 0,     0,   0,    0,    0, 0, 0, 0,     0,     0,     0,    0, 0, 0, -0.5, 1.25, 0.25, -0.75, 0,
        0, 0, 1,     0,   -1,   0.75, 0, 0, 0, -0.25, -1.25, 0.5,   -0.5, 0, 0, 0, 0,    0,    0,    0,     0,
        0, 0, 0,     0,   0,    0,    0, 0, 0, 1.25,  0.25,  -0.75, 1,    0, 0, 0, 0,    -1,   0.75, -0.25, 0,
        0, 0, -1.25, 0.5, -0.5, 1.25, 0, 0, 0, 0,     0,     0,     0,    0, 0, 0, 0,    0,    0,    0,     0}},
      {"PAD_REFLECT_1D",
       {Drawn({5, 2}, 2)},
       {2, 1},
       {8, 2},
       "f32",
       {0, 1, -0.75, 1, 0, -1, 0.75, -1, 0.5, -1.25, -0.25, -1.25, 0.5, -0.5, 1.25, -0.5}},
      {"UPSCALE",
       {Drawn({3, 2}, 5)},
       {0},
       {5, 3},
       "f32",
       {0, 0, -1, -1, 0.75, 0, 0, -1, -1, 0.75, -0.25, -0.25, -1.25, -1.25, 0.5}},
      {"UPSCALE",
       {Drawn({3, 2}, 5)},
       {1},
       {5, 3},
       "f32",
       {0, -0.4, -1, 0.05, 0.75, -0.125, -0.525, -1.125, -0.075, 0.625, -0.25, -0.65, -1.25, -0.2, 0.5}},
      {"UPSCALE",
       {Drawn({3, 2}, 5)},
       {257},
       {5, 3},
       "f32",
       {0, -0.5, -1, -0.125, 0.75, -0.125, -0.625, -1.125, -0.25, 0.625, -0.25, -0.75, -1.25, -0.375, 0.5}},
      {"UPSCALE",
       {Drawn({3, 2}, 5)},
       {2},
       {5, 3},
       "f32",
       {0.11770139, -0.49229861, -0.97829861, 0.020701389, 0.93970139, -0.029, -0.639, -1.125, -0.126, 0.793,
        -0.17570139, -0.78570139, -1.2717014, -0.27270139, 0.64629861}},
      {"GROUP_NORM",
       {Drawn({2, 2, 4}, 1)},
       {2, 981668463},
       {2, 2, 4},
       "f32",
       {-1.1887748, 0.95868932, -0.26843301, -1.4955553, 0.65190874, -0.57521359, 1.5722505, 0.34512815, -0.79998464,
        1.4399724, 0.15999693, -1.1199785, 1.1199785, -0.15999693, -1.4399724, 0.79998464}},
      {"TIMESTEP_EMBEDDING",
       {Given({2}, {3, 1.5})},
       {5, 100},
       {5, 2},
       "f32",
       {-0.9899925, 0.95533649, 0.14112001, 0.29552021, 0, 0.070737202, 0.98877108, 0.99749499, 0.14943813, 0}},
      {"CUMSUM", {Drawn({4, 2}, 3)}, {}, {4, 2}, "f32", {-0.5, 0.75, 1, 0.25, 1, 1, 0, 0.75}},
      {"SUM", {Drawn({4, 2}, 3)}, {}, {1}, "f32", {1}},
      {"SGN",
       {Given({8}, {-3.5, -1.25, -0.5, -0.25, 0.25, 0.75, 2.5, 4})},
       {},
       {8},
       "f32",
       {-1, -1, -1, -1, 1, 1, 1, 1}},
      {"STEP", {Given({8}, {-3.5, -1.25, -0.5, -0.25, 0.25, 0.75, 2.5, 4})}, {}, {8}, "f32", {0, 0, 0, 0, 1, 1, 1, 1}},
      {"FLOOR",
       {Given({8}, {-3.5, -1.25, -0.5, -0.25, 0.25, 0.75, 2.5, 4})},
       {},
       {8},
       "f32",
       {-4, -2, -1, -1, 0, 0, 2, 4}},
      {"CEIL",
       {Given({8}, {-3.5, -1.25, -0.5, -0.25, 0.25, 0.75, 2.5, 4})},
       {},
       {8},
       "f32",
       {-3, -1, 0, 0, 1, 1, 3, 4}},
      {"TRUNC",
       {Given({8}, {-3.5, -1.25, -0.5, -0.25, 0.25, 0.75, 2.5, 4})},
       {},
       {8},
       "f32",
       {-3, -1, 0, 0, 0, 0, 2, 4}},
      {"ROUND",
       {Given({8}, {-3.5, -1.25, -0.5, -0.25, 0.25, 0.75, 2.5, 4})},
       {},
       {8},
       "f32",
       {-4, -1, -1, 0, 0, 1, 3, 4}},
      {"ELU",
       {Given({8}, {-3.5, -1.25, -0.5, -0.25, 0.25, 0.75, 2.5, 4})},
       {},
       {8},
       "f32",
       {-0.96980262, -0.7134952, -0.39346934, -0.22119922, 0.25, 0.75, 2.5, 4}},
      {"LEAKY_RELU",
       {Given({8}, {-3.5, -1.25, -0.5, -0.25, 0.25, 0.75, 2.5, 4})},
       {1036831949},
       {8},
       "f32",
       {-0.35, -0.125, -0.05, -0.025, 0.25, 0.75, 2.5, 4}},
      {"HARDSIGMOID",
       {Given({8}, {-3.5, -1.25, -0.5, -0.25, 0.25, 0.75, 2.5, 4})},
       {},
       {8},
       "f32",
       {0, 0.29166667, 0.41666667, 0.45833333, 0.54166667, 0.625, 0.91666667, 1}},
      {"HARDSWISH",
       {Given({8}, {-3.5, -1.25, -0.5, -0.25, 0.25, 0.75, 2.5, 4})},
       {},
       {8},
       "f32",
       {0, -0.36458333, -0.20833333, -0.11458333, 0.13541667, 0.46875, 2.2916667, 4}},
      {"EXPM1",
       {Given({8}, {-3.5, -1.25, -0.5, -0.25, 0.25, 0.75, 2.5, 4})},
       {},
       {8},
       "f32",
       {-0.96980262, -0.7134952, -0.39346934, -0.22119922, 0.28402542, 1.117, 11.182494, 53.59815}},
      {"SOFTPLUS",
       {Given({8}, {-3.5, -1.25, -0.5, -0.25, 0.25, 0.75, 2.5, 4})},
       {},
       {8},
       "f32",
       {0.029750418, 0.25192908, 0.47407698, 0.57593942, 0.82593942, 1.136871, 2.5788897, 4.0181499}},
      {"XIELU",
       {Given({8}, {-3.5, -1.25, -0.5, -0.25, 0.25, 0.75, 2.5, 4})},
       {0, 1067450368, 1061158912, 1056964608, -1165815185},
       {8},
       "f32",
       {1.4127467, 0.045630996, -0.11683668, -0.088999021, 0.171875, 0.796875, 5.9375, 14}},
      {"ADD1",
       {Given({8}, {-3.5, -1.25, -0.5, -0.25, 0.25, 0.75, 2.5, 4}), Given({1}, {0.75})},
       {},
       {8},
       "f32",
       {-2.75, -0.5, 0.25, 0.5, 1, 1.5, 3.25, 4.75}},
      {"SWIGLU_OAI",
       {Drawn({4}, 2), Drawn({4}, 5)},
       {0, 0, 1069547520, 1065353216},
       {4},
       "f32",
       {-0.18381376, 0, 0, -0.13681914}},
      {"SWIGLU_CLAMP",
       {Drawn({4}, 2), Drawn({4}, 5)},
       {0, 0, 0, 1065353216},
       {4},
       "f32",
       {0, -0.73105858, 0, 0.067235355}},
      {"RWKV_WKV6",
       {Drawn({2, 2, 2}, 1), Drawn({2, 2, 2}, 2), Drawn({2, 2, 2}, 3), Drawn({2, 2}, 5), Share({2, 2, 2}, 4),
        Drawn({8}, 6)},
       {},
       {4, 4},
       "f32",
       {1.828125, -0.5625, -0.0625, 1.40625, 0.85416667, -1.3125, 1.8346354, -0.6171875, 1.1579861, -1.328125,
        -0.65451389, 0.5625, -1.7291667, 0.8125, -0.38194444, 0.81944444}},
      {"GATED_LINEAR_ATTN",
       {Drawn({2, 2, 2}, 1), Drawn({2, 2, 2}, 2), Drawn({2, 2, 2}, 3), Share({2, 2, 2}, 4), Drawn({8}, 6)},
       {1056964608},
       {4, 4},
       "f32",
       {-0.51302083, 0.796875, -0.052083333, -0.21875, 0.57899306, -0.6640625, 0.72135417, -0.098958333, 1.1579861,
        -1.328125, -0.65451389, 0.5625, -1.7291667, 0.8125, -0.38194444, 0.81944444}},
      {"RWKV_WKV7",
       {Drawn({2, 2, 2}, 3), Share({2, 2, 2}, 4), Drawn({2, 2, 2}, 1), Drawn({2, 2, 2}, 2), Drawn({2, 2, 2}, 7),
        Drawn({2, 2, 2}, 8), Drawn({8}, 6)},
       {},
       {4, 4},
       "f32",
       {-1.5520833, 0.88541667, 0.37630208, -0.17447917, 2.3376736, -0.70659722, 0.75846354, 0.0013020833, 2.3376736,
        -2.9023438, -0.70659722, 1.4661458, -1.3268229, -0.7578125, 0.7109375, 0.94965278}},
      {"GATED_DELTA_NET",
       {Drawn({2, 1, 2}, 3), Drawn({2, 1, 2}, 5), Drawn({2, 2, 2}, 2), Drawn({1, 2, 2}, 4), Share({1, 2, 2}, 2),
        Drawn({2, 2, 2}, 6)},
       {2},
       {4, 6},
       "f32",
       {-0.29031641, -0.49631853, 0.13294935, 0.70913557, 0.32966481,  0.27109029,  -0.091481754, -0.22781006,
        0.47324247,  -0.46387443, 0.79050136, -0.2476723, -0.31305383, 0.068148372, 0.037793069,  0.44216046,
        0.1947002,   -0.25057544, 0.77880078, -0.25,      -0.2865048,  0.0358131,   -0.071626199, 0.77364483}},
      {"SSM_SCAN",
       {Drawn({3, 2, 2, 2}, 1), Drawn({2, 2, 2}, 2), Drawn({2, 2}, 3), Drawn({1, 2}, 4), Drawn({3, 1, 2}, 5),
        Drawn({3, 1, 2}, 6), Numbers({1}, {1})},
       {1},
       {20},
       "f32",
       {-1.310542,   2.2655262,  0.24860163,  -2.0234152,   0.057965053, 1.3056417,   -0.64434297,
        -0.98521985, 0.38702965, -0.66572492, -0.81034649,  0.41288341,  -0.48878864, 1.0891374,
        0.14447865,  0.53374157, -0.14746854, -0.048358876, 0.58991925,  -0.52706747}},
      {"SSM_SCAN",
       {Drawn({3, 2, 2, 2}, 1), Drawn({2, 2, 2}, 2), Drawn({2, 2}, 3), Drawn({3, 2}, 4), Drawn({3, 1, 2}, 5),
        Drawn({3, 1, 2}, 6), Numbers({1}, {1})},
       {1},
       {20},
       "f32",
       {-1.8474881, 2.6138409,  5.1620039,   3.7412979,    -1.1688846, 2.1306048,     8.3679685,
        8.4512773,  0.38702965, -0.69691588, -2.487734,    0.41288341, -0.0091867246, 2.8285574,
        0.2181254,  -7.3466757, 1.3617237,   -0.048358876, -8.4073877, 0.058519489}},
  };
}

class GgmlOperator : public GgmlDump {
 protected:
  void AddTensor(const std::string& name, const std::string& op, const GgmlValues& of,
                 const std::vector<std::string>& inputs, const std::vector<int32_t>& params) {
    std::string bytes, ne, nb, shape, numbers;
    for (const double value : of.values) {
      const auto real = static_cast<float>(value);
      const auto whole = static_cast<int32_t>(value);
      const bool is_real = of.type == "f32";
      bytes.append(is_real ? reinterpret_cast<const char*>(&real) : reinterpret_cast<const char*>(&whole), 4);
    }
    int64_t step = 4;
    for (size_t i = 0; i < 4; ++i) {
      const int64_t dim = i < of.ne.size() ? of.ne[i] : 1;
      ne += (i == 0 ? "" : " ") + std::to_string(dim);
      nb += (i == 0 ? "" : " ") + std::to_string(step);
      if (i < of.ne.size()) shape = std::to_string(dim) + (shape.empty() ? "" : ", ") + shape;
      step *= dim;
    }
    for (size_t i = 0; i < 16; ++i) numbers += (i == 0 ? "" : " ") + std::to_string(i < params.size() ? params[i] : 0);
    Entry entry{name, op, of.type, ne, nb, "[" + shape + "]", inputs};
    entry.direction = op == "NONE" ? "in" : "out";
    entry.params = numbers;
    Add(entry, bytes, of.type);
  }

  void WriteCase(const GgmlCase& c, const std::vector<double>& values) {
    files_.clear();
    std::vector<std::string> names;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      names.push_back("x" + std::to_string(i));
      AddTensor(names.back(), "NONE", c.inputs[i], {}, {});
    }
    AddTensor("y", c.op, {c.ne, values, c.type}, names, c.params);
    WriteManifest();
  }
  Result<RunReport> JudgeCase(const GgmlCase& c, const std::vector<double>& values) {
    WriteCase(c, values);
    return Judge();
  }
};

TEST_F(GgmlOperator, ComputesWhatItsDefinitionSays) {
  for (const GgmlCase& c : AllCases()) {
    SCOPED_TRACE(c.op);
    const auto report = JudgeCase(c, c.expected);
    ASSERT_TRUE(report.ok()) << report.status().message();
    ASSERT_EQ(report->layers.size(), 1u);
    EXPECT_EQ(report->verdict, Verdict::kAligned) << report->layers[0].reason << report->why_not_tested;
  }
}

TEST_F(GgmlOperator, NamesOneValueThatIsOff) {
  for (const GgmlCase& c : AllCases()) {
    SCOPED_TRACE(c.op);
    double largest = 0;
    for (const double value : c.expected) largest = std::max(largest, std::fabs(value));
    std::vector<double> values = c.expected;
    values[values.size() / 2] += c.type == "i32" ? 1 : 0.02 * largest;
    const auto report = JudgeCase(c, values);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->verdict, Verdict::kWrong);
    EXPECT_EQ(report->first_wrong, 0);
  }
}

// Params that no ggml writes are refused with a sentence, or the layer left out with one.
TEST_F(GgmlOperator, ParamsThatCannotBeEndInASentence) {
  for (const GgmlCase& c : AllCases()) {
    for (const int32_t number : {-1, 0, INT32_MAX}) {
      SCOPED_TRACE(c.op + " " + std::to_string(number));
      GgmlCase odd = c;
      odd.params.assign(16, number);
      WriteCase(odd, c.expected);
      const auto graph = LoadDumpGraph(folder_, {});
      if (graph.ok()) continue;
      EXPECT_FALSE(graph.status().message().empty());
      EXPECT_EQ(graph.status().message().find('\n'), std::string::npos) << graph.status().message();
    }
  }
}

}  // namespace
}  // namespace plumb
