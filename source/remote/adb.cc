// SPDX-License-Identifier: Apache-2.0
// A phone over the adb client, Debian's (29) and later: `adb shell` and adb's own file transfer.
#include <fmt/core.h>

#include <filesystem>
#include <system_error>

#include "remote/command.h"

namespace plumb {
namespace {

class AdbMachine : public RemoteMachine {
 public:
  AdbMachine(const std::string& serial, const RemoteOptions& options)
      : name_("adb " + serial), serial_(serial), client_(options, {"adb", "-s", serial, "shell", ":"}) {}

  const std::string& name() const override { return name_; }
  // The one place where a phone lets the user of adb run programs.
  std::string DefaultFolder() const override { return "/data/local/tmp/plumb"; }

  Result<RemoteResult> Run(const std::vector<std::string>& arguments) override {
    return client_.EndedCommand(name_, Adb({"shell", client_.CommandLine(arguments)}));
  }
  Status Push(const std::string& local, const std::string& remote) override {
    return Ended("pushing", local, Adb({"push", local, remote}));
  }
  Status Pull(const std::string& remote, const std::string& local) override {
    return Ended("pulling", remote, Adb({"pull", remote, local}));
  }
  Status PullFolder(const std::string& remote, const std::string& local) override {
    std::error_code error;
    std::filesystem::remove(local, error);  // adb makes it; into one that is there it would put a folder
    return Pull(remote, local);
  }

 private:
  ProcessResult Adb(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"adb", "-s", serial_});
    return client_.Run(arguments);
  }
  Status Ended(const char* doing, const std::string& path, const ProcessResult& process) const {
    return client_.EndedTransfer(fmt::format("{}: {} '{}'", name_, doing, path), process);
  }

  std::string name_, serial_;
  Client client_;
};

}  // namespace

Result<std::unique_ptr<RemoteMachine>> OpenAdb(const std::string& serial, const RemoteOptions& options) {
  if (serial.empty() || serial[0] == '-') {
    return Status::InvalidArgument(fmt::format("'{}' is no serial of adb; `adb devices` lists them", serial));
  }
  return std::unique_ptr<RemoteMachine>(std::make_unique<AdbMachine>(serial, options));
}

}  // namespace plumb
