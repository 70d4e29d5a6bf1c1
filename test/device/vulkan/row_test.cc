// SPDX-License-Identifier: Apache-2.0
// Rows that are reduced: how many invocations share one in each kernel shape, and every value against NAIVE. The
// operator test (ctest entry op_vulkan_gpu_test) judges each operator by its bound.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "util/network_builder.h"

namespace plumb {
namespace {

struct Ran {
  Tensor output;
  std::string detail;  // of the only kernel
};

Ran SoftmaxOn(const std::string& device, const Shape& shape) {
  Builder builder(1, 1, 1);
  builder.graph->inputs[0].shape = shape;
  builder.Simple("Softmax", {"x"});
  auto network = CreateNetwork(builder.graph, device, {}).value();
  EXPECT_TRUE(network->SetInput("x", Random(shape, 7, 3)).ok());
  EXPECT_TRUE(network->Forward().ok());
  return {network->GetOutput(builder.graph->outputs[0]).value(), network->steps()[0]->detail};
}

class Rows : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { setenv("PLUMB_VULKAN_SHAPES", GetParam(), 1); }
  void TearDown() override { unsetenv("PLUMB_VULKAN_SHAPES"); }

  void ExpectLikeNaive(const Shape& shape, const std::string& detail_on_gpu) const {
    SCOPED_TRACE(shape.ToString());
    const Ran ran = SoftmaxOn("VULKAN", shape);
    EXPECT_EQ(ran.detail, std::string(GetParam()) == "gpu" ? detail_on_gpu : "");
    const Tensor want = SoftmaxOn("NAIVE", shape).output;
    double worst = 0;
    for (int64_t i = 0; i < want.NumElements(); ++i) {
      worst = std::max(worst, std::fabs(ran.output.ValueAt(i) - want.ValueAt(i)) / want.ValueAt(i));
    }
    EXPECT_LT(worst, 1e-5);
  }
};

TEST_P(Rows, OneInvocationForOneElement) { ExpectLikeNaive({5, 1}, ""); }

TEST_P(Rows, ShortRowsShareAWorkgroup) {
  ExpectLikeNaive({3, 2}, "2 invocations a row");
  ExpectLikeNaive({67, 5}, "8 invocations a row");
  ExpectLikeNaive({5, 33}, "64 invocations a row");
}

TEST_P(Rows, LongRows) {
  ExpectLikeNaive({3, 1023}, "64 invocations a row");
  ExpectLikeNaive({3, 1024}, "256 invocations a row");
  ExpectLikeNaive({2, 5001}, "256 invocations a row");
}

TEST_P(Rows, RowsWhoseElementsLieApart) {
  ExpectLikeNaive({1, 21, 16383}, "32 invocations a row");
  ExpectLikeNaive({1, 21, 16384}, "");
}

TEST_P(Rows, MoreRowsThanWorkgroupsInALine) { ExpectLikeNaive({70000, 64}, "64 invocations a row"); }

INSTANTIATE_TEST_SUITE_P(Both, Rows, testing::Values("cpu", "gpu"));

}  // namespace
}  // namespace plumb
