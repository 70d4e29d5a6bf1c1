// SPDX-License-Identifier: Apache-2.0
#include "common/guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "common/cli.h"
#include "plumb/tool/file.h"

namespace plumb {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

void Handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

bool IsIgnored(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

void EndBySignal(int signal) {
  RemoveUnfinishedFiles();
  Handle(signal, SIG_DFL, 0);
  ::raise(signal);
}

// Which limit is the likely reason; chosen before, because a handler may not ask.
const char* likely_reason = "";

const char* TextOf(int signal) {
  switch (signal) {
    case SIGBUS: return "a file was cut short by another program while it was read; let that finish, then try again";
    case SIGSEGV: return "Internal: a library or Plumb read or wrote where nothing is (SIGSEGV)";
    case SIGABRT: return "Internal: a library or Plumb gave up (SIGABRT)";
    case SIGFPE: return "Internal: a library or Plumb divided by zero (SIGFPE)";
    default: return "Internal: a library or Plumb ran into an instruction that this CPU does not have (SIGILL)";
  }
}

void Say(const char* text) {
  const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
  (void)written;
}

void EndBroken(int signal) {
  RemoveUnfinishedFiles();
  Say("error: ");
  Say(TextOf(signal));
  if (signal != SIGBUS) Say(likely_reason);
  Say("\n");
  ::_exit(kExitFailure);
}

// A number that nobody uses would otherwise be given to the next file, into which a report would be printed.
void OpenClosedStreams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // Opened for the wrong direction: writing to it stays the error that it was.
    const int opened = ::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
    (void)opened;
  }
}

void CatchBroken() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    likely_reason =
        "; the limit of memory (ulimit -v) is the likely reason: raise it, or ask for fewer devices (-d X86)";
  } else {
    likely_reason = "; it may have found no memory or no thread: are there limits (a container's, ulimit -u)?";
  }
  alignas(16) static char memory[64 << 10];
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = sizeof(memory);
  ::sigaltstack(&stack, nullptr);
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) Handle(signal, EndBroken, SA_ONSTACK);
}

}  // namespace

void GuardProcess() {
  OpenClosedStreams();
  // Handlers that do nothing, and not SIG_IGN, which programs that we start would inherit.
  for (const int signal : {SIGPIPE, SIGXFSZ}) {
    if (!IsIgnored(signal))
      Handle(
          signal, [](int) {}, SA_RESTART);
  }
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    if (!IsIgnored(signal)) Handle(signal, EndBySignal, 0);
  }
  if (!kSanitized) CatchBroken();
}

int FinishOutput(int exit_code) {
  errno = 0;
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written || exit_code == kExitFailure) return exit_code;  // a failure has had its sentence
  const std::string why =
      errno == 0 ? "it is full, closed, or nobody reads it" : std::generic_category().message(errno);
  return Fail(Status::IoError("standard output could not be written: " + why));
}

}  // namespace plumb
