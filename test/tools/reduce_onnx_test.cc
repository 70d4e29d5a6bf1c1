// SPDX-License-Identifier: Apache-2.0
// model_reduce on an ONNX file: the nodes of the wrong step as a smaller ONNX file, whose weights and inputs are cut
// together.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "format/onnx/onnx_model.h"
#include "plumb/model.h"
#include "plumb/tensor_file.h"
#include "tools/command.h"

namespace plumb {
namespace {

// c = conv(x, w, b), y = |c|; the runtime has a ReLU behind the convolution that the graph lacks.
class ReduceOnnx : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<float> weights(8 * 8 * 3 * 3), bias(8);
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = std::sin(static_cast<float>(i));
    for (size_t i = 0; i < bias.size(); ++i) bias[i] = std::cos(static_cast<float>(i));
    OnnxModel m;
    m.Input("x", {1, 8, 6, 6}).Output("y");
    m.Floats("w", {8, 8, 3, 3}, weights);
    m.Floats("b", {8}, bias);
    m.Node("Conv", {"x", "w", "b"}, {"c"}, "features");
    m.Node("Abs", {"c"}, {"y"}, "size");
    WriteText(folder_ + "/m.onnx", m.Bytes());
    WriteText(folder_ + "/runtime.sh", "set -e\nnet=$(mktemp -d " + folder_ +
                                           "/net-XXXXXX)\n" PLUMB_BIN_DIR
                                           "/model_convert -m \"$1\" -o \"$net\"/net -q >/dev/null\n"
                                           "sed -i 's/^\"Convolution \\(.*\\) 0 ,\"/\"Convolution \\1 1 ,\"/' "
                                           "\"$net\"/net.tnnproto\n"
                                           "DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 DUMP_BLOB_DIR=\"$3\" " PLUMB_BIN_DIR
                                           "/model_run -m \"$net\"/net.tnnproto -i \"$2\" -d NAIVE -q\n");
  }
  std::string folder_ = TestFolder("reduce_onnx");
};

TEST_F(ReduceOnnx, IsASmallerFileThatIsWrongThereAndRightHere) {
  const auto run = RunTool("model_reduce", "-m " + folder_ + "/m.onnx -o " + folder_ + "/cases --run 'sh " + folder_ +
                                               "/runtime.sh {model} {inputs} {dump}'");
  ASSERT_EQ(run.exit_code, 0) << run.out;
  EXPECT_NE(run.out.find("'features' (Convolution): wrong alone"), std::string::npos) << run.out;
  const std::string at = folder_ + "/cases/case-1/";
  for (const char* name : {"model.onnx", "test_data_set_0/input_0.pb", "test_data_set_0/output_0.pb", "show.py"})
    EXPECT_TRUE(std::filesystem::exists(at + name)) << name;
  const auto graph = LoadModel(at + "model.onnx");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  ASSERT_EQ(graph->layers.size(), 1u);
  // Input channels go together with one axis of the weights, output channels with the other and the bias.
  EXPECT_EQ(graph->inputs[0].shape[1], 1);
  const Tensor* weight = graph->layers[0].Resource("weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_LE(weight->NumElements(), 2 * 3 * 3);
  const auto inputs = ReadTensors(at + "inputs.npz");
  ASSERT_TRUE(inputs.ok());
  EXPECT_LE((*inputs)[0].tensor.NumElements(), 6 * 6);
  for (const char* model : {"model.onnx", "case.tnnproto"}) {
    const auto here = RunTool("model_check", "-m " + at + model + " -i " + at + "inputs.npz -d NAIVE -q");
    EXPECT_EQ(here.exit_code, 0) << here.out;
  }
  EXPECT_EQ(RunCommand("PATH=" PLUMB_BIN_DIR ":$PATH sh " + at + "show.sh").exit_code, 1);
}

}  // namespace
}  // namespace plumb
