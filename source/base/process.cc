// SPDX-License-Identifier: Apache-2.0
#include "base/process.h"

#include <fmt/core.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/file.h"
#include "base/leftovers.h"

extern char** environ;

namespace plumb {
namespace {

constexpr size_t kHalfKept = size_t{32} << 20;
constexpr int kTickMilliseconds = 100;

// The first and the last of what a program writes, however much it is.
class Kept {
 public:
  void Add(const char* text, size_t size) {
    total_ += size;
    const size_t first = std::min(size, kHalfKept - head_.size());
    head_.append(text, first);
    tail_.append(text + first, size - first);
    if (tail_.size() > 2 * kHalfKept) tail_.erase(0, tail_.size() - kHalfKept);
  }
  size_t total() const { return total_; }
  std::string Take() {
    if (tail_.size() > kHalfKept) tail_.erase(0, tail_.size() - kHalfKept);
    const size_t missing = total_ - head_.size() - tail_.size();
    if (missing > 0) head_ += fmt::format("\nplumb: {} bytes of output are left out here\n", missing);
    return std::move(head_) + tail_;
  }

 private:
  std::string head_, tail_;
  size_t total_ = 0;
};

// A pipe that the program writes into and we read.
struct Pipe {
  int ends[2] = {-1, -1};
  Kept kept;

  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    Close(0);
    Close(1);
  }
  bool Open() { return ::pipe2(ends, O_CLOEXEC) == 0 && ::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0; }
  void Close(int end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
  // All that is there; closes the pipe at its end.
  void Read() {
    char buffer[65536];
    while (ends[0] >= 0) {
      const ssize_t count = ::read(ends[0], buffer, sizeof(buffer));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) return Close(0);
      kept.Add(buffer, static_cast<size_t>(count));
    }
  }
};

int Spawn(const std::vector<std::string>& arguments, const ProcessOptions& options, const Pipe& out, const Pipe& err,
          pid_t* child) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const char* input = options.input_file.empty() ? "/dev/null" : options.input_file.c_str();
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0);
  if (options.output_file.empty()) {
    posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, options.output_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0644);
  }
  posix_spawn_file_actions_adddup2(&actions, options.merge ? STDOUT_FILENO : err.ends[1], STDERR_FILENO);
  const int error = posix_spawnp(child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

double ProcessSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Reads until the program has ended. Another one that it left behind may hold the pipes open for longer.
int ReadUntilEnd(pid_t child, const ProcessOptions& options, Pipe* out, Pipe* err, ProcessResult* result) {
  const double start = ProcessSeconds();
  double last = start;
  for (;;) {
    pollfd ends[2] = {{out->ends[0], POLLIN, 0}, {err->ends[0], POLLIN, 0}};
    if (out->ends[0] >= 0 || err->ends[0] >= 0) ::poll(ends, 2, kTickMilliseconds);
    int status = 0;
    const bool silent = out->ends[0] < 0 && err->ends[0] < 0;
    const pid_t ended = ::waitpid(child, &status, silent && !options.wait ? 0 : WNOHANG);
    const size_t before = out->kept.total() + err->kept.total();
    out->Read();
    err->Read();
    if (out->kept.total() + err->kept.total() > before) last = ProcessSeconds();
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) return 0;
    if (silent) ::poll(nullptr, 0, 10);
    const double now = ProcessSeconds();
    if (options.wait && !result->given_up && !options.wait(now - start, now - last)) {
      result->given_up = true;
      ::kill(child, SIGKILL);
    }
  }
}

}  // namespace

std::string QuotedForShell(const std::string& argument) {
  std::string quoted = "'";
  for (const char c : argument) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

ProcessResult RunProcess(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  ProcessResult result;
  Pipe out, err;
  if (!out.Open() || !err.Open()) {
    result.error = ErrnoText(errno);
    return result;
  }
  pid_t child = 0;
  const int error = Spawn(arguments, options, out, err, &child);
  out.Close(1);
  err.Close(1);
  if (error != 0) {
    result.error = fmt::format("{}: {}", arguments[0], ErrnoText(error));
    return result;
  }
  KeepForEnding(child);
  const int status = ReadUntilEnd(child, options, &out, &err, &result);
  ForgetChild(child);
  result.out = out.kept.Take();
  result.err = err.kept.Take();
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace plumb
