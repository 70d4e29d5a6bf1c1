// SPDX-License-Identifier: Apache-2.0
#include "base/leftovers.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace plumb {
namespace {

constexpr int kPlaces = 16;
constexpr size_t kLongest = 4096;

struct Place {
  std::atomic<bool> taken{false}, ready{false};
  char path[kLongest];
};
Place folders[kPlaces];
std::atomic<pid_t> children[kPlaces];

// True: it has ended.
bool WaitFor(pid_t child, int tenths) {
  for (int i = 0; i < tenths; ++i) {
    if (::waitpid(child, nullptr, WNOHANG) != 0) return true;
    const timespec tenth = {0, 100000000};
    ::nanosleep(&tenth, nullptr);
  }
  return false;
}

// A tree is removed by a program: nothing here that walks folders may run inside a signal handler.
void RemoveTree(const char* path) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/rm", "rm", "-rf", "--", path, static_cast<char*>(nullptr));
    ::_exit(1);
  }
  if (child > 0) ::waitpid(child, nullptr, 0);
}

}  // namespace

void KeepForRemoval(const std::string& folder) {
  if (folder.size() >= kLongest) return;
  for (Place& place : folders) {
    if (place.taken.exchange(true)) continue;
    std::memcpy(place.path, folder.c_str(), folder.size() + 1);
    place.ready = true;
    return;
  }
}

void ForgetFolder(const std::string& folder) {
  for (Place& place : folders) {
    if (!place.ready || folder != place.path) continue;
    place.ready = false;
    place.taken = false;
  }
}

void KeepForEnding(pid_t child) {
  for (std::atomic<pid_t>& place : children) {
    pid_t none = 0;
    if (place.compare_exchange_strong(none, child)) return;
  }
}

void ForgetChild(pid_t child) {
  for (std::atomic<pid_t>& place : children) {
    pid_t same = child;
    if (place.compare_exchange_strong(same, 0)) return;
  }
}

void EndLeftovers() {
  constexpr int kTenths = 50;
  for (const std::atomic<pid_t>& place : children) {
    const pid_t child = place;
    if (child > 0) ::kill(child, SIGTERM);
  }
  for (const std::atomic<pid_t>& place : children) {
    const pid_t child = place;
    if (child > 0 && !WaitFor(child, kTenths)) ::kill(child, SIGKILL);
  }
  for (const Place& place : folders) {
    if (place.ready) RemoveTree(place.path);
  }
}

}  // namespace plumb
