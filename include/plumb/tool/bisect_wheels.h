// SPDX-License-Identifier: Apache-2.0
// Which version of a package of PyPI brings a wrong verdict: each version in an environment of its own, which pip
// makes.
//
// Example:
//   PLUMB_ASSIGN_OR_RETURN(const plumb::WheelRange range, plumb::ParseWheelRange("onnxruntime==1.17.0..1.20.1"));
//   PLUMB_ASSIGN_OR_RETURN(plumb::WheelEnvironments environments,
//                          plumb::WheelEnvironments::Open("python3", range.package, {"numpy<2"}));
//   PLUMB_ASSIGN_OR_RETURN(const auto all, environments.Versions());
//   plumb::BisectRunner runner({"net.onnx", ""}, {}, "{python} dump.py {model} {inputs} {dump}");
//   plumb::VersionOptions options;
//   PLUMB_ASSIGN_OR_RETURN(options.versions, plumb::VersionsBetween(all, range));
//   options.run = [&](const std::string& version) -> plumb::Result<plumb::BisectRun> {
//     PLUMB_ASSIGN_OR_RETURN(const std::string folder, environments.Make(version));
//     return runner.RunWith({{"python", folder + "/bin/python3"}});
//   };
//   PLUMB_ASSIGN_OR_RETURN(const plumb::VersionReport report, plumb::BisectVersions(options));
//
// Threading: free functions without shared state; environments serve one thread.
#ifndef PLUMB_TOOL_BISECT_WHEELS_H_
#define PLUMB_TOOL_BISECT_WHEELS_H_

#include <functional>
#include <string>
#include <vector>

#include "plumb/tool/bisect.h"

namespace plumb {

struct WheelRange {
  std::string package, first, last;
};
// "onnxruntime==1.17.0..1.20.1". InvalidArgument for another form, and where the first is not the older one.
Result<WheelRange> ParseWheelRange(const std::string& text);

// Below 0 where `a` is the older one, 0 where they are the same: "1.9" before "1.10", "1.2" as "1.2.0", "1.2rc1"
// before "1.2" and "1.2.post1" behind it.
int CompareVersions(const std::string& a, const std::string& b);

// Of `all` those of the range, without pre-releases, oldest first. InvalidArgument where these are fewer than two.
Result<std::vector<std::string>> VersionsBetween(const std::vector<std::string>& all, const WheelRange& range);

class WheelEnvironments {
 public:
  // `python` makes them; `with` is what pip installs beside the package: "numpy<2", a file. They are kept in
  // $PLUMB_CACHE_DIR/wheels, else $XDG_CACHE_HOME/plumb/wheels, else ~/.cache/plumb/wheels. NotSupported where there is
  // no such Python, or it lacks pip.
  static Result<WheelEnvironments> Open(const std::string& python, const std::string& package,
                                        const std::vector<std::string>& with);

  // What pip finds for this Python, pre-releases among it. NotFound where that is nothing.
  Result<std::vector<std::string>> Versions() const;
  // The folder of the environment, made where it is not there. InvalidArgument where pip cannot install the version;
  // NotSupported where no environment can be made.
  Result<std::string> Make(const std::string& version) const;
  // "Python 3.11".
  const std::string& python() const { return python_version_; }

 private:
  WheelEnvironments() = default;
  std::string FolderOf(const std::string& version) const;

  std::string python_, python_version_, package_, root_;
  std::vector<std::string> with_;
};

struct VersionRun {
  std::string version;
  std::string skipped;  // why it was not judged; empty: it was
  BisectRun run;
};

struct VersionOptions {
  std::vector<std::string> versions;  // oldest first
  // InvalidArgument: this version is skipped. Other errors end the bisection.
  std::function<Result<BisectRun>(const std::string& version)> run;
  std::function<void(const VersionRun& done)> done;  // may be empty
};

struct VersionReport {
  std::vector<VersionRun> runs;  // in their order
  size_t versions = 0;           // there were to try
  // The neighbours whose verdicts differ; empty where the oldest and the newest agree.
  std::string before, with;
  bool heals = false;                // `before` is wrong, `with` is right
  std::vector<std::string> skipped;  // between the two: any of them may be the first
  std::string again;                 // a command that shows it; the caller's
  bool found() const { return !with.empty(); }
};

// Runs the oldest and the newest; where their verdicts differ, halves what is between (log2 of the number of runs).
// What is skipped gives way to its nearest neighbour. InvalidArgument where no two versions can be run.
Result<VersionReport> BisectVersions(const VersionOptions& options);

// For people; and a JSON line for each run and one for what was found.
std::string FormatVersionText(const VersionReport& report, const std::string& package, size_t width);
std::string FormatVersionLines(const VersionReport& report, const std::string& package);

}  // namespace plumb

#endif  // PLUMB_TOOL_BISECT_WHEELS_H_
