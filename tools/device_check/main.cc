// device_check: runs a check on a phone or a board, over adb or ssh, and prints its report here.
#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "common/outputs.h"
#include "device_check/job.h"
#include "device_check/payload.h"
#include "plumb/plumb.h"
#include "plumb/printing.h"

namespace plumb {
namespace {

constexpr const char* kExamples = R"(Examples:
  adb devices                                            a phone with USB debugging, and its serial
  platforms/linux/arm64.sh --static                      once: model_check for 64-bit ARM, one file
  device_check -m net.onnx -d ARM --adb 0123456789ABCDEF
  device_check -m net.tnnproto -i image.png -n 123.7 -s 0.017 -d ARM,NAIVE --ssh pi@board
  device_check -m net.onnx -d ARM --adb A --adb B --ssh pi@board --json all.json      three machines, one table
  device_check -m net.onnx -d ARM --adb A --judge here                                 A dumps, this machine judges
  device_check -m net.onnx --ssh pi@board --program './app net.bin' --push app --push net.bin   what app dumped
  device_check -m net.onnx -d ARM --runner 'qemu-aarch64 -cpu cortex-a53'             an emulator here
  device_check --adb 0123456789ABCDEF --clean            removes what earlier runs left there
Models that are no tnnproto are converted here. What went over once is found there by its checksum.
PLUMB_* of the environment counts there too (PLUMB_MAX_CPU_ISA=NEON), and DUMP_BLOB_* for --program.
Exit codes, of several machines the worst: 0 aligned, 1 misaligned or nothing compared, 2 bad usage
or input, 3 device not available there, 4 failure, of the machine or the way to it too.)";

// A folder for what is converted and pulled; goes with the object.
class WorkFolder {
 public:
  Status Make() {
    std::error_code error;
    std::string pattern = (std::filesystem::temp_directory_path(error) / "plumb_device_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      return Status::IoError(fmt::format("cannot make a folder like '{}'", pattern));
    path_ = pattern;
    return Status::Ok();
  }
  ~WorkFolder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

using Machines = std::vector<std::pair<std::string, std::string>>;

Machines AskedMachines(const DeviceCheckOptions& options) {
  Machines machines;
  for (const std::string& serial : options.adb) machines.emplace_back("adb", serial);
  for (const std::string& host : options.ssh) machines.emplace_back("ssh", host);
  if (machines.empty()) machines.emplace_back("", "");
  return machines;
}

std::string ToJson(const std::vector<Outcome>& outcomes, int exit_code) {
  nlohmann::ordered_json json{{"format", "plumb-device-check"}, {"version", 1}, {"plumb", Version()}};
  json["exit_code"] = exit_code;
  json["machines"] = nlohmann::ordered_json::array();
  for (const Outcome& outcome : outcomes) {
    json["machines"].push_back({{"machine", outcome.machine},
                                {"verdict", outcome.verdict},
                                {"exit_code", outcome.exit_code},
                                {"summary", outcome.line},
                                {"pushed", outcome.pushed},
                                {"pushed_bytes", outcome.pushed_bytes},
                                {"found", outcome.found},
                                {"report", outcome.report}});
  }
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void PrintTable(const std::vector<Outcome>& outcomes) {
  TextTable table({{"machine"}, {"verdict"}, {"exit", 0, true}, {"what", 1, false, true}});
  for (const Outcome& outcome : outcomes) {
    const std::string prefix = outcome.machine + ": ";
    const bool named = outcome.line.rfind(prefix, 0) == 0;
    table.Add({{outcome.machine},
               {outcome.verdict},
               {std::to_string(outcome.exit_code)},
               {named ? outcome.line.substr(prefix.size()) : outcome.line}});
  }
  std::printf("\n%s", table.Format(static_cast<size_t>(OutputWidth())).c_str());
}

Result<int> CleanAll(const DeviceCheckOptions& options) {
  const Payload nothing;
  WorkFolder work;
  PLUMB_RETURN_IF_ERROR(work.Make());
  for (const auto& machine : AskedMachines(options)) {
    Job job(options, nothing, work.path());
    PLUMB_RETURN_IF_ERROR(job.Open(machine.first, machine.second));
    PLUMB_RETURN_IF_ERROR(job.Clean());
    std::printf("%s: cleaned\n", job.name().c_str());
  }
  return static_cast<int>(kExitOk);
}

Result<int> RunAll(const DeviceCheckOptions& options) {
  PLUMB_RETURN_IF_ERROR(ParseDevices(options.device).status());
  WorkFolder work;
  PLUMB_RETURN_IF_ERROR(work.Make());
  PLUMB_ASSIGN_OR_RETURN(const Payload payload, MakePayload(options, work.path()));
  std::vector<Outcome> outcomes;
  int exit_code = kExitOk;
  for (const auto& machine : AskedMachines(options)) {
    if (Interrupted()) break;
    Job job(options, payload, fmt::format("{}/{}", work.path(), outcomes.size()));
    PLUMB_RETURN_IF_ERROR(job.Open(machine.first, machine.second));
    outcomes.push_back(job.Go());
    exit_code = WorseExit(exit_code, outcomes.back().exit_code);
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
  options.again =
      line.Again({options.judges_here() ? "--json" : "--device", "--output", "--full", "--all", "--quiet", "--color"});
  CatchInterrupt();
  const Result<int> code = options.clean ? CleanAll(options) : RunAll(options);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) { return plumb::RunTool(plumb::Main, argc, argv); }
