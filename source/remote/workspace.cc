// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <random>
#include <sstream>

#include "base/file.h"
#include "dump/checksum.h"
#include "plumb/tool/remote.h"
#include "remote/posix_cksum.h"

namespace plumb {
namespace {

// Scripts for the shell there: POSIX's own words, which Android's toybox, busybox and Debian's tools understand alike.
// $1 ... are arguments, never text of the script.

// Makes the run's folder and says where it is, after removing what runs left that were cut off. Programs in the cache
// run under this user's name, and POSIX's checksum finds damage, not intent: what others could have put there is
// removed, and a folder that is another user's is not used.
constexpr const char* kOpenScript = R"sh(umask 077
owner() { set -- $(ls -ldn "$1/."); echo "$3"; }
open() { set -- $(ls -ldn "$1/."); case "$1" in ?????w* | ????????w*) : ;; *) false ;; esac; }
mkdir -p "$1" && cd "$1" || exit 1
if [ "$(owner .)" != "$(id -u)" ]; then
  echo "it belongs to user $(owner .), not to user $(id -u): remove it, or name another folder" >&2; exit 1
fi
if [ -L cache ] || open . || { [ -d cache ] && { open cache || [ "$(owner cache)" != "$(id -u)" ]; }; }; then
  chmod go-w . && rm -rf cache || exit 1
fi
mkdir -p cache && mkdir "$2" || exit 1
find . -maxdepth 1 -name 'run-*' -mmin +1440 -exec rm -rf {} + 2>/dev/null
pwd && uname -m)sh";
// Of each file that is there: its line number, POSIX's checksum ("-" where there is no cksum) and its size.
constexpr const char* kSumScript = R"sh(cd "$1" || exit 1
shift; n=0
for f; do
  if [ -f "$f" ]; then
    if command -v cksum >/dev/null 2>&1; then set_sum=$(cksum <"$f"); else set_sum="- $(wc -c <"$f")"; fi
    echo "$n $set_sum"
  fi
  n=$((n + 1))
done)sh";
// Of pairs of a name in the run's folder and one in the cache: what arrived gets its name in the cache (the loser of
// two runs at once replaces it by the same bytes), and is found under the other. Disks without symbolic links get a
// copy.
constexpr const char* kPlaceScript = R"sh(cd "$1" || exit 1
shift
while [ $# -gt 1 ]; do
  if [ -f "$1.part" ]; then chmod 755 "$1.part" && mv -f "$1.part" "../cache/$2" || exit 1; fi
  ln -s "../cache/$2" "$1" 2>/dev/null || cp "../cache/$2" "$1" || exit 1
  shift 2
done)sh";
constexpr const char* kRunScript = R"sh(cd "$1" || exit 125
shift; echo $$ >.pid; exec env "$@")sh";
// A program that was given up, or whose connection broke, may still run: $3 says so. Its number is good then: the
// folder is this run's own, and nothing else was started in it.
constexpr const char* kCloseScript = R"sh(cd "$1" || exit 1
if [ -n "$3" ] && [ -f "$2/.pid" ]; then kill "$(cat "$2/.pid")" 2>/dev/null; fi
rm -rf "$2")sh";

bool IsSafeName(const std::string& name) {
  return !name.empty() && name[0] != '-' && name[0] != '.' && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  });
}

std::string FreshName() {
  std::random_device random;
  return fmt::format("run-{:08x}{:08x}", random(), random());
}

Status ScriptFailed(const RemoteMachine& machine, const std::string& doing, const RemoteResult& result) {
  const std::string said = LastLines(result.err + "\n" + result.out);
  return Status::DeviceError(fmt::format("{}: {} failed: {}", machine.name(), doing,
                                         said.empty() ? fmt::format("exit code {}", result.exit_code) : said));
}

Result<std::string> RunScript(RemoteMachine* machine, const std::string& doing, const char* script,
                              const std::vector<std::string>& arguments) {
  std::vector<std::string> all = {"sh", "-c", script, "sh"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  PLUMB_ASSIGN_OR_RETURN(const RemoteResult result, machine->Run(all));
  if (result.exit_code != 0) return ScriptFailed(*machine, doing, result);
  return result.out;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

// A file here: its name in the cache, and what cksum says of it there.
struct Known {
  std::string cached, sum;
  uint64_t bytes = 0;
};

Result<Known> Look(const RemoteFile& file) {
  if (!IsSafeName(file.name))
    return Status::InvalidArgument(fmt::format("'{}': a name there holds letters, digits and . _ - only", file.name));
  PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFile(file.local));
  Known known;
  known.bytes = bytes.size();
  known.cached = ChecksumOf(bytes.data(), bytes.size()) + "-" + file.name;
  known.sum = fmt::format("{} {}", PosixCksum(bytes.data(), bytes.size()), bytes.size());
  return known;
}

// "3 1234567 89" and, where there is no cksum, "3 - 89".
bool SaysTheSame(const std::string& line, const Known& known) {
  std::istringstream words(line);
  std::string number, sum, size;
  words >> number >> sum >> size;
  return fmt::format("{} {}", sum, size) == known.sum || (sum == "-" && size == std::to_string(known.bytes));
}

// Which of the files in a folder there are what they should be.
Result<std::vector<bool>> CompareThere(RemoteMachine* machine, const std::string& folder,
                                       const std::vector<std::string>& names, const std::vector<Known>& known) {
  std::vector<std::string> arguments = {folder};
  arguments.insert(arguments.end(), names.begin(), names.end());
  PLUMB_ASSIGN_OR_RETURN(const std::string out, RunScript(machine, "comparing files", kSumScript, arguments));
  std::vector<bool> there(names.size());
  for (const std::string& line : LinesOf(out)) {
    const size_t number = static_cast<size_t>(std::atoi(line.c_str()));
    if (number < names.size()) there[number] = SaysTheSame(line, known[number]);
  }
  return there;
}

}  // namespace

