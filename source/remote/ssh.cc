// SPDX-License-Identifier: Apache-2.0
// A board over OpenSSH's client. Files go through `cat` and `tar` there, so that a small system without an sftp server
// will do. One connection serves all commands (ControlMaster).
#include <fmt/core.h>

#include <filesystem>
#include <system_error>

#include "plumb/tool/file.h"
#include "remote/command.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

class SshMachine : public RemoteMachine {
 public:
  SshMachine(const std::string& host, const RemoteOptions& options)
      : name_("ssh " + host), host_(host), options_(options) {
    auto folder = WorkFolder::Make("plumb-ssh", "/tmp");  // short: a socket's path has at most 108 bytes
    if (folder.ok()) sockets_ = std::move(*folder);
    client_ = Client(options_, Arguments({}, ":"));
  }
  ~SshMachine() override {
    if (sockets_.path().empty()) return;
    RemoteOptions few = options_;
    few.timeout = 5;
    few.wait = {};
    std::error_code error;
    if (!fs::is_empty(sockets_.path(), error)) (void)Client(few).Run(Arguments({"-O", "exit"}, ""));
  }

  const std::string& name() const override { return name_; }
  std::string DefaultFolder() const override { return ".cache/plumb-device"; }  // below the home, where ssh begins

  Result<RemoteResult> Run(const std::vector<std::string>& arguments) override { return RunWith(arguments, {}); }

  Status Push(const std::string& local, const std::string& remote) override {
    ProcessOptions process;
    process.input_file = local;
    PLUMB_ASSIGN_OR_RETURN(const RemoteResult ended, RunWith({"sh", "-c", "cat >\"$1\"", "sh", remote}, process));
    return Copied("pushing", local, ended.exit_code, ended.err);
  }
  Status Pull(const std::string& remote, const std::string& local) override {
    return PullInto({"cat", remote}, remote, local);
  }
  Status PullFolder(const std::string& remote, const std::string& local) override {
    PLUMB_RETURN_IF_ERROR(MakeLocalFolder(local));
    const std::string archive = local + ".tar";
    std::error_code error;
    Status status = PullInto({"tar", "-cf", "-", "-C", remote, "."}, remote, archive);
    if (status.ok()) {  // GNU tar takes no file that would lie outside of the folder
      Client here(options_);
      const ProcessResult unpacked = here.Run({"tar", "-xof", archive, "-C", local});
      status = here.EndedTransfer(fmt::format("{}: unpacking '{}'", name_, archive), unpacked);
    }
    fs::remove(archive, error);
    return status;
  }

 private:
  std::vector<std::string> Arguments(const std::vector<std::string>& more, const std::string& command) const {
    std::vector<std::string> all = {"ssh", "-T", "-x", "-a"};
    for (const char* option : {"BatchMode=yes", "StrictHostKeyChecking=yes", "ConnectTimeout=15",
                               "ServerAliveInterval=10", "ServerAliveCountMax=3"}) {
      all.insert(all.end(), {"-o", option});
    }
    if (!sockets_.path().empty()) {
      for (const std::string& option : {std::string("ControlMaster=auto"), std::string("ControlPersist=60"),
                                        "ControlPath=" + sockets_.path() + "/%C"}) {
        all.insert(all.end(), {"-o", option});
      }
    }
    if (!options_.ssh_config.empty()) all.insert(all.end(), {"-F", options_.ssh_config});
    all.insert(all.end(), more.begin(), more.end());
    all.insert(all.end(), {"--", host_});
    if (!command.empty()) all.push_back(command);
    return all;
  }
  Result<RemoteResult> RunWith(const std::vector<std::string>& arguments, const ProcessOptions& process) {
    return client_.EndedCommand(name_, client_.Run(Arguments({}, client_.CommandLine(arguments)), process));
  }
  // What comes out of a command is the file: no line with an exit code stands behind it, ssh's own must do.
  Status PullInto(const std::vector<std::string>& arguments, const std::string& remote, const std::string& local) {
    std::string line;
    for (const std::string& argument : arguments) line += QuotedForShell(argument) + " ";
    ProcessOptions process;
    process.output_file = local;
    const ProcessResult ended = client_.Run(Arguments({}, line), process);
    return client_.EndedTransfer(fmt::format("{}: pulling '{}'", name_, remote), ended);
  }
  Status Copied(const char* doing, const std::string& path, int exit_code, const std::string& said) {
    ProcessResult process;
    process.exit_code = exit_code;
    process.err = said;
    return client_.EndedTransfer(fmt::format("{}: {} '{}'", name_, doing, path), process);
  }

  std::string name_, host_;
  WorkFolder sockets_;
  RemoteOptions options_;
  Client client_{options_};
};

}  // namespace

Result<std::unique_ptr<RemoteMachine>> OpenSsh(const std::string& host, const RemoteOptions& options) {
  if (host.empty() || host[0] == '-') {
    return Status::InvalidArgument(fmt::format("'{}' is no host of ssh; expected HOST, USER@HOST or ssh://...", host));
  }
  return std::unique_ptr<RemoteMachine>(std::make_unique<SshMachine>(host, options));
}

}  // namespace plumb
