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
  explicit ThisMachine(const RemoteOptions& options) : options_(options) {}

  const std::string& name() const override { return name_; }
  std::string DefaultFolder() const override {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    if (cache != nullptr && *cache != '\0') return std::string(cache) + "/plumb-device";
    const char* home = std::getenv("HOME");
    return std::string(home == nullptr ? "/tmp" : home) + "/.cache/plumb-device";
  }
  Result<RemoteResult> Run(const std::vector<std::string>& arguments) override {
    const ProcessResult process = RunClient({"sh", "-c", CommandLineForShell(arguments)}, options_);
    return EndedCommand(name_, process, options_);
  }
  Status Push(const std::string& local, const std::string& remote) override { return Copy(local, remote); }
  Status Pull(const std::string& remote, const std::string& local) override { return Copy(remote, local); }
  Status PullFolder(const std::string& remote, const std::string& local) override {
    PLUMB_RETURN_IF_ERROR(MakeLocalFolder(local));
    return Copy(remote, local);
  }

 private:
  static Status Copy(const std::string& from, const std::string& to) {
    std::error_code error;
    fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::overwrite_existing, error);
    if (!error) return Status::Ok();
    return Status::IoError(fmt::format("cannot copy '{}' to '{}': {}", from, to, error.message()));
  }

  std::string name_ = "this machine";
  RemoteOptions options_;
};

}  // namespace

std::unique_ptr<RemoteMachine> OpenThisMachine(const RemoteOptions& options) {
  return std::make_unique<ThisMachine>(options);
}

}  // namespace plumb
