// SPDX-License-Identifier: Apache-2.0
// The table of devices: one row each. A device that is not built in stays listed, with what to do about it.
#include <fmt/core.h>

#include <unistd.h>

#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/memory_budget.h"
#include "base/threads.h"
#include "device/device.h"
#include "device/naive/naive_device.h"
#include "plumb/dump.h"
#include "plumb/plumb.h"
#include "plumb/tool/printing.h"
#include "reference/core/reference_op.h"
#ifdef PLUMB_DEVICE_ARM
#include "device/arm/arm_device.h"
#endif
#ifdef PLUMB_DEVICE_OPENCL
#include "device/opencl/opencl_device.h"
#endif
#ifdef PLUMB_DEVICE_VULKAN
#include "device/vulkan/vulkan_device.h"
#endif
#ifdef PLUMB_DEVICE_X86
#include "device/x86/x86_device.h"
#endif

namespace plumb {
namespace {

struct Row {
  const char* name;
  Result<std::unique_ptr<Device>> (*create)(int index);  // null: not built in
  const char* absent;
  Result<std::vector<std::string>> (*adapters)();  // null: there is exactly one
};

Result<std::unique_ptr<Device>> CreateNaive(int) { return CreateNaiveDevice(); }
#ifdef PLUMB_DEVICE_X86
Result<std::unique_ptr<Device>> CreateX86(int) { return CreateX86Device(); }
#endif

#ifdef PLUMB_DEVICE_ARM
Result<std::unique_ptr<Device>> CreateArm(int) { return CreateArmDevice(); }
#endif

const Row kRows[] = {
    {"NAIVE", CreateNaive, "", nullptr},
#ifdef PLUMB_DEVICE_X86
    {"X86", CreateX86, "", nullptr},
#else
    {"X86", nullptr, "not built in: configure with -DPLUMB_DEVICE_X86=ON on an x86-64 machine with libdnnl-dev",
     nullptr},
#endif
#ifdef PLUMB_DEVICE_ARM
    {"ARM", CreateArm, "", nullptr},
#else
    {"ARM", nullptr, "not built in: it is part of builds for 64-bit ARM (platforms/linux/arm64.sh makes one)", nullptr},
#endif
#ifdef PLUMB_DEVICE_OPENCL
    {"OPENCL", CreateOpenclDevice, "", OpenclAdapters},
#else
    {"OPENCL", nullptr, "not built in: configure with -DPLUMB_DEVICE_OPENCL=ON and opencl-c-headers installed",
     nullptr},
#endif
#ifdef PLUMB_DEVICE_VULKAN
    {"VULKAN", CreateVulkanDevice, "", ListVulkanAdapters},
#else
    {"VULKAN", nullptr,
     "not built in: install libvulkan-dev and glslang-tools and configure with -DPLUMB_DEVICE_VULKAN=ON", nullptr},
#endif
};

// Threads that the system grants at once, at most `count`.
int StartableThreads(int count) {
  std::mutex hold;
  std::vector<std::thread> threads;
  std::unique_lock<std::mutex> lock(hold);
  try {
    for (int i = 0; i < count; ++i) threads.emplace_back([&hold] { const std::lock_guard<std::mutex> wait(hold); });
  } catch (const std::exception&) {  // std::system_error, std::bad_alloc
  }
  lock.unlock();
  for (std::thread& thread : threads) thread.join();
  return static_cast<int>(threads.size());
}

// A driver that finds no thread or no memory to compile in ends the process (PoCL: SIGABRT, lavapipe's LLVM: SIGSEGV):
// asked before its first call.
Status CheckRoomForDriver(const std::string& name) {
  constexpr uint64_t kRoom = uint64_t{1} << 30;
  static const bool has_room = HasAddressSpace(kRoom) && StartableThreads(2 * NumCpus() + 2) == 2 * NumCpus() + 2;
  if (has_room) return Status::Ok();
  return Status::NotFound(
      fmt::format("device {} is not opened: its driver takes threads and {} MiB of address space, which the limits of "
                  "this process refuse (ulimit -v, ulimit -u, a container's)",
                  name, kRoom >> 20));
}

// Opens the row's device. What a driver began before a fork does not work in the child, where its threads are missing:
// said, instead of hanging there.
Result<std::unique_ptr<Device>> Create(const Row& row, int index) {
  static std::mutex* mutex = new std::mutex;
  static auto* opened = new std::map<std::string, pid_t>;  // the process that opened it first
  {
    const std::lock_guard<std::mutex> lock(*mutex);
    const auto it = opened->find(row.name);
    if (it != opened->end() && it->second != getpid()) {
      return Status::NotSupported(
          fmt::format("device {} was opened before this process was forked, and its driver does not work in the child: "
                      "open it only after the fork",
                      row.name));
    }
  }
  if (row.adapters != nullptr) PLUMB_RETURN_IF_ERROR(CheckRoomForDriver(row.name));
  auto device = row.create(index);
  if (Logs(LogLevel::kDebug)) {
    Log(LogLevel::kDebug,
        fmt::format("device {} {}: {}", row.name, index,
                    device.ok() ? (*device)->Description() : "refused: " + device.status().message()));
  }
  if (!device.ok() || (*device)->SurvivesFork()) return device;
  const std::lock_guard<std::mutex> lock(*mutex);
  opened->emplace(row.name, getpid());
  return device;
}

}  // namespace

const char* Version() { return PLUMB_VERSION; }

std::vector<DeviceInfo> ListDevices() {
  std::vector<DeviceInfo> infos;
  for (const Row& row : kRows) {
    DeviceInfo info;
    info.name = row.name;
    info.description = row.absent;
    if (row.adapters != nullptr && CheckRoomForDriver(row.name).ok()) {
      auto adapters = row.adapters();
      if (adapters.ok()) info.adapters = std::move(adapters).value();
    }
    if (row.create != nullptr) {
      auto device = Create(row, 0);
      info.present = device.ok();
      info.description = device.ok() ? (*device)->Description() : device.status().message();
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

const char* CpuDeviceName() {
#if defined(PLUMB_DEVICE_X86)
  return "X86";
#elif defined(PLUMB_DEVICE_ARM)
  return "ARM";
#else
  return "NAIVE";
#endif
}

Status CheckDeviceName(const std::string& name) {
  std::string known;
  std::vector<std::string> names;
  for (const Row& row : kRows) {
    if (name == row.name) return Status::Ok();
    known += std::string(known.empty() ? "" : ", ") + row.name;
    names.emplace_back(row.name);
  }
  return Status::InvalidArgument(
      fmt::format("unknown device '{}'; the devices are {}{}", name, known, DidYouMean(name, names)));
}

Result<std::shared_ptr<Device>> OpenDevice(const std::string& name, int index) {
  for (const Row& row : kRows) {
    if (name != row.name) continue;
    if (row.create == nullptr) return Status::NotFound(fmt::format("device {} is {}", name, row.absent));
    if (row.adapters == nullptr && index != 0) {
      return Status::InvalidArgument(
          fmt::format("there is one device {}, and NetworkOptions::device_index is {}", name, index));
    }
    PLUMB_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, Create(row, index));
    return std::shared_ptr<Device>(std::move(device));
  }
  return CheckDeviceName(name);
}

Result<std::unique_ptr<Network>> CreateNetwork(std::shared_ptr<const Graph> graph, const std::string& device,
                                               const NetworkOptions& options) {
  PLUMB_ASSIGN_OR_RETURN(const DumpOptions dump, DumpOptionsFromEnvironment());
  PLUMB_ASSIGN_OR_RETURN(std::shared_ptr<Device> opened, OpenDevice(device, options.device_index));
  NetworkOptions effective = options;
  effective.unfuse = options.unfuse || dump.unfuse;
  PLUMB_ASSIGN_OR_RETURN(auto network, Network::Create(std::move(graph), std::move(opened), std::move(effective)));
  PLUMB_RETURN_IF_ERROR(AddDump(network.get(), dump));
  return network;
}

void SetMaxMemory(uint64_t bytes) { SetMemoryBudget(bytes); }
uint64_t MaxMemory() { return MemoryBudget(); }

Evaluator ReferenceEvaluator() {
  return [](const Layer& layer, const std::vector<const Tensor*>& inputs, const std::vector<Tensor*>& outputs) {
    return GetReferenceOp(layer.kind).run({layer, inputs, outputs});
  };
}

}  // namespace plumb
