// SPDX-License-Identifier: Apache-2.0
// Broken and hostile ONNX files: one error that says what is wrong, no crash, no memory beyond reason.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "format/onnx/onnx_model.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

OnnxModel SmallConv() {
  OnnxModel m;
  m.Input("x", {1, 2, 4, 4}).Output("y");
  m.Floats("w", {3, 2, 1, 1}, {1, 2, 3, 4, 5, 6});
  m.Node("Conv", {"x", "w"}, {"c"}, "conv");
  m.Node("Relu", {"c"}, {"y"}, "relu");
  return m;
}

void ExpectRefused(const OnnxModel& model, StatusCode code, const std::string& words) {
  const auto graph = model.Import();
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().code(), code) << graph.status().ToString();
  EXPECT_NE(graph.status().message().find(words), std::string::npos) << graph.status().ToString();
  EXPECT_NE(graph.status().message().find("test.onnx"), std::string::npos) << graph.status().ToString();
}

TEST(OnnxBrokenTest, AFileThatIsCutWhileItIsRead) {
  OnnxModel m;
  m.Input("x", {1, 1000}).Output("y");
  m.Floats("w", {1000, 500}, std::vector<float>(500000, 0.5f));
  m.Node("MatMul", {"x", "w"}, {"y"}, "product");
  const fs::path path = fs::temp_directory_path() / ("plumb_broken_test." + std::to_string(::getpid()) + ".onnx");
  ASSERT_TRUE(WriteFile(path, m.Bytes()).ok());
  const auto source = OpenSource(path);
  ASSERT_TRUE(source.ok());
  ASSERT_EQ(source->memory(), nullptr);
  const auto whole = onnx::ParseModel(*source, path);
  ASSERT_TRUE(whole.ok()) << whole.status().ToString();
  EXPECT_EQ(whole->graph.constants.at("w").value.NumElements(), 500000);
  fs::resize_file(path, 5000);
  const Status cut = onnx::ParseModel(*source, path).status();
  fs::remove(path);
  EXPECT_EQ(cut.code(), StatusCode::kIoError) << cut.ToString();
  EXPECT_NE(cut.message().find("was changed by another program"), std::string::npos) << cut.ToString();
}

TEST(OnnxBrokenTest, EveryTruncationIsRefusedOrImported) {
  const std::string bytes = SmallConv().Bytes();
  ASSERT_TRUE(OnnxModel::ImportBytes(bytes).ok());
  int refused = 0;
  for (size_t size = 0; size < bytes.size(); ++size) refused += !OnnxModel::ImportBytes(bytes.substr(0, size)).ok();
  // The opset stands at the end of the file: behind the graph a cut leaves a model that still means something.
  EXPECT_GE(refused, static_cast<int>(bytes.size()) - 8);
}

TEST(OnnxBrokenTest, EveryByteChanged) {
  const std::string bytes = SmallConv().Bytes();
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const int change : {1, 0x55, 0x80, 0xFF}) {
      std::string broken = bytes;
      broken[i] = static_cast<char>(broken[i] ^ change);
      (void)OnnxModel::ImportBytes(broken);  // must return
    }
  }
}

TEST(OnnxBrokenTest, NoOnnxAtAll) {
  EXPECT_EQ(OnnxModel::ImportBytes("").status().code(), StatusCode::kCorruptModel);
  EXPECT_EQ(OnnxModel::ImportBytes("hello, this is no model").status().code(), StatusCode::kCorruptModel);
}

TEST(OnnxBrokenTest, ACycle) {
  OnnxModel m;
  m.Input("x", {2}).Output("b");
  m.Node("Add", {"x", "b"}, {"a"}, "first");
  m.Node("Relu", {"a"}, {"b"}, "second");
  ExpectRefused(m, StatusCode::kCorruptModel, "cycle through node 'first'");
}

TEST(OnnxBrokenTest, NodesInAnyOrderAreNoCycle) {
  OnnxModel m;
  m.Input("x", {2}).Output("b");
  m.Node("Relu", {"a"}, {"b"});
  m.Node("Neg", {"x"}, {"a"});
  EXPECT_TRUE(m.Import().ok());
}

TEST(OnnxBrokenTest, AMissingInitialiser) {
  OnnxModel m = SmallConv();
  m.graph().clear_initializer();
  ExpectRefused(m, StatusCode::kCorruptModel, "node 'conv' (Conv, opset 17) reads tensor 'w', which no node");
}

