// SPDX-License-Identifier: Apache-2.0
// A conversion compared with its original: what is equal, what differs first, and what cannot be compared.
#include "plumb/align.h"

#include <algorithm>
#include <cmath>

#include "session/session_test_util.h"

namespace plumb {
namespace {

const std::string kDigits = PLUMB_EXAMPLES "/digits/digits.tnnproto";

class AlignTest : public ScratchFolder {
 protected:
  AlignTest() {
    graph_ = std::make_shared<const Graph>(LoadModel(kDigits).value());
    inputs_ = PrepareInputs(InputOptions(), *graph_).value().values;
    NetworkOptions unfused;
    unfused.unfuse = true;
    auto network = CreateNetwork(graph_, "NAIVE", unfused).value();
    DumpOptions dump;
    dump.outputs = true;
    dump.folder = At("golden");
    EXPECT_TRUE(AddDump(network.get(), dump).ok());
    EXPECT_TRUE(RunNetwork(network.get(), inputs_).ok());
    golden_ = ReadGolden(At("golden")).value();
  }
  AlignedDevice OnNaive(const AlignOptions& options = {}) {
    return AlignDevice(graph_, "NAIVE", inputs_, golden_, options).value();
  }

  std::shared_ptr<const Graph> graph_;
  std::map<std::string, Tensor> inputs_;
  Golden golden_;
};

TEST_F(AlignTest, TheSameModelIsEqual) {
  const AlignedDevice outputs = OnNaive();
  EXPECT_TRUE(outputs.equal);
  ASSERT_EQ(outputs.outputs.size(), 1u);
  EXPECT_EQ(outputs.outputs[0].relative, 0);
  EXPECT_TRUE(outputs.layers.empty());
  AlignOptions all;
  all.every_layer = true;
  const AlignedDevice layers = OnNaive(all);
  EXPECT_TRUE(layers.equal);
  EXPECT_EQ(layers.layers.size(), graph_->layers.size());
  EXPECT_EQ(layers.first_different, -1);
}

// What one metric says here it says everywhere: of the largest value of the original, not of the element.
TEST_F(AlignTest, TheFirstOperatorThatDiffersIsFound) {
  const Tensor& bn = golden_.tensors.at("bn2");
  double largest = 0;
  for (int64_t i = 0; i < bn.NumElements(); ++i) largest = std::max(largest, std::fabs(bn.ValueAt(i)));
  golden_.tensors["bn2"] =
      Changed(bn, [&](float x, int64_t i) { return i == 5 ? x + static_cast<float>(0.01 * largest) : x; });
  EXPECT_TRUE(OnNaive().equal) << "the outputs agree";
  AlignOptions all;
  all.every_layer = true;
  const AlignedDevice report = OnNaive(all);
  EXPECT_FALSE(report.equal);
  ASSERT_GE(report.first_different, 0);
  const AlignedLayer& layer = report.layers[static_cast<size_t>(report.first_different)];
  EXPECT_EQ(layer.tensor.name, "bn2");
  EXPECT_EQ(layer.tensor.difference.worst, 5);
  EXPECT_NEAR(layer.tensor.relative, 0.01, 1e-4);
  all.tolerance = 0.02;
  EXPECT_TRUE(OnNaive(all).equal);
}

TEST_F(AlignTest, ADifferentOutputIsLookedIntoLayerByLayer) {
  golden_.tensors["prob"] = Changed(golden_.tensors.at("prob"), [](float x, int64_t) { return x * 1.01f; });
  golden_.tensors.erase("relu1");
  const AlignedDevice report = OnNaive();
  EXPECT_FALSE(report.equal);
  EXPECT_EQ(report.unpaired, 1);
  EXPECT_EQ(report.layers[static_cast<size_t>(report.first_different)].tensor.name, "prob");
}

TEST_F(AlignTest, NanOnOneSideAndAnotherShapeDiffer) {
  golden_.tensors["prob"] = Changed(golden_.tensors.at("prob"), [](float x, int64_t i) { return i == 3 ? NAN : x; });
  EXPECT_EQ(OnNaive().outputs[0].relative, INFINITY);
  golden_.tensors["prob"] = golden_.tensors.at("prob").Reshaped({10}).value();
  const AlignedDevice shape = OnNaive();
  EXPECT_FALSE(shape.equal);
  EXPECT_EQ(shape.outputs[0].problem, "has the shape [1,10,1,1], the original's is [10]");
}

TEST_F(AlignTest, AGoldenWithoutTheOutputIsRefused) {
  golden_.tensors.erase("prob");
  const auto report = AlignDevice(graph_, "NAIVE", inputs_, golden_);
  EXPECT_EQ(report.status().message(), "the original gave no tensor named 'prob'");
}

// The Python is a script that leaves the dump where it is asked to.
TEST_F(AlignTest, AlignMakesTheGolden) {
  GoldenOptions options;
  options.python = WriteText("python", "#!/bin/sh\n[ \"$1\" = -c ] || cp -r '" + At("golden") + "' \"$6\"\n");
  std::filesystem::permissions(options.python, std::filesystem::perms::all);
  const auto report = Align("net.onnx", graph_, {"NAIVE"}, inputs_, {}, options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->equal);
  EXPECT_EQ(report->devices.size(), 1u);
  EXPECT_TRUE(Has(report->original, "10 tensors")) << report->original;
}

}  // namespace
}  // namespace plumb
