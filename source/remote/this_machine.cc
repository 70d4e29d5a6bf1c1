// SPDX-License-Identifier: Apache-2.0
// This machine as if it were another: for emulators, and for tests of what uses a RemoteMachine.
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "remote/command.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

class ThisMachine : public RemoteMachine {
 public:
  explicit ThisMachine(const RemoteOptions& options) : client_(options) {}

  const std::string& name() const override { return name_; }
  std::string DefaultFolder() const override {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    if (cache != nullptr && *cache != '\0') return std::string(cache) + "/plumb-device";
    const char* home = std::getenv("HOME");
    return std::string(home == nullptr ? "/tmp" : home) + "/.cache/plumb-device";
  }
  Result<RemoteResult> Run(const std::vector<std::string>& arguments) override {
    return client_.EndedCommand(name_, client_.Run({"sh", "-c", client_.CommandLine(arguments)}));
  }
  Status Push(const std::string& local, const std::string& remote) override { return Copy(local, remote); }
  Status Pull(const std::string& remote, const std::string& local) override { return Copy(remote, local); }
  Status PullFolder(const std::string& remote, const std::string& local) override {
    PLUMB_RETURN_IF_ERROR(MakeLocalFolder(local));
    return Copy(remote, local, fs::copy_options::copy_symlinks);  // they are not followed, as over the other ways
  }

 private:
  static Status Copy(const std::string& from, const std::string& to, fs::copy_options links = {}) {
    std::error_code error;
    fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::overwrite_existing | links, error);
    if (!error) return Status::Ok();
    return Status::IoError(fmt::format("cannot copy '{}' to '{}': {}", from, to, error.message()));
  }

  std::string name_ = "this machine";
  Client client_;
};

}  // namespace

std::unique_ptr<RemoteMachine> OpenThisMachine(const RemoteOptions& options) {
  return std::make_unique<ThisMachine>(options);
}

}  // namespace plumb
