// SPDX-License-Identifier: Apache-2.0
// The manifest of a sample's folder: that of a dump (doc/dump_format.md), whose entries are stages. blob_diff reads it,
// too; what stages add are `stage` (kind), `parameters`, `color`, `library` in an entry, and `sample` at the top.
#ifndef PLUMB_STAGE_MANIFEST_H_
#define PLUMB_STAGE_MANIFEST_H_

#include <string>
#include <string_view>
#include <vector>

#include "plumb/stage.h"

namespace plumb {

constexpr size_t kMaxStages = 100000;  // of a sample

std::string FormatStageManifest(const StageSample& sample, const std::vector<std::string>& errors);
// StageRecord::path is the file's name alone. `path` stands in errors: CorruptModel with the entry and the field.
Result<StageSample> ParseStageManifest(std::string_view text, const std::string& path);

// The places of the stages that one behind `before` reads: the last of them, or those that its parameter "of" names, of
// equal names the last. CorruptModel: no stage is called so.
Result<std::vector<int>> PlacesRead(const std::vector<StageRecord>& before, const StageInfo& info);

// ReadStages without its broken samples, whose errors are handed out; of a sample's own folder its error is returned.
struct BrokenSample {
  std::string name;  // of its folder
  Status status;
};
Result<std::vector<StageSample>> ReadWholeSamples(const std::string& folder, std::vector<BrokenSample>* broken);

}  // namespace plumb

#endif  // PLUMB_STAGE_MANIFEST_H_
