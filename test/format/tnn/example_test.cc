// SPDX-License-Identifier: Apache-2.0
// The worked example of TNN's format: one 1x1 convolution, read and written byte for byte, cut short at every byte, and
// with every bit flipped.
#include "format/tnn/tnn_test_util.h"

namespace plumb::tnn {
namespace {

constexpr char kProto[] =
    "\"1 2 1 4206624772 ,\"\n"
    "\"input 4 1 1 1 2 0 ,\"\n"
    "\" conv1_out input ,\"\n"
    "\"conv1_out ,\"\n"
    "\" 1 ,\"\n"
    "\"Convolution conv1 1 1 input conv1_out 1 1 2 1 1 1 1 0 0 1 -1 1 1 0 ,\"\n";

constexpr char kModelV2[] =
    "04 00 bc fa 01 00 00 00 01 00 00 00 0b 00 00 00"
    "43 6f 6e 76 6f 6c 75 74 69 6f 6e 05 00 00 00 63"
    "6f 6e 76 31 05 00 00 00 63 6f 6e 76 31 01 00 00"
    "00 04 00 bc fa 00 00 00 00 08 00 00 00 04 00 00"
    "00 02 00 00 00 01 00 00 00 01 00 00 00 01 00 00"
    "00 00 00 80 3f 00 00 00 c0 04 00 bc fa 00 00 00"
    "00 08 00 00 00 01 00 00 00 02 00 00 00 00 00 00"
    "3f 00 00 80 3e";

constexpr char kModelV1[] =
    "02 00 bc fa 01 00 00 00 01 00 00 00 0b 00 00 00"
    "43 6f 6e 76 6f 6c 75 74 69 6f 6e 05 00 00 00 63"
    "6f 6e 76 31 05 00 00 00 63 6f 6e 76 31 01 00 00"
    "00 02 00 bc fa 00 00 00 00 08 00 00 00 00 00 80"
    "3f 00 00 00 c0 02 00 bc fa 00 00 00 00 08 00 00"
    "00 00 00 00 3f 00 00 80 3e";

constexpr char kConstants[] =
    "04 00 bc fa 01 00 00 00 01 00 00 00 6b 04 00 bc fa 03 00 00 00 08 00 00 00"
    "01 00 00 00 02 00 00 00 07 00 00 00 ff ff ff ff";

Status ReadChecked(const std::string& bytes, Graph* graph) {
  PLUMB_RETURN_IF_ERROR(ReadModel(BytesOf(bytes), "test.tnnmodel", false, graph));
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(*graph));
  return CheckResources(blobs, graph);
}

void ExpectExampleWeights(const Graph& graph) {
  const Tensor* weight = graph.layers[0].Resource("weight");
  const Tensor* bias = graph.layers[0].Resource("bias");
  ASSERT_TRUE(weight != nullptr && bias != nullptr);
  EXPECT_EQ(weight->shape(), Shape({2, 1, 1, 1}));
  EXPECT_EQ(weight->data<float>()[0], 1.0f);
  EXPECT_EQ(weight->data<float>()[1], -2.0f);
  EXPECT_EQ(bias->shape(), Shape({2}));
  EXPECT_EQ(bias->data<float>()[0], 0.5f);
  EXPECT_EQ(bias->data<float>()[1], 0.25f);
}

TEST(TnnExample, IsReadAndWrittenByteForByte) {
  ASSERT_EQ(FromHex(kModelV2).size(), 117u);
  ASSERT_EQ(FromHex(kModelV1).size(), 89u);
  for (const char* hex : {kModelV2, kModelV1}) {
    Graph graph = ParseOrDie(kProto);
    const Status status = ReadChecked(FromHex(hex), &graph);
    ASSERT_TRUE(status.ok()) << status.ToString();
    ExpectExampleWeights(graph);
    EXPECT_EQ(*FormatProto(graph), kProto);
    EXPECT_EQ(Written(graph, 2), FromHex(kModelV2));
    EXPECT_EQ(Written(graph, 1), FromHex(kModelV1));
    EXPECT_TRUE(graph.notes.empty());
  }
}

TEST(TnnExample, KeepsItsConstants) {
  const std::string bytes = FromHex(kModelV2) + FromHex(kConstants);
  ASSERT_EQ(bytes.size(), 158u);
  Graph graph = ParseOrDie(kProto);
  ASSERT_TRUE(ReadChecked(bytes, &graph).ok());
  const Tensor& k = graph.constants.at("k");
  EXPECT_EQ(k.dtype(), DType::kI32);
  EXPECT_EQ(k.shape(), Shape({2}));
  EXPECT_EQ(k.data<int32_t>()[0], 7);
  EXPECT_EQ(k.data<int32_t>()[1], -1);
  EXPECT_EQ(Written(graph, 2), bytes);
}

// With the constant in use, so that a file cut between the records and the constants is short of something.
constexpr char kProtoWithConstant[] =
    "1 3 1 4206624772,input 4 1 1 1 2 0,,out,2,"
    "Convolution conv1 1 1 input conv1_out 1 1 2 1 1 1 1 0 0 1 -1 1 1 0,"
    "Add add 2 1 conv1_out k out,";

TEST(TnnExample, EveryTruncationIsRefused) {
  Graph whole = ParseOrDie(kProtoWithConstant);
  ASSERT_TRUE(ReadModel(BytesOf(FromHex(kModelV2)), "test", false, &whole).ok());
  whole.constants["k"] = *Tensor::Zeros(DType::kF32, {1, 2, 1, 1});
  for (const int version : {1, 2}) {
    const std::string bytes = Written(whole, version);
    for (size_t size = 0; size <= bytes.size(); ++size) {
      Graph graph = ParseOrDie(kProtoWithConstant);
      const Status status = ReadChecked(bytes.substr(0, size), &graph);
      EXPECT_EQ(status.ok(), size == bytes.size()) << "v" << version << " " << size << " " << status.ToString();
      if (!status.ok()) {
        EXPECT_EQ(status.code(), StatusCode::kCorruptModel) << status.ToString();
      }
    }
  }
}

TEST(TnnExample, TrailingBytesAreRefused) {
  for (const size_t extra : {1, 3, 4, 8, 100}) {
    Graph graph = ParseOrDie(kProto);
    const Status status = ReadModel(BytesOf(FromHex(kModelV2) + std::string(extra, '\0')), "test", false, &graph);
    EXPECT_EQ(status.code(), StatusCode::kCorruptModel) << extra;
  }
}

TEST(TnnExample, NoFlippedBitCrashes) {
  const std::string bytes = FromHex(kModelV2) + FromHex(kConstants);
  int refused = 0;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    Graph graph = ParseOrDie(kProto);
    const Status status = ReadChecked(flipped, &graph);
    refused += status.ok() ? 0 : 1;
    if (!status.ok()) {
      EXPECT_NE(status.message().find("test.tnn"), std::string::npos) << status.ToString();
    }
  }
  EXPECT_GT(refused, 700);  // what is left are the bits of values and of names that nobody reads
}

}  // namespace
}  // namespace plumb::tnn
