// SPDX-License-Identifier: Apache-2.0
// The dumps of a tool's networks (DUMP_*, doc/dump.md): where they go, and what is said of them at the end.
#ifndef PLUMB_TOOLS_COMMON_DUMPING_H_
#define PLUMB_TOOLS_COMMON_DUMPING_H_

#include <map>
#include <memory>
#include <string>

#include "plumb/network.h"

namespace plumb {

class DumpLog {
 public:
  // A network on the device that dumps what the environment says, as plumb's CreateNetwork does it. With `own_folder`,
  // for tools that run several devices, the folder's name ends with the device's: plumb_dump-X86.
  Result<std::unique_ptr<Network>> CreateNetwork(std::shared_ptr<const Graph> graph, std::shared_ptr<Device> device,
                                                 const NetworkOptions& options, bool own_folder);
  // "dump    plumb_dump-X86: 126 files, 12.3 MB", one line per network that dumped; "" where none did.
  std::string Lines() const;

 private:
  struct Written {
    size_t files = 0, bytes = 0;
  };
  std::shared_ptr<std::map<std::string, Written>> written_ = std::make_shared<std::map<std::string, Written>>();
};

}  // namespace plumb

#endif  // PLUMB_TOOLS_COMMON_DUMPING_H_
