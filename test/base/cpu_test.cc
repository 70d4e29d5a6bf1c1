// SPDX-License-Identifier: Apache-2.0
// The ISA cap: names, order, refusals, and that taking the cap away restores what the CPU has.
#include "base/cpu.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace plumb {
namespace {

TEST(CpuTest, CapLowersAndRestores) {
  const int before = IsaGeneration();
  ASSERT_TRUE(SetMaxIsa("generic").ok());
  EXPECT_EQ(EffectiveIsa(), Isa::kGeneric);
  EXPECT_STREQ(IsaName(), "GENERIC");
  EXPECT_GT(IsaGeneration(), before);
  ASSERT_TRUE(SetMaxIsa("DEFAULT").ok());
  EXPECT_EQ(EffectiveIsa(), CpuIsa());
}

TEST(CpuTest, CapNeverRaises) {
  ASSERT_TRUE(SetMaxIsa("NEON").ok());
  EXPECT_EQ(EffectiveIsa(), CpuIsa());
  ASSERT_TRUE(SetMaxIsa("").ok());
}

TEST(CpuTest, OneDnnSpellingIsRead) {
  ASSERT_TRUE(SetMaxIsa("AVX512_CORE").ok());
  EXPECT_LE(EffectiveIsa(), Isa::kAvx512);
  ASSERT_TRUE(SetMaxIsa("ALL").ok());
}

TEST(CpuTest, UnknownNameIsRefusedAndChangesNothing) {
  ASSERT_TRUE(SetMaxIsa("GENERIC").ok());
  const Status status = SetMaxIsa("AVX3");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("'AVX3', expected one of"), std::string::npos) << status.message();
  EXPECT_EQ(EffectiveIsa(), Isa::kGeneric);
  ASSERT_TRUE(SetMaxIsa("").ok());
}

TEST(CpuTest, EnvironmentIsChecked) {
  ASSERT_EQ(setenv("PLUMB_MAX_CPU_ISA", "AVX2", 1), 0);
  EXPECT_TRUE(CheckIsaEnvironment().ok());
  ASSERT_EQ(setenv("PLUMB_MAX_CPU_ISA", "AVX-2", 1), 0);
  const Status status = CheckIsaEnvironment();
  EXPECT_NE(status.message().find("PLUMB_MAX_CPU_ISA is 'AVX-2'"), std::string::npos) << status.ToString();
  unsetenv("PLUMB_MAX_CPU_ISA");
}

}  // namespace
}  // namespace plumb
