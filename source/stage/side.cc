// SPDX-License-Identifier: Apache-2.0
#include "stage/side.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "stage/decode.h"

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

std::optional<Picture> StageSide::AsPicture(int index) {
  if (index < 0 || index >= size()) return std::nullopt;
  const auto values = Values(index);
  if (!values.ok()) return std::nullopt;
  std::optional<Picture> picture = PictureOf(*values, LayoutOf(values->shape(), stage(index).info.layout));
  if (turns_ && picture.has_value() && ColorOf(index).substr(0, 3) == "BGR") return ChannelsSwapped(*picture);
  return picture;
}

bool StageSide::SaysOrder() const {
  return std::any_of(sample_.stages.begin(), sample_.stages.end(), [](const StageRecord& stage) {
    const std::string order = stage.info.color.substr(0, 3);
    return order == "RGB" || order == "BGR";
  });
}

std::string StageSide::ColorOf(int index) const {
  for (int at = index; at >= 0; --at) {
    if (!stage(at).info.color.empty()) return stage(at).info.color;
    if (stage(at).kind == "colour") return "";
  }
  return "";
}

PictureTarget StageSide::TargetOf(int index) {
  const StageRecord& record = stage(index);
  const PictureLayout layout = LayoutOf(record.shape, record.info.layout);
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
  if (index == 0) {
    all = ExplainDecode(stage(0), *after);
  } else if (const std::optional<Picture> before = AsPicture(index - 1)) {
    all = ExplainPicture(*before, *after, stage(index).info, stage(index).dtype);
  }
  if (all.empty()) return found;
  if (all[0].reproduces) {
    found.best = std::move(all[0]);
  } else {
    found.nearest = std::move(all[0]);
  }
  return found;
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

std::string TopAnswer::text() const {
  if (numbers) return fmt::format("#{}", index);
  return fmt::format("#{} {}", index, Number(value, 4));
}

std::optional<TopAnswer> AnswerOf(const Tensor& values, const std::string& kind) {
  const int64_t count = values.NumElements();
  if (count == 0) return std::nullopt;
  TopAnswer answer;
  if (kind == "classes" && !IsFloat(values.dtype())) {
    answer.numbers = true;
    answer.index = static_cast<int64_t>(values.ValueAt(0));
    return answer;
  }
  const bool scores = kind == "scores" || kind == "model";
  const int64_t classes = values.shape().rank() == 0 ? 1 : values.shape()[values.shape().rank() - 1];
  int64_t length = classes;
  if (values.shape().rank() == 4 && values.shape().CountFrom(2) == 1) length = values.shape()[1];  // [1,C,1,1]
  if (!scores || length < 2 || length != count) return std::nullopt;
  double second = -HUGE_VAL;
  answer.value = -HUGE_VAL;
  for (int64_t i = 0; i < count; ++i) {
    const double value = values.ValueAt(i);
    if (value > answer.value) {
      second = answer.value;
      answer.value = value, answer.index = i;
    } else if (value > second) {
      second = value;
    }
  }
  if (answer.index < 0) return std::nullopt;
  answer.margin = answer.value - second;
  return answer;
}

}  // namespace plumb
