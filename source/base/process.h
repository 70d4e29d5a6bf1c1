// SPDX-License-Identifier: Apache-2.0
// Runs another program and waits for it: started with its arguments one by one (posix_spawn), so that no shell reads
// them.
//
// Threading: any thread; a program runs until it ends, or until the caller gives up on it.
#ifndef PLUMB_BASE_PROCESS_H_
#define PLUMB_BASE_PROCESS_H_

#include <functional>
#include <string>
#include <vector>

namespace plumb {

struct ProcessOptions {
  std::string input_file;   // its stdin; empty: nothing to read
  std::string output_file;  // its stdout, made anew; empty: ProcessResult::out
  bool merge = false;       // its stderr goes where stdout goes
  // Asked ten times a second, with the seconds so far and those since it last wrote something: false ends the program
  // (SIGKILL).
  std::function<bool(double seconds, double silent)> wait;
};

struct ProcessResult {
  int exit_code = -1;     // -1: it was not started or did not end by itself
  int signal = 0;         // that ended it
  bool given_up = false;  // ProcessOptions::wait said so
  std::string error;      // why it was not started: "adb: No such file or directory"; empty: it was
  // What it wrote. Of more than 64 MiB the first and the last half, with a sentence between them.
  std::string out, err;
};

// arguments[0] is the program, looked up in PATH.
ProcessResult RunProcess(const std::vector<std::string>& arguments, const ProcessOptions& options = {});

// One word of a command line for a shell (plumb/tool/remote.h).
std::string QuotedForShell(const std::string& argument);

}  // namespace plumb

#endif  // PLUMB_BASE_PROCESS_H_
