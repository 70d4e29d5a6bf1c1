// SPDX-License-Identifier: Apache-2.0
// The tnnproto reader and writer: what old files leave out, what is refused and how it is said, names of any bytes.
#include <algorithm>
#include <cstring>
#include <set>

#include "format/tnn/param_tokens.h"
#include "format/tnn/tnn_test_util.h"
#include "format/tnn/types.h"
#include "op/core/op.h"

namespace plumb::tnn {
namespace {

constexpr char kRelu[] = "ReLU r 1 1 x y";

TEST(TnnTypes, TheTableIsWholeAndEveryOperatorIsInIt) {
  int rows = 0;
  std::set<std::string> strings;
#define PLUMB_TNN_TYPE(number, string) \
  ++rows;                              \
  strings.insert(#string);
#include "format/tnn/type_list.def"
#undef PLUMB_TNN_TYPE
  EXPECT_EQ(rows, 230);
  EXPECT_EQ(strings.size(), 230u);
  for (const OpDef& op : AllOps()) {
    const bool own = std::string(op.name).rfind("Plumb", 0) == 0;
    EXPECT_EQ(strings.count(op.name), own ? 0u : 1u) << op.name << ": a type that TNN does not know is called Plumb...";
    EXPECT_EQ(FindLayerType(op.name)->op, &op);
    if (own) {
      EXPECT_TRUE(op.visit_resources == nullptr) << op.name << ": weights of our own types are constants";
    }
  }
}

TEST(TnnTypes, AliasesAndPrefixes) {
  EXPECT_STREQ(FindLayerType("SoftmaxCaffe")->op->name, "Softmax");
  EXPECT_STREQ(FindLayerType("Relu")->op->name, "ReLU");
  EXPECT_TRUE(FindLayerType("QuantizedConvolution")->quantized);
  EXPECT_TRUE(FindLayerType("DynamicRangeQuantizedConvolution")->dynamic_range_quantized);
  EXPECT_FALSE(FindLayerType("DynamicRangeQuantizedConvolution")->quantized);
  EXPECT_EQ(FindLayerType("QuantizedMul")->op, nullptr);  // an obsolete type of TNN's, not Mul
  EXPECT_FALSE(FindLayerType("QuantizedSoftmax"));
  EXPECT_FALSE(FindLayerType("convolution"));  // case matters
  for (int i = 0; i <= static_cast<int>(DType::kBool); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(FindDataType(DataTypeNumber(dtype)), dtype);
  }
}

TEST(TnnProto, TakesWhatOldFilesLookLike) {
  const Graph v1 = ParseOrDie(
      "\"1 0 1 4206624770 ,\"\r\n\"x 1 3 8 8 ,\"\r\n\" ,\"\r\n\"y ,\"\r\n\" 2 ,\"\r\n"
      "\"Convolution c 1 1 x c 1 3 4 3 3 1 1 1 1 1 -1 ,\"\r\n\"SoftmaxCaffe s 1 1 c y ,\"\r\n");
  EXPECT_TRUE(v1.notes.empty());
  EXPECT_EQ(v1.inputs[0].shape, Shape({1, 3, 8, 8}));
  EXPECT_EQ(v1.layers[0].outputs, std::vector<std::string>{"c"});
  EXPECT_EQ(ParamTokens(v1.layers[0]).size(), 14u);  // the missing tail has its defaults
  EXPECT_EQ(ParamTokens(v1.layers[0])[11], "1");
  EXPECT_EQ(v1.layers[1].type, "Softmax");
  EXPECT_EQ(ParamTokens(v1.layers[1])[0], "1");
}

TEST(TnnProto, ReadsSeveralInputsHoweverTheColonStands) {
  for (const char* input : {"a 2 1 2 0 : b 1 7 3", "a 2 1 2 0: b 1 7 3", "a 2 1 2 0 :b 1 7 3", "a  2 1 2 0:b 1 7 3"}) {
    const Graph graph = ParseOrDie(ProtoText("ReLU r 1 1 a y", input));
    ASSERT_EQ(graph.inputs.size(), 2u);
    EXPECT_EQ(graph.inputs[0].shape, Shape({1, 2}));
    EXPECT_EQ(graph.inputs[1].name, "b");
    EXPECT_EQ(graph.inputs[1].dtype, DType::kI32);
  }
}

TEST(TnnProto, LayersOfAnyNumberOfPhysicalLines) {
  const Graph graph = ParseOrDie("1 2 1 4206624772,x 4 1 2 3 3 0,,y,1,ReLU r\n 1 1 x\n y,");
  EXPECT_EQ(graph.layers[0].outputs[0], "y");
}

TEST(TnnProto, SaysWhatItPassesOver) {
  const Graph surplus = ParseOrDie(ProtoText("Softmax s 1 1 x y 1 77 88"));
  ASSERT_EQ(surplus.notes.size(), 1u);
  EXPECT_NE(surplus.notes[0].find("surplus parameters are ignored, as TNN does: 77 88"), std::string::npos);
  const Graph short_file = ParseOrDie("1 2 1 4206624772,x 4 1 2 3 3 0,,y,5,ReLU r 1 1 x y,");
  ASSERT_EQ(short_file.notes.size(), 1u);
  EXPECT_NE(short_file.notes[0].find("says 5 layers, the file has 1"), std::string::npos);
}

struct BadProto {
  const char* text;
  const char* expected;  // part of the message
};

TEST(TnnProto, RefusesWithLineLayerAndField) {
  const std::string head = "\"1 2 1 4206624772 ,\"\n\"x 4 1 2 3 3 0 ,\"\n\" ,\"\n\"y ,\"\n\" 1 ,\"\n";
  const BadProto cases[] = {
      {"Softmax s 1 1 x y 1x",
       "line 6: layer 0: 's' (Softmax): field 'axis' (parameter 1): expected an integer, found '1x'"},
      {"Softmax s 1 1 x y 99999999999", "expected an integer from -2147483648 to 2147483647, found '99999999999'"},
      {"Softmax s 1 1 x y 1.0", "expected an integer, found '1.0'"},
      {"Convolution s 1 1 x y 1 2 2 1 1 1 1 0 0 2", "field 'bias' (parameter 10): expected an integer from 0 to 1"},
      {"InnerProduct s 1 1 x y 10 1 0", "field 'axis' (parameter 4): expected an integer, found the end of the line"},
      {"Reshape s 1 1 x y 0 4 4 0 1", "field 'shape' (parameter 3): expected 4 values, found 2"},
      {"Reshape s 1 1 x y 0 4 -4", "expected an integer from 0"},
      {"Reshape s 1 1 x y 0 4 2000000000", "expected 2000000000 values, found 0"},
      {"Nonsense s 1 1 x y", "layer 0: 's' (Nonsense): the type is unknown"},
      {"ReLU s 1", "expected type, name, input count and output count, found 3 fields"},
      {"ReLU s 2 1 x y", "expected 1 output names, found the end of the line"},
      {"ReLU s 2000000000 1 x y", "expected 2000000000 input names"},
      {"ReLU s -1 1 x y", "field 'input count': expected an integer from 0"},
  };
  for (const BadProto& bad : cases) {
    const auto proto = ParseProto(head + "\"" + bad.text + " ,\"\n", "net.tnnproto");
    ASSERT_FALSE(proto.ok()) << bad.text;
    EXPECT_EQ(proto.status().code(), StatusCode::kCorruptModel);
    EXPECT_NE(proto.status().message().find(bad.expected), std::string::npos) << proto.status().message();
    EXPECT_EQ(proto.status().message().rfind("model 'net.tnnproto': line ", 0), 0u) << proto.status().message();
  }
}

TEST(TnnProto, RefusesBadHeaders) {
  const std::string tail = ",,y,1,ReLU r 1 1 x y,";
  const std::pair<std::string, const char*> cases[] = {
      {"", "found 0 commas"},
      {"PK\x03\x04", "found 0 commas"},
      {"1 2 1 5,x 4 1 2 3 3 0" + tail, "expected the magic 4206624770 (v1) or 4206624772 (v2), found 5"},
      {"1 2 1,x 4 1 2 3 3 0" + tail, "expected 4 fields"},
      {"1 2 1 4206624772,x 4 1 2 3 3" + tail, "expected 4 dims and a dtype behind the rank, found 4 fields"},
      {"1 2 1 4206624772,x 4 1 2 3 3 7 0" + tail, "found 6 fields"},
      {"1 2 1 4206624772,x 99999999 1" + tail, "expected an integer from 0 to 16"},
      {"1 2 1 4206624772,x 2 1 q 0" + tail, "input 'x': dim 1: expected an integer, found 'q'"},
      {"1 2 1 4206624772,x 1 1 99" + tail, "expected a data type number"},
      {"1 2 1 4206624770,x" + tail, "at least one dim"},
      {"1 2 1 4206624770,x 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17" + tail, "expected at most 16 dims, found 17"},
      {"1 2 1 4206624772,x 1 1 0,,,1,ReLU r 1 1 x y,", "at least one network output"},
      {std::string("1 2 1 4206624772,x 1 1 0,,y,1,ReLU\0r 1 1 x y,", 41), "is NUL"},
  };
  for (const auto& [text, expected] : cases) {
    const auto proto = ParseProto(text, "net.tnnproto");
    ASSERT_FALSE(proto.ok()) << text;
    EXPECT_EQ(proto.status().code(), StatusCode::kCorruptModel);
    EXPECT_NE(proto.status().message().find(expected), std::string::npos) << proto.status().message();
  }
}

TEST(TnnProto, NamesEveryLayerWithoutOperator) {
  const auto proto = ParseProto(ProtoText("HDRGuide a 1 1 x b\nReLU c 1 1 b d\nProposal e 1 1 d y"), "net.tnnproto");
  ASSERT_FALSE(proto.ok());
  EXPECT_EQ(proto.status().code(), StatusCode::kNotSupported);
  EXPECT_NE(proto.status().message().find("2 of 3 layers"), std::string::npos) << proto.status().message();
  EXPECT_NE(proto.status().message().find("'a' (HDRGuide), 'e' (Proposal)"), std::string::npos)
      << proto.status().message();
}

TEST(TnnProto, EveryCutOfATextIsHandled) {
  const std::string text = ProtoText("Convolution c 1 1 x c 1 2 2 1 1 1 1 0 0 1 -1 1 1 0\nSoftmax s 1 1 c y 1");
  for (size_t size = 0; size < text.size(); ++size) {
    const auto proto = ParseProto(text.substr(0, size), "net.tnnproto");
    if (!proto.ok()) {
      EXPECT_EQ(proto.status().code(), StatusCode::kCorruptModel);
    }
  }
}

TEST(TnnProto, WritesNamesOfAnyBytes) {
  Graph graph = ParseOrDie(ProtoText(kRelu));
  const std::string hard = "a b,c\"d%20:\n\t\x7f\xc3\xa4";
  graph.inputs[0].name = graph.layers[0].inputs[0] = "in:0";
  graph.layers[0].name = hard;
  graph.layers[0].outputs[0] = graph.outputs[0] = hard + ":1";
  const auto text = FormatProto(graph);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->rfind("\"1 2 plumb-names-1 4206624772 ,\"\n\"in%3A0 4 ", 0), 0u) << *text;
  EXPECT_NE(text->find("ReLU a%20b%2Cc%22d%2520:%0A%09%7F\xc3\xa4 1 1 in%3A0 "), std::string::npos) << *text;
  const auto back = ParseProto(*text, "net.tnnproto");
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_TRUE(back->escaped);
  EXPECT_EQ(back->graph.inputs[0].name, "in:0");
  EXPECT_EQ(back->graph.layers[0].name, hard);
  EXPECT_EQ(back->graph.outputs[0], hard + ":1");
  EXPECT_EQ(back->graph.layers[0].outputs[0], hard + ":1");
}

TEST(TnnProto, DecodesOnlyItsOwnEscapes) {
  const Graph foreign = ParseOrDie(ProtoText("ReLU a%20b 1 1 x y"));
  EXPECT_EQ(foreign.layers[0].name, "a%20b");
  EXPECT_EQ(ParseOrDie(*FormatProto(foreign)).layers[0].name, "a%20b");
  const auto broken = ParseProto("1 2 plumb-names-1 4206624772,x 1 1 0,,y,1,ReLU a%2 1 1 x y,", "net.tnnproto");
  EXPECT_EQ(broken.status().code(), StatusCode::kCorruptModel);
}

TEST(TnnProto, RefusesToWriteWhatItCannotSay) {
  Graph graph = ParseOrDie(ProtoText(kRelu));
  graph.layers[0].name.clear();
  EXPECT_EQ(FormatProto(graph).status().code(), StatusCode::kInvalidArgument);
  graph = ParseOrDie(ProtoText("Softmax s 1 1 x y 1"));
  graph.layers[0].quantized = true;
  EXPECT_EQ(FormatProto(graph).status().code(), StatusCode::kNotSupported);
}

TEST(TnnProto, FloatsReadBackExactly) {
  for (const float value : {0.1f, 1e-5f, 3.4028235e38f, 1e-45f, 0.33333334f, -0.0f, 16777216.0f, 1.0f / 0.0f}) {
    const auto back = ParseFloat(FormatFloat(value));
    ASSERT_TRUE(back.ok()) << value;
    EXPECT_EQ(std::memcmp(&*back, &value, sizeof(value)), 0) << FormatFloat(value);
  }
  EXPECT_EQ(FormatFloat(0.1f), "0.1");
  EXPECT_EQ(*ParseFloat("1e-50"), 0.0f);
  EXPECT_EQ(*ParseFloat("+1.5"), 1.5f);
  for (const char* bad : {"", "+", "1.5x", "+-1", "0x10", "--1", "1,5"}) EXPECT_FALSE(ParseFloat(bad).ok()) << bad;
}

TEST(TnnProto, SurplusInATypeOfOurOwnIsAMistake) {
  for (const OpDef& op : AllOps()) {
    if (std::string(op.name).rfind("Plumb", 0) != 0) continue;
    Layer layer;
    layer.kind = op.kind;
    layer.param = op.make_param();
    std::string line = std::string(op.name) + " p 1 1 x y";
    for (const std::string& token : ParamTokens(layer)) line += " " + token;
    EXPECT_TRUE(ParseProto(ProtoText(line), "net.tnnproto").ok()) << line;
    EXPECT_EQ(ParseProto(ProtoText(line + " 7"), "net.tnnproto").status().code(), StatusCode::kCorruptModel) << line;
  }
}

// Every operator: its default parameters survive writing and reading.
TEST(TnnProto, EveryOperatorsParametersSurvive) {
  for (const OpDef& op : AllOps()) {
    Layer layer;
    layer.kind = op.kind;
    layer.param = op.make_param();
    std::vector<std::string> tokens = ParamTokens(layer);
    if (std::any_of(tokens.begin(), tokens.end(), [](const std::string& token) { return token.empty(); })) continue;
    const std::vector<std::string_view> views(tokens.begin(), tokens.end());
    Layer back = layer;
    back.param = op.make_param();
    const auto used = ReadParams(views, false, back.param.get());
    ASSERT_TRUE(used.ok()) << op.name << ": " << used.status().ToString();
    EXPECT_EQ(*used, tokens.size()) << op.name;
    EXPECT_EQ(ParamTokens(back), tokens) << op.name;
  }
}

}  // namespace
}  // namespace plumb::tnn