TEST(OnnxBrokenTest, WrongTypesAndShapes) {
  OnnxModel wrong_type = SmallConv();
  wrong_type.graph().mutable_initializer(0)->set_data_type(11);
  ExpectRefused(wrong_type, StatusCode::kCorruptModel, "initialiser 'w'");
  OnnxModel wrong_count = SmallConv();
  wrong_count.graph().mutable_initializer(0)->add_float_data(1);
  ExpectRefused(wrong_count, StatusCode::kCorruptModel, "initialiser 'w': expects 6 values, found 7");
  OnnxModel wrong_channels = SmallConv();
  wrong_channels.graph().mutable_initializer(0)->set_dims(0, 2);
  wrong_channels.graph().mutable_initializer(0)->set_dims(1, 3);
  ExpectRefused(wrong_channels, StatusCode::kCorruptModel, "do not fit the input [1,2,4,4]");
  OnnxModel mixed;
  mixed.Input("a", {2}).Input("b", {2}, 7).Output("y");
  mixed.Node("Add", {"a", "b"}, {"y"}, "sum");
  ExpectRefused(mixed, StatusCode::kInvalidArgument, "node 'sum' (Add, opset 17): operands have different dtypes");
}

TEST(OnnxBrokenTest, HugeDims) {
  OnnxModel initialiser = SmallConv();
  initialiser.graph().mutable_initializer(0)->set_dims(0, int64_t{1} << 40);
  ExpectRefused(initialiser, StatusCode::kInvalidArgument, "initialiser 'w'");
  OnnxModel input;
  input.Input("x", {int64_t{1} << 40}).Output("y");
  input.Node("Relu", {"x"}, {"y"});
  ExpectRefused(input, StatusCode::kNotSupported, "network input 'x'");
  OnnxModel fill;
  fill.Input("x", {1}).Output("y");
  fill.Ints("s", {1}, {int64_t{1} << 39});
  fill.Node("ConstantOfShape", {"s"}, {"z"}, "fill");
  fill.Node("Add", {"x", "z"}, {"y"});
  ExpectRefused(fill, StatusCode::kNotSupported, "node 'fill'");
  OnnxModel negative = SmallConv();
  negative.graph().mutable_initializer(0)->set_dims(0, -3);
  ExpectRefused(negative, StatusCode::kInvalidArgument, "initialiser 'w'");
}

TEST(OnnxBrokenTest, HugeDimsThatOnlyTheOperatorSees) {
  OnnxModel product;
  product.Input("a", {1000000000, 1, 1}).Input("b", {1000000000, 1, 1}).Output("y");
  product.Node("MatMul", {"a", "b"}, {"y"}, "m");
  ExpectRefused(product, StatusCode::kNotSupported, "a product of 1000000000 matrices");
  OnnxModel minimum;
  minimum.Input("a", {1000000000, 1}).Input("b", {1, 1000000000}).Output("y");
  minimum.Node("Min", {"a", "b"}, {"y"}, "m");
  ExpectRefused(minimum, StatusCode::kInvalidArgument, "has more than 2^40 elements");
  for (const int64_t size : {int64_t{1} << 31, int64_t{1} << 40, int64_t{1} << 62, INT64_MAX}) {
    for (const char* mode : {"nearest", "linear", "cubic"}) {
      OnnxModel resize;
      resize.Input("x", {1, 1, 2, 2}).Output("y");
      resize.Ints("s", {4}, {1, 1, 1, size});
      auto* attribute = resize.Node("Resize", {"x", "", "", "s"}, {"y"}, "m").add_attribute();
      attribute->set_name("mode");
      attribute->set_type(::onnx::AttributeProto::STRING);
      attribute->set_s(mode);
      EXPECT_FALSE(resize.Import().ok()) << size << mode;
    }
  }
}

// The limit of the process holds where the model says none of its own.
TEST(OnnxBrokenTest, BlobsBeyondTheMemoryBudget) {
  OnnxModel m;
  m.Input("x", {1, 1, 1000, 1000}).Output("y");
  m.Node("Relu", {"x"}, {"y"});
  EXPECT_TRUE(m.Import().ok());
  SetMaxMemory(1 << 20);
  const auto graph = m.Import();
  SetMaxMemory(0);
  EXPECT_FALSE(graph.ok());
  EXPECT_NE(graph.status().message().find("takes more than 1 MiB"), std::string::npos) << graph.status().ToString();
}

