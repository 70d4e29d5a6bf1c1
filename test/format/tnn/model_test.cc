// SPDX-License-Identifier: Apache-2.0
// The tnnmodel reader and writer: every form of record, what contradicts itself, and sizes that lie.
#include <algorithm>
#include <set>

#include "base/threads.h"
#include "format/tnn/tnn_test_util.h"
#include "format/tnn/types.h"

namespace plumb::tnn {
namespace {

constexpr char kConvolution[] = "Convolution c 1 1 x y 1 2 2 1 1 1 1 0 0 1 -1 1 1 0";

// Composes a tnnmodel by hand.
struct Bytes {
  std::string text;
  Bytes& U32(uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>(value >> shift & 0xFF);
    return *this;
  }
  Bytes& Str(const std::string& value) {
    U32(static_cast<uint32_t>(value.size()));
    text += value;
    return *this;
  }
  template <class T>
  Bytes& Raw(int dtype, const std::vector<T>& values, bool dims = true) {
    U32(dims ? kMagicV2 : kMagicV1)
        .U32(static_cast<uint32_t>(dtype))
        .U32(static_cast<uint32_t>(values.size() * sizeof(T)));
    if (values.empty()) return *this;
    if (dims) U32(1).U32(static_cast<uint32_t>(values.size()));
    text.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    return *this;
  }
  Bytes& Head(uint32_t count) { return U32(kMagicV2).U32(count); }
  Bytes& Record(int type, const std::string& type_string, const std::string& name) {
    return U32(static_cast<uint32_t>(type)).Str(type_string).Str(name);
  }
};

const std::vector<float> kWeight = {1, 2, 3, 4};
const std::vector<float> kBias = {5, 6};

Bytes ConvolutionBody(Bytes bytes, const std::string& name = "c") {
  return bytes.Str(name).U32(1).Raw(0, kWeight).Raw(0, kBias);
}

Status Read(const Bytes& bytes, Graph* graph) { return ReadModel(BytesOf(bytes.text), "test.tnnmodel", false, graph); }

TEST(TnnModel, ReadsTheOldestForm) {
  Graph graph = ParseOrDie(ProtoText(kConvolution));
  Bytes bytes;  // no magic, no type string
  bytes.U32(1).U32(1).Str("c").Str("c").U32(1).Raw(0, kWeight, false).Raw(0, kBias, false);
  const Status status = Read(bytes, &graph);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(graph.layers[0].Resource("weight")->data<float>()[3], 4.0f);
}

TEST(TnnModel, TellsALayerCalledLikeATypeApart) {
  Graph graph = ParseOrDie(ProtoText("Convolution Softmax 1 1 x y 1 2 2 1 1 1 1 0 0 1 -1 1 1 0"));
  Bytes bytes;
  bytes.U32(1).U32(1).Str("Softmax").Str("Softmax").U32(1).Raw(0, kWeight, false).Raw(0, kBias, false);
  const Status status = Read(bytes, &graph);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_NE(graph.layers[0].Resource("bias"), nullptr);
}

TEST(TnnModel, ReadsAndWritesQuantizedWeights) {
  const std::string layer = "QuantizedConvolution c 1 1 x y 1 2 2 1 1 1 1 0 0 1 -1 1 1 0";
  for (const bool zero_point : {true, false}) {
    Bytes bytes = Bytes()
                      .Head(3)
                      .Record(600, "BlobScale", "x_scale_data_")
                      .Raw<int8_t>(2, {0})
                      .Raw<float>(0, {0.5f})
                      .Raw<int32_t>(3, {});
    bytes.Record(1, "QuantizedConvolution", "c").Str("c").U32(1).Raw<int8_t>(2, {1, -2, 3, -4}).Raw<int32_t>(3, {7, 8});
    if (zero_point) bytes.Raw<int8_t>(2, {0, 1});
    bytes.Raw<float>(0, {0.1f, 0.2f});
    bytes.Record(600, "BlobScale", "y_scale_data_").Raw<float>(0, {0.25f}).Raw<int32_t>(3, {});  // the old form
    Graph graph = ParseOrDie(ProtoText(layer));
    const Status status = Read(bytes, &graph);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(graph.layers[0].Resource("weight")->dtype(), DType::kI8);
    EXPECT_EQ(graph.layers[0].Resource("weight_scale")->data<float>()[1], 0.2f);
    EXPECT_EQ(graph.layers[0].Resource("weight_zero_point") != nullptr, zero_point);
    EXPECT_EQ(graph.blob_scales.at("x").scale.data<float>()[0], 0.5f);
    EXPECT_TRUE(graph.blob_scales.at("y").zero_point.empty());
    EXPECT_TRUE(CheckResources(*InferShapes(graph), &graph).ok());
    const std::string written = Written(graph, 2);
    Graph back = ParseOrDie(*FormatProto(graph));
    ASSERT_TRUE(ReadModel(BytesOf(written), "written", false, &back).ok());
    EXPECT_TRUE(SameResources(back.layers[0].resources, graph.layers[0].resources));
    EXPECT_EQ(Written(back, 2), written);
  }
}

TEST(TnnModel, ReadsRecordsThatBelongToNoLayerAndSaysSo) {
  Graph graph = ParseOrDie(ProtoText("ReLU r 1 1 x y"));
  const Status status = Read(ConvolutionBody(Bytes().Head(1).Record(1, "Convolution", "gone"), "gone"), &graph);
  ASSERT_TRUE(status.ok()) << status.ToString();
  ASSERT_EQ(graph.notes.size(), 1u);
  EXPECT_NE(graph.notes[0].find("'gone'"), std::string::npos);
}

TEST(TnnModel, TakesARepeatedRecordOnlyWhenItSaysTheSame) {
  Graph graph = ParseOrDie(ProtoText(kConvolution));
  Bytes once = ConvolutionBody(Bytes().Head(2).Record(1, "Convolution", "c"));
  EXPECT_TRUE(Read(ConvolutionBody(Bytes(once).Record(1, "Convolution", "c")), &graph).ok());
  const Bytes other = Bytes(once).Record(1, "Convolution", "c").Str("c").U32(1).Raw(0, kWeight).Raw<float>(0, {5, 7});
  const Status status = Read(other, &graph);
  EXPECT_EQ(status.code(), StatusCode::kCorruptModel);
  EXPECT_NE(status.message().find("another record with other values at byte 8"), std::string::npos)
      << status.ToString();
}

// Buffers are copied together by all threads: more than are put off at a time, one that nobody keeps, and small ones.
TEST(TnnModel, CopiesLargeBuffersWithAnyNumberOfThreads) {
  const std::vector<std::string> names = {"a", "gone", "b", "c"};
  Bytes bytes = Bytes().Head(4);
  std::vector<std::vector<float>> weights;
  for (size_t i = 0; i < names.size(); ++i) {
    weights.emplace_back(size_t{2} << 20);  // 8 MiB; 16 are put off
    for (size_t k = 0; k < weights[i].size(); ++k) weights[i][k] = static_cast<float>(k % 999 + 1000 * i);
    bytes.Record(1, "Convolution", names[i]).Str(names[i]).U32(1).Raw(0, weights[i]).Raw(0, kBias);
  }
  const std::string tail = " 1 2 2 1 1 1 1 0 0 1 -1 1 1 0";
  const Graph layers = ParseOrDie(
      ProtoText("Convolution a 1 1 x m" + tail + "\nConvolution b 1 1 m n" + tail + "\nConvolution c 1 1 n y" + tail));
  for (const int threads : {1, 2, 3}) {
    SetNumThreads(threads);
    Graph graph = layers;
    ASSERT_TRUE(Read(bytes, &graph).ok());
    for (const auto& [layer, written] : {std::pair<size_t, size_t>{0, 0}, {1, 2}, {2, 3}}) {
      const float* weight = graph.layers[layer].Resource("weight")->data<float>();
      EXPECT_TRUE(std::equal(weights[written].begin(), weights[written].end(), weight)) << threads << " " << layer;
      EXPECT_EQ(graph.layers[layer].Resource("bias")->data<float>()[1], kBias[1]);
    }
    Bytes cut = bytes;
    cut.text.pop_back();
    EXPECT_EQ(Read(cut, &graph).code(), StatusCode::kCorruptModel);
  }
  SetNumThreads(0);
}

TEST(TnnModel, SharesWeightsAmongLayersOfOneName) {
  const Graph twins =
      ParseOrDie(ProtoText("Convolution c 1 1 x m 1 2 2 1 1 1 1 0 0 1 -1 1 1 0\nReLU c 1 1 m n\n"
                           "Convolution c 1 1 n y 1 2 2 1 1 1 1 0 0 1 -1 1 1 0"));
  Graph graph = twins;
  ASSERT_TRUE(Read(ConvolutionBody(Bytes().Head(1).Record(1, "Convolution", "c")), &graph).ok());
  EXPECT_NE(graph.layers[2].Resource("weight"), nullptr);
  EXPECT_EQ(graph.layers[1].Resource("weight"), nullptr);
  Graph back = twins;
  ASSERT_TRUE(ReadModel(BytesOf(Written(graph, 2)), "written", false, &back).ok());
  EXPECT_TRUE(SameResources(back.layers[2].resources, graph.layers[2].resources));
  graph.layers[2].resources["bias"] = *Tensor::Zeros(DType::kF32, {2});
  const auto ignore = [](const void*, size_t) { return Status::Ok(); };
  EXPECT_EQ(WriteModel(graph, 2, ignore).code(), StatusCode::kInvalidArgument);
}

TEST(TnnModel, WritesTheNamesOfTheText) {
  Graph graph = ParseOrDie(ProtoText(kConvolution));
  ASSERT_TRUE(Read(ConvolutionBody(Bytes().Head(1).Record(1, "Convolution", "c")), &graph).ok());
  graph.layers[0].name = "a b";
  graph.constants["k k"] = *Tensor::Zeros(DType::kI64, {2, 0});
  const auto proto = ParseProto(*FormatProto(graph), "net");
  ASSERT_TRUE(proto.ok());
  const std::string bytes = Written(graph, 2);
  EXPECT_NE(bytes.find("a%20b"), std::string::npos);  // TNN pairs by name, and the text has this one
  Graph back = proto->graph;
  ASSERT_TRUE(ReadModel(BytesOf(bytes), "net", proto->escaped, &back).ok());
  EXPECT_NE(back.layers[0].Resource("weight"), nullptr);
  EXPECT_EQ(back.constants.at("k k").dtype(), DType::kI64);
  EXPECT_EQ(back.constants.at("k k").NumElements(), 0);
}

struct BadModel {
  Bytes bytes;
  const char* expected;
};

TEST(TnnModel, RefusesWhatContradictsItself) {
  const Bytes record = Bytes().Head(1).Record(1, "Convolution", "c");
  const auto raw = [](uint32_t magic, uint32_t dtype, uint32_t length) {
    return Bytes().Head(1).Record(1, "Convolution", "c").Str("c").U32(1).U32(magic).U32(dtype).U32(length);
  };
  const std::vector<BadModel> cases = {
      {Bytes(), "the file is empty"},
      {Bytes().U32(kMagicV2).U32(0x1FFFFFFF), "byte 4: field 'layer count' is 536870911, but only 0 bytes follow"},
      {Bytes().Str("this is a text, no model"), "field 'layer count'"},
      {Bytes().Head(1).U32(1).U32(0xFFFFFFFF).U32(0).U32(0), "byte 12: field 'type string' has the length -1"},
      {Bytes().Head(1).U32(1).U32(0x7FFFFFFF).U32(0).U32(0), "field 'type string' expects 2147483647 bytes, found 8"},
      {Bytes(record).Str("c").U32(7), "field 'has bias' expects 0 or 1, found 7"},
      {raw(0x12345678, 0, 16), "field 'weight' expects a buffer that begins with"},
      {raw(kMagicV2, 0, 0x80000000), "field 'weight' has the length -2147483648 bytes"},
      {raw(kMagicV1, 0, 0x7FFFFFFC), "field 'weight' expects 2147483644 bytes, found 0"},
      {raw(kMagicV2, 0, 0x7FFFFFFC).U32(1).U32(0x1FFFFFFF), "field 'weight' expects 2147483644 bytes, found 0"},
      {raw(kMagicV2, 99, 16), "field 'weight' has the unknown data type 99"},
      {raw(kMagicV2, 0, 15), "15 bytes are no whole number of f32"},
      {raw(kMagicV2, 0, 16).U32(1000), "expects a rank from 0 to 16, found 1000"},
      {raw(kMagicV2, 0, 16).U32(0xFFFFFFFF), "found -1"},
      {raw(kMagicV2, 0, 16).U32(1).U32(0xFFFFFFFF), "field 'weight'"},
      {raw(kMagicV2, 0, 16).U32(2).U32(2).U32(3), "the dims [2,3] and the 4 elements of f32 do not agree"},
      {raw(kMagicV2, 0, 16).U32(2).U32(0x7FFFFFFF).U32(0x7FFFFFFF), "field 'weight'"},
      {Bytes().Head(1).Record(19, "InnerProduct", "c"), "the tnnproto has this layer as Convolution"},
      {Bytes().Head(1).Record(302, "HDRGuide", "h"), "'h' (HDRGuide): Plumb has no operator"},
      {Bytes().Head(1).Record(600, "BlobScale", "x"), "ends in '_scale_data_'"},
      {Bytes().Head(1).Record(600, "BlobScale", "x_scale_data_").Raw<int32_t>(3, {1}),
       "expects i8 (zero point) or f32 (scale)"},
      {ConvolutionBody(record).U32(kMagicV2).U32(0xFFFFFFFF), "field 'constant count' is -1"},
      {ConvolutionBody(record).U32(kMagicV2).U32(1000000), "field 'constant count' is 1000000"},
      {ConvolutionBody(record).U32(1).U32(1), "do not begin a constants section"},
  };
  for (const BadModel& bad : cases) {
    Graph graph = ParseOrDie(ProtoText(kConvolution));
    const Status status = Read(bad.bytes, &graph);
    ASSERT_FALSE(status.ok()) << bad.expected;
    EXPECT_NE(status.message().find(bad.expected), std::string::npos)
        << status.ToString() << "\nexpected " << bad.expected;
    EXPECT_EQ(status.message().rfind("model 'test.tnnmodel': ", 0), 0u) << status.ToString();
  }
}

TEST(TnnModel, NamesTheLayerAndTheSlotThatIsMissingOrWrong) {
  Graph graph = ParseOrDie(ProtoText(kConvolution));
  ASSERT_TRUE(Read(Bytes().Head(1).Record(1, "Convolution", "c").Str("c").U32(0).Raw(0, kWeight), &graph).ok());
  Status status = CheckResources(*InferShapes(graph), &graph);
  EXPECT_EQ(status.code(), StatusCode::kCorruptModel);
  EXPECT_NE(status.message().find("bias [2] of layer 0 'c' (Convolution)"), std::string::npos) << status.ToString();
  graph = ParseOrDie(ProtoText(kConvolution));
  ASSERT_TRUE(
      Read(Bytes().Head(1).Record(1, "Convolution", "c").Str("c").U32(1).Raw(0, kBias).Raw(0, kBias), &graph).ok());
  status = CheckResources(*InferShapes(graph), &graph);
  EXPECT_NE(status.message().find("weight expects 4 elements [2,2,1,1], found 2"), std::string::npos)
      << status.ToString();
  graph = ParseOrDie(ProtoText(kConvolution));
  ASSERT_TRUE(
      Read(Bytes().Head(1).Record(1, "Convolution", "c").Str("c").U32(1).Raw<int32_t>(3, {1, 2, 3, 4}).Raw(0, kBias),
           &graph)
          .ok());
  status = CheckResources(*InferShapes(graph), &graph);
  EXPECT_NE(status.message().find("weight expects f32 or f16 values, found i32"), std::string::npos)
      << status.ToString();
}

TEST(TnnModel, IgnoresABiasThatTheParametersDenyAndSaysSo) {
  Graph graph = ParseOrDie(ProtoText("Convolution c 1 1 x y 1 2 2 1 1 1 1 0 0 0 -1 1 1 0"));
  ASSERT_TRUE(Read(ConvolutionBody(Bytes().Head(1).Record(1, "Convolution", "c")), &graph).ok());
  ASSERT_TRUE(CheckResources(*InferShapes(graph), &graph).ok());
  EXPECT_EQ(graph.layers[0].Resource("bias"), nullptr);
  ASSERT_EQ(graph.notes.size(), 1u);
}

}  // namespace
}  // namespace plumb::tnn
