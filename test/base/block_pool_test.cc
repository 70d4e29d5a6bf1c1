// SPDX-License-Identifier: Apache-2.0
#include "base/block_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace plumb {
namespace {

constexpr size_t kLarge = size_t{5} << 20;

TEST(BlockPool, BlocksAreAlignedAndUsableToTheLastByte) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{100}, size_t{300000}, kLarge + 1}) {
    const auto block = AllocateBlock(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.get()) % 64, 0u);
    std::memset(block.get(), 0xAB, bytes);
  }
}

TEST(BlockPool, LiveBlocksDoNotOverlap) {
  std::vector<std::shared_ptr<void>> live;
  for (unsigned char i = 0; i < 20; ++i) {
    live.push_back(AllocateBlock(kLarge / (1 + i % 3)));
    std::memset(live.back().get(), i, kLarge / (1 + i % 3));
    if (i % 4 == 3) live[i / 2].reset();
  }
  for (unsigned char i = 0; i < 20; ++i) {
    if (live[i] == nullptr) continue;
    const auto* bytes = static_cast<const unsigned char*>(live[i].get());
    EXPECT_EQ(bytes[0], i);
    EXPECT_EQ(bytes[kLarge / (1 + i % 3) - 1], i);
  }
}

TEST(BlockPool, WhatIsKeptIsBoundedAndReused) {
  for (int round = 0; round < 3; ++round) {
    std::vector<std::shared_ptr<void>> live;
    for (int i = 0; i < 40; ++i) live.push_back(AllocateBlock(kLarge));
  }
  const size_t kept = KeptBlockBytes();
  EXPECT_LE(kept, size_t{64} << 20);
  if (kept == 0) GTEST_SKIP() << "nothing is kept under AddressSanitizer";
  const auto again = AllocateBlock(kLarge);
  EXPECT_LT(KeptBlockBytes(), kept);
  ReleaseKeptBlocks();
  EXPECT_EQ(KeptBlockBytes(), 0u);
}

TEST(BlockPool, AnImpossibleSizeIsNoMemory) { EXPECT_EQ(AllocateBlock(SIZE_MAX - 100), nullptr); }

TEST(BlockPool, ManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i) {
        const size_t bytes = kLarge / static_cast<size_t>(1 + (i + t) % 4);
        const auto block = AllocateBlock(bytes);
        auto* last = static_cast<unsigned char*>(block.get()) + bytes - 1;
        *last = static_cast<unsigned char>(t);
        ASSERT_EQ(*last, t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace plumb
