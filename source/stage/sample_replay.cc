// SPDX-License-Identifier: Apache-2.0
// A stage that differs: the original's convention on what the port had before it, and what the cause is.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "check/cause/signature.h"
#include "check/core/metrics.h"
#include "stage/sample_diff.h"
#include "stage/size.h"

namespace plumb {
namespace {

// "(w, h)" and "(h, w)" of a line of code as this stage has them.
std::string WithSize(std::string code, const PictureTarget& target) {
  const std::pair<const char*, std::string> words[] = {
      {"(w, h)", fmt::format("({}, {})", target.width, target.height)},
      {"(h, w)", fmt::format("({}, {})", target.height, target.width)}};
  for (const auto& [word, size] : words) {
    const size_t at = code.find(word);
    if (at != std::string::npos) code.replace(at, 6, size);
  }
  return code;
}

// What one number for all channels costs each of them.
std::string ChannelCost(const Picture& original, const Picture& port) {
  if (!ComparePictures(original, port).comparable || original.channels != 3) return "";
  double sums[3] = {0, 0, 0}, largest[3] = {0, 0, 0};
  for (size_t i = 0; i < original.values.size(); ++i) {
    const double off = std::fabs(static_cast<double>(original.values[i]) - static_cast<double>(port.values[i]));
    sums[i % 3] += off;
    largest[i % 3] = std::max(largest[i % 3], off);
  }
  const double pixels = static_cast<double>(original.count()) / 3;
  return fmt::format("per channel off by {}, {}, {} on average, by {}, {}, {} at most", Number(sums[0] / pixels, 3),
                     Number(sums[1] / pixels, 3), Number(sums[2] / pixels, 3), Number(largest[0], 3),
                     Number(largest[1], 3), Number(largest[2], 3));
}

std::string Quoted(const std::string& text) { return "'" + text + "'"; }

}  // namespace

void SampleDiff::JudgeByReplay(const Values& values, int i, int j, bool same_before, StageRow* row) {
  const Explained* ours = original_.Convention(i);
  const Explained* theirs = port_.Convention(j);
  if (ours != nullptr) row->original_does = ours->words();
  if (theirs != nullptr) row->port_does = theirs->words();
  const bool same_way = ours != nullptr && theirs != nullptr && ours->convention.group == theirs->convention.group;
  const std::string size = SizeCause(values, i, j);
  if (!size.empty()) {
    row->verdict = StageVerdict::kIntroduced;
    if (same_way) {
      row->mend = WithSize(ours->convention.code, original_.TargetOf(i));
    } else {
      Blame(values, i, j, row);
    }
    row->cause += (row->cause.empty() ? "" : "; ") + size;
    row->reason.clear();  // that the shapes differ
    return;
  }
  const bool comparable = values.original_picture.has_value() && values.port_picture.has_value() &&
                          ComparePictures(*values.original_picture, *values.port_picture).comparable;
  if (same_way && comparable && HadTheSame(i, j, false)) {
    row->verdict = StageVerdict::kAligned;
    row->reason = ours->convention.name == theirs->convention.name
                      ? fmt::format("within what builds of it differ by: {}", ours->convention.name)
                      : fmt::format("the same convention: {}, and {}", row->original_does, row->port_does);
    return;
  }
  if (original_.Before(i) < 0 || port_.Before(j) < 0 || same_before) {
    row->verdict = StageVerdict::kIntroduced;
    return Blame(values, i, j, row);
  }
  const std::optional<Picture> before = port_.AsPicture(port_.Before(j));
  if (ours == nullptr || !values.port_picture.has_value()) {
    row->verdict = same_way ? StageVerdict::kInherited : StageVerdict::kDiffers;
    if (row->verdict == StageVerdict::kDiffers) {
      row->reason += row->reason.empty() ? "" : "; ";
      row->reason += "what is before it differs, and the original's stage is none that can be replayed";
      Blame(values, i, j, row);
    }
    return;
  }
  const std::optional<Picture> replayed = port_.Replayed(ours->convention, j);
  if (replayed.has_value()) {
    const PictureDifference own = ComparePictures(*replayed, *values.port_picture);
    row->has_own = own.comparable;
    row->max_own = own.max_abs;
    const Picture& from = before.has_value() ? *before : *values.port_picture;
    if (own.comparable && Reproduces(ours->convention, own, from, *values.port_picture, values.port.dtype())) {
      row->verdict = StageVerdict::kInherited;
      return;
    }
  }
  row->verdict = same_way ? StageVerdict::kInherited : StageVerdict::kIntroduced;
  if (!same_way) Blame(values, i, j, row);
}

// How the sizes of two pictures of other sizes came about; "" where the program had no choice, or both chose alike.
std::string SampleDiff::SizeCause(const Values& values, int i, int j) {
  if (!values.original_picture.has_value() || !values.port_picture.has_value()) return "";
  const Explained *ours = original_.Convention(i), *theirs = port_.Convention(j);
  const std::string& kind = original_.stage(i).kind;
  const bool chosen = (ours != nullptr && ours->convention.any_size) ||
                      (theirs != nullptr && theirs->convention.any_size) || kind == "resize" || kind == "crop" ||
                      kind == "letterbox";
  if (!chosen || original_.stage(i).reads.size() != 1 || port_.stage(j).reads.size() != 1) return "";
  const std::optional<Picture> before = original_.AsPicture(original_.Before(i));
  const std::optional<Picture> port_before = port_.AsPicture(port_.Before(j));
  if (!before.has_value() || !port_before.has_value()) return "";
  const auto of = [](const Picture& picture) { return PictureSize{picture.height, picture.width}; };
  const SizeChoice original = {of(*before), of(*values.original_picture)};
  const SizeChoice port = {of(*port_before), of(*values.port_picture)};
  const auto is_framed = [](const Explained* way) {
    return way != nullptr && way->convention.name.find("letterbox") != std::string::npos;
  };
  return DescribeSizes(original, port, kind == "letterbox" || is_framed(ours) || is_framed(theirs));
}

// The sentence of a guilty stage, and the line that mends it.
void SampleDiff::Blame(const Values& values, int i, int j, StageRow* row) {
  const Explained* ours = original_.Convention(i);
  const Explained* theirs = port_.Convention(j);
  if (ours != nullptr) row->mend = WithSize(ours->convention.code, original_.TargetOf(i));
  if (ours != nullptr && theirs != nullptr && ours->convention.group != theirs->convention.group) {
    row->cause = fmt::format("the original's is {}; the port's is {}", row->original_does, row->port_does);
    const bool lines = row->kind == "normalise" || row->kind == "quantise" || row->kind == "input";
    if (lines && values.original_picture.has_value() && values.port_picture.has_value())
      row->reason = ChannelCost(*values.original_picture, *values.port_picture);
    return;
  }
  const std::string other = OtherSample(values, i);
  if (!other.empty()) {
    row->cause = other;
    return;
  }
  // What makes the port's out of the original's: channels, layout, a factor, another sample.
  if (values.original_picture.has_value() && values.port_picture.has_value()) {
    const std::vector<Explained> found =
        ExplainPicture(*values.original_picture, *values.port_picture, port_.stage(j).info, values.port.dtype());
    if (!found.empty() && found[0].reproduces) {
      row->cause = fmt::format("the port's is the original's, but: {}", found[0].convention.name);
      if (row->mend.empty()) row->mend = WithSize(found[0].convention.code, original_.TargetOf(i));
      return;
    }
  }
  if (ours != nullptr)
    row->cause = fmt::format("the original's is {}; the port's is nothing that Plumb knows", row->original_does);
  if (theirs != nullptr)
    row->cause = fmt::format("the port's is {}; the original's is nothing that Plumb knows", row->port_does);
  const Explained* near = port_.Nearest(j);
  if (near != nullptr &&
      near->difference.sum_abs < 0.02 * static_cast<double>(near->difference.count) * std::max(1.0, row->max_abs))
    row->cause += fmt::format("{}nearest to the port's is {} (off by up to {})", row->cause.empty() ? "" : "; ",
                              near->convention.name, Number(near->difference.max_abs, 4));
  if (values.original.shape() != values.port.shape()) return;
  const auto a = values.original.ConvertedTo(DType::kF32), b = values.port.ConvertedTo(DType::kF32);
  if (!a.ok() || !b.ok()) return;
  const std::string looks = DescribeDifference(*b, *a);
  if (!looks.empty()) row->cause += (row->cause.empty() ? "" : "; ") + looks;
}

// The stage of another sample that the port's is.
std::string SampleDiff::OtherSample(const Values& values, int i) const {
  constexpr int64_t kMostLooked = 64;
  int64_t looked = 0;
  for (const StageSample& sample : others_) {
    if (sample.folder == original_.sample().folder || ++looked > kMostLooked) continue;
    if (i >= static_cast<int>(sample.stages.size())) continue;
    const StageRecord& stage = sample.stages[static_cast<size_t>(i)];
    if (stage.shape != values.port.shape() || stage.dtype != values.port.dtype()) continue;
    const auto tensor = LoadStage(stage);
    if (tensor.ok() && CompareTensors(*tensor, values.port).max_abs == 0)
      return fmt::format("another sample: the port's is that of sample {}", Quoted(sample.name));
  }
  return "";
}

}  // namespace plumb
