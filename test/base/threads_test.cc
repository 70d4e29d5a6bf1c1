#include "base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
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

}  // namespace
}  // namespace plumb
