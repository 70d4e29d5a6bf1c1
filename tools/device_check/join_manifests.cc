// SPDX-License-Identifier: Apache-2.0
// One manifest of the parts that a device dumped: what a program there wrote, so everything in it is looked at.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "device_check/parts.h"
#include "device_check/report.h"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kJoined[] = {"files", "absent", "errors"};  // lists

Result<Json> ParsePart(const std::string& path, const std::string& text) {
  const std::string what = fmt::format("'{}'", path);
  PLUMB_ASSIGN_OR_RETURN(Json manifest, ParseMachineJson(what, text));
  for (const char* list : kJoined) {
    manifest.emplace(list, Json::array());  // where it is not there
    const Json& found = manifest[list];
    if (!found.is_array())
      return Status::CorruptModel(fmt::format("{}: {}: expected a list, found a {}", what, list, found.type_name()));
  }
  manifest.emplace("complete", true);
  const Json& complete = manifest["complete"];
  if (complete.is_boolean()) return manifest;
  return Status::CorruptModel(
      fmt::format("{}: complete: expected true or false, found a {}", what, complete.type_name()));
}

}  // namespace

Result<std::string> JoinManifests(const std::vector<std::pair<std::string, std::string>>& parts) {
  Json joined;
  for (const auto& [path, text] : parts) {
    PLUMB_ASSIGN_OR_RETURN(const Json part, ParsePart(path, text));
    if (joined.is_null()) {
      joined = part;
      continue;
    }
    for (const char* list : kJoined) {
      for (const Json& entry : part[list]) joined[list].push_back(entry);
    }
    joined["complete"] = joined["complete"].get<bool>() && part["complete"].get<bool>();
  }
  return joined.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plumb
