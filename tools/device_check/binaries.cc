// SPDX-License-Identifier: Apache-2.0
#include "device_check/binaries.h"

#include <fmt/core.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

namespace plumb {
namespace {

namespace fs = std::filesystem;

// Of ELF's e_machine: our word, and what uname -m says on machines that run it.
struct Architecture {
  int machine;
  const char* name;
  std::vector<const char*> unames;
};
const std::vector<Architecture>& Architectures() {
  static const std::vector<Architecture> all = {{183, "aarch64", {"aarch64", "arm64", "armv8l"}},
                                                {62, "x86_64", {"x86_64", "amd64"}},
                                                {40, "32-bit ARM", {"armv7l", "armv6l"}},
                                                {243, "riscv64", {"riscv64"}}};
  return all;
}

// What an ELF file is for: e_machine; -1 for what is no program.
int MachineOf(const std::string& path) {
  std::array<unsigned char, 20> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(head.data()), head.size());
  if (!file || head[0] != 0x7F || head[1] != 'E' || head[2] != 'L' || head[3] != 'F') return -1;
  return head[18] | head[19] << 8;
}

std::string NameOf(int machine) {
  for (const Architecture& architecture : Architectures()) {
    if (architecture.machine == machine) return architecture.name;
  }
  return fmt::format("ELF machine {}", machine);
}

bool Runs(const std::string& uname, int machine) {
  for (const Architecture& architecture : Architectures()) {
    for (const char* known : architecture.unames) {
      if (architecture.machine == machine && uname == known) return true;
    }
  }
  return false;
}

const char* HowToGet(const std::string& uname) {
  if (Runs(uname, 40) || uname == "i686") {
    return "Plumb's tools are for 64-bit machines; there runs a program of yours that includes plumb_dump.h "
           "(--program)";
  }
  return Runs(uname, 183)
             ? "`platforms/linux/arm64.sh --static` builds it; or name a folder that has it with --binaries"
             : "build it for that machine, and name its folder with --binaries";
}

Result<std::string> InFolder(const BinaryQuestion& q) {
  const std::string path = q.folder + "/" + q.tool;
  std::error_code error;
  if (!fs::exists(path, error)) {
    return Status::InvalidArgument(
        fmt::format("--binaries: there is no '{}', which {} needs; {}", path, q.machine, HowToGet(q.architecture)));
  }
  const int machine = MachineOf(path);
  if (machine < 0) return Status::InvalidArgument(fmt::format("--binaries: '{}' is no program for Linux (ELF)", path));
  if (q.runner || Runs(q.architecture, machine)) return path;
  return Status::InvalidArgument(
      fmt::format("--binaries: '{}' is for {}, and {} is {}: {}; --runner puts an emulator "
                  "in front of it",
                  path, NameOf(machine), q.machine, q.architecture, HowToGet(q.architecture)));
}

}  // namespace

Result<std::string> FindBinary(const BinaryQuestion& q) {
  if (!q.folder.empty()) return InFolder(q);
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& folder : {own / "../../arm64-static/bin", own}) {
    const std::string path = (folder / q.tool).lexically_normal().string();
    const int machine = MachineOf(path);
    if (machine >= 0 && (q.runner || Runs(q.architecture, machine))) return path;
  }
  return Status::InvalidArgument(fmt::format("there is no {} for {}, which is {}: {}", q.tool, q.machine,
                                             q.architecture, HowToGet(q.architecture)));
}

std::string LibraryOf(const std::string& program) {
  std::ifstream file(program, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t at = bytes.find("libplumb.so.");  // the soname, among the strings of the dynamic section
  if (at == std::string::npos) return "";
  const std::string name = bytes.c_str() + at;
  const fs::path folder = fs::path(program).parent_path();
  std::error_code error;
  for (const char* there : {"../lib", "../lib64", "../lib/x86_64-linux-gnu", "../lib/aarch64-linux-gnu", "."}) {
    const std::string path = (folder / there / name).lexically_normal().string();
    if (fs::exists(path, error)) return path;
  }
  return "";
}

}  // namespace plumb
