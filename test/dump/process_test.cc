// SPDX-License-Identifier: Apache-2.0
// Dumps as their users get them: another program, switched on by the environment alone, on a healthy disk, on a full
// one, in a folder that cannot be, and killed in the middle.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

#include "base/file.h"
#include "dump/checksum.h"
#include "dump/dump_test_util.h"
#include "dump/reader.h"
#include "plumb/plumb.h"

namespace plumb {
namespace {

struct Outcome {
  int code = -1;
  std::string out;  // standard output and error
};

Outcome Shell(const std::string& command) {
  Outcome outcome;
  FILE* pipe = ::popen(("exec 2>&1; " + command).c_str(), "r");
  char text[4096];
  while (pipe != nullptr && std::fgets(text, sizeof(text), pipe) != nullptr) outcome.out += text;
  const int status = ::pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

std::string LastLine(std::string text) {
  if (!text.empty() && text.back() == '\n') text.pop_back();
  const size_t newline = text.rfind('\n');
  return newline == std::string::npos ? text : text.substr(newline + 1);
}

const std::string kProgram = PLUMB_DUMP_PROGRAM;
const std::string kModel = PLUMB_EXAMPLES "/squeezenet/squeezenet.tnnproto";

class Process : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto device = OpenDevice(GetParam());
    if (!device.ok()) GTEST_SKIP() << device.status().message();
  }
  std::string Program(const std::string& model, const std::string& how) const {
    return kProgram + " " + model + " " + GetParam() + " " + how;
  }
  std::string Dir() const { return folder_ / "dump"; }

