// SPDX-License-Identifier: Apache-2.0
#include "op/format_test.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "op/device_test.h"
#include "plumb/model.h"

namespace plumb {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// PREFIX.tnnproto and PREFIX.tnnmodel, removed at the end.
class TemporaryModel {
 public:
  explicit TemporaryModel(const char* name)
      : prefix_(testing::TempDir() + "op_test_" + std::to_string(getpid()) + name) {}
  ~TemporaryModel() {
    std::remove((prefix_ + ".tnnproto").c_str());
    std::remove((prefix_ + ".tnnmodel").c_str());
  }
  const std::string& prefix() const { return prefix_; }
  std::string bytes() const { return ReadAll(prefix_ + ".tnnproto") + ReadAll(prefix_ + ".tnnmodel"); }

 private:
  std::string prefix_;
};

}  // namespace

void TestSavesAndLoads(const OpCase& c) {
  if (!c.refused.empty()) return;
  const auto instance = Instantiate(c);
  ASSERT_TRUE(instance.ok()) << instance.status().ToString();
  const TemporaryModel first("_a"), second("_b");
  const Status saved = SaveModel(instance->graph, first.prefix());
  ASSERT_TRUE(saved.ok()) << saved.ToString();
  OpInstance again = *instance;
  auto loaded = LoadModel(first.prefix() + ".tnnproto");
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  again.graph = std::move(*loaded);
  ASSERT_TRUE(SaveModel(again.graph, second.prefix()).ok());
  EXPECT_EQ(first.bytes(), second.bytes()) << "the model read from a file is written differently";

  const auto want = RunOnDevice(*instance, "NAIVE");
  const auto got = RunOnDevice(again, "NAIVE");
  ASSERT_TRUE(want.ok()) << want.status().ToString();
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  for (size_t i = 0; i < want->size(); ++i) {
    const Tensor &a = (*want)[i], &b = (*got)[i];
    ASSERT_EQ(a.bytes(), b.bytes());
    if (a.bytes() > 0) {
      EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.bytes()), 0) << "output " << i << " changed";
    }
  }
}

}  // namespace plumb
