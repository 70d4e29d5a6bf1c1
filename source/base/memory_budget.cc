// SPDX-License-Identifier: Apache-2.0
#include "base/memory_budget.h"

#include <fmt/core.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/control_group.h"

namespace plumb {
namespace {

std::atomic<uint64_t> given{0};  // 0: the default
std::atomic<uint64_t> used{0};

uint64_t DefaultBudget() {
  uint64_t machine = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  machine = std::min(machine, ControlGroupMemory());
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    machine = std::min<uint64_t>(machine, space.rlim_cur);
  return machine / 4 * 3;
}

}  // namespace

uint64_t MemoryBudget() {
  static const uint64_t usual = DefaultBudget();
  const uint64_t bytes = given.load(std::memory_order_relaxed);
  return bytes == 0 ? usual : bytes;
}

void SetMemoryBudget(uint64_t bytes) { given = bytes; }

uint64_t MemoryInUse() { return used.load(std::memory_order_relaxed); }

bool TakeMemory(uint64_t bytes) {
  const uint64_t budget = MemoryBudget();
  const uint64_t before = used.fetch_add(bytes, std::memory_order_relaxed);
  if (bytes <= budget && before <= budget - bytes) return true;
  used.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

void GiveMemory(uint64_t bytes) { used.fetch_sub(bytes, std::memory_order_relaxed); }

Status NoMemory(uint64_t bytes, const std::string& what) {
  const uint64_t budget = MemoryBudget(), in_use = MemoryInUse();
  if (bytes <= budget && in_use <= budget - bytes) {
    return Status::OutOfMemory(
        fmt::format("no memory for {}: the system refuses {} bytes (ulimit -v, or the machine is full)", what, bytes));
  }
  return Status::OutOfMemory(
      fmt::format("no memory for {}: {} bytes, with {} in use of the {} that SetMaxMemory allows", what, bytes,
                  MemoryInUse(), MemoryBudget()));
}

Status CheckMemory(uint64_t bytes, const std::string& what) {
  const uint64_t budget = MemoryBudget(), in_use = MemoryInUse();
  return bytes <= budget && in_use <= budget - bytes ? Status::Ok() : NoMemory(bytes, what);
}

bool HasAddressSpace(uint64_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  ::munmap(memory, bytes);
  return true;
}

}  // namespace plumb
