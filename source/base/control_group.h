// SPDX-License-Identifier: Apache-2.0
// What the control groups of this process allow it: containers, services and batch systems limit memory and processor
// time by them, and whoever takes more memory is killed without a word. Both versions; the group's own limits and those
// of the groups around it, as far as they are mounted. Threading: free functions.
#ifndef PLUMB_BASE_CONTROL_GROUP_H_
#define PLUMB_BASE_CONTROL_GROUP_H_

#include <cstdint>
#include <string>

namespace plumb {

// Bytes; UINT64_MAX: no limit. `root` stands before every path: tests have their own /proc and /sys.
uint64_t ControlGroupMemory(const std::string& root = "");

// CPUs' worth of time ("1.5"); 0: no limit.
double ControlGroupCpus(const std::string& root = "");

}  // namespace plumb

#endif  // PLUMB_BASE_CONTROL_GROUP_H_
