// SPDX-License-Identifier: Apache-2.0
#include "model_check/bundle.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "common/cli.h"
#include "common/option_words.h"
#include "common/output_options.h"
#include "common/print.h"
#include "common/vocabulary.h"
#include "plumb/tensor_file.h"
#include "plumb/tool/bundle.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

constexpr const char* kExamples = R"(Examples:
  model_check --environment mine.json yours.json     what differs: versions, CPU, drivers, variables
  model_check --environment case-1/ case-2/          the same of two folders that --bundle wrote
Exit codes: 0 the same, 1 different, 2 bad usage or input.)";

constexpr const char* kContents =
    "report.html       the report, for a browser\n"
    "report.txt        the same as text; report.json: for programs\n"
    "environment.json  versions, system, CPU, drivers, variables, checksums of the model's files (xxh64sum);\n"
    "                  model_check --environment compares two of them\n"
    "inputs.npz        what the network read\n"
    "outputs-*.npz     what each run computed of the network's outputs; reference.npz: the float64 reference\n"
    "case/             the first guilty step alone, where there is one: case/README.txt\n"
    "model/            the model's files, where they were asked for\n\n"
    "Paths, the user's and the machine's name are replaced. Weights are here only in model/ and, of the guilty step, "
    "in\n"
    "case/.\n";

bool IsText(const std::string& name) {
  constexpr const char* kSuffixes[] = {".html", ".txt", ".json", ".sh"};
  return std::any_of(std::begin(kSuffixes), std::end(kSuffixes), [&](const char* one) { return EndsWith(name, one); });
}

std::string LastPart(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

Status CheckBundle::Begin() {
  PLUMB_ASSIGN_OR_RETURN(work_, WorkFolder::Make("plumb-bundle"));
  return Status::Ok();
}

Status CheckBundle::WriteReports(const Contents& contents, const std::string& command) const {
  const CheckResult& result = contents.result;
  std::string text;
  ReportStyle style;
  style.full = true;
  for (const RunReport& run : result.runs) text += FormatText(result.checked, run, style) + "\n";
  const std::string last = Conclude(result).line;
  const std::pair<const char*, std::string> files[] = {
      {"report.txt", InOptionWords(text) + last + "\n"},
      {"report.json", FormatJson(result)},
      {"report.html", InOptionWords(FormatHtml(result))},
      {"README.txt", fmt::format("{}\n\nIt was found by\n    {}\n\n{}", last, command, kContents)}};
  for (const auto& [name, bytes] : files) PLUMB_RETURN_IF_ERROR(WriteFile(work_.path() + "/" + name, bytes));
  return Status::Ok();
}

Status CheckBundle::WriteValues(const Contents& contents) const {
  const auto write = [this](const std::string& name, const std::vector<NamedTensor>& tensors) {
    return tensors.empty() ? Status::Ok() : WriteTensors(work_.path() + "/" + name, tensors);
  };
  std::vector<NamedTensor> inputs, reference;
  for (const auto& [name, value] : contents.inputs) inputs.push_back({name, value});
  PLUMB_RETURN_IF_ERROR(write("inputs.npz", inputs));
  for (const RunReport& run : contents.result.runs) {
    std::vector<NamedTensor> outputs;
    reference.clear();
    for (const OutputSummary& output : run.outputs) {
      if (!output.device.empty()) outputs.push_back({output.name, output.device});
      if (!output.reference.empty()) reference.push_back({output.name, output.reference});
    }
    PLUMB_RETURN_IF_ERROR(write(fmt::format("outputs-{}.npz", run.device), outputs));
  }
  return write("reference.npz", reference);
}

Status CheckBundle::WriteEnvironment(const Contents& contents, const std::string& command) const {
  EnvironmentRequest request;
  request.files = contents.model;
  request.command = command;
  for (const AskedDevice& asked : contents.result.devices) request.devices.push_back(asked.device);
  for (const RunReport& run : contents.result.runs)
    request.said.emplace_back(
        run.device, run.judged_as.empty() ? run.device_description : run.device_description + ", " + run.judged_as);
  PLUMB_ASSIGN_OR_RETURN(const std::string text, DescribeEnvironment(request));
  return WriteFile(work_.path() + "/environment.json", text);
}

Status CheckBundle::Write(const std::string& path, const Contents& contents) const {
  const std::vector<RunReport>& runs = contents.result.runs;
  const bool devices = std::any_of(contents.result.devices.begin(), contents.result.devices.end(),
                                   [](const AskedDevice& one) { return one.by_name; });
  std::string command = contents.result.checked.reproduce;
  if (!contents.golden.empty()) command += " --golden " + ShellQuoted(contents.golden);
  if (!contents.subject.empty()) command += " --subject " + ShellQuoted(contents.subject);
  if (devices) {
    std::string names;
    for (const AskedDevice& one : contents.result.devices) names += (names.empty() ? "" : ",") + one.device;
    command += " -d " + names;
  }
  PLUMB_RETURN_IF_ERROR(WriteReports(contents, command));
  if (!runs.empty()) PLUMB_RETURN_IF_ERROR(WriteValues(contents));
  PLUMB_RETURN_IF_ERROR(WriteEnvironment(contents, command));
  PLUMB_ASSIGN_OR_RETURN(std::vector<BundleFile> files, FilesBelow(work_.path(), ""));
  std::vector<std::string> paths = contents.paths;
  paths.insert(paths.end(), contents.model.begin(), contents.model.end());
  for (BundleFile& file : files) {
    if (IsText(file.name)) file.bytes = WithoutPrivateWords(std::move(file.bytes), paths);
  }
  for (const std::string& one : contents.model) {
    if (!contents.with_model) break;
    PLUMB_ASSIGN_OR_RETURN(std::string bytes, ReadWholeFile(one));
    files.push_back({"model/" + LastPart(one), std::move(bytes)});
  }
  return WriteBundle(path, files);
}

bool AsksForEnvironments(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc, [](const char* word) {
    return std::string_view(word) == "--environment" || std::string_view(word) == "-environment";
  });
}

int ShowEnvironments(int argc, char** argv) {
  std::vector<std::string> paths;
  std::string second;
  OutputOptions shown;
  CommandLine command_line("model_check", "What two environments say differently.", kExamples);
  command_line.Add("--environment", &paths, "two files that --bundle wrote (environment.json), or their folders");
  command_line.Required("--environment");
  shown.AddTo(&command_line, "only the last line", "");
  if (const auto done = command_line.Parse(argc, argv)) return *done;
  if (paths.size() != 2)
    return Fail(Status::InvalidArgument(
        fmt::format("--environment: expected two files or folders that are there, found {}", paths.size())));
  const auto a = ReadEnvironment(paths[0]), b = ReadEnvironment(paths[1]);
  if (!a.ok()) return Fail(a.status());
  if (!b.ok()) return Fail(b.status());
  const auto differences = CompareEnvironments(*a, *b);
  if (!differences.ok()) return Fail(differences.status());
  TextTable table({{"what"}, {paths[0], 0, false, true}, {paths[1], 0, false, true}});
  for (const EnvironmentDifference& one : *differences)
    table.Add({{one.what}, {one.a.empty() ? "-" : one.a}, {one.b.empty() ? "-" : one.b}});
  if (!shown.quiet && !differences->empty()) PrintText(table.Format(static_cast<size_t>(OutputWidth())) + "\n");
  Print("{}\n",
        differences->empty() ? std::string("nothing differs") : fmt::format("{} facts differ", differences->size()));
  return differences->empty() ? kExitOk : kExitMisaligned;
}

}  // namespace plumb
