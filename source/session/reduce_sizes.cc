// SPDX-License-Identifier: Apache-2.0
// The sizes of a case: which of them go together is found by trying, since only the shape rules know.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "session/reduce_step.h"

namespace plumb {
namespace {

constexpr size_t kMostSubsets = 400;

// Positions in a list of `count`: each alone, each two of them ...; only the small ones and all where these are many.
std::vector<std::vector<size_t>> Subsets(size_t count) {
  std::vector<std::vector<size_t>> subsets, last = {{}};
  for (size_t size = 1; size <= count && subsets.size() < kMostSubsets; ++size) {
    std::vector<std::vector<size_t>> next;
    for (const std::vector<size_t>& shorter : last) {
      for (size_t i = shorter.empty() ? 0 : shorter.back() + 1; i < count && next.size() < kMostSubsets; ++i) {
        next.push_back(shorter);
        next.back().push_back(i);
      }
    }
    subsets.insert(subsets.end(), next.begin(), next.end());
    last = std::move(next);
  }
  if (subsets.empty() || subsets.back().size() == count) return subsets;
  subsets.emplace_back();
  for (size_t i = 0; i < count; ++i) subsets.back().push_back(i);
  return subsets;
}

bool HasDim(const std::vector<CaseSize>& sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](const CaseSize& one) { return one.of.kind == ModelSize::kDim; });
}

std::string SizeText(const CaseSize& size) {
  const std::string name = fmt::format("'{}'", size.of.name);
  if (size.of.kind == ModelSize::kDim) return fmt::format("axis {} of {}", size.of.at, name);
  return size.of.kind == ModelSize::kElement ? fmt::format("element {} of {}", size.of.at, name) : name;
}

std::string CutText(const std::vector<CaseSize>& sizes, int64_t begin, int64_t end) {
  std::string text;
  for (const CaseSize& size : sizes) text += (text.empty() ? "" : ", ") + SizeText(size);
  return fmt::format("{}: {} to {} (from {} on)", text, sizes[0].of.size, end - begin, begin);
}

Result<CaseModel> CutCopy(const CaseModel& model, const std::vector<CaseSize>& sizes, int64_t begin, int64_t end) {
  CaseModel copy = model;
  for (const CaseSize& size : sizes) PLUMB_RETURN_IF_ERROR(copy.Cut(size, begin, end));
  return copy;
}

}  // namespace

Result<bool> StepReducer::CutTogether(std::vector<CaseSize> sizes) {
  const std::string folder = NewFolder();
  bool any = false, cut = true;
  while (cut && sizes[0].of.size > 1) {
    cut = false;
    const int64_t size = sizes[0].of.size, half = (size + 1) / 2;
    std::vector<std::pair<int64_t, int64_t>> pieces;
    if (half > 1) pieces = {{0, 1}, {size / 2, size / 2 + 1}};
    pieces.insert(pieces.end(), {{0, half}, {size - half, size}});
    for (const auto& [begin, end] : pieces) {
      const auto smaller = CutCopy(*model_, sizes, begin, end);
      // What does not fit together is no try: it is how sizes that go together are found.
      if (!smaller.ok() || !smaller->CheckSizes(folder).ok()) continue;
      PLUMB_ASSIGN_OR_RETURN(cut, Try(*smaller, CutText(sizes, begin, end)));
      if (!cut) continue;
      model_ = *smaller;
      for (CaseSize& one : sizes) one.of.size = end - begin;
      any = true;
      break;
    }
  }
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  return any;
}

Status StepReducer::ShrinkSize(int64_t size) {
  std::vector<CaseSize> all;
  for (const CaseSize& one : model_->Sizes()) {
    if (one.of.size == size) all.push_back(one);
  }
  std::set<size_t> cut;
  for (const std::vector<size_t>& subset : Subsets(all.size())) {
    if (SecondsLeft() <= 0) break;
    std::vector<CaseSize> together;
    for (const size_t i : subset) {
      if (cut.count(i) == 0) together.push_back(all[i]);
    }
    if (together.size() < subset.size() || !HasDim(together)) continue;
    PLUMB_ASSIGN_OR_RETURN(const bool smaller, CutTogether(std::move(together)));
    if (smaller) cut.insert(subset.begin(), subset.end());
  }
  return Status::Ok();
}

Status StepReducer::ShrinkSizes() {
  std::set<int64_t> done;
  while (SecondsLeft() > 0) {
    int64_t largest = 1;
    for (const CaseSize& one : model_->Sizes()) {
      if (done.count(one.of.size) == 0) largest = std::max(largest, one.of.size);
    }
    if (largest == 1) return Status::Ok();
    PLUMB_RETURN_IF_ERROR(ShrinkSize(largest));
    done.insert(largest);
  }
  reduced_->in_time = false;
  return Status::Ok();
}

}  // namespace plumb
