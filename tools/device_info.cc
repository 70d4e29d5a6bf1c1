// device_info: the devices of this machine, what is missing, and how to get it.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/cpu.h"
#include "base/threads.h"
#include "common/model_options.h"
#include "common/outputs.h"
#include "device/device.h"
#include "plumb/plumb.h"

namespace plumb {
namespace {

constexpr const char* kExamples = R"(Examples:
  device_info
  device_info --json devices.json
Exit codes: 0 done, 2 bad usage.)";

std::string Precisions(const DeviceInfo& info) {
  const auto device = OpenDevice(info.name);
  if (!device.ok()) return "";
  std::string text = "HIGH (f32)";
  if ((*device)->EffectivePrecision(Precision::kNormal) == Precision::kNormal) text += ", NORMAL (f16 storage)";
  if ((*device)->EffectivePrecision(Precision::kLow) == Precision::kLow) text += ", LOW (f16)";
  return text;
}

int Main(int argc, char** argv) {
  std::string json_path, wanted;
  bool quiet = false;
  CommandLine command_line("device_info", "Lists the devices that Plumb knows, those present on this machine first-hand.", kExamples);
  command_line.Add("--device", &wanted, "these only; default: all, present or not");
  command_line.Add("--json", &json_path, "write the same as JSON");
  command_line.Flag("--quiet", &quiet, "one line per device");
  if (const auto done = command_line.Parse(argc, argv)) return *done;
  const Status isa = CheckIsaEnvironment();
  if (!isa.ok()) return Fail(isa);
  std::vector<std::string> devices;
  if (!wanted.empty()) {
    auto parsed = ParseDevices(wanted);
    if (!parsed.ok()) return Fail(parsed.status());
    devices = std::move(parsed).value();
  }
  if (!quiet)
    std::printf("Plumb %s on %d CPUs, ISA %s (the CPU has %s)\n", Version(), NumCpus(), IsaName(), IsaName(CpuIsa()));
  nlohmann::ordered_json json{{"format", "plumb-device-info"}, {"version", 1}, {"plumb", Version()}, {"cpus", NumCpus()},
                              {"isa", IsaName()}, {"cpu_isa", IsaName(CpuIsa())}, {"devices", nlohmann::ordered_json::array()}};
  for (const DeviceInfo& info : ListDevices()) {
    if (!devices.empty() && std::find(devices.begin(), devices.end(), info.name) == devices.end()) continue;
    const std::string precisions = info.present ? Precisions(info) : "";
    std::printf("%-7s %-8s %s\n", info.name.c_str(), info.present ? "present" : "absent", info.description.c_str());
    if (info.present && !quiet) std::printf("%-16s precision %s\n", "", precisions.c_str());
    for (size_t i = 0; i < info.adapters.size() && !quiet; ++i) {
      std::printf("%-16s --device-index %zu: %s\n", "", i, info.adapters[i].c_str());
    }
    json["devices"].push_back({{"name", info.name}, {"present", info.present}, {"description", info.description}, {"precisions", precisions}, {"adapters", info.adapters}});
  }
  if (json_path.empty()) return kExitOk;
  const Status written = WriteOutput(json_path, json.dump(1) + "\n");
  return written.ok() ? kExitOk : Fail(written);
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) { return plumb::RunTool(plumb::Main, argc, argv); }
