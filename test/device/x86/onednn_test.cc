// SPDX-License-Identifier: Apache-2.0
// What X86 promises about oneDNN: blocks as wide as the instructions it may use, and a host's OpenMP left alone.
#include "device/x86/onednn.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <vector>

#include "base/cpu.h"
#include "device/cpu/product.h"
#include "device/x86/x86_device.h"

namespace plumb::cpu {
namespace {

TEST(OneDnnTest, BlocksAreAsWideAsItsVectors) {
  ASSERT_TRUE(InitOneDnn().ok());
  EXPECT_EQ(ChannelBlock(), EffectiveIsa() == Isa::kAvx512 ? 16 : 8) << OneDnnVersion();
}

// A host program that uses OpenMP keeps its number of threads.
TEST(OneDnnTest, LeavesOpenMpAsItWas) {
  const std::vector<float> weights(64 * 64, 0.5f), x(64, 1.0f);
  std::vector<float> y(64);
  omp_set_num_threads(7);
  auto product = MakeInnerProduct(1, 64, 64, weights.data(), nullptr, Epilogue());
  ASSERT_TRUE(product.ok()) << product.status().ToString();
  (*product)->Run(x.data(), y.data());
  EXPECT_EQ(y[63], 32.0f);
  EXPECT_EQ(omp_get_max_threads(), 7);
}

TEST(X86DeviceTest, RefusesACpuWithoutSse4) {
  const Status status = CheckX86Cpu(Isa::kGeneric);
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("SSE4.2"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("NAIVE"), std::string::npos) << status.message();
  for (Isa isa : {Isa::kSse41, Isa::kAvx2, Isa::kAvx512}) EXPECT_TRUE(CheckX86Cpu(isa).ok()) << IsaName(isa);
}

}  // namespace
}  // namespace plumb::cpu
