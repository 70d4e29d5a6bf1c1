// SPDX-License-Identifier: Apache-2.0
// Stage and BeginSample: one .npy file per stage, and the sample's manifest, written anew behind each of them, so that
// a program that is killed leaves what it had done.
#include <fmt/core.h>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>

#include "base/file.h"
#include "base/log.h"
#include "plumb/tool/environment.h"
#include "stage/manifest.h"
#include "tensor/npy.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStageVariable = "DUMP_STAGE_DIR";
constexpr const char* kStageMark = ".plumb-stages";  // a process writes here
constexpr int kMaxStageRuns = 10000;

// What a file or folder may be called everywhere.
std::string PlainName(const std::string& name) {
  std::string plain;
  for (const char c : name.substr(0, 80)) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                      c == '_' || (c == '.' && !plain.empty());
    plain += kept ? c : '_';
  }
  return plain.empty() ? "_" : plain;
}

Status MakeStageFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return Status::IoError(fmt::format("cannot create the stage folder '{}': {}", path, error.message()));
  return Status::Ok();
}

class StageRecorder {
 public:
  Status Begin(const std::string& name) {
    const std::lock_guard<std::mutex> lock(mutex_);
    PLUMB_RETURN_IF_ERROR(Claim());
    named_ = true;
    return BeginFolder(PlainName(name), name);
  }

  Status Write(const std::string& name, const Tensor& values, const StageInfo& info) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (name.empty()) return Status::InvalidArgument("a stage has no name");
    if (values.empty()) return Status::InvalidArgument(fmt::format("stage '{}' has no values", name));
    PLUMB_RETURN_IF_ERROR(Claim());
    const bool again = !named_ && !sample_.stages.empty() && sample_.stages.front().name == name;
    if (sample_.folder.empty() || again) {
      const std::string next = fmt::format("sample-{:05}", samples_);
      PLUMB_RETURN_IF_ERROR(BeginFolder(next, next));
    }
    if (sample_.stages.size() >= kMaxStages)
      return Status::InvalidArgument(
          fmt::format("sample '{}' has {} stages already: BeginSample begins another", sample_.name, kMaxStages));
    StageRecord stage;
    auto reads = PlacesRead(sample_.stages, info);
    if (!reads.ok()) return Status::InvalidArgument(fmt::format("stage '{}': {}", name, reads.status().message()));
    stage.reads = *std::move(reads);
    stage.name = name;
    stage.info = info;
    stage.kind = info.kind.empty() ? StageKind(name) : info.kind;
    stage.dtype = values.dtype();
    stage.shape = values.shape();
    stage.path = fmt::format("{:05}-{}.npy", sample_.stages.size(), PlainName(name));
    const Status written = WriteNpy(sample_.folder + "/" + stage.path, values);
    if (written.ok()) {
      sample_.stages.push_back(std::move(stage));
    } else {
      errors_.push_back(written.message());
    }
    PLUMB_RETURN_IF_ERROR(WriteFile(sample_.folder + "/manifest.json", FormatStageManifest(sample_, errors_)));
    return written;
  }

 private:
  // Takes the folder that the environment names, or the next free one: two runs are never mixed. A forked child takes
  // one of its own, and so does a program that names another.
  Status Claim() {
    const long process = static_cast<long>(::getpid());
    const char* variable = std::getenv(kStageVariable);
    const std::string wanted = variable == nullptr ? "" : variable;
    if (process == process_ && wanted == wanted_) return Status::Ok();
    PLUMB_RETURN_IF_ERROR(CheckEnvironment());
    std::string folder = wanted;
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    for (int run = 1; run < kMaxStageRuns; ++run) {
      const std::string root = run == 1 ? folder : fmt::format("{}-{}", folder, run);
      PLUMB_RETURN_IF_ERROR(MakeStageFolder(root));
      const std::string mark = root + "/" + kStageMark;
      const int fd = ::open(mark.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
      if (fd < 0 && errno == EEXIST) continue;
      if (fd < 0) return Status::IoError(fmt::format("cannot create '{}': {}", mark, ErrnoText(errno)));
      ::close(fd);
      if (run > 1)
        Log(LogLevel::kInfo, fmt::format("the stages go to {}, because {} holds those of another run", root, folder));
      root_ = root;
      process_ = process;
      wanted_ = wanted;
      sample_ = {};
      taken_.clear();
      samples_ = 0;
      named_ = false;
      return Status::Ok();
    }
    return Status::IoError(fmt::format("'{}' and all folders up to '{}-{}' hold stages already; remove some", folder,
                                       folder, kMaxStageRuns - 1));
  }

  Status BeginFolder(const std::string& plain, const std::string& name) {
    std::string free = plain;
    for (int next = 2; !taken_.insert(free).second; ++next) free = fmt::format("{}-{}", plain, next);
    sample_ = {};
    errors_.clear();
    sample_.name = free == plain ? name : fmt::format("{}-{}", name, free.substr(plain.size() + 1));
    sample_.folder = root_ + "/" + free;
    ++samples_;
    return MakeStageFolder(sample_.folder);
  }

  std::mutex mutex_;
  long process_ = -1;
  std::string wanted_, root_;
  StageSample sample_;
  std::vector<std::string> errors_;
  std::set<std::string> taken_;
  int samples_ = 0;
  bool named_ = false;
};

StageRecorder& Recorder() {
  static StageRecorder recorder;
  return recorder;
}

}  // namespace

bool StagesWanted() {
  const char* folder = std::getenv(kStageVariable);
  return folder != nullptr && *folder != '\0';
}

Status Stage(const std::string& name, const Tensor& values, const StageInfo& info) {
  return StagesWanted() ? Recorder().Write(name, values, info) : Status::Ok();
}

Status BeginSample(const std::string& name) { return StagesWanted() ? Recorder().Begin(name) : Status::Ok(); }

}  // namespace plumb
