// SPDX-License-Identifier: Apache-2.0
// device_check: runs a check on a phone or a board, over adb or ssh, and prints its report here.
#include <fmt/core.h>

#include <algorithm>
#include <future>
#include <set>

#include "common/outputs.h"
#include "common/print.h"
#include "device_check/job.h"
#include "device_check/payload.h"
#include "plumb/plumb.h"
#include "plumb/tool/file.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

constexpr const char* kExamples = R"(Examples:
  adb devices                                            a phone with USB debugging, and its serial
  platforms/linux/arm64.sh --static                      once: model_check for 64-bit ARM, one file
  device_check -m net.onnx -d ARM --adb 0123456789ABCDEF
  device_check -m net.tnnproto -i image.png -n 123.7 -s 0.017 -d ARM,NAIVE --ssh pi@board
  device_check -m net.onnx -d ARM --adb A --adb B --ssh pi@board --json all.json      three machines at once, one table
  device_check -m net.onnx -d ARM --adb A --judge here                                 A dumps, this machine judges
  device_check -m net.onnx --ssh pi@board --program './app net.bin' --push app --push net.bin   what app dumped
  device_check -m net.onnx -d ARM --runner 'qemu-aarch64 -cpu cortex-a53'             an emulator here
  device_check --adb 0123456789ABCDEF --clean            removes what earlier runs left there
Models that are no tnnproto are converted here. What went over once is found there by its checksum.
PLUMB_* of the environment counts there too (PLUMB_MAX_CPU_ISA=NEON), and DUMP_BLOB_* for --program.
Exit codes, of several machines the worst: 0 aligned, 1 misaligned or nothing compared, 2 bad usage
or input, 3 device not available there, 4 failure, of the machine or the way to it too.)";

using Machines = std::vector<std::pair<std::string, std::string>>;

Machines AskedMachines(const DeviceCheckOptions& options) {
  Machines machines;
  const auto add = [&](const char* kind, const std::string& name) {
    const std::pair<std::string, std::string> machine(kind, name);
    if (std::find(machines.begin(), machines.end(), machine) == machines.end()) machines.push_back(machine);
  };
  for (const std::string& serial : options.adb) add("adb", serial);
  for (const std::string& host : options.ssh) add("ssh", host);
  if (machines.empty()) add("", "");
  return machines;
}

