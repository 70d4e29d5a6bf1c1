// SPDX-License-Identifier: Apache-2.0
// com.microsoft's operators beside what ONNX Runtime 1.31.1 computes for them; test/tools/golden/microsoft_test.py asks
// ONNX Runtime itself about many more. What is refused is refused with one sentence that names it.
#include <gtest/gtest.h>

#include <cmath>

#include "format/onnx/onnx_model.h"

namespace plumb {
namespace {

constexpr int kFloat = 1, kU8 = 2, kI8 = 3, kI32 = 6, kI64 = 7;

struct MicrosoftInput {
  int type = 0;  // ONNX's; 0: absent
  std::vector<int64_t> dims;
  std::vector<double> values;
  bool constant = false;
};

// A pattern that repeats after 11.
MicrosoftInput F(const std::vector<int64_t>& dims, int64_t seed) {
  MicrosoftInput input{kFloat, dims, {}, false};
  for (int64_t i = 0; i < Shape(dims).NumElements(); ++i)
    input.values.push_back(static_cast<double>((i * 7 + seed) % 11 - 5) / 4);
  return input;
}
MicrosoftInput W(const std::vector<int64_t>& dims, int64_t seed) {
  MicrosoftInput input = F(dims, seed);
  input.constant = true;
  return input;
}
MicrosoftInput None() { return {}; }
MicrosoftInput Fed(int type, const std::vector<int64_t>& dims, const std::vector<double>& values) {
  return {type, dims, values, false};
}
MicrosoftInput Known(int type, const std::vector<int64_t>& dims, const std::vector<double>& values) {
  return {type, dims, values, true};
}
MicrosoftInput Number(int type, double value) { return {type, {}, {value}, true}; }

struct MicrosoftCase {
  std::string op, domain;
  std::vector<MicrosoftInput> inputs;
  std::map<std::string, int64_t> ints;
  std::map<std::string, float> floats;
  int outputs = 1, shown = 0;
  std::vector<double> expected;
};

void AddConstant(OnnxModel* m, const std::string& name, const MicrosoftInput& input) {
  ::onnx::TensorProto& tensor = *m->graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(input.type);
  for (const int64_t dim : input.dims) tensor.add_dims(dim);
  for (const double value : input.values) {
    if (input.type == kFloat)
      tensor.add_float_data(static_cast<float>(value));
    else if (input.type == kI64)
      tensor.add_int64_data(static_cast<int64_t>(value));
    else
      tensor.add_int32_data(static_cast<int32_t>(value));
  }
}

struct BuiltCase {
  OnnxModel model{17};
  std::map<std::string, Tensor> feeds;  // f32, to be converted to what the network takes
};

BuiltCase Build(const MicrosoftCase& c) {
  BuiltCase built;
  OnnxModel& m = built.model;
  auto* opset = m.proto().add_opset_import();
  opset->set_domain("com.microsoft");
  opset->set_version(1);
  std::vector<std::string> names, outputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const MicrosoftInput& input = c.inputs[i];
    names.push_back(input.type == 0 ? "" : "i" + std::to_string(i));
    if (input.type == 0) continue;
    if (input.constant) {
      AddConstant(&m, names.back(), input);
      continue;
    }
    m.Input(names.back(), input.dims, input.type);
    Tensor value = Tensor::Create(DType::kF32, Shape(input.dims)).value();
    for (size_t k = 0; k < input.values.size(); ++k) value.data<float>()[k] = static_cast<float>(input.values[k]);
    built.feeds[names.back()] = value;
  }
  for (int i = 0; i < c.outputs; ++i) outputs.push_back("o" + std::to_string(i));
  for (const std::string& name : outputs) m.Output(name);
  ::onnx::NodeProto& node = m.Node(c.op, names, outputs, "the_node");
  node.set_domain(c.domain);
  for (const auto& [name, value] : c.ints) OnnxModel::SetInt(&node, name, value);
  for (const auto& [name, value] : c.floats) OnnxModel::SetFloat(&node, name, value);
  return built;
}

void ExpectComputed(const MicrosoftCase& c) {
  const BuiltCase built = Build(c);
  const auto imported = built.model.Import();
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  const auto graph = std::make_shared<const Graph>(*imported);
  for (const char* device : {"NAIVE", "X86"}) {
    if (!OpenDevice(device).ok()) continue;
    const auto network = CreateNetwork(graph, device, {});
    ASSERT_TRUE(network.ok()) << network.status().ToString();
    for (const GraphInput& input : graph->inputs) {
      const Tensor value = built.feeds.at(input.name).ConvertedTo(input.dtype).value();
      ASSERT_TRUE((*network)->SetInput(input.name, value).ok());
    }
    ASSERT_TRUE((*network)->Forward().ok());
    const Tensor y = (*network)->GetOutput("o" + std::to_string(c.shown)).value();
    ASSERT_EQ(y.NumElements(), static_cast<int64_t>(c.expected.size())) << device;
    for (size_t i = 0; i < c.expected.size(); ++i) {
      const double slack = IsFloat(y.dtype()) ? 2e-5 * (1 + std::fabs(c.expected[i])) : 0;
      EXPECT_NEAR(y.ValueAt(static_cast<int64_t>(i)), c.expected[i], slack) << device << " [" << i << "]";
    }
  }
}

std::vector<MicrosoftCase> MicrosoftCases() {
  return {
      {"BiasGelu",
       "com.microsoft",
       {F({2, 3}, 1), W({3}, 4)},
       {},
       {},
       1,
       0,
       {-0.1320622, -0.1542688, 0.1496766, -0.1002108, -0.1699705, 0}},
      {"FastGelu",
       "com.microsoft",
       {F({2, 3}, 1), W({3}, 4)},
       {},
       {},
       1,
       0,
       {-0.1322858, -0.154286, 0.1496754, -0.1004284, -0.1700394, 0}},
      {"QuickGelu",
       "com.microsoft",
       {F({2, 3}, 1)},
       {},
       {},
       1,
       0,
       {-0.1542042, 0.5863901, -0.09880035, -0.1330657, 0.3503884, -0.1496116}},
      {"SkipLayerNormalization",
       "com.microsoft",
       {F({1, 2, 4}, 1), F({1, 2, 4}, 2), W({4}, 3), W({4}, 6), W({4}, 8)},
       {},
       {{"epsilon", 1e-05}},
       1,
       0,
       {0.3709831, 1.367204, 0.8427219, 0.6170138, -0.373608, -1.863586, 0.7327394, -0.5345211}},
      {"SkipSimplifiedLayerNormalization",
       "com.microsoft",
       {F({1, 2, 4}, 1), F({1, 2, 4}, 2), W({4}, 3)},
       {},
       {{"epsilon", 1e-05}},
       1,
       0,
       {0.5217483, 1.304371, -0.03726773, 1.006229, -0.7624872, -1.143731, 0, -0.6862384}},
      {"SimplifiedLayerNormalization",
       "",
       {F({1, 2, 4}, 1), W({4}, 3)},
       {},
       {{"epsilon", 1e-05}},
       1,
       0,
       {0.5601085, 1.050203, -0.07001357, 1.050203, -0.3429939, -0.8574848, 0.4287424, -0.2572454}},
      {"EmbedLayerNormalization",
       "com.microsoft",
       {Fed(kI32, {1, 2}, {2, 0}), Fed(kI32, {1, 2}, {0, 1}), W({3, 4}, 1), W({2, 4}, 5), W({2, 4}, 8), W({4}, 3),
        W({4}, 6)},
       {},
       {},
       2,
       0,
       {-0.4208204, -0.190983, 0.8881966, 1.006231, 0.8833333, 1.166667, 0.9833333, 0.15}},
      {"FusedMatMul",
       "com.microsoft",
       {F({2, 3}, 1), F({2, 3}, 5)},
       {{"transB", 1}},
       {{"alpha", 0.5}},
       1,
       0,
       {-0.46875, -0.40625, -0.4375, -0.28125}},
      {"Attention",
       "com.microsoft",
       {F({1, 2, 3}, 1), W({3, 6}, 2), W({6}, 5)},
       {{"num_heads", 2}, {"unidirectional", 1}},
       {},
       1,
       0,
       {-1.75, 0.5, -1.840456, 0.8501334}},
      {"Attention",
       "com.microsoft",
       {F({1, 2, 3}, 1), W({3, 6}, 2), W({6}, 5), Fed(kI32, {1, 2}, {0, 1})},
       {{"num_heads", 1}},
       {},
       1,
       0,
       {-1.9375, 1.0625, -1.9375, 1.0625}},
      {"MultiHeadAttention",
       "com.microsoft",
       {F({1, 1, 4}, 1), F({1, 1, 4}, 2), F({1, 1, 4}, 3), None(), None(), None(), F({1, 2, 2, 2}, 4),
        F({1, 2, 2, 2}, 8)},
       {{"num_heads", 2}},
       {},
       3,
       0,
       {-0.4097525, 0.9218202, 0.1136167, -0.3863113}},
      {"GroupQueryAttention",
       "com.microsoft",
       {F({1, 2, 16}, 1), F({1, 2, 8}, 2), F({1, 2, 8}, 3), F({1, 1, 2, 8}, 4), F({1, 1, 2, 8}, 5), Fed(kI32, {1}, {3}),
        Number(kI32, 4)},
       {{"num_heads", 2}, {"kv_num_heads", 1}, {"local_window_size", 2}},
       {},
       3,
       0,
       {-0.3370455, 0.8154545,   0.4129545, -0.5870455, 0.5654546, 0.1629545,  -0.8370454, 0.3154546,
        -0.4079374, 1.0045,      0.3420627, -0.6579374, 0.7544997, 0.09206263, -0.9079374, 0.5044997,
        -0.3694793, -0.05520675, 0.3805207, -0.6194794, 1.130521,  0.1305207,  -0.8694794, 0.8805207,
        -0.373619,  -0.01381009, 0.376381,  -0.623619,  1.126381,  0.126381,   -0.873619,  0.876381}},
      {"GroupQueryAttention",
       "com.microsoft",
       {F({2, 1, 8}, 1), F({2, 1, 8}, 2), F({2, 1, 8}, 3), F({2, 1, 2, 8}, 4), F({2, 1, 2, 8}, 5),
        Fed(kI32, {2}, {2, 1}), Number(kI32, 3)},
       {{"num_heads", 1}, {"kv_num_heads", 1}},
       {},
       3,
       1,
       {-0.25, -1.25, 0.5,  -0.5,  1.25, 0.25,  -0.75, 1,    0,    -1,    0.75, -0.25, -1.25, 0.5,  -0.5,  1.25,
        -0.75, 1,     0,    -1,    0.75, -0.25, -1.25, 0.5,  0.25, -0.75, 1,    0,     -1,    0.75, -0.25, -1.25,
        -0.5,  1.25,  0.25, -0.75, 1,    0,     -1,    0.75, 0,    0,     0,    0,     0,     0,    0,     0}},
      // A padded prompt: the second of the batch has one row; no query sees padding, and one that sees nothing is 0.
      {"GroupQueryAttention",
       "com.microsoft",
       {F({2, 3, 8}, 1), F({2, 3, 8}, 2), F({2, 3, 8}, 3), None(), None(), Fed(kI32, {2}, {2, 0}), Number(kI32, 3)},
       {{"num_heads", 1}, {"kv_num_heads", 1}, {"local_window_size", 2}},
       {},
       3,
       0,
       {-0.5,       1.25,       0.25,      -0.75,      1,         0,         -1,         0.75,
        -0.3805207, 0.05520677, 0.3694793, -0.6305207, 1.119479,  0.1194793, -0.8805207, 0.8694794,
        -0.188819,  -1.188819,  0.5611811, -0.4388189, 0.6381897, 0.311181,  -0.6888189, 1.061181,
        0.25,       -0.75,      1,         0,          -1,        0.75,      -0.25,      -1.25,
        0.25,       -0.75,      1,         0,          -1,        0.75,      -0.25,      -1.25,
        0,          0,          0,         0,          0,         0,         0,          0}},
      {"RotaryEmbedding",
       "com.microsoft",
       {F({1, 1, 2, 4}, 1), Fed(kI64, {1}, {1}), W({3, 2}, 3), W({3, 2}, 8)},
       {},
       {},
       1,
       0,
       {-0.5625, 0.0625, 1.1875, 1.3125, 1.125, -0.3125, 1, -0.625}},
      {"QLinearAdd",
       "com.microsoft",
       {Fed(kU8, {2, 3}, {0, 40, 99, 128, 200, 255}), Number(kFloat, 0.02), Number(kU8, 128),
        Fed(kU8, {3}, {9, 99, 200}), Number(kFloat, 0.031), Number(kU8, 100), Number(kFloat, 0.0431), Number(kU8, 120)},
       {},
       {},
       1,
       0,
       {0, 78, 178, 55, 153, 251}},
      {"QLinearMul",
       "com.microsoft",
       {Fed(kU8, {2, 3}, {0, 40, 99, 128, 200, 255}), Number(kFloat, 0.02), Number(kU8, 128),
        Fed(kU8, {3}, {9, 99, 200}), Number(kFloat, 0.031), Number(kU8, 100), Number(kFloat, 0.0431), Number(kU8, 120)},
       {},
       {},
       1,
       0,
       {255, 121, 78, 120, 119, 255}},
      {"QLinearConcat",
       "com.microsoft",
       {Number(kFloat, 0.0431), Number(kU8, 120), Fed(kU8, {2, 3}, {0, 40, 99, 128, 200, 255}), Number(kFloat, 0.02),
        Number(kU8, 128), Fed(kU8, {1, 3}, {9, 99, 200}), Number(kFloat, 0.031), Number(kU8, 100)},
       {{"axis", 0}},
       {},
       1,
       0,
       {61, 79, 107, 120, 153, 179, 55, 119, 192}},
      {"QLinearSigmoid",
       "com.microsoft",
       {Fed(kU8, {2, 3}, {0, 40, 99, 128, 200, 255}), Number(kFloat, 0.02), Number(kU8, 128),
        Number(kFloat, 0.00390625), Number(kU8, 0)},
       {},
       {},
       1,
       0,
       {18, 38, 92, 128, 207, 237}},
      {"QLinearLeakyRelu",
       "com.microsoft",
       {Fed(kU8, {2, 3}, {0, 40, 99, 128, 200, 255}), Number(kFloat, 0.02), Number(kU8, 128), Number(kFloat, 0.0213),
        Number(kU8, 90)},
       {},
       {{"alpha", 0.1}},
       1,
       0,
       {78, 82, 87, 90, 158, 209}},
      {"QLinearSoftmax",
       "com.microsoft",
       {Fed(kU8, {2, 3}, {0, 40, 99, 128, 200, 255}), Number(kFloat, 0.02), Number(kU8, 128),
        Number(kFloat, 0.00390625), Number(kU8, 0)},
       {{"opset", 13}},
       {},
       1,
       0,
       {24, 54, 177, 14, 60, 181}},
      {"QLinearGlobalAveragePool",
       "com.microsoft",
       {Fed(kU8, {1, 2, 3}, {0, 40, 99, 128, 200, 255}), Number(kFloat, 0.02), Number(kU8, 128), Number(kFloat, 0.0213),
        Number(kU8, 90)},
       {},
       {},
       1,
       0,
       {13, 152}},
      {"QGemm",
       "com.microsoft",
       {Fed(kU8, {2, 3}, {0, 40, 99, 128, 200, 255}), Number(kFloat, 0.02), Number(kU8, 128),
        Known(kI8, {3, 2}, {-60, 7, 33, -5, 21, 64}), Number(kFloat, 0.01), Number(kI8, 1),
        Known(kI32, {2}, {300, -900}), Number(kFloat, 0.5), Number(kU8, 90)},
       {},
       {},
       1,
       0,
       {92, 89, 92, 93}},
      {"MatMulIntegerToFloat",
       "com.microsoft",
       {Fed(kU8, {2, 3}, {0, 40, 99, 128, 200, 255}), Known(kI8, {3, 2}, {-60, 7, 33, -5, 21, 64}),
        Number(kFloat, 0.02), Number(kFloat, 0.01), Number(kU8, 128), Number(kI8, 1), W({2}, 3)},
       {},
       {},
       1,
       0,
       {0.3824, 0.8366, 0.4687999, 2.7638}},
      {"DynamicQuantizeMatMul",
       "com.microsoft",
       {F({2, 3}, 1), Known(kI8, {3, 2}, {-60, 7, 33, -5, 21, 64}), Number(kFloat, 0.01), Number(kI8, 1), W({2}, 3)},
       {},
       {},
       1,
       0,
       {0.298353, 0.9869412, 0.3209412, 0.8288235}},
      {"QAttention",
       "com.microsoft",
       {Fed(kU8, {1, 2, 3}, {0, 40, 99, 128, 200, 255}),
        Known(kI8, {3, 6}, {-60, -23, 14, 51, -33, 4, 41, -43, -6, 31, -53, -16, 21, 58, -26, 11, 48, -36}), W({6}, 2),
        Number(kFloat, 0.02), Number(kFloat, 0.01), None(), Number(kU8, 128), Number(kI8, 0)},
       {{"num_heads", 1}},
       {},
       1,
       0,
       {1.229323, -1.360531, 1.24341, -1.339833}},
      {"MatMulNBits",
       "com.microsoft",
       {F({1, 16}, 1), Known(kU8, {2, 1, 8}, {5, 82, 159, 236, 57, 134, 211, 32, 109, 186, 7, 84, 161, 238, 59, 136}),
        Known(kFloat, {2, 1}, {0.1, 0.25}), Known(kU8, {2, 1}, {3, 9})},
       {{"K", 16}, {"N", 2}, {"bits", 4}, {"block_size", 16}},
       {},
       1,
       0,
       {0.175, -1.75}},
  };
}

TEST(OnnxMicrosoftTest, ComputesWhatOnnxRuntimeComputes) {
  for (const MicrosoftCase& c : MicrosoftCases()) {
    SCOPED_TRACE(c.op);
    ExpectComputed(c);
  }
}

std::string Refusal(const MicrosoftCase& c) {
  const auto imported = Build(c).model.Import();
  EXPECT_FALSE(imported.ok()) << c.op;
  return imported.status().message();
}

void ExpectRefusal(const MicrosoftCase& c, const std::string& words) {
  EXPECT_NE(Refusal(c).find(words), std::string::npos) << Refusal(c);
}

TEST(OnnxMicrosoftTest, NamesWhatItRefuses) {
  const std::string domain = "com.microsoft";
  const MicrosoftInput weights = Known(kU8, {2, 1, 8}, std::vector<double>(16, 3)), scales = W({2, 1}, 1);
  const std::map<std::string, int64_t> sizes = {{"K", 16}, {"N", 2}, {"bits", 4}, {"block_size", 16}};
  ExpectRefusal({"MatMulNBits",
                 domain,
                 {F({1, 16}, 1), weights, scales, None(), Known(kI32, {16}, std::vector<double>(16, 0))},
                 sizes,
                 {},
                 1,
                 0,
                 {}},
                "g_idx");
  ExpectRefusal({"MatMulNBits", domain, {F({1, 16}, 1), F({2, 8}, 1), scales}, sizes, {}, 1, 0, {}},
                "the weights (input 1) must be known");
  std::map<std::string, int64_t> three = sizes;
  three["bits"] = 3;
  ExpectRefusal({"MatMulNBits", domain, {F({1, 16}, 1), weights, scales}, three, {}, 1, 0, {}}, "weights of 3 bits");
  const std::vector<MicrosoftInput> attend = {F({1, 2, 3}, 1), W({3, 6}, 2), W({6}, 5)};
  ExpectRefusal({"Attention", domain, attend, {{"num_heads", 2}, {"do_rotary", 1}}, {}, 1, 0, {}}, "do_rotary");
  std::vector<MicrosoftInput> masked = attend;
  masked.push_back(Fed(kI32, {1, 5}, std::vector<double>(5, 1)));
  ExpectRefusal({"Attention", domain, masked, {{"num_heads", 2}}, {}, 1, 0, {}}, "a mask of shape [1,5]");
  const std::vector<MicrosoftInput> group = {F({1, 2, 8}, 1), F({1, 2, 8}, 2),     F({1, 2, 8}, 3),   None(),
                                             None(),          Fed(kI32, {1}, {1}), Fed(kI32, {}, {2})};
  const std::map<std::string, int64_t> heads = {{"num_heads", 1}, {"kv_num_heads", 1}};
  ExpectRefusal({"GroupQueryAttention", domain, group, heads, {}, 1, 0, {}}, "LoadOptions::input_values i6=VALUES");
  std::map<std::string, int64_t> window = heads;
  window["sliding_window_cache"] = 1;
  ExpectRefusal({"GroupQueryAttention", domain, group, window, {}, 1, 0, {}}, "sliding_window_cache");
}

// ONNX Runtime has an operator that Plumb lacks: the refusal says so, and names it with its domain.
TEST(OnnxMicrosoftTest, NamesWhatItLacks) {
  ExpectRefusal({"CDist", "com.microsoft", {F({2, 3}, 1), F({2, 3}, 2)}, {}, {}, 1, 0, {}}, "com.microsoft.CDist");
}

}  // namespace
}  // namespace plumb
