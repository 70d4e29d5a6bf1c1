// SPDX-License-Identifier: Apache-2.0
#include "device_check/board.h"

#include <fmt/core.h>

namespace plumb {

void Board::Step(size_t machine, const std::string& name, int64_t done, int64_t total, const std::string& doing) {
  const std::lock_guard<std::mutex> lock(mutex_);
  lines_[machine] = {name, doing, done, total};
  int64_t all_done = 0, all = 0;
  std::string text;
  for (const Line& line : lines_) {
    all_done += line.done;
    all += line.total;
    if (!line.doing.empty()) text += (text.empty() ? "" : "; ") + fmt::format("{}: {}", line.name, line.doing);
  }
  if (all != total_) progress_.reset();
  total_ = all;
  const bool one = lines_.size() == 1;
  if (!progress_) progress_ = std::make_unique<Progress>(one ? name : "machines", all, quiet_);
  progress_->Step(all_done, one ? doing : text);
}

void Board::Print(const std::function<void()>& print) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (progress_) progress_->Clear();
  print();
}

}  // namespace plumb
