// SPDX-License-Identifier: Apache-2.0
// Where reports and results go: tried before the work, and "-" for standard output.
#ifndef PLUMB_TOOLS_COMMON_OUTPUTS_H_
#define PLUMB_TOOLS_COMMON_OUTPUTS_H_

#include <string>
#include <string_view>

#include "plumb/network.h"
#include "plumb/status.h"

namespace plumb {

// InvalidArgument when no file of this name can be written: its folder is missing or not writable, it is a folder
// itself. Nothing is left behind. `option` begins the sentence. "-" is always right.
Status CheckOutputFile(const std::string& option, const std::string& path);
// The same for a folder that is made when it is missing.
Status CheckOutputFolder(const std::string& option, const std::string& path);

// WriteFile; "-" is standard output (WriteData of plumb/tool/terminal.h), whether reserved or not.
Status WriteOutput(const std::string& path, std::string_view bytes);

// DUMP_STAGE_DIR: the stages end with what the network gave.
Status WriteOutputStages(const Network& network);

}  // namespace plumb

#endif  // PLUMB_TOOLS_COMMON_OUTPUTS_H_