TEST(OnnxBrokenTest, ATensorWrittenTwice) {
  OnnxModel m = SmallConv();
  m.Node("Neg", {"x"}, {"c"}, "again");
  ExpectRefused(m, StatusCode::kCorruptModel, "tensor 'c' is written twice");
}

TEST(OnnxBrokenTest, AFunctionThatCallsItself) {
  OnnxModel m;
  m.Input("x", {2}).Output("y");
  auto* opset = m.proto().add_opset_import();
  opset->set_domain("my");
  opset->set_version(1);
  auto* function = m.proto().add_functions();
  function->set_name("F");
  function->set_domain("my");
  function->add_input("a");
  function->add_output("b");
  OnnxModel::Add(function->add_node(), "F", {"a"}, {"b"}).set_domain("my");
  m.Node("F", {"x"}, {"y"}, "call").set_domain("my");
  ExpectRefused(m, StatusCode::kCorruptModel, "function 'F' calls itself");
}

TEST(OnnxBrokenTest, AllUnknownOperatorsAreNamedAtOnce) {
  OnnxModel m;
  m.Input("x", {2}).Output("c");
  m.Node("Reluu", {"x"}, {"a"}, "one");
  m.Node("Bogus", {"a"}, {"b"}, "two");
  m.Node("Relu", {"b"}, {"c"}, "three");
  ExpectRefused(m, StatusCode::kNotSupported, "2 nodes cannot be imported");
  ExpectRefused(m, StatusCode::kNotSupported,
                "node 'one' (Reluu, opset 17): Plumb has no such operator; the nearest that is supported is Relu");
  ExpectRefused(m, StatusCode::kNotSupported, "node 'two' (Bogus, opset 17)");
}

TEST(OnnxBrokenTest, OpenDimsAreListed) {
  OnnxModel m;
  m.Input("x", {-1, 3, 3}).Input("z", {2, -1}).Input("a", {2}).Output("y");
  m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_param(
      "length");
  m.graph().mutable_input(1)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_param(
      "width");
  m.Node("Concat", {"x", "z"}, {"y"});
  ExpectRefused(m, StatusCode::kInvalidArgument,
                "network inputs have open dims: 'x' is f32 [1,length,3], 'z' is f32 [2,width]; give each");
}

class OnnxExternalTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("plumb_onnx_external_" + std::to_string(::getpid()));
    fs::create_directories(folder_ / "model");
    const float values[6] = {1, 2, 3, 4, 5, 6};
    for (const char* name : {"model/w.bin", "outside.bin"}) {
      std::ofstream(folder_ / name, std::ios::binary).write(reinterpret_cast<const char*>(values), sizeof(values));
    }
  }
  void TearDown() override { fs::remove_all(folder_); }

  Status Load(const std::string& location, const std::string& length = "24") {
    OnnxModel m = SmallConv();
    auto* w = m.graph().mutable_initializer(0);
    w->clear_float_data();
    w->set_data_location(::onnx::TensorProto::EXTERNAL);
    const std::pair<const char*, std::string> entries[] = {{"location", location}, {"length", length}};
    for (const auto& [key, value] : entries) {
      auto* entry = w->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    return m.Import({}, (folder_ / "model/test.onnx").string()).status();
  }

  fs::path folder_;
};

TEST_F(OnnxExternalTest, IsReadInTheModelsFolderOnly) {
  EXPECT_TRUE(Load("w.bin").ok()) << Load("w.bin").ToString();
  EXPECT_NE(Load("../outside.bin").message().find("lies outside the model's folder"), std::string::npos)
      << Load("../outside.bin").ToString();
  EXPECT_FALSE(Load((folder_ / "outside.bin").string()).ok());
  EXPECT_NE(Load("gone.bin").message().find("is not in the folder"), std::string::npos);
  fs::create_symlink(folder_ / "outside.bin", folder_ / "model/link.bin");
  EXPECT_NE(Load("link.bin").message().find("lies outside the model's folder"), std::string::npos);
  EXPECT_NE(Load("w.bin", "25").message().find("expects 24 bytes of external data, found 25"), std::string::npos);
  EXPECT_FALSE(Load("w.bin", "-1").ok());
  EXPECT_FALSE(Load("", "24").ok());
  for (const std::string& name : {std::string("w.bin\0../outside.bin", 20), std::string("w.bin\0", 6)}) {
    EXPECT_NE(Load(name).message().find("there is a zero byte in the name"), std::string::npos) << Load(name).message();
  }
}

}  // namespace
}  // namespace plumb
