// SPDX-License-Identifier: Apache-2.0
// plumb_dump.h around a host program: limits of every kind, text that would steer a terminal, runs that begin at once.
// Whatever happens, the host ends as it wants to, standard error has sentences of ours, and a manifest is JSON.
#define PLUMB_DUMP_IMPLEMENTATION
#include "plumb_dump.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <functional>
#include <set>

#include "base/file.h"
#include "dump/manifest.h"
#include "session/session_test_util.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

const int64_t kDims[] = {2, 6, 5, 7};

class DumpHeaderLimits : public ScratchFolder {
 protected:
  DumpHeaderLimits() {
    setenv("DUMP_OUTPUT_BLOB", "1", 1);
    setenv("DUMP_BLOB_DIR", At("dump").c_str(), 1);
  }
  ~DumpHeaderLimits() override {
    for (const char* name : {"DUMP_OUTPUT_BLOB", "DUMP_BLOB_DIR", "DUMP_BLOB_STATS", "DUMP_BLOB_FORMAT"})
      unsetenv(name);
  }
  // Runs the host in a child whose standard error is a file; its status, and what it said.
  int Run(const std::function<void()>& host) {
    const int file = open(At("said").c_str(), O_RDWR | O_CREAT | O_TRUNC, 0666);
    const pid_t pid = fork();
    if (pid == 0) {
      (void)dup2(file, 2);
      host();
      _exit(7);
    }
    (void)close(file);
    int status = -1;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    said_ = ReadFile(At("said"))->text();
    return status;
  }
  static void Dump(int tensors) {
    static const float values[2 * 6 * 5 * 7] = {};
    plumb_dumper* dump = plumb_dump_open("test", nullptr);
    for (int i = 0; i < tensors; ++i) {
      (void)plumb_dump(dump, std::to_string(i).c_str(), values, PLUMB_F32, 4, kDims, nullptr);
    }
    (void)plumb_dump_close(dump);
  }
  // One run under the limit: whether it dumped everything.
  bool Sweep(decltype(RLIMIT_NOFILE) resource, rlim_t most) {
    fs::remove_all(At("dump"));
    const int status = Run([&] {
      const rlimit limit = {most, most};
      if (setrlimit(resource, &limit) != 0) _exit(1);
      Dump(20);
    });
    const std::string where = "resource " + std::to_string(resource) + ", " + std::to_string(most) + ": " + said_;
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status) << ", " << where;
    EXPECT_EQ(WEXITSTATUS(status), 7) << where;
    size_t lines = 0;
    for (size_t at = 0; at < said_.size(); at = said_.find('\n', at) + 1, ++lines) {
      EXPECT_EQ(said_.compare(at, 12, "plumb_dump: "), 0) << where;
    }
    EXPECT_LE(lines, 2u) << where;  // the first error, and where the dump is
    EXPECT_TRUE(lines > 0 || resource == RLIMIT_FSIZE) << where;
    if (!fs::exists(At("dump/manifest.json"))) return false;
    const auto read = ReadManifest(At("dump/manifest.json"));
    EXPECT_TRUE(read.ok()) << where << read.status().ToString();
    return read.ok() && read->complete && read->files.size() == 20u;
  }
  std::string said_;
};

TEST_F(DumpHeaderLimits, OpenFiles) {
  for (rlim_t most = 0; most <= 12; ++most) {
    const bool complete = Sweep(RLIMIT_NOFILE, most);
    EXPECT_TRUE(!complete || most > 3) << most;
  }
  EXPECT_TRUE(Sweep(RLIMIT_NOFILE, 256));
}

#if !defined(__SANITIZE_ADDRESS__)  // which takes terabytes of addresses
TEST_F(DumpHeaderLimits, Memory) {
  const rlim_t page = static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  FILE* file = fopen("/proc/self/statm", "r");
  ASSERT_NE(file, nullptr);
  unsigned long read = 0;
  ASSERT_EQ(fscanf(file, "%lu", &read), 1);
  (void)fclose(file);
  const rlim_t pages = read;                     // of this process, which the child begins with
  EXPECT_FALSE(Sweep(RLIMIT_AS, pages * page));  // nothing more
  EXPECT_NE(said_.find("no memory for a dump"), std::string::npos) << said_;
  bool complete = false;
  for (rlim_t more = 0; more <= 768; more += 32) complete = Sweep(RLIMIT_AS, (pages + more) * page);
  EXPECT_TRUE(complete) << "with 3 MiB more: " << said_;
}
#endif

TEST_F(DumpHeaderLimits, ProcessesAndFileSizes) {
  EXPECT_TRUE(Sweep(RLIMIT_NPROC, 0));  // it starts none
  for (const rlim_t most : {0, 100, 4096, 65535, 65536, 70000}) (void)Sweep(RLIMIT_FSIZE, most);
  EXPECT_TRUE(Sweep(RLIMIT_FSIZE, 1 << 20));
}

