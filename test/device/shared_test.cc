// SPDX-License-Identifier: Apache-2.0
// What devices share: walks with few dims, and what the environment says of kernels.
#include <gtest/gtest.h>

#include <cstdlib>

#include "device/shared/kernel_choice.h"
#include "device/shared/walk.h"

namespace plumb {
namespace {

using Dims = std::vector<int64_t>;

TEST(WalkTest, JoinsWhatOneStrideWalksInEveryBlob) {
  const Walk image = BroadcastWalk({{2, 3, 4, 5}, {3, 1, 1}}, {2, 3, 4, 5});
  EXPECT_EQ(image.dims, (Dims{2, 3, 20}));
  EXPECT_EQ(image.strides, (std::vector<Dims>{{60, 20, 1}, {0, 1, 0}}));
  EXPECT_EQ(image.count(), 120);
  EXPECT_EQ(BroadcastWalk({{2, 3, 4}, {2, 3, 4}}, {2, 3, 4}).dims, Dims{24});
}

TEST(WalkTest, OneDimStays) {
  const Walk single = BroadcastWalk({{1, 1}, {}}, {1, 1});
  EXPECT_EQ(single.dims, Dims{1});
  EXPECT_EQ(single.strides, (std::vector<Dims>{{0}, {0}}));
  EXPECT_EQ(single.count(), 1);
}

class KernelChoiceTest : public testing::Test {
 protected:
  static constexpr char kName[] = "PLUMB_OPENCL_SHAPES";
  void TearDown() override { unsetenv(kName); }
};

TEST_F(KernelChoiceTest, NothingUnlessSet) {
  unsetenv(kName);
  EXPECT_FALSE(CpuShapesFromEnvironment(kName)->has_value());
  EXPECT_FALSE(WinogradTileFromEnvironment(kName, {4})->has_value());
}

TEST_F(KernelChoiceTest, Words) {
  setenv(kName, "cpu", 1);
  EXPECT_EQ(CpuShapesFromEnvironment(kName).value(), true);
  setenv(kName, "gpu", 1);
  EXPECT_EQ(CpuShapesFromEnvironment(kName).value(), false);
  setenv(kName, "off", 1);
  EXPECT_EQ(WinogradTileFromEnvironment(kName, {2, 4}).value(), 0);
  setenv(kName, "2", 1);
  EXPECT_EQ(WinogradTileFromEnvironment(kName, {2, 4}).value(), 2);
  EXPECT_EQ(WinogradTileFromEnvironment(kName, {4}).status().message(),
            "PLUMB_OPENCL_SHAPES: expected off or 4, found '2'");
}

}  // namespace
}  // namespace plumb
