// SPDX-License-Identifier: Apache-2.0
// MatchStage: the search alone, for programs.
#include <fmt/core.h>

#include "stage/explain.h"

namespace plumb {

Result<std::vector<StageMatch>> MatchStage(const Tensor& before, const StageRecord& stage, const Tensor& after) {
  const std::optional<Picture> from = PictureOf(before, LayoutOf(before.shape(), ""));
  StageRecord written = stage;
  written.shape = after.shape();
  const std::optional<Picture> to = PictureOf(after, written);
  for (const auto& [picture, tensor] : {std::pair(&from, &before), {&to, &after}}) {
    if (!picture->has_value())
      return Status::InvalidArgument(
          fmt::format("stage '{}': {} is no picture: expected height, width and 1, 3 or 4 channels", stage.name,
                      tensor->shape().ToString()));
  }
  std::vector<StageMatch> matches;
  StageInfo info = stage.info;
  info.kind = stage.kind;
  for (const Explained& one : ExplainPicture(*from, *to, info, after.dtype())) {
    matches.push_back(
        {one.convention.name, one.convention.code, one.reproduces, one.difference.max_abs, one.difference.differing});
  }
  return matches;
}

}  // namespace plumb
