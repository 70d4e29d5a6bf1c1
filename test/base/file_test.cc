// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

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
  std::vector<std::string> Parts() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (name.size() > 5 && name.substr(name.size() - 5) == ".part") names.push_back(name);
    }
    return names;
  }
  static bool Exists(const std::string& path) { return std::filesystem::exists(path); }

  std::string folder_;
};

TEST_F(File, ReadsBackWhatWasWritten) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{5000}, size_t{3} << 20}) {  // OpenSource leaves the last one
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
    ASSERT_TRUE(WriteFile(Path("x"), bytes).ok());
    const Result<FileBytes> read = ReadFile(Path("x"));
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(read->text(), bytes);
    const Result<FileSource> source = OpenSource(Path("x"));
    ASSERT_TRUE(source.ok()) << source.status().ToString();
    EXPECT_EQ(source->size(), size);
    std::string copied(size, '\0');
    ASSERT_TRUE(source->Read(0, size, copied.data()).ok());
    EXPECT_EQ(copied, bytes);
    EXPECT_EQ(source->Piece(size / 3, size / 2)->text(), bytes.substr(size / 3, size / 2));
  }
}

// A dump that is written anew while it is judged: what was read stays, and what is gone is an error and no signal.
TEST_F(File, AFileThatIsCutWhileItIsRead) {
  const std::string bytes(size_t{3} << 20, 'x');
  ASSERT_TRUE(WriteFile(Path("x"), bytes).ok());
  const FileBytes read = std::move(ReadFile(Path("x"))).value();
  const FileSource source = std::move(OpenSource(Path("x"))).value();
  ASSERT_EQ(::truncate(Path("x").c_str(), 10), 0);
  EXPECT_EQ(read.text(), bytes);
  const Status cut = source.Piece(size_t{2} << 20, 100).status();
  EXPECT_EQ(cut.code(), StatusCode::kIoError);
  EXPECT_NE(cut.message().find("was changed by another program"), std::string::npos) << cut.message();
  ASSERT_TRUE(WriteFile(Path("x"), bytes).ok());
  EXPECT_FALSE(source.Piece(0, 100).ok()) << "another file under the same name";
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
    EXPECT_EQ(Parts().size(), 1u);
  }
  EXPECT_TRUE(Parts().empty());
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
  EXPECT_TRUE(Parts().empty());
}

// What another user or an earlier run left at a name that could be ours is neither followed nor cut.
TEST_F(File, APlantedLinkIsNotFollowed) {
  ASSERT_TRUE(WriteFile(Path("precious"), "precious").ok());
  for (const char* name : {"x.part", "x"}) ASSERT_EQ(::symlink(Path("precious").c_str(), Path(name).c_str()), 0);
  ASSERT_TRUE(WriteFile(Path("x"), "report").ok());
  EXPECT_EQ(ReadFile(Path("precious"))->text(), "precious");
  EXPECT_EQ(ReadFile(Path("x"))->text(), "report");
  EXPECT_FALSE(std::filesystem::is_symlink(Path("x")));
}

TEST_F(File, WritersOfOnePathDoNotMix) {
  constexpr size_t kWriters = 12, kBytes = 300000;
  std::vector<std::thread> writers;
  for (size_t i = 0; i < kWriters; ++i) {
    writers.emplace_back([&, letter = static_cast<char>('a' + i)] {
      AtomicFile file = std::move(AtomicFile::Create(Path("x"))).value();
      for (int piece = 0; piece < 10; ++piece) EXPECT_TRUE(file.Write(std::string(kBytes / 10, letter)).ok());
      EXPECT_TRUE(file.Commit().ok());
    });
  }
  for (std::thread& writer : writers) writer.join();
  const FileBytes read = std::move(ReadFile(Path("x"))).value();
  ASSERT_EQ(read.size(), kBytes);
  EXPECT_EQ(read.text(), std::string(kBytes, read.text()[0]));
  EXPECT_TRUE(Parts().empty());
}

TEST_F(File, ModeAndLongNames) {
  const mode_t before = ::umask(027);
  const std::string longest = Path(std::string(255, 'n'));
  EXPECT_TRUE(WriteFile(longest, "text").ok());
  ::umask(before);
  struct stat info {};
  ASSERT_EQ(::stat(longest.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST_F(File, UnfinishedFilesGoWithTheProgram) {
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file = std::move(AtomicFile::Create(Path("x"))).value();
    AtomicFile committed = std::move(AtomicFile::Create(Path("y"))).value();
    const bool written = file.Write("half").ok() && committed.Commit().ok() && Parts().size() == 1;
    RemoveUnfinishedFiles();
    ::_exit(written && Parts().empty() && Exists(Path("y")) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// `ulimit -f`: the signal that ends a program at the limit is not provoked.
TEST_F(File, TheLimitOfFileSizesIsAnError) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Status status = WriteFile(Path("x"), std::string(1001, 'x'));
    const bool said = status.message().find("File too large") != std::string::npos;
    ::_exit(said && WriteFile(Path("y"), std::string(1000, 'y')).ok() && !Exists(Path("x")) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(File, AFolderIsHeldByOneAtATime) {
  std::atomic<int> inside{0};
  std::vector<std::thread> users;
  for (int i = 0; i < 4; ++i) {
    users.emplace_back([&] {
      const FolderLock lock(folder_);
      EXPECT_EQ(inside.fetch_add(1), 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      inside.fetch_sub(1);
    });
  }
  for (std::thread& user : users) user.join();
  const FolderLock none("/no/such/folder");  // goes on without
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