Result<std::unique_ptr<RemoteWorkspace>> RemoteWorkspace::Open(RemoteMachine* machine, const std::string& folder) {
  std::unique_ptr<RemoteWorkspace> workspace(new RemoteWorkspace(machine));
  const std::string wanted = folder.empty() ? machine->DefaultFolder() : folder;
  const std::string run = FreshName();
  PLUMB_ASSIGN_OR_RETURN(const std::string out,
                         RunScript(machine, fmt::format("making the folder '{}'", wanted), kOpenScript, {wanted, run}));
  const std::vector<std::string> lines = LinesOf(out);
  if (lines.size() < 2) {
    return Status::DeviceError(
        fmt::format("{}: expected a folder and an architecture, its shell said '{}'", machine->name(), LastLines(out)));
  }
  workspace->folder_ = lines[lines.size() - 2];
  workspace->architecture_ = lines.back();
  workspace->run_ = run;
  return workspace;
}

Status RemoteWorkspace::Clean(RemoteMachine* machine, const std::string& folder) {
  const std::string wanted = folder.empty() ? machine->DefaultFolder() : folder;
  // Only what a workspace made: somebody may name a folder with files of his own.
  return RunScript(machine, fmt::format("removing '{}'", wanted),
                   R"sh([ ! -d "$1" ] || { (cd "$1" && rm -rf cache run-*) && { rmdir "$1" 2>/dev/null || :; }; })sh",
                   {wanted})
      .status();
}

RemoteWorkspace::~RemoteWorkspace() { (void)Close(); }

Status RemoteWorkspace::Close() {
  if (run_.empty()) return Status::Ok();
  const std::vector<std::string> arguments = {folder_, run_, running_ ? "running" : ""};
  auto removed = RunScript(machine_, "cleaning up", kCloseScript, arguments);
  if (!removed.ok()) removed = RunScript(machine_, "cleaning up", kCloseScript, arguments);  // the way may be back
  run_.clear();
  return removed.status();
}

Status RemoteWorkspace::Put(const std::vector<RemoteFile>& files,
                            const std::function<void(const RemoteFile&)>& pushing) {
  std::vector<Known> known;
  std::vector<std::string> cached, arrived, places;
  for (const RemoteFile& file : files) {
    PLUMB_ASSIGN_OR_RETURN(Known one, Look(file));
    cached.push_back(one.cached);
    places.insert(places.end(), {file.name, one.cached});
    known.push_back(std::move(one));
  }
  PLUMB_ASSIGN_OR_RETURN(const std::vector<bool> there, CompareThere(machine_, folder_ + "/cache", cached, known));
  std::vector<Known> fresh;
  for (size_t i = 0; i < files.size(); ++i) {
    (there[i] ? found_ : pushed_) += 1;
    if (there[i]) continue;
    if (pushing) pushing(files[i]);
    PLUMB_RETURN_IF_ERROR(machine_->Push(files[i].local, folder_ + "/" + run_ + "/" + files[i].name + ".part"));
    arrived.push_back(files[i].name + ".part");
    pushed_bytes_ += known[i].bytes;
    fresh.push_back(known[i]);
  }
  if (!arrived.empty()) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<bool> whole, CompareThere(machine_, folder_ + "/" + run_, arrived, fresh));
    const auto cut = std::find(whole.begin(), whole.end(), false);
    if (cut != whole.end()) {
      return Status::DeviceError(fmt::format("{}: '{}' did not arrive whole; is the disk full?", machine_->name(),
                                             arrived[static_cast<size_t>(cut - whole.begin())]));
    }
  }
  places.insert(places.begin(), folder_ + "/" + run_);
  return RunScript(machine_, "placing files", kPlaceScript, places).status();
}

Result<RemoteResult> RemoteWorkspace::Run(const std::vector<std::string>& arguments,
                                          const std::vector<std::string>& environment) {
  std::vector<std::string> all = {"sh", "-c", kRunScript, "sh", folder_ + "/" + run_};
  all.insert(all.end(), environment.begin(), environment.end());
  all.insert(all.end(), arguments.begin(), arguments.end());
  running_ = true;
  auto ended = machine_->Run(all);
  running_ = !ended.ok();
  return ended;
}

Status RemoteWorkspace::Pull(const std::string& name, const std::string& local) {
  return machine_->Pull(folder_ + "/" + run_ + "/" + name, local);
}
Status RemoteWorkspace::PullFolder(const std::string& name, const std::string& local) {
  return machine_->PullFolder(folder_ + "/" + run_ + "/" + name, local);
}
Status RemoteWorkspace::Remove(const std::string& name) {
  return RunScript(machine_, fmt::format("removing '{}'", name), R"sh(cd "$1/$2" && rm -rf "$3")sh",
                   {folder_, run_, name})
      .status();
}

}  // namespace plumb
