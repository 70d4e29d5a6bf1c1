// SPDX-License-Identifier: Apache-2.0
#include "stage/side.h"

#include <algorithm>

#include "stage/decode.h"
#include "stage/several.h"

namespace plumb {
namespace {

constexpr size_t kKeptValues = 4;  // stages of a side that stay in memory

}  // namespace

Result<Tensor> StageSide::Values(int index) {
  const auto found = values_.find(index);
  if (found != values_.end()) return found->second;
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, LoadStage(stage(index)));
  if (values_.size() >= kKeptValues) values_.erase(values_.begin());
  values_[index] = tensor;
  return tensor;
}

bool StageSide::Branches() const {
  std::set<int> read;
  for (const StageRecord& stage : sample_.stages) {
    if (stage.reads.size() > 1) return true;
    if (stage.kind != "model" && !stage.reads.empty() && !read.insert(stage.reads[0]).second) return true;
  }
  return false;
}

std::optional<Picture> StageSide::AsPicture(int index) {
  if (index < 0 || index >= size()) return std::nullopt;
  const auto values = Values(index);
  if (!values.ok()) return std::nullopt;
  std::optional<Picture> picture = PictureOf(*values, stage(index));
  if (turns_ && picture.has_value() && ColorOf(index).substr(0, 3) == "BGR") return ChannelsSwapped(*picture);
  return picture;
}

bool StageSide::SaysOrder() const {
  return std::any_of(sample_.stages.begin(), sample_.stages.end(), [](const StageRecord& stage) {
    const std::string order = stage.info.color.substr(0, 3);
    return order == "RGB" || order == "BGR";
  });
}

// What a network reads is compared as it is: its numbers have the order that they have.
bool StageSide::FeedsNetwork(int index) const {
  return std::any_of(sample_.stages.begin(), sample_.stages.end(), [index](const StageRecord& stage) {
    return stage.kind == "model" && !stage.reads.empty() && stage.reads[0] == index;
  });
}

std::string StageSide::ColorOf(int index) const {
  if (FeedsNetwork(index)) return "";
  for (int at = index; at >= 0; at = Before(at)) {
    if (as_it_is_.count(at) != 0) return "";
    if (!stage(at).info.color.empty()) return stage(at).info.color;
    if (stage(at).kind == "colour" || stage(at).kind == "model") return "";
  }
  return "";
}

bool StageSide::MayHaveTurned(int index) const {
  const StageRecord& record = stage(index);
  return turns_ && IsFloat(record.dtype) && record.info.color.empty() && record.kind != "colour" &&
         ColorOf(index).substr(0, 3) == "BGR";
}

void StageSide::ReadAsItIs(int index, bool as_it_is) {
  as_it_is_.erase(index);
  if (as_it_is) as_it_is_.insert(index);
  found_.erase(found_.lower_bound(index), found_.end());
}

PictureTarget StageSide::TargetOf(int index) {
  const StageRecord& record = stage(index);
  const PictureLayout layout = LayoutOf(record);
  PictureTarget target;
  target.height = layout.height < 0 ? 0 : record.shape[layout.height];
  target.width = layout.width < 0 ? 0 : record.shape[layout.width];
  target.channels = layout.channels < 0 ? 1 : record.shape[layout.channels];
  target.bytes = record.dtype == DType::kU8;
  target.info = &record.info;
  return target;
}

const StageSide::Found& StageSide::Search(int index) {
  const auto known = found_.find(index);
  if (known != found_.end()) return known->second;
  Found& found = found_[index];
  const std::optional<Picture> after = AsPicture(index);
  if (!after.has_value()) return found;
  std::vector<Explained> all;
  const size_t reads = stage(index).reads.size();
  if (reads == 0) {
    all = ExplainDecode(stage(index), *after);
  } else if (const std::optional<Picture> before = AsPicture(Before(index)); reads == 1 && before.has_value()) {
    all = ExplainPicture(*before, *after, stage(index).info, stage(index).dtype);
  }
  if (reads > 0 && (all.empty() || !all[0].reproduces)) {
    const std::vector<Explained> several = ExplainSeveral(ReadBy(index), *after, stage(index).info, stage(index).dtype);
    if (all.empty() || (!several.empty() && several[0].reproduces)) all = several;
  }
  if (all.empty()) return found;
  if (all[0].reproduces) {
    found.best = std::move(all[0]);
  } else {
    found.nearest = std::move(all[0]);
  }
  return found;
}

std::vector<Tensor> StageSide::ReadBy(int index) {
  std::vector<Tensor> read;
  for (const int place : stage(index).reads) {
    const auto values = Values(place);
    if (!values.ok()) return {};
    read.push_back(*values);
  }
  return read;
}

std::optional<Picture> StageSide::Replayed(const plumb::Convention& convention, int index) {
  if (convention.of_several) return convention.of_several(ReadBy(index), TargetOf(index));
  const std::optional<Picture> before = AsPicture(Before(index));
  return before.has_value() ? convention.run(*before, TargetOf(index)) : std::nullopt;
}

const Explained* StageSide::Convention(int index) {
  if (index < 0) return nullptr;
  const Found& found = Search(index);
  return found.best.has_value() ? &*found.best : nullptr;
}

const Explained* StageSide::Nearest(int index) {
  if (index < 0) return nullptr;
  const Found& found = Search(index);
  return found.nearest.has_value() ? &*found.nearest : nullptr;
}

}  // namespace plumb
