// SPDX-License-Identifier: Apache-2.0
// Limits of containers, from a /proc and a /sys of the test's own.
#include "base/control_group.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace plumb {
namespace {

constexpr char kVersion2[] = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr char kMemory1[] = "36 32 0:31 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory\n";
constexpr char kCpu1[] = "37 32 0:32 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n";
constexpr char kUnlimited1[] = "9223372036854771712";  // as the kernel prints none

class ControlGroup : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "/plumb_group_XXXXXX";
    ASSERT_NE(mkdtemp(root_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void Process(const std::string& groups, const std::string& mounts) const {
    Write("/proc/self/cgroup", groups);
    Write("/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + mounts);
  }

  std::string root_;
};

TEST_F(ControlGroup, NoneIsNoLimit) {
  EXPECT_EQ(ControlGroupMemory(root_), UINT64_MAX);
  EXPECT_EQ(ControlGroupCpus(root_), 0);
  Process("0::/\n", kVersion2);
  EXPECT_EQ(ControlGroupMemory(root_), UINT64_MAX);
}

// As systemd nests: the least of the group and of all slices around it.
TEST_F(ControlGroup, Version2NestedSlices) {
  Process("0::/user.slice/user-1000.slice/app.scope\n", kVersion2);
  Write("/sys/fs/cgroup/user.slice/user-1000.slice/app.scope/memory.max", "max\n");
  Write("/sys/fs/cgroup/user.slice/user-1000.slice/memory.max", "536870912\n");
  Write("/sys/fs/cgroup/user.slice/memory.max", "4294967296\n");
  Write("/sys/fs/cgroup/user.slice/other.slice/memory.max", "1000\n");
  EXPECT_EQ(ControlGroupMemory(root_), 536870912u);
  Write("/sys/fs/cgroup/user.slice/user-1000.slice/app.scope/memory.max", "268435456\n");
  EXPECT_EQ(ControlGroupMemory(root_), 268435456u);
  Write("/sys/fs/cgroup/user.slice/user-1000.slice/app.scope/cpu.max", "max 100000\n");
  Write("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
  EXPECT_EQ(ControlGroupCpus(root_), 1.5);
}

// A container with a namespace of its own sees itself as the root.
TEST_F(ControlGroup, Version2InAContainer) {
  Process("0::/\n", kVersion2);
  Write("/sys/fs/cgroup/memory.max", "104857600\n");
  EXPECT_EQ(ControlGroupMemory(root_), 104857600u);
}

TEST_F(ControlGroup, Version1BesideVersion2) {
  Process("5:cpu,cpuacct:/batch/job\n4:memory:/batch/job\n1:name=systemd:/x\n0::/\n",
          std::string(kVersion2) + kMemory1 + kCpu1);
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", kUnlimited1);
  Write("/sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "2147483648\n");
  Write("/sys/fs/cgroup/memory/batch/job/memory.limit_in_bytes", kUnlimited1);
  EXPECT_EQ(ControlGroupMemory(root_), 2147483648u);
  Write("/sys/fs/cgroup/memory/batch/job/memory.stat", "cache 5\nhierarchical_memory_limit 1073741824\n");
  EXPECT_EQ(ControlGroupMemory(root_), 1073741824u);
  Write("/sys/fs/cgroup/cpu,cpuacct/batch/job/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/batch/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(ControlGroupCpus(root_), 0);
  Write("/sys/fs/cgroup/cpu,cpuacct/batch/job/cpu.cfs_quota_us", "200000\n");
  EXPECT_EQ(ControlGroupCpus(root_), 2);
}

// Docker with version 1: the process knows its group by the host's name, and the mount's root is that group.
TEST_F(ControlGroup, Version1WhereTheMountIsTheGroup) {
  const std::string mount = "36 32 0:31 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "209715200\n");
  Write("/sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "104857600\n");
  for (const auto& [group, limit] : {std::pair<const char*, uint64_t>{"/docker/1f", 209715200},
                                     {"/docker/1f/inner", 104857600},
                                     {"/docker/1f2/inner", 209715200},
                                     {"/../elsewhere", 209715200}}) {
    Process(std::string("4:memory:") + group + "\n", mount);
    EXPECT_EQ(ControlGroupMemory(root_), limit) << group;
  }
}

}  // namespace
}  // namespace plumb
