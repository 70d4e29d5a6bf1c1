// SPDX-License-Identifier: Apache-2.0
// The seven benchmark networks of TNN: read, written, read again.
#include <gtest/gtest.h>

#include "base/file.h"
#include "format/tnn/model.h"
#include "format/tnn/param_tokens.h"
#include "format/tnn/proto.h"
#include "graph/resources.h"
#include "plumb/model.h"

namespace plumb {
namespace {

const char* const kNetworks[] = {"densenet",       "inception_v3", "mobilenet_v1",   "quant_mobilenet_v1",
                                 "quant_resnet50", "resnet50",     "squeezenet_v1.0"};

std::string PathOf(const std::string& network) { return PLUMB_TEST_DATA "/networks/" + network + ".tnnproto"; }

LoadOptions Kept() {
  LoadOptions options;
  options.keep_quantized = true;
  return options;
}

class NetworkTest : public ::testing::TestWithParam<const char*> {};

void ExpectSameStructure(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.inputs.size(), b.inputs.size());
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    EXPECT_EQ(a.inputs[i].name, b.inputs[i].name);
    EXPECT_EQ(a.inputs[i].dtype, b.inputs[i].dtype);
    EXPECT_EQ(a.inputs[i].shape, b.inputs[i].shape);
  }
  EXPECT_EQ(a.outputs, b.outputs);
  ASSERT_EQ(a.layers.size(), b.layers.size());
  for (size_t i = 0; i < a.layers.size(); ++i) {
    const Layer& x = a.layers[i];
    const Layer& y = b.layers[i];
    EXPECT_EQ(x.kind, y.kind);
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.index, y.index);
    EXPECT_EQ(x.inputs, y.inputs);
    EXPECT_EQ(x.outputs, y.outputs);
    EXPECT_EQ(x.quantized, y.quantized);
    EXPECT_EQ(tnn::ParamTokens(x), tnn::ParamTokens(y)) << x.name;
  }
}

TEST_P(NetworkTest, TextSurvivesReadWriteRead) {
  const auto bytes = ReadFile(PathOf(GetParam()));
  ASSERT_TRUE(bytes.ok()) << bytes.status().ToString();
  const auto first = tnn::ParseProto(bytes->text(), GetParam());
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_TRUE(first->graph.notes.empty()) << first->graph.notes[0];
  const auto text = tnn::FormatProto(first->graph);
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  const auto second = tnn::ParseProto(*text, GetParam());
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  ExpectSameStructure(first->graph, second->graph);
  const auto again = tnn::FormatProto(second->graph);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*text, *again);
}

TEST_P(NetworkTest, LoadsWithShapesAndGeneratedWeights) {
  const bool quantized = std::string(GetParam()).rfind("quant_", 0) == 0;
  const auto graph = LoadModel(PathOf(GetParam()), Kept());
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_TRUE(graph->notes.empty());
  EXPECT_TRUE(graph->weights_generated);
  EXPECT_EQ(graph->weight_seed, kDefaultSeed);
  int num_quantized = 0;
  for (const Layer& layer : graph->layers) {
    num_quantized += layer.quantized ? 1 : 0;
    if (layer.type != "Convolution") continue;
    EXPECT_EQ(layer.Resource("weight")->dtype(), quantized ? DType::kI8 : DType::kF32) << layer.name;
  }
  EXPECT_EQ(num_quantized > 0, quantized);
}

TEST_P(NetworkTest, ModelBytesSurviveReadWriteRead) {
  const auto bytes = ReadFile(PathOf(GetParam()));
  ASSERT_TRUE(bytes.ok());
  const auto proto = tnn::ParseProto(bytes->text(), GetParam());
  const auto graph = LoadModel(PathOf(GetParam()), Kept());
  ASSERT_TRUE(proto.ok() && graph.ok());
  for (const int version : {1, 2}) {
    std::string written;
    const auto append = [](std::string* to) {
      return [to](const void* data, size_t size) {
        to->append(static_cast<const char*>(data), size);
        return Status::Ok();
      };
    };
    const auto sink = append(&written);
    ASSERT_TRUE(tnn::WriteModel(*graph, version, sink).ok());
    Graph read = proto->graph;
    const FileBytes file(std::shared_ptr<void>(written.data(), [](void*) {}), written.size());
    const Status status = tnn::ReadModel(file, "written", false, &read);
    ASSERT_TRUE(status.ok()) << status.ToString();
    const auto blobs = InferShapes(read);
    ASSERT_TRUE(blobs.ok());
    ASSERT_TRUE(CheckResources(*blobs, &read).ok());
    for (size_t i = 0; i < read.layers.size(); ++i) {
      EXPECT_TRUE(SameResources(read.layers[i].resources, graph->layers[i].resources)) << read.layers[i].name;
    }
    std::string again;
    const auto sink2 = append(&again);
    ASSERT_TRUE(tnn::WriteModel(read, version, sink2).ok());
    EXPECT_TRUE(written == again) << "version " << version;
  }
}

INSTANTIATE_TEST_SUITE_P(All, NetworkTest, ::testing::ValuesIn(kNetworks));

}  // namespace
}  // namespace plumb
