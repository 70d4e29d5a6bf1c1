// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "dump/checksum.h"
#include "plumb/plumb.h"
#include "plumb/tool/bundle.h"
#include "plumb/tool/environment.h"
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

extern char** environ;

namespace plumb {
namespace {

using FactsJson = nlohmann::ordered_json;

// Other people's variables that change what is computed, or by whom.
constexpr const char* kPrefixes[] = {"PLUMB_", "DUMP_", "OMP_", "KMP_",  "MKL_", "DNNL_", "ONEDNN_",      "OPENBLAS_",
                                     "POCL_",  "OCL_",  "VK_",  "MESA_", "LP_",  "ORT_",  "CUDA_VISIBLE_"};

// The value of the first line "NAME : value" or NAME=value.
std::string ValueIn(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(name, 0) != 0) continue;
    size_t begin = line.find_first_of(":=");
    if (begin == std::string::npos) continue;
    begin = line.find_first_not_of(" \t\"", begin + 1);
    if (begin == std::string::npos) return "";
    std::string value = line.substr(begin);
    while (!value.empty() && (value.back() == '"' || value.back() == ' ')) value.pop_back();
    return value;
  }
  return "";
}

std::string TextOfFile(const std::string& path) {
  const auto bytes = ReadFile(path, uint64_t{16} << 20);
  return bytes.ok() ? std::string(bytes->text()) : "";
}

std::string FirstOf(const std::string& a, const std::string& b) { return a.empty() ? b : a; }

FactsJson CpuFacts() {
  const std::string text = TextOfFile("/proc/cpuinfo");
  const RuntimeInfo runtime = GetRuntime();
  std::vector<std::string> flags;
  std::istringstream words(FirstOf(ValueIn(text, "flags"), ValueIn(text, "Features")));
  for (std::string word; words >> word;) flags.push_back(word);
  std::sort(flags.begin(), flags.end());
  return {{"model", FirstOf(ValueIn(text, "model name"), ValueIn(text, "CPU part"))},
          {"microcode", ValueIn(text, "microcode")},
          {"cpus", runtime.num_cpus},
          {"threads", runtime.num_threads},
          {"instructions", runtime.isa},
          {"instructions_there", runtime.cpu_isa},
          {"flags", flags}};
}

FactsJson SystemFacts() {
  utsname kernel = {};
  uname(&kernel);
  FactsJson system = {{"name", ValueIn(TextOfFile("/etc/os-release"), "PRETTY_NAME")},
                      {"kernel", fmt::format("{} {}", kernel.sysname, kernel.release)},
                      {"machine", kernel.machine}};
#ifdef __GLIBC__
  system["libc"] = std::string("glibc ") + gnu_get_libc_version();
#endif
  return system;
}

FactsJson VariableFacts() {
  FactsJson variables = FactsJson::object();
  std::vector<std::string> set;
  for (char** one = environ; *one != nullptr; ++one) set.emplace_back(*one);
  std::sort(set.begin(), set.end());
  for (const std::string& one : set) {
    const auto begins = [&](const char* prefix) { return one.rfind(prefix, 0) == 0; };
    const size_t equals = one.find('=');
    if (equals == std::string::npos || std::none_of(std::begin(kPrefixes), std::end(kPrefixes), begins)) continue;
    variables[one.substr(0, equals)] = one.substr(equals + 1);
  }
  return variables;
}

FactsJson DeviceFacts(const std::vector<std::string>& asked) {
  FactsJson devices = FactsJson::object();
  for (const DeviceInfo& info : ListDevices()) {
    const bool named = std::find(asked.begin(), asked.end(), info.name) != asked.end();
    if (named || (asked.empty() && info.present)) devices[info.name] = info.description;
  }
  return devices;
}

Result<FactsJson> FileFacts(const std::vector<std::string>& paths) {
  FactsJson files = FactsJson::object();
  for (const std::string& path : paths) {
    PLUMB_ASSIGN_OR_RETURN(const FileSource source, OpenSource(path));
    Checksum checksum;
    constexpr size_t kPiece = size_t{16} << 20;
    for (size_t at = 0; at < source.size(); at += kPiece) {
      PLUMB_ASSIGN_OR_RETURN(const FileBytes piece, source.Piece(at, std::min(kPiece, source.size() - at)));
      checksum.Add(piece.data(), piece.size());
    }
    files[std::filesystem::path(path).filename().string()] = {{"bytes", source.size()}, {"xxh64", checksum.Text()}};
  }
  return files;
}

}  // namespace

Result<std::string> DescribeEnvironment(const EnvironmentRequest& request) {
  FactsJson json = {{"format", "plumb-environment"}, {"version", 1}};
  json["plumb"] = {{"version", Version()}, {"compiler", __VERSION__}};
  json["system"] = SystemFacts();
  json["cpu"] = CpuFacts();
  json["devices"] = DeviceFacts(request.devices);
  json["variables"] = VariableFacts();
  PLUMB_ASSIGN_OR_RETURN(json["files"], FileFacts(request.files));
  for (const auto& [name, text] : request.said) json["said"][name] = text;
  json["command"] = request.command;
  return json.dump(1, ' ', false, FactsJson::error_handler_t::replace) + "\n";
}

}  // namespace plumb