// Control characters, DEL, C1 controls and marks of direction, wherever the text comes from.
TEST_F(DumpHeaderLimits, NoTextSteersTheTerminal) {
  const std::string texts[] = {"a\x1b[2Jb",      "a\nplumb_dump: the dump is complete",
                               "a\x7f",          "a\xC2\x9B[31m",
                               "a\xE2\x80\xAEz", "a\xE2\x81\xA6z",
                               "a\x9B",          "caf\xC3\xA9 \xC2\x85"};
  for (const std::string& text : texts) {
    const std::function<void()> hosts[] = {
        [&] { (void)plumb_dump(plumb_dump_open("t", nullptr), text.c_str(), nullptr, PLUMB_F32, 17, kDims, nullptr); },
        [&] { (void)(setenv("DUMP_BLOB_DIR", At(text).c_str(), 1), Dump(1)); },
        [&] { (void)(setenv("DUMP_BLOB_DIR", At(text).c_str(), 1), Dump(1)); },  // now it holds a dump already
        [&] { (void)(setenv("DUMP_BLOB_DIR", ("/dev/null/" + text).c_str(), 1), Dump(1)); },
        [&] { (void)(setenv("DUMP_BLOB_STATS", text.c_str(), 1), Dump(1)); },
        [&] { (void)(setenv("DUMP_BLOB_FORMAT", text.c_str(), 1), Dump(1)); }};
    for (const auto& host : hosts) {
      EXPECT_EQ(Run(host), 7 << 8);
      EXPECT_NE(said_.find("a\\x"), said_.find("caf\\x")) << said_;  // one of them is there
      for (size_t i = 0; i < said_.size(); ++i) {
        EXPECT_TRUE(said_[i] == '\n' || (said_[i] >= 0x20 && said_[i] < 0x7F)) << said_;
        EXPECT_TRUE((i > 0 && said_[i - 1] != '\n') || said_.compare(i, 12, "plumb_dump: ") == 0) << said_;
      }
    }
  }
  EXPECT_EQ(
      Run([] { plumb_dump(plumb_dump_open("t", nullptr), "caf\xC3\xA9", nullptr, PLUMB_F32, 17, kDims, nullptr); }),
      7 << 8);
  EXPECT_NE(said_.find("'caf\xC3\xA9'"), std::string::npos) << said_;  // plain text stays
}

// Eight programs that begin a dump into one folder at the same moment: eight dumps, each of one program.
TEST_F(DumpHeaderLimits, RunsThatBeginAtOnceShareNothing) {
  constexpr int kRuns = 8;
  for (int round = 0; round < 20; ++round) {
    fs::remove_all(At("all"));
    setenv("DUMP_BLOB_DIR", At("all/dump").c_str(), 1);
    int gate[2];
    ASSERT_EQ(pipe(gate), 0);
    pid_t pids[kRuns];
    for (int run = 0; run < kRuns; ++run) {
      pids[run] = fork();
      if (pids[run] != 0) continue;
      const std::vector<float> values(2 * 6 * 5 * 7, static_cast<float>(run));
      const std::string name = "run" + std::to_string(run);
      char byte;
      (void)close(gate[1]);
      (void)!read(gate[0], &byte, 1);  // until the parent closes its end
      (void)!freopen("/dev/null", "w", stderr);
      plumb_dumper* dump = plumb_dump_open(name.c_str(), nullptr);
      for (int i = 0; i < 3; ++i) (void)plumb_dump(dump, name.c_str(), values.data(), PLUMB_F32, 4, kDims, nullptr);
      _exit(plumb_dump_close(dump) == 0 ? 7 : 1);
    }
    (void)close(gate[0]);
    (void)close(gate[1]);
    for (const pid_t pid : pids) {
      int status = 0;
      ASSERT_EQ(waitpid(pid, &status, 0), pid);
      EXPECT_EQ(status, 7 << 8);
    }
    std::set<std::string> runs;
    for (const auto& folder : fs::directory_iterator(At("all"))) {
      const auto read = ReadManifest(folder.path().string() + "/manifest.json");
      ASSERT_TRUE(read.ok()) << read.status().ToString();
      ASSERT_EQ(read->files.size(), 3u);
      for (const auto& file : read->files) EXPECT_EQ(file.place.blob, read->files[0].place.blob);
      runs.insert(read->files[0].place.blob);
      EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 4);  // and nobody else's
    }
    EXPECT_EQ(runs.size(), static_cast<size_t>(kRuns));
  }
}

}  // namespace
}  // namespace plumb
