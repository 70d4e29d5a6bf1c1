// SPDX-License-Identifier: Apache-2.0
// Another machine, a phone over adb or a board over ssh, as a place to run programs: files go there and come back, and
// commands end with an exit code. The same on this machine, for tests and emulators.
//
// Example:
//   const auto machine = plumb::OpenThisMachine();  // or OpenAdb("0123456789ABCDEF"), OpenSsh("pi@board"): a Result
//   PLUMB_ASSIGN_OR_RETURN(const auto workspace, plumb::RemoteWorkspace::Open(machine.get()));
//   PLUMB_RETURN_IF_ERROR(workspace->Put({{"net.tnnproto", "model.tnnproto"}}));
//   PLUMB_ASSIGN_OR_RETURN(const plumb::RemoteResult run, workspace->Run({"wc", "-c", "model.tnnproto"}));
//
// Arguments and names arrive as they are: what a shell of the other side reads is quoted. The programs `adb` and `ssh`
// are looked up in PATH; ssh checks host keys and asks for nothing (BatchMode).
// Errors: one sentence with the machine, what was tried and the last lines of what the other side said: DeviceError
// where the machine or the way to it failed, IoError for files, InvalidArgument for names.
// Threading: a machine serves one thread at a time.
#ifndef PLUMB_TOOL_REMOTE_H_
#define PLUMB_TOOL_REMOTE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plumb/status.h"

namespace plumb {

struct RemoteOptions {
  std::string ssh_config;  // of OpenSsh, in place of ~/.ssh/config
  double timeout = 0;      // seconds that one command or file may take; 0: any
  // Of adb and ssh: when nothing has come from there for so many seconds, a second call asks whether anybody answers.
  // One that gets no answer in as many ends the command. 0: never.
  double silence = 30;
  // Called ten times a second while the other side works, with the seconds so far; false gives up.
  std::function<bool(double seconds)> wait;
};

// A command that ran to its end there.
struct RemoteResult {
  int exit_code = 0;  // as a shell says it: 128 and the signal's number for a program that was killed
  std::string out, err;
};

class RemoteMachine {
 public:
  virtual ~RemoteMachine() = default;
  virtual const std::string& name() const = 0;  // "adb emulator-5554", "ssh pi@board", "this machine"
  // Where a workspace lies when nobody says otherwise.
  virtual std::string DefaultFolder() const = 0;
  virtual Result<RemoteResult> Run(const std::vector<std::string>& arguments) = 0;
  // One file; its folder exists there.
  virtual Status Push(const std::string& local, const std::string& remote) = 0;
  virtual Status Pull(const std::string& remote, const std::string& local) = 0;
  // All files of a folder, into one that is made here.
  virtual Status PullFolder(const std::string& remote, const std::string& local) = 0;
};

// Nothing is asked of the other side yet. InvalidArgument for a name that begins with '-'.
Result<std::unique_ptr<RemoteMachine>> OpenAdb(const std::string& serial, const RemoteOptions& options = {});
Result<std::unique_ptr<RemoteMachine>> OpenSsh(const std::string& host, const RemoteOptions& options = {});
std::unique_ptr<RemoteMachine> OpenThisMachine(const RemoteOptions& options = {});

// As a POSIX shell reads it back.
std::string QuotedForShell(const std::string& argument);
// The last lines of a text, on one line, for a sentence; "" when there is none.
std::string LastLines(const std::string& text, size_t lines = 4);

struct RemoteFile {
  std::string local;
  std::string name;  // in the workspace: letters, digits and . _ -
};

// A folder of one run's own there, beside a cache of files that went there before, which later runs find by their
// checksums. The run's folder goes when the object does, and what still runs in it; folders that cut-off runs left go
// after a day.
class RemoteWorkspace {
 public:
  // `folder`: empty for RemoteMachine::DefaultFolder(). The machine outlives the workspace.
  static Result<std::unique_ptr<RemoteWorkspace>> Open(RemoteMachine* machine, const std::string& folder = "");
  // Removes the whole folder, cache included.
  static Status Clean(RemoteMachine* machine, const std::string& folder = "");
  ~RemoteWorkspace();  // Close
  // Removes the run's folder. Later calls do nothing.
  Status Close();
  RemoteWorkspace(const RemoteWorkspace&) = delete;
  RemoteWorkspace& operator=(const RemoteWorkspace&) = delete;

  const std::string& folder() const { return folder_; }              // absolute, there
  const std::string& architecture() const { return architecture_; }  // uname -m
  // Files and bytes that went over so far, and files that were there already.
  int pushed() const { return pushed_; }
  int found() const { return found_; }
  uint64_t pushed_bytes() const { return pushed_bytes_; }

  // Puts files into the run's folder; only those go over that the cache does not have. `pushing` is told of each.
  Status Put(const std::vector<RemoteFile>& files, const std::function<void(const RemoteFile&)>& pushing = {});
  // Runs a program in the run's folder, with environment variables "NAME=value".
  Result<RemoteResult> Run(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {});
  // Of names in the run's folder.
  Status Pull(const std::string& name, const std::string& local);
  Status PullFolder(const std::string& name, const std::string& local);
  Status Remove(const std::string& name);

 private:
  explicit RemoteWorkspace(RemoteMachine* machine) : machine_(machine) {}

  RemoteMachine* machine_;
  std::string folder_, run_, architecture_;
  int pushed_ = 0, found_ = 0;
  uint64_t pushed_bytes_ = 0;
  bool running_ = false;  // what ran last may still run
};

}  // namespace plumb

#endif  // PLUMB_TOOL_REMOTE_H_
