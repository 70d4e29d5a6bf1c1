// SPDX-License-Identifier: Apache-2.0
// A dump that comes in parts: which layers make one, and the parts as one folder.
#ifndef PLUMB_TOOLS_DEVICE_CHECK_PARTS_H_
#define PLUMB_TOOLS_DEVICE_CHECK_PARTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plumb/graph.h"

namespace plumb {

// What one run of the network writes there.
struct DumpPart {
  std::string layers;   // DUMP_BLOB_LAYERS: "12-19"
  bool inputs = false;  // what these layers read, in place of what they write
};

// First what the layers read that read the network's inputs, then all outputs in index ranges of at most `bytes` each
// (a layer that has more is a part of its own).
Result<std::vector<DumpPart>> PlanParts(const Graph& graph, uint64_t bytes);

// The manifest of all, of each part's path and text. CorruptModel: one is no manifest.
Result<std::string> JoinManifests(const std::vector<std::pair<std::string, std::string>>& parts);

// Moves the files of `from`/0, `from`/1 ... into the folder `to`, whose manifest is that of all. CorruptModel or
// IoError for a part that cannot be read.
Status JoinParts(const std::string& from, size_t parts, const std::string& to);

}  // namespace plumb

#endif  // PLUMB_TOOLS_DEVICE_CHECK_PARTS_H_
