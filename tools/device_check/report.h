// SPDX-License-Identifier: Apache-2.0
// The JSON that model_check wrote on another machine: somebody else's text, read field by field. The verdict, its line
// and its exit code are made of it here, by the function that makes them of a check of our own.
#ifndef PLUMB_TOOLS_DEVICE_CHECK_REPORT_H_
#define PLUMB_TOOLS_DEVICE_CHECK_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "plumb/report.h"

namespace plumb {

// A JSON object that a machine wrote. CorruptModel: it is none, or is nested or as large as none of ours is. `what`:
// "adb X: its report".
Result<nlohmann::ordered_json> ParseMachineJson(const std::string& what, const std::string& text);
Result<nlohmann::ordered_json> ReadMachineJson(const std::string& what, const std::string& path);

// CorruptModel, with the field, what was expected and what was found: a field is missing or of another type, or two
// contradict each other.
Result<Conclusion> ConcludeReport(const std::string& machine, const nlohmann::ordered_json& report);

// What a machine said, to be printed: each line behind "| ", so that none can be taken for one of ours. Longer lines
// than `width` are broken (0: none is).
std::string MachineWords(const std::string& text, size_t width);

// CorruptModel: in a folder that came from a machine lies something else than files and folders.
Status CheckPulledFolder(const std::string& machine, const std::string& folder);

}  // namespace plumb

#endif  // PLUMB_TOOLS_DEVICE_CHECK_REPORT_H_
