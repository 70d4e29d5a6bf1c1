// SPDX-License-Identifier: Apache-2.0
#include "dump/folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace plumb {
namespace {

namespace fs = std::filesystem;

// A relative path of which nothing exists yet is the same run's folder once it does.
TEST(Folder, ARelativeFolderIsTheSameBeforeAndAfterItIsMade) {
  const fs::path home = fs::current_path();
  const fs::path root = fs::temp_directory_path() / ("plumb_folder_" + std::to_string(getpid()));
  fs::remove_all(root);
  fs::create_directories(root);
  fs::current_path(root);
  const auto first = TakeNetworkFolder("dump");
  const auto second = TakeNetworkFolder("dump/");
  const auto third = TakeNetworkFolder((root / "dump").string());
  fs::current_path(home);
  ASSERT_TRUE(first.ok() && second.ok() && third.ok());
  EXPECT_EQ(first->path, "dump");
  EXPECT_EQ(second->path, "dump/network-2") << second->note;
  EXPECT_EQ(third->network, 3);
  fs::remove_all(root);
}

}  // namespace
}  // namespace plumb
