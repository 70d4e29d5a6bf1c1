// SPDX-License-Identifier: Apache-2.0
// The operators that OPENCL and VULKAN share: what op_test's cases cannot say.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "device/device.h"
#include "device/gpu/plan.h"
#include "op/roi_align.h"
#include "plumb/plumb.h"
#include "util/make_layer.h"
#include "util/network_builder.h"

namespace plumb {
namespace {

class Gpu : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    bool present = false;
    for (const DeviceInfo& device : ListDevices()) present = present || (device.name == GetParam() && device.present);
    if (!present) GTEST_SKIP() << GetParam() << " is not here";
  }
};

Tensor Whole(const Shape& shape, const std::vector<int64_t>& values) {
  Tensor tensor = Tensor::Create(DType::kI64, shape).value();
  std::copy(values.begin(), values.end(), tensor.data<int64_t>());
  return tensor;
}

// An index that only the device knows fails its Forward, and only that one.
TEST_P(Gpu, AnIndexOutsideIsAnErrorWithItsValue) {
  Builder builder(1, 1, 1);
  builder.graph->inputs = {{"x", DType::kF32, {3}}, {"index", DType::kI64, {2}}};
  const std::string y = builder.Simple("PlumbGatherElements", {"x", "index"});
  builder.graph->outputs = {y};
  auto network = CreateNetwork(builder.graph, GetParam(), {}).value();
  ASSERT_TRUE(network->SetInput("x", Random({3}, 7, 3)).ok());
  for (const int64_t outside : {int64_t{3}, int64_t{-4}, int64_t{1} << 40}) {
    ASSERT_TRUE(network->SetInput("index", Whole({2}, {0, outside})).ok());
    Status status = network->Forward();
    if (status.ok()) status = network->GetOutput(y).status();
    ASSERT_EQ(status.code(), StatusCode::kInvalidArgument) << status.message();
    EXPECT_NE(status.message().find("(PlumbGatherElements): an index lies outside its dim of 3, found "),
              std::string::npos)
        << status.message();
  }
  ASSERT_TRUE(network->SetInput("index", Whole({2}, {-1, 2})).ok());
  ASSERT_TRUE(network->Forward().ok());
  const auto got = network->GetOutput(y);
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(got->data<float>()[0], got->data<float>()[1]);
}

// Runs a layer of x and whole numbers that the device cannot take.
Status RunOn(const char* device, const Layer& layer, const Shape& x, const std::vector<Tensor>& others) {
  auto graph = std::make_shared<Graph>();
  graph->source = "test";
  graph->layers = {layer};
  graph->outputs = layer.outputs;
  graph->inputs = {{"x", DType::kF32, x}};
  for (size_t i = 0; i < others.size(); ++i) {
    graph->inputs.push_back({layer.inputs[i + 1], others[i].dtype(), others[i].shape()});
  }
  PLUMB_ASSIGN_OR_RETURN(const auto network, CreateNetwork(graph, device, {}));
  PLUMB_RETURN_IF_ERROR(network->SetInput("x", Random(x, 7, 3)));
  for (size_t i = 0; i < others.size(); ++i) {
    PLUMB_RETURN_IF_ERROR(network->SetInput(layer.inputs[i + 1], others[i]));
  }
  PLUMB_RETURN_IF_ERROR(network->Forward());
  return network->GetOutput(layer.outputs[0]).status();
}

void ExpectComplaint(const Status& status, const std::string& words) {
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.message();
  EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
}

TEST_P(Gpu, EveryOperatorSaysWhatItCannotTake) {
  const Tensor updates = Random({1, 2}, 3, 1);
  ExpectComplaint(RunOn(GetParam(), MakeLayer(OpKind::kScatterND, "s", {"x", "i", "u"}, {"y"}), {4, 2},
                        {Whole({1, 1}, {4}), updates}),
                  "layer 's' (ScatterND): an index lies outside its dim of the data [4,2], found 4");
  ExpectComplaint(RunOn(GetParam(), MakeLayer(OpKind::kScatterElements, "s", {"x", "i", "u"}, {"y"}), {4, 2},
                        {Whole({1, 2}, {0, -5}), updates}),
                  "an index lies outside its dim of the data [4,2], found -5");
  ExpectComplaint(
      RunOn(GetParam(), MakeLayer(OpKind::kPlumbReverseSequence, "r", {"x", "i"}, {"y"}), {3, 2}, {Whole({2}, {1, 4})}),
      "a length is outside 0 .. 3, found 4");
  ExpectComplaint(RunOn(GetParam(), MakeLayer(OpKind::kPlumbCumSum, "c", {"x", "i"}, {"y"}), {3, 2}, {Whole({}, {2})}),
                  "the axis lies outside the rank 2, found 2");
}

Status SampleRegion(const char* device, int64_t image, float size) {
  Layer layer = MakeLayer(OpKind::kRoiAlign, "r", {"x", "regions", "images"}, {"y"});
  RoiAlignParam param;
  param.out_h = param.out_w = 1;
  param.spatial_scale = 1;
  layer.param = std::make_shared<RoiAlignParam>(param);
  Tensor region = Tensor::Zeros(DType::kF32, {1, 4}).value();
  region.data<float>()[2] = region.data<float>()[3] = size;
  return RunOn(device, layer, {1, 1, 4, 4}, {region, Whole({1}, {image})});
}

// How many points a region has, only the device knows: more than a driver loops are an error, not a wrong mean.
TEST_P(Gpu, RegionsThatCannotBeSampledAreErrors) {
  ExpectComplaint(SampleRegion(GetParam(), 1, 2), "a batch index is outside 0 .. 0, found 1");
  EXPECT_TRUE(SampleRegion(GetParam(), 0, 200).ok());
  const bool limited = OpenDevice(GetParam()).value()->Description().find("llvmpipe") != std::string::npos;
  const Status large = SampleRegion(GetParam(), 0, 300);
  if (!limited) {
    EXPECT_TRUE(large.ok()) << large.message();
  } else {
    ExpectComplaint(large, "a region needs more points a bin than the ");
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Gpu, testing::Values("OPENCL", "VULKAN"));

// The list of programs has the files that are there, each name once.
TEST(GpuPrograms, NamesAreUnique) {
  std::set<std::string> names;
#define PLUMB_GPU_PROGRAM(name, file, ...) EXPECT_TRUE(names.insert(#name).second) << #name;
#include "device/gpu/program_list.def"
#undef PLUMB_GPU_PROGRAM
  EXPECT_FALSE(names.empty());
}

// A driver that ends loops gets them in parts, each with its first and last step.
TEST(GpuPlan, LongLoopsAreParted) {
  const LayerGroup group;
  const KernelSpec spec{group, {}, {}, nullptr, Precision::kHigh, nullptr, {}};
  gpu::Plan plan(spec, {false, 100});
  plan.AddParts({"program", {}, {1}}, 250, 2);
  ASSERT_EQ(plan.launches.size(), 6u);
  EXPECT_EQ(plan.launches[0].words, (std::vector<int64_t>{1, 0, 48}));
  EXPECT_EQ(plan.launches[5].words, (std::vector<int64_t>{1, 240, 250}));
  EXPECT_TRUE(plan.RequireRounds(100).ok());
  EXPECT_EQ(plan.RequireRounds(101).code(), StatusCode::kNotSupported);
}

}  // namespace
}  // namespace plumb
