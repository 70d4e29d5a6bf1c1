// SPDX-License-Identifier: Apache-2.0
// What a difference does to the answer, and what the answer is when the guilty stage is mended: the original's stage on
// the port's values, then the port's own stages behind it, up to the network's input.
#include <fmt/core.h>

#include <cmath>

#include "base/text.h"
#include "check/core/metrics.h"
#include "stage/answer.h"
#include "stage/sample_diff.h"

namespace plumb {
namespace {

// The values of a picture as the stage has them: dtype, layout, batch.
Result<Tensor> AsStage(const Picture& picture, const StageRecord& stage) {
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DType::kF32, stage.shape));
  const PictureLayout layout = LayoutOf(stage);
  if (!layout.ok || tensor.NumElements() != picture.count())
    return Status::Mismatch("the mended picture has another size");
  const int64_t per_row = stage.shape.CountFrom(layout.height + 1),
                per_column = stage.shape.CountFrom(layout.width + 1);
  const int64_t per_channel = layout.channels < 0 ? 0 : stage.shape.CountFrom(layout.channels + 1);
  const int64_t per_picture = layout.batch < 0 ? 0 : stage.shape.CountFrom(layout.batch + 1);
  const float* from = picture.values.data();
  float* to = tensor.data<float>();
  for (int64_t n = 0; n < picture.batch; ++n, to += per_picture) {
    for (int64_t h = 0; h < picture.height; ++h) {
      for (int64_t w = 0; w < picture.width; ++w) {
        for (int64_t c = 0; c < picture.channels; ++c) to[h * per_row + w * per_column + c * per_channel] = *from++;
      }
    }
  }
  return tensor.ConvertedTo(stage.dtype);
}

}  // namespace

// With the network's input known: of the network itself, or of the original where that is its own input.
Status SampleDiff::AnswerOfInput(const Picture& input, int j, std::string* answer, std::string* why) {
  const auto row = row_of_port_.find(j);
  if (options_.model && report_.answer.top) {
    // As the side has it whose size the mended input has.
    auto tensor = AsStage(input, port_.stage(j));
    if (!tensor.ok() && row != row_of_port_.end()) tensor = AsStage(input, original_.stage(pairs_[row->second].first));
    if (!tensor.ok()) {
      *why = tensor.status().message();
      return Status::Ok();
    }
    PLUMB_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, options_.model(*tensor));
    for (const Tensor& output : outputs) {
      const std::optional<TopAnswer> top = AnswerOf(output, "model");
      if (!top.has_value()) continue;
      *answer = top->text();
      *why = "the network ran on the mended input";
      return Status::Ok();
    }
  }
  if (row == row_of_port_.end()) return Status::Ok();
  const int paired = pairs_[row->second].first;
  const std::optional<Picture> wanted = original_.AsPicture(paired);
  if (!wanted.has_value()) return Status::Ok();
  const PictureDifference difference = ComparePictures(input, *wanted);
  const DType dtype = original_.stage(paired).dtype;
  if (!difference.comparable) return Status::Ok();
  if (difference.max_abs > ReplayBound(*wanted, dtype)) {
    *why = fmt::format("the network's input then still differs by {}", Number(difference.max_abs, 4));
    return Status::Ok();
  }
  *answer = report_.answer.original;
  *why = "the network's input is then the original's";
  return Status::Ok();
}

Status SampleDiff::FollowMended(size_t guilty, bool all, std::string* answer, std::string* why) {
  const auto [i, j] = pairs_[guilty];
  if (port_.Branches()) {
    *why = "several stages read one, or one reads several: what one of them does to the rest is not followed";
    return Status::Ok();
  }
  const Explained* mend = original_.Convention(i);
  std::optional<Picture> value;
  if (port_.Before(j) < 0) {
    value = original_.AsPicture(i);
  } else if (const auto before = port_.AsPicture(port_.Before(j)); before.has_value() && mend != nullptr) {
    PictureTarget target = original_.TargetOf(i);
    value = mend->convention.run(*before, target);
  }
  for (int next = j + 1, last = j; value.has_value() && next < port_.size(); ++next) {
    if (port_.Before(next) != last) continue;
    if (port_.stage(next).kind == "model") return AnswerOfInput(*value, last, answer, why);
    last = next;
    const auto row = row_of_port_.find(next);
    const bool mends =
        all && row != row_of_port_.end() && report_.rows[row->second].verdict == StageVerdict::kIntroduced;
    const int other = row == row_of_port_.end() ? -1 : pairs_[row->second].first;
    const Explained* step = mends ? original_.Convention(other) : port_.Convention(next);
    if (step == nullptr) {
      *why = fmt::format("stage '{}' is none that can be replayed", port_.stage(next).name);
      return Status::Ok();
    }
    PictureTarget target = mends ? original_.TargetOf(other) : port_.TargetOf(next);
    const PictureTarget was = port_.TargetOf(port_.Before(next));
    const bool keeps = !step->convention.any_size && was.height == target.height && was.width == target.width;
    if (keeps) target.height = value->height, target.width = value->width;
    value = step->convention.run(*value, target);
  }
  if (why->empty()) *why = "the stage is none that can be replayed, or no network follows it";
  return Status::Ok();
}

Status SampleDiff::TellAnswer() {
  StageAnswer& answer = report_.answer;
  for (size_t row = pairs_.size(); row-- > 0 && !answer.known;) {
    const auto [i, j] = pairs_[row];
    PLUMB_ASSIGN_OR_RETURN(const Tensor ours, original_.Values(i));
    PLUMB_ASSIGN_OR_RETURN(const Tensor theirs, port_.Values(j));
    const auto both = CompareAnswers(ours, theirs, original_.stage(i).kind, options_.tolerance);
    if (!both.has_value()) continue;
    answer.known = true;
    answer.stage = original_.stage(i).name;
    answer.original = both->original;
    answer.port = both->port;
    answer.same = both->same;
    answer.top = both->top;
  }
  if (!answer.known || report_.first_guilty < 0) return Status::Ok();
  const auto first = static_cast<size_t>(report_.first_guilty);
  PLUMB_RETURN_IF_ERROR(FollowMended(first, false, &answer.mended, &answer.why));
  if (!answer.mended.empty()) return Status::Ok();
  std::string both, why;
  PLUMB_RETURN_IF_ERROR(FollowMended(first, true, &both, &why));
  if (both.empty()) return Status::Ok();
  answer.mended = both;
  answer.why = "with all guilty stages mended " + why;
  return Status::Ok();
}

}  // namespace plumb
