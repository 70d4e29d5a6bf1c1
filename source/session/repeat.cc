// SPDX-License-Identifier: Apache-2.0
#include "session/repeat.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/text.h"

namespace plumb {
namespace {

// Relative to the largest value; infinite where one side alone is not finite.
double LargestChange(const Tensor& before, const Tensor& now, int64_t* elements) {
  double change = 0, largest = 0;
  for (int64_t i = 0; i < before.NumElements(); ++i) {
    const double a = before.ValueAt(i), b = now.ValueAt(i);
    if (std::isnan(a) && std::isnan(b)) continue;
    *elements += a != b ? 1 : 0;
    if (a != b) change = std::isfinite(a - b) ? std::max(change, std::fabs(a - b)) : INFINITY;
    if (std::isfinite(a)) largest = std::max(largest, std::fabs(a));
  }
  return largest > 0 ? change / largest : change;
}

// `now` holds so many items of the shape of `before` along axis 0.
bool HoldsItems(const Tensor& before, const Tensor& now, int64_t items) {
  Shape shape = before.shape();
  if (shape.rank() == 0) return false;
  shape[0] *= items;
  return now.shape() == shape;
}

}  // namespace

Status RepeatObserver::ForwardBegin(int /*forward*/) {
  ++forwards_;
  changed_now_ = false;
  return Status::Ok();
}

Status RepeatObserver::After(const LayerEvent& event) {
  const StepInfo& step = event.step();
  for (size_t i = 0; i < step.outputs.size() && !changed_now_; ++i) {
    const std::string& blob = step.outputs[i].blob;
    PLUMB_ASSIGN_OR_RETURN(Tensor now, event.Output(i));
    if (forwards_ == 1) {
      first_[blob] = std::move(now);
      continue;
    }
    const Tensor& before = first_.at(blob);
    const bool same_size = before.shape() == now.shape();
    if (!same_size && !HoldsItems(before, now, items_)) {
      ++other_shapes_;
      continue;
    }
    for (int64_t item = 0; item < (same_size ? 1 : items_) && !changed_now_; ++item) {
      char* bytes = static_cast<char*>(now.raw()) + before.bytes() * static_cast<size_t>(item);
      if (std::memcmp(before.raw(), bytes, before.bytes()) == 0) continue;
      NoteChange(step, before, Tensor::View(before.dtype(), before.shape(), bytes, std::make_shared<Tensor>(now)));
    }
  }
  return Status::Ok();
}

void RepeatObserver::NoteChange(const StepInfo& step, const Tensor& before, const Tensor& now) {
  changed_now_ = true;
  ++changed_forwards_;
  ++first_changes_[step.name];
  if (!example_.empty()) return;
  int64_t elements = 0;
  const double relative = LargestChange(before, now, &elements);
  example_ =
      fmt::format("step {} '{}' ({}, {}) in Forward {}: {} of {} values, by {} of the largest", step.index, step.name,
                  step.type, step.kernel, forwards_, elements, now.NumElements(), Number(relative, 2));
}

std::string RepeatObserver::Describe() const {
  if (changed_forwards_ == 0)
    return fmt::format("repeated: {} Forwards have the same bits in all {} tensors", forwards_, first_.size());
  std::string names;
  for (const auto& [name, count] : first_changes_)
    names += fmt::format("{}'{}' ({} times)", names.empty() ? "" : ", ", name, count);
  return fmt::format(
      "repeated: {} of {} later Forwards compute otherwise than the first; first changes {}; what changes first: {}",
      changed_forwards_, forwards_ - 1, example_, names);
}

std::string RepeatObserver::DescribePoisoned() const {
  if (changed_forwards_ == 0)
    return fmt::format(
        "poisoned: with NaN in all outputs and workspaces before each step, all {} tensors have the same "
        "bits",
        first_.size());
  return "poisoned: memory that nobody wrote is read, with NaN in it other values come out; first changes " + example_;
}

std::string RepeatObserver::DescribeVaried(const std::string& how) const {
  if (mixes_) return how + ": the network itself looks across axis 0, so that items are not compared";
  if (changed_forwards_ > 0) return fmt::format("{}: other values come out; first changes {}", how, example_);
  std::string text = fmt::format("{}: all {} tensors have the same bits", how,
                                 first_.size() - std::min(first_.size(), static_cast<size_t>(other_shapes_)));
  if (other_shapes_ > 0) text += fmt::format("; {} have another shape and are not compared", other_shapes_);
  return text;
}

}  // namespace plumb
