// SPDX-License-Identifier: Apache-2.0
#include "model_bisect/wheels.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/print.h"
#include "plumb/plumb.h"
#include "plumb/tool/remote.h"

namespace plumb {
namespace {

int LogarithmOf(size_t count) {
  int halvings = 0;
  for (size_t rest = count; rest > 1; rest = (rest + 1) / 2) ++halvings;
  return halvings;
}

void NoteMissingEnds(const WheelRange& range, const std::vector<std::string>& versions, const std::string& python) {
  for (const auto& [asked, taken] : {std::pair(range.first, versions.front()), {range.last, versions.back()}}) {
    if (CompareVersions(asked, taken) != 0)
      PrintError("note: pip finds no {} {} for {}; {} is taken\n", range.package, asked, python, taken);
  }
}

}  // namespace

void WheelOptions::AddTo(CommandLine* c) {
  c->Add("--wheels", &range,
         "PACKAGE==OLDEST..NEWEST: which version brings it; each runs in an environment of its own, which pip makes");
  c->Add("--with", &with, "what else that environment needs: numpy onnx 'protobuf<5'");
  c->Add("--python", &python, "the Python that makes the environments");
  for (const char* of_wheels : {"--with", "--python"}) c->OnlyWith(of_wheels, {"--wheels"});
  c->OnlyWith("--wheels", {"--run"});
  c->NotWith("--wheels", {"--flags", "--env", "--each"}, "versions or flags are tried");
}

std::string InEnvironment(const std::string& command) {
  return "export VIRTUAL_ENV={environment} PATH={environment}/bin:\"$PATH\"; " + command;
}

Result<VersionReport> RunVersions(const WheelOptions& options, const WheelRange& range, bool quiet,
                                  BisectRunner* runner) {
  PLUMB_ASSIGN_OR_RETURN(const WheelEnvironments environments,
                         WheelEnvironments::Open(options.python, range.package, options.with));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<std::string> all, environments.Versions());
  VersionOptions search;
  PLUMB_ASSIGN_OR_RETURN(search.versions, VersionsBetween(all, range));
  NoteMissingEnds(range, search.versions, environments.python());
  int runs = 0;
  Progress progress("bisect " + range.package, LogarithmOf(search.versions.size()) + 2, quiet);
  search.run = [&](const std::string& version) -> Result<BisectRun> {
    progress.Step(runs++, version);
    PLUMB_ASSIGN_OR_RETURN(const std::string folder, environments.Make(version));
    return runner->RunWith(
        {{"environment", QuotedForShell(folder)}, {"python", QuotedForShell(folder + "/bin/python3")}});
  };
  auto report = BisectVersions(search);
  progress.Clear();
  if (!report.ok()) return report.status().AddContext("--wheels " + options.range);
  return report;
}

}  // namespace plumb
