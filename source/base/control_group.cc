// SPDX-License-Identifier: Apache-2.0
// /proc/self/cgroup says which group the process is in, per hierarchy ("4:memory:/docker/1f", version 2: "0::/user/a"),
// /proc/self/mountinfo where a hierarchy is mounted, and which of its groups is the mount's root.
#include "base/control_group.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

namespace plumb {
namespace {

struct Hierarchy {
  bool unified = false;              // version 2
  std::vector<std::string> folders;  // of the group and of those around it, innermost first
};

std::vector<std::string> SplitAt(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

bool ListHas(const std::string& list, const std::string& word) {
  const std::vector<std::string> words = SplitAt(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The process's group of the hierarchy; `controller` "": of version 2. "" where it is in none.
std::string GroupOf(const std::string& controller, const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? line.compare(0, 3, "0::") == 0 : ListHas(controllers, controller))
      return line.substr(second + 1);
  }
  return "";
}

// A group may lie outside of what is mounted (a container's own name for it): then the mount's root is all there is.
std::vector<std::string> FoldersUpTo(const std::string& mount, const std::string& mount_root, std::string group) {
  if (mount_root != "/") {
    const bool inside = group.compare(0, mount_root.size(), mount_root) == 0 &&
                        (group.size() == mount_root.size() || group[mount_root.size()] == '/');
    group = inside ? group.substr(mount_root.size()) : "";
  }
  if (group.find("/..") != std::string::npos) group.clear();
  std::vector<std::string> folders;
  for (; !group.empty() && group != "/"; group.resize(group.find_last_of('/'))) {
    folders.push_back(mount + group);
    if (group[0] != '/') break;
  }
  folders.push_back(mount);
  return folders;
}

// All hierarchies that may limit what `controller` counts.
std::vector<Hierarchy> HierarchiesOf(const std::string& controller, const std::string& root) {
  std::vector<Hierarchy> found;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    // 25 30 0:23 ROOT MOUNT rw,nosuid shared:8 - cgroup2 cgroup2 rw
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const std::vector<std::string> place = SplitAt(line.substr(0, dash), ' ');
    const std::vector<std::string> kind = SplitAt(line.substr(dash + 3), ' ');
    if (place.size() < 5 || kind.size() < 3) continue;
    const bool unified = kind[0] == "cgroup2";
    if (!unified && (kind[0] != "cgroup" || !ListHas(kind[2], controller))) continue;
    found.push_back({unified, FoldersUpTo(root + place[4], place[3], GroupOf(unified ? "" : controller, root))});
  }
  return found;
}

// The number that a file begins with; `otherwise` where there is none ("max", -1, no file).
uint64_t NumberIn(const std::string& path, uint64_t otherwise) {
  std::ifstream file(path);
  std::string word;
  if (!(file >> word) || word.find_first_not_of("0123456789") != std::string::npos || word.size() > 19)
    return otherwise;
  return std::stoull(word);
}

// Version 1 says there what the groups around it allow, also those that are not mounted.
uint64_t HierarchicalLimit(const std::string& folder) {
  std::ifstream file(folder + "/memory.stat");
  std::string name;
  uint64_t value = 0;
  while (file >> name >> value) {
    if (name == "hierarchical_memory_limit") return value;
  }
  return UINT64_MAX;
}

double CpusOf(const std::string& folder, bool unified) {
  std::string quota;
  double period = 0;
  if (unified) {  // "max 100000" or "200000 100000"
    std::ifstream file(folder + "/cpu.max");
    if (!(file >> quota >> period)) return 0;
    return quota == "max" || period <= 0 ? 0 : std::stod("0" + quota) / period;
  }
  const uint64_t allowed = NumberIn(folder + "/cpu.cfs_quota_us", 0);
  const uint64_t of = NumberIn(folder + "/cpu.cfs_period_us", 0);
  return of == 0 ? 0 : static_cast<double>(allowed) / static_cast<double>(of);
}

}  // namespace

uint64_t ControlGroupMemory(const std::string& root) {
  uint64_t least = UINT64_MAX;
  for (const Hierarchy& hierarchy : HierarchiesOf("memory", root)) {
    const char* const name = hierarchy.unified ? "/memory.max" : "/memory.limit_in_bytes";
    for (const std::string& folder : hierarchy.folders) least = std::min(least, NumberIn(folder + name, UINT64_MAX));
    if (!hierarchy.unified) least = std::min(least, HierarchicalLimit(hierarchy.folders[0]));
  }
  return least;
}

double ControlGroupCpus(const std::string& root) {
  double least = 0;
  for (const Hierarchy& hierarchy : HierarchiesOf("cpu", root)) {
    for (const std::string& folder : hierarchy.folders) {
      const double cpus = CpusOf(folder, hierarchy.unified);
      if (cpus > 0 && (least == 0 || cpus < least)) least = cpus;
    }
  }
  return least;
}

}  // namespace plumb
