#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace plumb {
namespace {

class File : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/plumb_file_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  static bool Exists(const std::string& path) { return std::filesystem::exists(path); }

  std::string folder_;
};

TEST_F(File, ReadsBackWhatWasWritten) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{5000}, size_t{3} << 20}) {  // the last one is mapped
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
    ASSERT_TRUE(WriteFile(Path("x"), bytes).ok());
    const Result<FileBytes> read = ReadFile(Path("x"));
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    read->DropBefore(size);
    EXPECT_EQ(read->text(), bytes);
  }
}

TEST_F(File, ReadsFilesWithoutASize) {
  const Result<FileBytes> read = ReadFile("/proc/self/status");
  ASSERT_TRUE(read.ok());
  EXPECT_NE(read->text().find("VmRSS"), std::string::npos);
  EXPECT_EQ(ReadFile("/dev/zero", 100000).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(File, ReadErrorsNameThePath) {
  const Status missing = ReadFile(Path("nothing")).status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_NE(missing.message().find(Path("nothing")), std::string::npos);
  EXPECT_NE(missing.message().find("No such file"), std::string::npos);
  EXPECT_EQ(ReadFile(folder_).status().code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(WriteFile(Path("x"), "12345").ok());
  EXPECT_TRUE(ReadFile(Path("x"), 5).ok());
  EXPECT_EQ(ReadFile(Path("x"), 4).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(File, NothingUnderTheNameBeforeCommit) {
  {
    AtomicFile file = std::move(AtomicFile::Create(Path("x"))).value();
    ASSERT_TRUE(file.Write("half").ok());
    EXPECT_FALSE(Exists(Path("x")));
    EXPECT_TRUE(Exists(Path("x.part")));
  }
  EXPECT_FALSE(Exists(Path("x.part")));
  ASSERT_TRUE(WriteFile(Path("x"), "whole").ok());
  {
    AtomicFile file = std::move(AtomicFile::Create(Path("x"))).value();
    ASSERT_TRUE(file.Write("other").ok());
    AtomicFile moved = std::move(file);
    EXPECT_EQ(ReadFile(Path("x"))->text(), "whole");
    ASSERT_TRUE(moved.Commit(true).ok());
    EXPECT_FALSE(moved.Commit().ok());
  }
  EXPECT_EQ(ReadFile(Path("x"))->text(), "other");
  EXPECT_FALSE(Exists(Path("x.part")));
}

TEST_F(File, FullDiskAndMissingFolderAreReported) {
  AtomicFile full = std::move(AtomicFile::Create("/dev/full")).value();
  const Status status = full.Write("x");
  EXPECT_EQ(status.code(), StatusCode::kIoError);
  EXPECT_NE(status.message().find("No space left"), std::string::npos) << status.message();
  EXPECT_FALSE(full.Commit().ok());
  EXPECT_TRUE(Exists("/dev/full"));
  EXPECT_EQ(AtomicFile::Create(Path("no/such/x")).status().code(), StatusCode::kIoError);
  EXPECT_EQ(AtomicFile::Create(folder_).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace plumb
