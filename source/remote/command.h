// SPDX-License-Identifier: Apache-2.0
// What adb and ssh share: a command goes there as one line for a shell, and ends with a line that says its exit code.
// Where that line is missing the connection broke, whatever the client's own exit code is: ssh says 255 for both, and
// adb before Android 7 loses the code.
#ifndef PLUMB_REMOTE_COMMAND_H_
#define PLUMB_REMOTE_COMMAND_H_

#include <string>
#include <vector>

#include "base/process.h"
#include "plumb/tool/remote.h"

namespace plumb {

// One machine's client program, run within the limits of the options.
class Client {
 public:
  // `probe`: its call of a command that does nothing there; empty: nobody is asked.
  explicit Client(const RemoteOptions& options, std::vector<std::string> probe = {});

  ProcessResult Run(const std::vector<std::string>& arguments, ProcessOptions process = {});
  // "'cat' '/a b'; printf ..." for the shell there.
  std::string CommandLine(const std::vector<std::string>& arguments) const;
  // Of a CommandLine that ran: reads the exit code's line, and takes it away. `what`: "adb X: ./model_check".
  Result<RemoteResult> EndedCommand(const std::string& what, const ProcessResult& process) const;
  // For files: OK where the client was content.
  Status EndedTransfer(const std::string& what, const ProcessResult& process) const;

 private:
  bool GoesOn(double seconds, double silent);
  bool Answers();
  Status GivenUp(const std::string& what) const;

  RemoteOptions options_;
  std::vector<std::string> probe_;
  std::string mark_;        // of the exit code's line: no program there knows it beforehand
  std::string why_;         // the last one was given up
  double asked_ = 0;        // when the probe last ran, in seconds of the command
  bool is_silent_ = false;  // nobody answered: what still has to be cleaned up there is tried for a moment only
};

// Makes a folder here for what is pulled.
Status MakeLocalFolder(const std::string& path);

}  // namespace plumb

#endif  // PLUMB_REMOTE_COMMAND_H_