  TempFolder folder_;
};

TEST_P(Process, EnvironmentAloneDumpsFromForwardAndForwardAsync) {
  const Outcome plain = Shell(Program(kModel, "forward 1"));
  ASSERT_EQ(plain.code, 0) << plain.out;
  for (const std::string how : {"forward 1", "async 1"}) {
    const std::string dir = folder_ / how.substr(0, how.find(' '));
    const Outcome dumped =
        Shell("DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 DUMP_BLOB_DIR=" + dir + " " + Program(kModel, how));
    ASSERT_EQ(dumped.code, 0) << dumped.out;
    EXPECT_EQ(dumped.out, plain.out);  // not a bit of the outputs, not a word more
    const auto reader = DumpReader::Open(dir);
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    EXPECT_TRUE(reader->manifest().complete);
    EXPECT_GT(reader->entries().size(), 4u);
    for (const DumpEntry& entry : reader->entries()) EXPECT_TRUE(DumpReader::Load(entry).ok()) << entry.path;
  }
}

TEST_P(Process, WatchingChangesNoBitOfALargerNetwork) {
  const Outcome plain = Shell(Program(kModel, "forward 2"));
  const Outcome dumped =
      Shell("DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 DUMP_BLOB_FORWARDS=all DUMP_BLOB_STATS=1 DUMP_BLOB_DIR=" + Dir() +
            " " + Program(kModel, "forward 2"));
  EXPECT_EQ(dumped.code, 0);
  EXPECT_EQ(dumped.out, plain.out);
}

TEST_P(Process, FilesAreASubsetAndEqualWithoutFusion) {
  const auto dump = [&](const std::string& name, const std::string& device, const std::string& extra) {
    const Outcome outcome = Shell("DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 DUMP_BLOB_DIR=" + (folder_ / name) + " " +
                                  extra + " " + kProgram + " " + kModel + " " + device + " forward 1");
    EXPECT_EQ(outcome.code, 0) << outcome.out;
    return NamesIn(folder_ / name);
  };
  const std::set<std::string> naive = dump("naive", "NAIVE", "");
  const std::set<std::string> fused = dump("fused", GetParam(), "");
  EXPECT_TRUE(std::includes(naive.begin(), naive.end(), fused.begin(), fused.end()));
  const auto reader = DumpReader::Open(folder_ / "fused");
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(fused.size() + reader->manifest().absent.size(), naive.size());  // each absence is explained
  EXPECT_EQ(dump("unfused", GetParam(), "DUMP_BLOB_UNFUSE=1"), naive);
  EXPECT_TRUE(DumpReader::Open(folder_ / "unfused")->manifest().unfuse);
}

TEST_P(Process, MisspeltVariablesStopTheProgram) {
  const Outcome name = Shell("DUMP_OUTPUTS_BLOB=1 " + Program(kModel, "forward 1"));
  EXPECT_EQ(name.code, 2);
  EXPECT_NE(name.out.find("did you mean DUMP_OUTPUT_BLOB?"), std::string::npos) << name.out;
  const Outcome value = Shell("DUMP_OUTPUT_BLOB=1 DUMP_BLOB_FORMAT=txt " + Program(kModel, "forward 1"));
  EXPECT_EQ(value.code, 2);
  EXPECT_NE(value.out.find("text, text9"), std::string::npos) << value.out;
}

TEST_P(Process, FullDiskIsReportedAndTheOutputsAreRight) {
  const Outcome plain = Shell(Program(kModel, "forward 1"));
  // No file may grow beyond 64 KiB; the signal that comes with it is ignored, so that write() fails as on a full disk.
  const std::string limit = "trap '' XFSZ; ulimit -f 64; ";
  if (Shell(limit + Program(kModel, "forward 1")).code != 0)
    GTEST_SKIP() << "the driver keeps its memory in files, as lavapipe does from Mesa 25 on";
  for (const std::string how : {"forward 1", "async 1"}) {
    const Outcome full =
        Shell(limit + "DUMP_OUTPUT_BLOB=1 DUMP_BLOB_FORMAT=npy DUMP_BLOB_DIR=" + Dir() + " " + Program(kModel, how));
    EXPECT_EQ(full.code, 3);
    EXPECT_NE(full.out.find("IoError"), std::string::npos) << full.out;
    EXPECT_EQ(LastLine(full.out), LastLine(plain.out));
  }
  const auto reader = DumpReader::Open(Dir());
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_FALSE(reader->manifest().complete);
  for (const std::string& name : NamesIn(Dir())) EXPECT_EQ(name.find(".part"), std::string::npos) << name;
  for (const DumpEntry& entry : reader->entries()) EXPECT_TRUE(DumpReader::Load(entry).ok()) << entry.path;
}

TEST_P(Process, AFileWhereTheFolderShouldBe) {
  ASSERT_TRUE(WriteFile(Dir(), "x").ok());
  const Outcome plain = Shell(Program(kModel, "forward 1"));
  const Outcome refused = Shell("DUMP_OUTPUT_BLOB=1 DUMP_BLOB_DIR=" + Dir() + "/sub " + Program(kModel, "async 1"));
  EXPECT_EQ(refused.code, 3);
  EXPECT_NE(refused.out.find(Dir()), std::string::npos) << refused.out;
  EXPECT_EQ(LastLine(refused.out), LastLine(plain.out));
}

TEST_P(Process, ASecondRunTakesAnotherFolderAndSaysSo) {
  const std::string command = "DUMP_OUTPUT_BLOB=1 DUMP_BLOB_DIR=" + Dir() + " " + Program(kModel, "forward 1");
  ASSERT_EQ(Shell(command).code, 0);
  const Outcome second = Shell(command);
  EXPECT_NE(second.out.find(Dir() + "-2"), std::string::npos) << second.out;
  EXPECT_EQ(NamesIn(Dir()), NamesIn(Dir() + "-2"));
}

// Killed at several moments: a name without ".part" is always a whole file, and a manifest is only there at the end.
TEST_P(Process, KilledInTheMiddleLeavesNothingThatLooksWhole) {
  const std::string dir = folder_ / "whole";
  ASSERT_EQ(Shell("DUMP_OUTPUT_BLOB=1 DUMP_BLOB_DIR=" + dir + " " + Program(kModel, "forward 1")).code, 0);
  std::map<std::string, std::string> expected;
  const DumpReader whole = DumpReader::Open(dir).value();
  for (const DumpedBlob& blob : whole.manifest().files) expected[blob.file] = blob.checksum;
  int interrupted = 0;
  for (int i = 0; i < 8; ++i) {
    const std::string killed = folder_ / ("killed" + std::to_string(i));
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("DUMP_OUTPUT_BLOB", "1", 1);
      ::setenv("DUMP_BLOB_DIR", killed.c_str(), 1);
      ::execl(kProgram.c_str(), kProgram.c_str(), kModel.c_str(), GetParam(), "forward", "1", nullptr);
      ::_exit(127);
    }
    while (NamesIn(killed).size() < static_cast<size_t>(2 + 4 * i)) {  // so many files into the dump
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (::waitpid(child, nullptr, WNOHANG) == child) break;
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::set<std::string> names = NamesIn(killed);
    if (names.count("manifest.json") != 0) continue;  // it was faster
    ++interrupted;
    for (const std::string& name : names) {
      if (name.size() > 5 && name.substr(name.size() - 5) == ".part") continue;
      const FileBytes bytes = ReadFile(killed + "/" + name).value();
      EXPECT_EQ(ChecksumOf(bytes.data(), bytes.size()), expected[name]) << name;
    }
    EXPECT_EQ(DumpReader::Open(killed).status().code(), StatusCode::kCorruptModel);
    // A new run does not mix with what is left.
    EXPECT_NE(Shell("DUMP_OUTPUT_BLOB=1 DUMP_BLOB_STATS=1 DUMP_BLOB_DIR=" + killed + " " + Program(kModel, "forward 1"))
                  .out.find("killed" + std::to_string(i) + "-2"),
              std::string::npos);
  }
  EXPECT_GT(interrupted, 0);
}

INSTANTIATE_TEST_SUITE_P(Devices, Process, ::testing::Values("NAIVE", "X86", "ARM", "OPENCL", "VULKAN"),
                         [](const ::testing::TestParamInfo<const char*>& info) { return std::string(info.param); });

}  // namespace
}  // namespace plumb