std::string ToJson(const std::vector<Outcome>& outcomes, int exit_code) {
  using Json = nlohmann::ordered_json;
  nlohmann::ordered_json json{{"format", "plumb-device-check"}, {"version", 1}, {"plumb", Version()}};
  json["exit_code"] = exit_code;
  json["machines"] = nlohmann::ordered_json::array();
  for (const Outcome& outcome : outcomes) {
    nlohmann::ordered_json machine{{"machine", outcome.machine}};
    if (!outcome.device.empty()) machine["device"] = outcome.device;
    machine.update({{"verdict", outcome.verdict},
                    {"exit_code", outcome.exit_code},
                    {"failed", outcome.failed.empty() ? Json(nullptr) : Json(outcome.failed)},
                    {"program_exit_code", outcome.program ? Json(*outcome.program) : Json(nullptr)},
                    {"summary", outcome.line},
                    {"pushed", outcome.pushed},
                    {"pushed_bytes", outcome.pushed_bytes},
                    {"found", outcome.found},
                    {"report", outcome.report}});
    json["machines"].push_back(std::move(machine));
  }
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void PrintTable(const std::vector<Outcome>& outcomes) {
  TextTable table({{"machine"}, {"verdict"}, {"exit", 0, true}, {"what", 1, false, true}});
  for (const Outcome& outcome : outcomes) {
    const std::string name = outcome.machine + (outcome.device.empty() ? "" : ", " + outcome.device);
    std::string line = outcome.line;
    for (const std::string& prefix : {name + ": ", outcome.machine + ": "}) {
      if (line.rfind(prefix, 0) == 0) line = line.substr(prefix.size());
    }
    table.Add({{name}, {outcome.verdict}, {std::to_string(outcome.exit_code)}, {line}});
  }
  PrintText("\n" + table.Format(static_cast<size_t>(OutputWidth())));
}

Result<int> CleanAll(const DeviceCheckOptions& options) {
  const Payload nothing;
  PLUMB_ASSIGN_OR_RETURN(const WorkFolder work, WorkFolder::Make("plumb-device"));
  Board board(1, options.output.quiet);
  for (const auto& machine : AskedMachines(options)) {
    Job job(options, nothing, work.path(), "", &board, 0);
    PLUMB_RETURN_IF_ERROR(job.Open(machine.first, machine.second));
    PLUMB_RETURN_IF_ERROR(job.Clean());
    Print("{}: cleaned\n", job.name());
  }
  return static_cast<int>(kExitOk);
}

using Jobs = std::vector<std::unique_ptr<Job>>;

// Of each machine what it does one after the other: what judges here takes one device at a time.
Result<std::vector<Jobs>> MakeJobs(const DeviceCheckOptions& options, const Payload& payload, const std::string& folder,
                                   const Machines& machines, Board* board) {
  std::vector<std::string> devices = {""};
  PLUMB_ASSIGN_OR_RETURN(const std::vector<std::string> asked, ParseDevices(options.device));
  const bool by_device = options.judges_here() && options.program.empty();
  if (by_device) devices = asked;
  std::vector<Jobs> all(machines.size());
  std::set<std::string> kept;
  for (size_t i = 0; i < machines.size(); ++i) {
    for (const std::string& device : devices) {
      DeviceCheckOptions own = options;
      if (by_device) own.device = device;
      if (by_device) own.again += " -d " + device;
      auto job = std::make_unique<Job>(own, payload, fmt::format("{}/{}-{}", folder, i, all[i].size()),
                                       devices.size() > 1 ? device : "", board, i);
      PLUMB_RETURN_IF_ERROR(job->Open(machines[i].first, machines[i].second));
      if (!job->KeptFolder().empty() && !kept.insert(job->KeptFolder()).second)
        return Status::InvalidArgument(fmt::format("-o: two machines would write to '{}'", job->KeptFolder()));
      all[i].push_back(std::move(job));
    }
  }
  return all;
}

Result<int> RunAll(const DeviceCheckOptions& options) {
  PLUMB_ASSIGN_OR_RETURN(const WorkFolder work, WorkFolder::Make("plumb-device"));
  const Machines machines = AskedMachines(options);
  Board board(machines.size(), options.output.quiet);
  PLUMB_RETURN_IF_ERROR(ParseDevices(options.device).status());
  PLUMB_ASSIGN_OR_RETURN(const Payload payload, MakePayload(options, work.path()));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Jobs> jobs, MakeJobs(options, payload, work.path(), machines, &board));
  std::vector<std::future<std::vector<Outcome>>> running;
  for (const Jobs& of_machine : jobs) {
    const auto policy = std::launch::async | std::launch::deferred;  // one after the other where no thread can be had
    running.push_back(std::async(policy, [&of_machine] {
      std::vector<Outcome> outcomes;
      for (const std::unique_ptr<Job>& job : of_machine) {
        if (!Interrupted()) outcomes.push_back(job->Go());
      }
      return outcomes;
    }));
  }
  std::vector<Outcome> outcomes;
  int exit_code = kExitOk;
  for (auto& of_machine : running) {
    for (Outcome& outcome : of_machine.get()) {
      exit_code = WorseExit(exit_code, outcome.exit_code);
      outcomes.push_back(std::move(outcome));
    }
  }
  if (outcomes.size() > 1) PrintTable(outcomes);
  if (!options.json.empty()) PLUMB_RETURN_IF_ERROR(WriteOutput(options.json, ToJson(outcomes, exit_code)));
  return exit_code;
}

int Main(int argc, char** argv) {
  DeviceCheckOptions options;
  CommandLine line("device_check",
                   "Checks a model on a phone or a board: pushes model_check and the model over adb or ssh, runs it "
                   "there, and prints its report here.",
                   kExamples);
  options.AddTo(&line);
  if (const std::optional<int> done = line.Parse(argc, argv)) return *done;
  options.again = line.Again(
      {options.program.empty() ? "--device" : "--json", "--output", "--full", "--all", "--quiet", "--color"});
  CatchInterrupt();
  const Result<int> code = options.clean ? CleanAll(options) : RunAll(options);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) { return plumb::RunTool(plumb::Main, argc, argv); }
