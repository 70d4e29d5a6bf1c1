// SPDX-License-Identifier: Apache-2.0
// What several machines print and are doing at once: each thing whole, and one bar for all.
#ifndef PLUMB_TOOLS_DEVICE_CHECK_BOARD_H_
#define PLUMB_TOOLS_DEVICE_CHECK_BOARD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/cli.h"

namespace plumb {

// Threading: any thread.
class Board {
 public:
  Board(size_t machines, bool quiet) : lines_(machines), quiet_(quiet) {}
  // Of the machine by its number: so many of so many steps are done, and what it does now.
  void Step(size_t machine, const std::string& name, int64_t done, int64_t total, const std::string& doing);
  // Takes the bar away and prints.
  void Print(const std::function<void()>& print);
  // Held by the one that judges: it takes all processors and much memory here.
  std::mutex& judging() { return judging_; }

 private:
  struct Line {
    std::string name, doing;
    int64_t done = 0, total = 0;
  };
  std::mutex mutex_, judging_;
  std::vector<Line> lines_;
  bool quiet_;
  int64_t total_ = -1;
  std::unique_ptr<Progress> progress_;
};

}  // namespace plumb

#endif  // PLUMB_TOOLS_DEVICE_CHECK_BOARD_H_
