// SPDX-License-Identifier: Apache-2.0
// Threads and instructions of the process, and the precisions of a device.
#include "plumb/plumb.h"

#include "session/session_test_util.h"

namespace plumb {
namespace {

class RuntimeTest : public testing::Test {
 protected:
  ~RuntimeTest() override { EXPECT_TRUE(SetRuntime({0, "DEFAULT"}).ok()); }
};

TEST_F(RuntimeTest, WhatIsSetIsSaid) {
  ASSERT_TRUE(SetRuntime({2, "DEFAULT"}).ok());
  EXPECT_EQ(GetRuntime().num_threads, 2);
  EXPECT_EQ(GetRuntime().isa, GetRuntime().cpu_isa);
  ASSERT_TRUE(SetRuntime({0, ""}).ok());
  EXPECT_EQ(GetRuntime().num_threads, GetRuntime().num_cpus);
  ASSERT_TRUE(SetRuntime({0, "SSE41"}).ok());
  EXPECT_TRUE(GetRuntime().isa == "SSE41" || GetRuntime().isa == GetRuntime().cpu_isa) << GetRuntime().isa;
  const std::string held = GetRuntime().isa;
  ASSERT_TRUE(SetRuntime({0, ""}).ok());
  EXPECT_EQ(GetRuntime().isa, held) << "no word changes nothing";
}

TEST_F(RuntimeTest, AWrongFieldIsNamedAndChangesNothing) {
  ASSERT_TRUE(SetRuntime({3, ""}).ok());
  EXPECT_EQ(SetRuntime({-1, ""}).message(), "RuntimeOptions::num_threads: expected 0 or more, found -1");
  const std::string isa = SetRuntime({1, "AVX51"}).message();
  EXPECT_EQ(isa.rfind("RuntimeOptions::max_isa: ", 0), 0u) << isa;
  EXPECT_EQ(GetRuntime().num_threads, 3);
}

TEST_F(RuntimeTest, APrecisionThatADeviceLacksIsNotListed) {
  const auto naive = DevicePrecisions("NAIVE").value();
  EXPECT_EQ(naive.front(), Precision::kHigh);
  EXPECT_EQ(DevicePrecisions("X87").status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace plumb
