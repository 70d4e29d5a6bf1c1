// SPDX-License-Identifier: Apache-2.0
// device_info: the devices of this machine, what is missing, and how to get it.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/model_options.h"
#include "common/outputs.h"
#include "common/print.h"
#include "plumb/plumb.h"

namespace plumb {
namespace {

constexpr const char* kExamples = R"(Examples:
  device_info
  device_info --json devices.json
Exit codes: 0 done, 2 bad usage.)";

std::string Precisions(const DeviceInfo& info) {
  const auto precisions = DevicePrecisions(info.name);
  if (!precisions.ok()) return "";
  std::string text = "HIGH (f32)";
  for (const Precision precision : *precisions) {
    if (precision == Precision::kNormal) text += ", NORMAL (f16 storage)";
    if (precision == Precision::kLow) text += ", LOW (f16)";
  }
  return text;
}

int Main(int argc, char** argv) {
  std::string json_path, wanted;
  bool quiet = false;
  CommandLine command_line("device_info",
                           "Lists the devices that Plumb knows, those present on this machine first-hand.", kExamples);
  command_line.Add("--device", &wanted, "these only; default: all, present or not");
  command_line.Add("--json", &json_path, "write the same as JSON");
  command_line.Flag("--quiet", &quiet, "one line per device");
  if (const auto done = command_line.Parse(argc, argv)) return *done;
  const Status ready = SetRuntime({});  // a PLUMB_MAX_CPU_ISA that is none
  if (!ready.ok()) return Fail(ready);
  const RuntimeInfo runtime = GetRuntime();
  std::vector<std::string> devices;
  if (!wanted.empty()) {
    auto parsed = ParseDevices(wanted);
    if (!parsed.ok()) return Fail(parsed.status());
    devices = std::move(parsed).value();
  }
  if (!quiet)
    Print("Plumb {} on {} CPUs, ISA {} (the CPU has {})\n", Version(), runtime.num_cpus, runtime.isa, runtime.cpu_isa);
  nlohmann::ordered_json json{{"format", "plumb-device-info"},
                              {"version", 1},
                              {"plumb", Version()},
                              {"cpus", runtime.num_cpus},
                              {"isa", runtime.isa},
                              {"cpu_isa", runtime.cpu_isa},
                              {"devices", nlohmann::ordered_json::array()}};
  for (const DeviceInfo& info : ListDevices()) {
    if (!devices.empty() && std::find(devices.begin(), devices.end(), info.name) == devices.end()) continue;
    const std::string precisions = info.present ? Precisions(info) : "";
    Print("{:<7} {:<8} {}\n", info.name, info.present ? "present" : "absent", info.description);
    if (info.present && !quiet) Print("{:<16} precision {}\n", "", precisions);
    for (size_t i = 0; i < info.adapters.size() && !quiet; ++i) {
      Print("{:<16} --device-index {}: {}\n", "", i, info.adapters[i]);
    }
    json["devices"].push_back({{"name", info.name},
                               {"present", info.present},
                               {"description", info.description},
                               {"precisions", precisions},
                               {"adapters", info.adapters}});
  }
  if (json_path.empty()) return kExitOk;
  const Status written = WriteOutput(json_path, json.dump(1) + "\n");
  return written.ok() ? kExitOk : Fail(written);
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) { return plumb::RunTool(plumb::Main, argc, argv); }
