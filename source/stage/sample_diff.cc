// SPDX-License-Identifier: Apache-2.0
#include "stage/sample_diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "check/cause/signature.h"
#include "check/core/metrics.h"
#include "stage/answer.h"
#include "stage/classes.h"

namespace plumb {
namespace {

bool IsNetwork(const std::string& kind) { return kind == "model"; }

Tensor Wide(const Tensor& tensor) {
  const auto wide = tensor.ConvertedTo(IsFloat(tensor.dtype()) ? DType::kF64 : DType::kI64);
  return wide.ok() ? *wide : tensor;
}

// Whether the first class is the place of the largest score before it.
bool IsTop(StageSide* side, int index, const Tensor& classes) {
  if (side->Before(index) < 0) return false;
  const auto scores = side->Values(side->Before(index));
  if (!scores.ok() || classes.NumElements() == 0) return false;
  int64_t larger = 0;
  const auto chosen = static_cast<int64_t>(classes.ValueAt(0));
  if (chosen < 0 || chosen >= scores->NumElements()) return false;
  for (int64_t n = 0; n < scores->NumElements(); ++n) larger += scores->ValueAt(n) > scores->ValueAt(chosen) ? 1 : 0;
  return larger == 0;
}

}  // namespace

Result<SampleDiff::Values> SampleDiff::Load(int i, int j) {
  Values values;
  PLUMB_ASSIGN_OR_RETURN(values.original, original_.Values(i));
  PLUMB_ASSIGN_OR_RETURN(values.port, port_.Values(j));
  values.original_picture = original_.AsPicture(i);
  values.port_picture = port_.AsPicture(j);
  return values;
}

// Metrics of two tensors of the same axes; of pictures in any layout.
void SampleDiff::Measure(const Values& values, int i, int j, StageRow* row) const {
  row->stage = original_.stage(i).name;
  row->kind = original_.stage(i).kind;
  row->dtype = values.original.dtype();
  row->original_shape = values.original.shape();
  row->port_shape = values.port.shape();
  row->count = values.original.NumElements();
  const PictureLayout layout = LayoutOf(original_.stage(i));
  const bool pictures = values.original_picture.has_value() && values.port_picture.has_value();
  if (pictures && layout.ok) {  // a text of one axis is a row of values
    const Picture &a = *values.original_picture, &b = *values.port_picture;
    const PictureDifference difference = ComparePictures(a, b);
    if (difference.comparable) {
      row->max_abs = difference.max_abs;
      row->differing = difference.differing;
      if (difference.worst >= 0) {
        const auto worst = static_cast<size_t>(difference.worst);
        row->worst.assign(static_cast<size_t>(row->original_shape.rank()), 0);
        if (layout.batch >= 0)
          row->worst[static_cast<size_t>(layout.batch)] = difference.worst / (a.height * a.width * a.channels);
        row->worst[static_cast<size_t>(layout.height)] = difference.worst / (a.width * a.channels) % a.height;
        row->worst[static_cast<size_t>(layout.width)] = difference.worst / a.channels % a.width;
        if (layout.channels >= 0) row->worst[static_cast<size_t>(layout.channels)] = difference.worst % a.channels;
        row->worst_original = static_cast<double>(a.values[worst]);
        row->worst_port = static_cast<double>(b.values[worst]);
      }
      return;
    }
  }
  if (values.original.shape() != values.port.shape()) {
    row->differing = row->count;
    row->max_abs = HUGE_VAL;
    row->reason =
        fmt::format("the shapes differ: {} and {}", row->original_shape.ToString(), row->port_shape.ToString());
    return;
  }
  const Tensor a = Wide(values.original), b = Wide(values.port);
  const DiffMetrics metrics = CompareTensors(a, b);
  row->max_abs = metrics.max_abs;
  if (metrics.nan_a != metrics.nan_b || metrics.inf_a != metrics.inf_b) {
    row->max_abs = HUGE_VAL;
    row->reason = "NaN or infinities in other places";
  }
  for (int64_t n = 0; n < row->count; ++n) {
    const double x = a.ValueAt(n), y = b.ValueAt(n);
    row->differing += x == y || (std::isnan(x) && std::isnan(y)) ? 0 : 1;
  }
  if (metrics.worst < 0) return;
  row->worst_original = metrics.worst_a;
  row->worst_port = metrics.worst_b;
  int64_t rest = metrics.worst;
  for (int axis = 0; axis < row->original_shape.rank(); ++axis) {
    const int64_t inner = row->original_shape.CountFrom(axis + 1);
    row->worst.push_back(rest / inner);
    rest %= inner;
  }
}

// What both may differ by: bytes by nothing, floats by their rounding, a network's outputs by options.tolerance.
double SampleDiff::Bound(const Values& values, const StageRow& row, int i) const {
  if (!IsFloat(values.original.dtype())) return 0;
  const double largest = LargestMagnitude(values.original);
  const std::string& kind = original_.stage(i).kind;
  if (IsNetwork(kind) || kind == "scores") return options_.tolerance * largest;
  const DType narrow = values.port.dtype();
  const double share = narrow == DType::kBF16 || row.dtype == DType::kBF16 ? 1.0 / 128
                       : narrow == DType::kF16 || row.dtype == DType::kF16 ? 1.0 / 1024
                                                                           : 1e-5;
  return share * largest;
}

Status SampleDiff::Run() {
  if (original_.SaysOrder() && port_.SaysOrder()) {
    original_.TurnToRgb();
    port_.TurnToRgb();
  }
  for (const auto& [i, j] : pairs_) {
    PLUMB_ASSIGN_OR_RETURN(StageRow row, JudgePair(i, j));
    report_.rows.push_back(std::move(row));
  }
  for (const StageVerdict wanted : {StageVerdict::kIntroduced, StageVerdict::kDiffers}) {
    for (size_t row = 0; row < report_.rows.size() && report_.first_guilty < 0; ++row) {
      if (report_.rows[row].verdict == wanted) report_.first_guilty = static_cast<int>(row);
    }
  }
  return TellAnswer();
}

Result<StageRow> SampleDiff::JudgePair(int i, int j) {
  const bool ours = original_.MayHaveTurned(i), theirs = port_.MayHaveTurned(j);
  StageRow row;
  for (const auto& [original, port] : {std::pair(false, false), {false, true}, {true, false}, {true, true}}) {
    if ((original && !ours) || (port && !theirs)) continue;
    if (ours) original_.ReadAsItIs(i, original);
    if (theirs) port_.ReadAsItIs(j, port);
    PLUMB_ASSIGN_OR_RETURN(const Values values, Load(i, j));
    row = StageRow();
    Measure(values, i, j, &row);
    PLUMB_RETURN_IF_ERROR(JudgeRow(values, i, j, HadTheSame(i, j, true), &row));
    if (row.verdict == StageVerdict::kAligned || row.verdict == StageVerdict::kInherited) return row;
  }
  return row;
}

// Whether the stages that both read had the same values. One that the other side lacks is passed over.
bool SampleDiff::HadTheSame(int i, int j, bool exactly) const {
  const auto row_of = [](const std::map<int, size_t>& rows, const StageSide& side, int place) {
    for (int at = place; at >= 0; at = side.Before(at)) {
      const auto found = rows.find(at);
      if (found != rows.end()) return static_cast<int>(found->second);
    }
    return -1;
  };
  const std::vector<int>&ours = original_.stage(i).reads, &theirs = port_.stage(j).reads;
  const bool named = original_.stage(i).info.Find("of") != nullptr || port_.stage(j).info.Find("of") != nullptr;
  if (named && ours.size() != theirs.size()) return false;
  for (size_t k = 0; k < ours.size(); ++k) {
    const int row = row_of(row_of_original_, original_, ours[k]);
    if (named && row_of(row_of_port_, port_, theirs[k]) != row) return false;
    if (row < 0) continue;
    const StageRow& before = report_.rows[static_cast<size_t>(row)];
    if (before.verdict != StageVerdict::kAligned || (exactly && before.differing != 0)) return false;
  }
  return true;
}

Status SampleDiff::JudgeRow(const Values& values, int i, int j, bool same_before, StageRow* row) {
  if (row->max_abs <= Bound(values, *row, i)) {
    row->verdict = StageVerdict::kAligned;
    return Status::Ok();
  }
  if (IsNetwork(row->kind)) return JudgeNetwork(values, i, j, same_before, row);
  const auto answers = CompareAnswers(values.original, values.port, row->kind, options_.tolerance);
  if (answers.has_value() && !answers->detail.empty()) {
    row->reason = answers->detail;
    // A mask of the very same scores is the same in every pixel.
    if (answers->same && !(row->kind == "mask" && same_before)) {
      row->verdict = StageVerdict::kAligned;
      return Status::Ok();
    }
  }
  if (row->kind == "classes" && JudgeClasses(values, i, j, row)) return Status::Ok();
  JudgeByReplay(values, i, j, same_before, row);
  return Status::Ok();
}

Status SampleDiff::JudgeNetwork(const Values& values, int i, int j, bool same_before, StageRow* row) {
  if (same_before) {
    row->verdict = StageVerdict::kIntroduced;
    row->cause =
        "the network itself: it had the original's input, so a check of its layers (model_check) names the guilty one";
    return Status::Ok();
  }
  if (!options_.model || port_.Before(j) < 0) {
    row->verdict = StageVerdict::kDiffers;
    row->reason = "its input differs; the network's file tells whether it adds to that";
    return Status::Ok();
  }
  PLUMB_ASSIGN_OR_RETURN(const Tensor input, port_.Values(port_.Before(j)));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, options_.model(input));
  for (const Tensor& output : outputs) {
    if (output.NumElements() != values.port.NumElements()) continue;
    row->max_own = CompareTensors(output, values.port).max_abs;
    row->has_own = true;
    const bool same = row->max_own <= options_.tolerance * LargestMagnitude(output);
    row->verdict = same ? StageVerdict::kInherited : StageVerdict::kIntroduced;
    row->cause = same ? "" : "the network itself: a check of its layers (model_check) names the guilty one";
    return Status::Ok();
  }
  row->verdict = StageVerdict::kDiffers;
  row->reason = "the network's file has no output of this size";
  return Status::Ok();
}

// Class numbers: the same but for near ties; or the places of the largest scores before them, as it should be.
bool SampleDiff::JudgeClasses(const Values& values, int i, int j, StageRow* row) {
  const auto scores = original_.Before(i) < 0 ? Result<Tensor>(Tensor()) : original_.Values(original_.Before(i));
  const auto difference = CompareClasses(values.original, values.port, scores.ok() ? *scores : Tensor());
  if (!difference.has_value()) return false;
  row->reason = difference->text;
  if (difference->near_ties) {
    row->verdict = StageVerdict::kAligned;
    return true;
  }
  if (!difference->cause.empty()) {
    row->verdict = StageVerdict::kIntroduced;
    row->cause = difference->cause;
    return true;
  }
  if (!IsTop(&original_, i, values.original) || !IsTop(&port_, j, values.port)) return false;
  row->verdict = StageVerdict::kInherited;
  row->original_does = row->port_does = "the place of the largest score";
  return true;
}

}  // namespace plumb
