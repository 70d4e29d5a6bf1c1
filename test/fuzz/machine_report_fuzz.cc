// SPDX-License-Identifier: Apache-2.0
// Any bytes as the report that a device's model_check left: a sentence, or an object that can be concluded and printed.
#include <cstdlib>
#include <string>

#include "device_check/report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto report = plumb::ParseMachineJson("its report", {reinterpret_cast<const char*>(data), size});
  if (!report.ok()) return report.status().message().empty() ? std::abort(), 0 : 0;
  const auto conclusion = plumb::ConcludeReport("a machine", *report);
  if (!conclusion.ok() && conclusion.status().message().empty()) std::abort();
  if (report->dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace).empty()) std::abort();
  return 0;
}
