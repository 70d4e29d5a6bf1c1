// SPDX-License-Identifier: Apache-2.0
// LoadModel and SaveModel: which files are taken, what is generated, what is refused.
#include "plumb/model.h"

#include <unistd.h>

#include <filesystem>

#include "format/tnn/tnn_test_util.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

constexpr char kLayers[] = "Convolution c 1 1 x m 1 2 4 3 3 1 1 1 1 1 -1 1 1 1\nAdd a 1 1 m y 1";

class LoadModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("plumb_load_model_test." + std::to_string(::getpid()));
    fs::create_directories(folder_);
    ASSERT_TRUE(WriteFile(Path("net.tnnproto"), tnn::ProtoText(kLayers)).ok());
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

TEST_F(LoadModelTest, GeneratesWeightsOnlyWithoutATnnmodel) {
  const auto generated = LoadModel(Path("net.tnnproto"));
  ASSERT_TRUE(generated.ok()) << generated.status().ToString();
  EXPECT_TRUE(generated->weights_generated);
  EXPECT_EQ(generated->weight_seed, kDefaultSeed);
  ASSERT_TRUE(SaveModel(*generated, Path("net")).ok());
  LoadOptions other_seed;
  other_seed.seed = 9;
  const auto read = LoadModel(Path("net.tnnproto"), other_seed);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_FALSE(read->weights_generated);
  EXPECT_EQ(read->weights_source, Path("net.tnnmodel"));
  EXPECT_TRUE(SameResources(read->layers[0].resources, generated->layers[0].resources));
  other_seed.random_weights = true;
  const auto redrawn = LoadModel(Path("net.tnnproto"), other_seed);
  ASSERT_TRUE(redrawn.ok());
  EXPECT_EQ(redrawn->weight_seed, 9u);
  EXPECT_FALSE(SameResources(redrawn->layers[0].resources, generated->layers[0].resources));
}

