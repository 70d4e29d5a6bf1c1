// The operators that OPENCL and VULKAN share: what op_test's cases cannot say.
#include <gtest/gtest.h>

#include <set>

#include "device/gpu/plan.h"
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
