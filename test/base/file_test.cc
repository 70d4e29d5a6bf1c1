#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

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
    read->Drop(0, size);
    EXPECT_EQ(read->text(), bytes);
  }
}

TEST_F(File, ReadsFilesWithoutASize) {
  const Result<FileBytes> read = ReadFile("/proc/self/status");
  ASSERT_TRUE(read.ok());
  EXPECT_NE(read->text().find("VmRSS"), std::string::npos);
}

// What has no end, or nobody at its other end, holds nothing up: each is refused, and as a wrong name (exit code 2).
TEST_F(File, RefusesWhatIsNoFile) {
  EXPECT_EQ(ReadFile("/dev/zero").status().code(), StatusCode::kInvalidArgument);
  ASSERT_EQ(::symlink(Path("loop").c_str(), Path("loop").c_str()), 0);
  EXPECT_EQ(ReadFile(Path("loop")).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadFile(Path(std::string(300, 'x'))).status().code(), StatusCode::kInvalidArgument);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof(address.sun_path), "%s", Path("socket").c_str());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(ReadFile(Path("socket")).status().code(), StatusCode::kInvalidArgument);
  ::close(socket);
}

TEST_F(File, ReadsPipesThatSomebodyWritesTo) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  const Result<FileBytes> nobody = ReadFile(Path("pipe"));  // empty, and at once
  EXPECT_TRUE(nobody.ok() && nobody->size() == 0);
  const int reader = ::open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK);  // lets the writer open
  const int writer = ::open(Path("pipe").c_str(), O_WRONLY);
  std::thread late([writer] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(::write(writer, "later", 5), 5);
    ::close(writer);
  });
  const Result<FileBytes> read = ReadFile(Path("pipe"));
  late.join();
  ::close(reader);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->text(), "later");
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
