// SPDX-License-Identifier: Apache-2.0
#include "base/threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace plumb {
namespace {

TEST(Threads, EveryIndexOnceWhateverTheThreadCount) {
  for (int threads : {1, 2, 3, 8}) {
    SetNumThreads(threads);
    for (int round = 0; round < 200; ++round) {
      std::vector<std::atomic<int>> hits(101);
      ParallelFor(101, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
      });
      for (auto& hit : hits) ASSERT_EQ(hit, 1);
    }
  }
  SetNumThreads(0);
}

TEST(Threads, TwoCallersAndNestingAreSafe) {
  std::atomic<int64_t> total{0};
  auto work = [&] {
    for (int round = 0; round < 200; ++round) {
      ParallelFor(10, 1, [&](int64_t begin, int64_t end) {
        ParallelFor(end - begin, 1, [&](int64_t b, int64_t e) { total += e - b; });
      });
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(total, 2 * 200 * 10);
}

// While other programs take the CPUs the caller runs every piece itself, and the pieces stay what they were.
TEST(Threads, ABusyMachineChangesWhoRunsAPieceAndNotThePieces) {
  if (NumCpus() < 2) GTEST_SKIP() << "one CPU: two threads always share it";
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 2 * NumCpus(); ++i) {
    others.emplace_back([&] {
      while (!stop) {
      }
    });
  }
  SetNumThreads(2);
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  int alone = 0, wrong = 0;
  for (; alone == 0 && Clock::now() - start < std::chrono::seconds(20);) {
    std::thread::id ran[2];
    int pieces[2] = {0, 0};
    ParallelFor(2, 1, [&](int64_t begin, int64_t end) {
      ran[begin] = std::this_thread::get_id();
      pieces[begin] = static_cast<int>(end - begin);
      const auto from = Clock::now();
      while (Clock::now() - from < std::chrono::milliseconds(1)) {
      }
    });
    wrong += pieces[0] != 1 || pieces[1] != 1;
    alone += ran[0] == ran[1];
  }
  stop = true;
  for (std::thread& other : others) other.join();
  SetNumThreads(0);
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(alone, 0);
}

// Python's multiprocessing forks: the child has none of the workers.
TEST(Threads, AForkedChildHasAPoolOfItsOwn) {
  SetNumThreads(3);
  std::atomic<int> sum{0};
  const auto add = [&](int64_t begin, int64_t end) { sum += static_cast<int>(end - begin); };
  ParallelFor(99, 1, add);
  ASSERT_EQ(sum, 99);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    for (int round = 0; round < 100; ++round) ParallelFor(99, 1, add);
    _exit(sum == 99 * 101 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ParallelFor(99, 1, add);
  EXPECT_EQ(sum, 198) << "and the parent goes on";
  SetNumThreads(0);
}

}  // namespace
}  // namespace plumb
