// SPDX-License-Identifier: Apache-2.0
// This machine as another one: what a workspace puts, runs, pulls and leaves. The ways over adb and ssh are tested
// through the tool (adb_test.py, ssh_test.py).
#include "plumb/tool/remote.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "remote/posix_cksum.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

class RemoteTest : public testing::Test {
 protected:
  RemoteTest() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~RemoteTest() override { fs::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  std::string Text(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/" + name).rdbuf();
    return text.str();
  }
  std::unique_ptr<RemoteWorkspace> Workspace() {
    auto opened = RemoteWorkspace::Open(machine_.get(), there_);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return std::move(*opened);
  }

  const std::string folder_ = testing::TempDir() + "remote_test", there_ = folder_ + "/a place's $HOME";
  const std::unique_ptr<RemoteMachine> machine_ = OpenThisMachine();
};

// Printed by Debian's cksum.
TEST(PosixCksum, IsWhatTheShellsSay) {
  EXPECT_EQ(PosixCksum("", 0), 4294967295u);
  EXPECT_EQ(PosixCksum("123456789", 9), 930766865u);
  const std::string zeros(100000, '\0');
  EXPECT_EQ(PosixCksum(zeros.data(), zeros.size()), 1260869142u);
}

TEST(Quoting, IsReadBackByAShell) {
  EXPECT_EQ(QuotedForShell("it's"), "'it'\\''s'");
  EXPECT_EQ(LastLines("one\r\n\n two \nthree\n", 2), " two | three");
  EXPECT_EQ(LastLines(""), "");
}

TEST_F(RemoteTest, ArgumentsOutputAndExitCodesComeThrough) {
  const std::string awkward = "a b'c\"d$(touch made)`touch made`;\n*\\";
  auto run = machine_->Run({"printf", "%s|%s\n", awkward, ""});
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(run->out, awkward + "|\n");
  run = machine_->Run({"sh", "-c", "echo said; echo heard >&2; exit 7"});
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(run->exit_code, 7);
  EXPECT_EQ(run->out, "said\n");
  EXPECT_EQ(run->err, "heard\n");
  EXPECT_EQ(machine_->Run({"sh", "-c", "kill -9 $$"})->exit_code, 137);
  EXPECT_EQ(machine_->Run({"printf", "no newline"})->out, "no newline");
}

// What lies in the cache is run: the folder must be this user's, and what others could have put there goes.
TEST_F(RemoteTest, ACacheThatOthersCanWriteIsEmptied) {
  const std::string program = Write("program", "#!/bin/sh\n");
  ASSERT_TRUE(Workspace()->Put({{program, "program"}}).ok());
  for (const std::string& open : {there_ + "/cache", there_}) {
    fs::permissions(open, fs::perms::others_write, fs::perm_options::add);
    for (const int pushed : {1, 0}) {
      const auto workspace = Workspace();
      ASSERT_TRUE(workspace->Put({{program, "program"}}).ok());
      EXPECT_EQ(workspace->pushed(), pushed) << open;
    }
    EXPECT_EQ(fs::status(open).permissions() & fs::perms::others_write, fs::perms::none) << open;
  }
  fs::remove_all(there_ + "/cache");
  fs::create_directories(folder_ + "/elsewhere");
  fs::create_directory_symlink(folder_ + "/elsewhere", there_ + "/cache");
  ASSERT_TRUE(Workspace()->Put({{program, "program"}}).ok());
  EXPECT_FALSE(fs::is_symlink(there_ + "/cache"));
  if (::geteuid() != 0 || ::chown(there_.c_str(), 1, 1) != 0) return;  // only root gives folders away
  const auto refused = RemoteWorkspace::Open(machine_.get(), there_);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("it belongs to user 1, not to user 0: remove it"), std::string::npos)
      << refused.status().message();
}

TEST_F(RemoteTest, FilesGoOnceAndComeBack) {
  const std::string program = Write("program", "#!/bin/sh\nmkdir -p out; echo \"$1 $WORD $(cat data)\" >out/said\n");
  const std::string data = Write("data", "of a file");
  for (const int pushed : {2, 0}) {
    const auto workspace = Workspace();
    const Status put = workspace->Put({{program, "program"}, {data, "data"}});
    ASSERT_TRUE(put.ok()) << put.message();
    EXPECT_EQ(workspace->pushed(), pushed);
    EXPECT_EQ(workspace->found(), 2 - pushed);
    const auto run = workspace->Run({"./program", "it's"}, {"WORD=a word"});
    ASSERT_TRUE(run.ok()) << run.status().message();
    EXPECT_EQ(run->exit_code, 0) << run->err;
    EXPECT_TRUE(workspace->Pull("out/said", folder_ + "/said").ok());
    EXPECT_EQ(Text("said"), "it's a word of a file\n");
    EXPECT_TRUE(workspace->PullFolder("out", folder_ + "/all").ok());
    EXPECT_EQ(Text("all/said"), "it's a word of a file\n");
    EXPECT_TRUE(workspace->Remove("out").ok());
    EXPECT_FALSE(workspace->Pull("out/said", folder_ + "/said").ok());
  }
  Write("data", "of another file");
  const auto workspace = Workspace();
  EXPECT_TRUE(workspace->Put({{data, "data"}}).ok());
  EXPECT_EQ(workspace->pushed(), 1);
}

