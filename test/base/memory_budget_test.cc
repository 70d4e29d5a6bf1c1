// SPDX-License-Identifier: Apache-2.0
// The one limit on what files and options may ask for.
#include "base/memory_budget.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/block_pool.h"
#include "base/threads.h"
#include "plumb/tensor.h"

namespace plumb {
namespace {

class MemoryBudgetTest : public ::testing::Test {
 protected:
  void TearDown() override { SetMemoryBudget(0); }
};

TEST_F(MemoryBudgetTest, TensorsBeyondItAreRefusedWithASentence) {
  SetMemoryBudget(MemoryInUse() + (1 << 20));
  const Result<Tensor> small = Tensor::Create(DType::kF32, Shape{1000});
  ASSERT_TRUE(small.ok());
  const Status status = Tensor::Create(DType::kF32, Shape{1 << 20}).status();
  EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
  EXPECT_NE(status.message().find("no memory for a tensor [1048576] f32: 4194304 bytes"), std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find("SetMaxMemory"), std::string::npos);
}

TEST_F(MemoryBudgetTest, WhatIsFreedCountsNoMore) {
  const uint64_t before = MemoryInUse();
  for (const size_t bytes : {size_t{100}, size_t{1} << 20}) {
    {
      const std::shared_ptr<void> block = AllocateBlock(bytes);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(MemoryInUse(), before + bytes);
    }
    EXPECT_EQ(MemoryInUse(), before);
  }
  SetMemoryBudget(1);
  EXPECT_EQ(AllocateBlock(size_t{1} << 20), nullptr);
  EXPECT_EQ(MemoryInUse(), before);
}

TEST_F(MemoryBudgetTest, TheDefaultIsPartOfTheMachine) {
  const uint64_t usual = MemoryBudget();
  EXPECT_GT(usual, uint64_t{64} << 20);
  SetMemoryBudget(12345);
  EXPECT_EQ(MemoryBudget(), 12345u);
  EXPECT_FALSE(TakeMemory(12346));
  SetMemoryBudget(0);
  EXPECT_EQ(MemoryBudget(), usual);
}

TEST_F(MemoryBudgetTest, BadAllocBecomesAStatus) {
  const Status status = CatchNoMemory("the model 'x'", []() -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(status.message(), "no memory for the model 'x'");
  const Result<int> length = CatchNoMemory("a list", []() -> Result<int> {
    std::vector<char> list;
    list.resize(SIZE_MAX);
    return static_cast<int>(list.size());
  });
  EXPECT_EQ(length.status().code(), StatusCode::kOutOfMemory);
}

// Not only on the caller's thread: a worker's exception would end the program.
TEST_F(MemoryBudgetTest, BadAllocInALoopReachesItsCaller) {
  SetNumThreads(4);
  for (int guilty = 0; guilty < 4; ++guilty) {
    const auto loop = [&]() -> Status {
      ParallelRegion(4, [&](int thread, int n) {
        if (thread == guilty % n) throw std::bad_alloc();
      });
      return Status::Ok();
    };
    EXPECT_EQ(CatchNoMemory("a loop", loop).code(), StatusCode::kOutOfMemory);
  }
  int64_t sum = 0;
  ParallelFor(1, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });  // and the pool still works
  EXPECT_EQ(sum, 1);
  SetNumThreads(0);
}

}  // namespace
}  // namespace plumb
