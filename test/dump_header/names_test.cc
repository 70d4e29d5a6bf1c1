// SPDX-License-Identifier: Apache-2.0
// examples/hooks/names.h: names of any number of tensors, from any number of threads.
#include "../../examples/hooks/names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace plumb {
namespace {

TEST(HookNames, ASecondTensorOfOneNameIsNumbered) {
  const char tensors[6] = {};
  EXPECT_STREQ(plumb_hook_name(&tensors[0], "x"), "x");
  EXPECT_STREQ(plumb_hook_name(&tensors[1], "x@3"), "x@3");  // whose own name looks like one of ours
  EXPECT_STREQ(plumb_hook_name(&tensors[2], "x"), "x@2");
  EXPECT_STREQ(plumb_hook_name(&tensors[3], "x"), "x@4");
  EXPECT_STREQ(plumb_hook_name(&tensors[4], "x@2"), "x@2@2");
  EXPECT_STREQ(plumb_hook_name(&tensors[0], "x"), "x");
  EXPECT_STREQ(plumb_hook_name(&tensors[3], "x"), "x@4");
  EXPECT_STREQ(plumb_hook_name(&tensors[0], "renamed"), "renamed");
  EXPECT_STREQ(plumb_hook_name(&tensors[5], ""), "");
}

// Seconds of processor time in which `count` tensors get their names and are asked for them five times more.
double SecondsOf(size_t count, const std::string& prefix, bool same) {
  static const std::vector<char> tensors(1 << 16);
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back(prefix + (same ? "" : std::to_string(i)));
  const std::clock_t start = std::clock();
  for (int round = 0; round < 6; ++round) {
    for (size_t i = 0; i < count; ++i) plumb_hook_name(&tensors[i], names[i].c_str());
  }
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// 16 times as many tensors take about 16 times as long (a search through all would take 256 times), of one name or not.
TEST(HookNames, TimeGrowsAsTheNumberOfTensors) {
  for (const bool same : {false, true}) {
    double few = 1e9, many = 1e9;
    for (int round = 0; round < 3; ++round) {
      const std::string prefix = "blk." + std::to_string(round) + (same ? ".same" : ".ffn_norm-");
      few = std::min(few, SecondsOf(2048, prefix + "few", same));
      many = std::min(many, SecondsOf(2048 * 16, prefix + "many", same));
    }
    EXPECT_LT(many, 80 * few) << "same names: " << same << ", " << few << " s and " << many << " s";
  }
}

TEST(HookNames, ThreadsShareTheNames) {
  constexpr size_t kTensors = 2000;
  static const std::vector<char> tensors(kTensors);
  std::vector<std::vector<std::string>> names(4);
  std::vector<std::thread> threads;
  for (std::vector<std::string>& mine : names) {
    threads.emplace_back([&mine] {
      for (size_t i = 0; i < kTensors; ++i) {
        mine.push_back(plumb_hook_name(&tensors[i], i % 2 == 0 ? "shared" : ("own" + std::to_string(i)).c_str()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<std::string>& mine : names) EXPECT_EQ(mine, names[0]);
  EXPECT_EQ(std::set<std::string>(names[0].begin(), names[0].end()).size(), kTensors);
}

}  // namespace
}  // namespace plumb