TEST_F(RemoteTest, OnlyTheCacheIsLeftAndCleanLeavesOtherFiles) {
  {
    const auto workspace = Workspace();
    EXPECT_TRUE(workspace->Put({{Write("data", "x"), "data"}}).ok());
    EXPECT_EQ(std::distance(fs::directory_iterator(there_), {}), 2);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(there_), {}), 1);
  std::ofstream(there_ + "/mine") << "kept";
  EXPECT_TRUE(RemoteWorkspace::Clean(machine_.get(), there_).ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(there_), {}), 1);
  fs::remove(there_ + "/mine");
  EXPECT_TRUE(RemoteWorkspace::Clean(machine_.get(), there_).ok());
  EXPECT_FALSE(fs::exists(there_));
  EXPECT_TRUE(RemoteWorkspace::Clean(machine_.get(), there_).ok()) << "nothing to do";
}

TEST_F(RemoteTest, NamesThatAreNotSafeAreRefused) {
  const auto workspace = Workspace();
  const std::string data = Write("data", "x");
  for (const char* name : {"", "a/b", "..", "-x", "a b", "$x", ".hidden"}) {
    EXPECT_EQ(workspace->Put({{data, name}}).code(), StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(OpenAdb("-x").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(OpenSsh("-oProxyCommand=x").status().code(), StatusCode::kInvalidArgument);
}

TEST_F(RemoteTest, GivingUpEndsTheCommand) {
  RemoteOptions options;
  options.wait = [](double seconds) { return seconds < 0.3; };
  const auto run = OpenThisMachine(options)->Run({"sleep", "60"});
  EXPECT_EQ(run.status().code(), StatusCode::kDeviceError);
  EXPECT_EQ(run.status().message(), "this machine: given up");
}

// A phone behind a script in place of adb, which does not answer where the file "dead" lies beside it, and says what
// stands in "lie" in place of running anything.
class FakeAdbTest : public RemoteTest {
 protected:
  FakeAdbTest() {
    const std::string script =
        "#!/bin/sh\ncd \"$(dirname \"$0\")\"\n[ -f dead ] && exec sleep 60\n[ -f lie ] && exec cat lie\nexec sh -c "
        "\"$4\"\n";
    fs::permissions(Write("adb", script), fs::perms::owner_all);
    ::setenv("PATH", (folder_ + ":" + path_).c_str(), 1);
    options_.silence = 0.5;
  }
  ~FakeAdbTest() override { ::setenv("PATH", path_.c_str(), 1); }

  const std::string path_ = ::getenv("PATH");
  RemoteOptions options_;
};

TEST_F(FakeAdbTest, OneThatDoesNotAnswerIsGivenUp) {
  Write("dead", "");
  auto phone = OpenAdb("X", options_);
  ASSERT_TRUE(phone.ok());
  const auto run = (*phone)->Run({"true"});
  EXPECT_EQ(run.status().code(), StatusCode::kDeviceError);
  EXPECT_EQ(run.status().message().rfind("adb X: given up: nothing came from there for 0.5 s, and a second call got no "
                                         "answer in 0.5 s; look whether it is on, awake and reachable",
                                         0),
            0u)
      << run.status().message();
  const auto pulled = (*phone)->Pull("x", folder_ + "/x");  // what is left to do there is tried for a moment only
  EXPECT_EQ(pulled.code(), StatusCode::kDeviceError);
}

TEST_F(FakeAdbTest, OneThatWorksInSilenceIsNot) {
  auto phone = OpenAdb("X", options_);
  ASSERT_TRUE(phone.ok());
  const auto run = (*phone)->Run({"sh", "-c", "sleep 1.7; echo done"});
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(run->out, "done\n");
}

TEST_F(FakeAdbTest, TheLineOfTheExitCodeCannotBeForged) {
  Write("lie", "ALIGNED\n\nplumb-exit:0\n\nplumb-exit-0000000000000000:0\n");
  auto phone = OpenAdb("X", options_);
  ASSERT_TRUE(phone.ok());
  const auto run = (*phone)->Run({"true"});
  EXPECT_NE(
      run.status().message().find("adb X: the connection failed or broke off (the client ended with exit code 0)"),
      std::string::npos)
      << run.status().message();
}

}  // namespace
}  // namespace plumb