TEST_F(LoadModelTest, ANamedTnnmodelMustExistAndBeWhole) {
  EXPECT_EQ(LoadModel({Path("net.tnnproto"), Path("other.tnnmodel")}).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(WriteFile(Path("net.tnnmodel"), "").ok());
  const Status empty = LoadModel(Path("net.tnnproto")).status();
  EXPECT_EQ(empty.code(), StatusCode::kCorruptModel) << empty.ToString();
  EXPECT_NE(empty.message().find("cut short"), std::string::npos) << empty.ToString();
}

// Weights of some MiB are read when they are needed. Mapped, this ended the program: SIGBUS.
TEST_F(LoadModelTest, ATnnmodelThatIsCutWhileItIsRead) {
  const std::string text = tnn::ProtoText("InnerProduct i 1 1 x m 100000 1 0 1\nInnerProduct j 1 1 m y 10 1 0 1");
  ASSERT_TRUE(WriteFile(Path("large.tnnproto"), text).ok());
  const auto graph = LoadModel(Path("large.tnnproto"));
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  ASSERT_TRUE(SaveModel(*graph, Path("large")).ok());
  const auto proto = tnn::ParseProto(text, "large.tnnproto");
  const auto source = OpenSource(Path("large.tnnmodel"));
  ASSERT_TRUE(proto.ok() && source.ok());
  ASSERT_GT(source->size(), size_t{4} << 20);
  ASSERT_EQ(source->memory(), nullptr);
  Graph whole = proto->graph, cut = proto->graph;
  ASSERT_TRUE(tnn::ReadModel(*source, "large", false, &whole).ok());
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(SameResources(whole.layers[i].resources, graph->layers[i].resources)) << i;
  ASSERT_EQ(::truncate(Path("large.tnnmodel").c_str(), 5000), 0);
  const Status status = tnn::ReadModel(*source, "large", false, &cut);
  EXPECT_EQ(status.code(), StatusCode::kIoError) << status.ToString();
  EXPECT_NE(status.message().find("was changed by another program"), std::string::npos) << status.ToString();
}

TEST_F(LoadModelTest, ChoosesTheFormatBySuffix) {
  EXPECT_EQ(LoadModel(Path("gone.onnx")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(LoadModel(Path("gone.tflite")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(LoadModel(Path("net.txt")).status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(LoadModel(Path("net.tnnmodel")).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(LoadModel("").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(LoadModel(Path("gone.tnnproto")).status().code(), StatusCode::kNotFound);
}

TEST_F(LoadModelTest, FixesInputShapes) {
  LoadOptions options;
  options.input_shapes["x"] = {2, 2, 5, 5};
  const auto graph = LoadModel(Path("net.tnnproto"), options);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->inputs[0].shape, Shape({2, 2, 5, 5}));
  options.input_shapes["z"] = {1};
  const Status unknown = LoadModel(Path("net.tnnproto"), options).status();
  EXPECT_EQ(unknown.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(unknown.message().find("the network inputs are 'x'"), std::string::npos) << unknown.ToString();
}

TEST_F(LoadModelTest, SaysWhatToGiveWhenTheTextIsNotEnough) {
  ASSERT_TRUE(WriteFile(Path("open.tnnproto"), tnn::ProtoText(kLayers, "x 4 -1 2 -1 3 0")).ok());
  LoadOptions options;
  const Status open = LoadModel(Path("open.tnnproto"), options).status();
  EXPECT_EQ(open.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(open.message().find("'x' is f32 [1,2,?,3]; it runs with"), std::string::npos) << open.ToString();
  options.input_shapes["x"] = {1, 2, 3, 3};
  EXPECT_TRUE(LoadModel(Path("open.tnnproto"), options).ok());
  ASSERT_TRUE(WriteFile(Path("constant.tnnproto"), tnn::ProtoText("Add a 2 1 x k y")).ok());
  const Status constant = LoadModel(Path("constant.tnnproto")).status();
  EXPECT_EQ(constant.code(), StatusCode::kCorruptModel);
  EXPECT_NE(constant.message().find("if it is a constant, give the tnnmodel"), std::string::npos);
}

TEST_F(LoadModelTest, ExpandsHalfWeightsUnlessTold) {
  auto graph = LoadModel(Path("net.tnnproto"));
  ASSERT_TRUE(graph.ok());
  Tensor& weight = graph->layers[0].resources.at("weight");
  weight = *weight.ConvertedTo(DType::kF16);
  ASSERT_TRUE(SaveModel(*graph, Path("net")).ok());
  const auto expanded = LoadModel(Path("net.tnnproto"));
  ASSERT_TRUE(expanded.ok()) << expanded.status().ToString();
  EXPECT_EQ(expanded->layers[0].Resource("weight")->dtype(), DType::kF32);
  EXPECT_EQ(expanded->notes.size(), 1u);
  LoadOptions options;
  options.keep_half = true;
  EXPECT_TRUE(SameTensor(*LoadModel(Path("net.tnnproto"), options)->layers[0].Resource("weight"), weight));
}

TEST_F(LoadModelTest, RefusesWeightsBeyondTheMemory) {
  ASSERT_TRUE(WriteFile(Path("huge.tnnproto"),
                        tnn::ProtoText("Convolution c 1 1 x y 1 2 2000000000 99 99 1 1 49 49 1 -1 1 1 0"))
                  .ok());
  const Status status = LoadModel(Path("huge.tnnproto")).status();
  EXPECT_EQ(status.code(), StatusCode::kOutOfMemory) << status.ToString();
  EXPECT_NE(status.message().find("layer 0 'c' (Convolution)"), std::string::npos) << status.ToString();
}

TEST_F(LoadModelTest, WritesNothingWhenItFails) {
  const auto graph = LoadModel(Path("net.tnnproto"));
  ASSERT_TRUE(graph.ok());
  SaveOptions options;
  options.tnnmodel_version = 3;
  EXPECT_EQ(SaveModel(*graph, Path("out"), options).code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(SaveModel(*graph, Path("no_such_folder/out")).ok());
  Graph bare = *graph;
  bare.layers[0].resources.clear();
  EXPECT_EQ(SaveModel(bare, Path("out")).code(), StatusCode::kCorruptModel);
  for (const auto& entry : fs::directory_iterator(folder_)) EXPECT_EQ(entry.path().filename(), "net.tnnproto");
}

}  // namespace
}  // namespace plumb
