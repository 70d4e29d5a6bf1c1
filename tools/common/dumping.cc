// SPDX-License-Identifier: Apache-2.0
#include "common/dumping.h"

#include <fmt/core.h>

#include <cstdio>

#include "plumb/dump.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

// "plumb_dump/" and "plumb_dump" of X86 are "plumb_dump-X86".
std::string FolderOf(std::string folder, const std::string& device) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return fmt::format("{}-{}", folder, device);
}

}  // namespace

Result<std::unique_ptr<Network>> DumpLog::CreateNetwork(std::shared_ptr<const Graph> graph,
                                                        std::shared_ptr<Device> device, const NetworkOptions& options,
                                                        bool own_folder) {
  PLUMB_ASSIGN_OR_RETURN(DumpOptions dump, DumpOptionsFromEnvironment());
  dump.written = [written = written_](const std::string& folder, size_t files, size_t bytes) {
    Written& sum = (*written)[folder];
    sum.files += files;
    sum.bytes += bytes;
  };
  NetworkOptions effective = options;
  effective.unfuse = options.unfuse || dump.unfuse;
  PLUMB_ASSIGN_OR_RETURN(auto network, Network::Create(std::move(graph), std::move(device), std::move(effective)));
  if (own_folder) dump.folder = FolderOf(dump.folder, network->device_name());
  PLUMB_RETURN_IF_ERROR(AddDump(network.get(), dump));
  return network;
}

std::string DumpLog::Lines() const {
  std::string lines;
  for (const auto& [folder, sum] : *written_) {
    char size[64];
    std::snprintf(size, sizeof(size), sum.bytes < 100000 ? "%.1f kB" : "%.1f MB",
                  static_cast<double>(sum.bytes) / (sum.bytes < 100000 ? 1e3 : 1e6));
    lines += fmt::format("dump    {}: {}{}{}\n", Printable(folder), sum.files, sum.files == 1 ? " file, " : " files, ",
                         size);
  }
  return lines;
}

}  // namespace plumb
