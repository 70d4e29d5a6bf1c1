// SPDX-License-Identifier: Apache-2.0
// Other programs get their arguments as they are, and what they say is heard.
#include "base/process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace plumb {
namespace {

TEST(Process, ArgumentsAreNotReadByAShell) {
  const std::string awkward = "a b'c\"d$(touch made)`touch made`;\n*";
  const ProcessResult run = RunProcess({"printf", "%s|%s", awkward, ""});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out, awkward + "|");
}

TEST(Process, InputIsEmptyAndErrorsAreHeard) {
  const ProcessResult run = RunProcess({"sh", "-c", "cat; echo said; echo heard >&2; exit 7"});
  EXPECT_EQ(run.exit_code, 7);
  EXPECT_EQ(run.out, "said\n");
  EXPECT_EQ(run.err, "heard\n");
  ProcessOptions merge;
  merge.merge = true;
  EXPECT_EQ(RunProcess({"sh", "-c", "echo said; echo heard >&2"}, merge).out, "said\nheard\n");
  const ProcessResult killed = RunProcess({"sh", "-c", "kill -9 $$"});
  EXPECT_EQ(killed.exit_code, -1);
  EXPECT_EQ(killed.signal, SIGKILL);
}

TEST(Process, WhatIsNotThereIsSaid) {
  const ProcessResult run = RunProcess({"/nowhere/python3", "-c", "1"});
#ifdef __aarch64__
  if (run.exit_code == 127) GTEST_SKIP() << "qemu-user's posix_spawn does not say why nothing was started";
#endif
  EXPECT_EQ(run.exit_code, -1);
  EXPECT_EQ(run.error, "/nowhere/python3: No such file or directory");
}

TEST(Process, LongOutputArrivesWhole) {
  EXPECT_EQ(RunProcess({"sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x"}).out, std::string(300000, 'x'));
}

TEST(Process, OfVeryLongOutputTheBeginningAndTheEndArrive) {
  const ProcessResult run = RunProcess({"sh", "-c", "echo begin; head -c 70000000 /dev/zero; echo; echo end"});
  EXPECT_EQ(run.out.substr(0, 6), "begin\n");
  EXPECT_EQ(run.out.substr(run.out.size() - 5), "\nend\n");
  constexpr size_t kMost = size_t{64} << 20, kAll = 6 + 70000000 + 5;
  const std::string said = "\nplumb: " + std::to_string(kAll - kMost) + " bytes of output are left out here\n";
  EXPECT_EQ(run.out.size(), kMost + said.size());
  EXPECT_NE(run.out.find(said), std::string::npos);
}

TEST(Process, SilenceIsCountedFromTheLastWord) {
  ProcessOptions options;
  double longest = 0;
  options.wait = [&](double seconds, double silent) {
    longest = std::max(longest, silent);
    return seconds < 60;
  };
  const ProcessResult run = RunProcess({"sh", "-c", "for i in 1 2 3 4 5 6; do echo said; sleep 0.5; done"}, options);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_GT(longest, 0.3);
  EXPECT_LT(longest, 2.9);  // they are three seconds together
}

TEST(Process, FilesAreReadAndWritten) {
  const std::string folder = testing::TempDir() + "process_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/in") << "from a file";
  ProcessOptions options;
  options.input_file = folder + "/in";
  options.output_file = folder + "/out";
  EXPECT_EQ(RunProcess({"cat"}, options).exit_code, 0);
  std::ostringstream text;
  text << std::ifstream(folder + "/out").rdbuf();
  EXPECT_EQ(text.str(), "from a file");
  std::filesystem::remove_all(folder);
}

TEST(Process, TheCallerMayGiveUp) {
  ProcessOptions options;
  options.wait = [](double seconds, double) { return seconds < 0.2; };
  const ProcessResult run = RunProcess({"sleep", "60"}, options);
  EXPECT_TRUE(run.given_up);
  EXPECT_EQ(run.signal, SIGKILL);
}

// ssh's master connection and adb's server outlive the command that started them.
TEST(Process, OneThatItLeavesBehindIsNotWaitedFor) {
  ProcessOptions options;
  options.wait = [](double seconds, double) { return seconds < 20; };
  const ProcessResult run = RunProcess({"sh", "-c", "sleep 30 & echo $!; exit 3"}, options);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_FALSE(run.given_up);
  ::kill(std::stoi(run.out), SIGKILL);
}

}  // namespace
}  // namespace plumb
