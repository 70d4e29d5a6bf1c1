// SPDX-License-Identifier: Apache-2.0
// The front door of the library: devices by name, and networks that honour the environment.
//
// Devices are named as on the command line: NAIVE, X86, ARM, OPENCL, VULKAN. A device that is not built in or not
// present is a Status with one clear sentence, never a crash.
#ifndef PLUMB_PLUMB_H_
#define PLUMB_PLUMB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plumb/graph.h"
#include "plumb/model.h"
#include "plumb/network.h"
#include "plumb/status.h"

namespace plumb {

// "0.1.0"
const char* Version();

struct DeviceInfo {
  std::string name;
  bool present = false;
  std::string description;            // present: CPU, driver, versions; absent: why, and how to install it
  std::vector<std::string> adapters;  // of OPENCL and VULKAN: every GPU or driver, as device_index counts them
};

// All devices that Plumb knows, built in or not, NAIVE first.
std::vector<DeviceInfo> ListDevices();

// "X86" or "ARM", whichever this build has; "NAIVE" in one that has neither.
const char* CpuDeviceName();

// InvalidArgument, with the names that there are, for a name that is no device's. Opens nothing.
Status CheckDeviceName(const std::string& name);

// The device of that name, the index-th where a machine has several. NotFound when it is not present (exit code 3),
// InvalidArgument for an unknown name or index.
Result<std::shared_ptr<Device>> OpenDevice(const std::string& name, int index = 0);

// Prepares a network on the named device. Reads the DUMP_* and SAVE_IO_TENSORS environment once, now (doc/dump.md).
Result<std::unique_ptr<Network>> CreateNetwork(std::shared_ptr<const Graph> graph, const std::string& device,
                                               const NetworkOptions& options = {});
// The same for a graph that nobody else uses.
inline Result<std::unique_ptr<Network>> CreateNetwork(Graph graph, const std::string& device,
                                                      const NetworkOptions& options = {}) {
  return CreateNetwork(std::make_shared<const Graph>(std::move(graph)), device, options);
}

// How much memory blobs, weights, tensors and unpacked files of this process may take; what would take more fails with
// OutOfMemory before it is allocated. 0: the default, 3/4 of the machine or of the limit that its control group or
// ulimit -v sets. Threading: any thread, for what is allocated from then on.
void SetMaxMemory(uint64_t bytes);
uint64_t MaxMemory();

// NAIVE as LoadOptions::evaluator.
Evaluator ReferenceEvaluator();

// What the process computes with: threads, and the vector instructions that kernels may use. One setting holds for all
// networks of the process, so that a report can name it.
//
// Example:
//   PLUMB_ASSIGN_OR_RETURN(plumb::Graph graph, plumb::LoadModel("net.tnnproto"));
//   PLUMB_RETURN_IF_ERROR(plumb::SetRuntime({2, "AVX2"}));
//   PLUMB_ASSIGN_OR_RETURN(auto two_threads, plumb::CreateNetwork(std::move(graph), "X86"));
//   std::printf("%d threads, %s\n", plumb::GetRuntime().num_threads, plumb::GetRuntime().isa.c_str());
//
// Threading: SetRuntime before kernels run; GetRuntime from any thread.

struct RuntimeOptions {
  int num_threads = 0;  // 1..256; 0: as many as there are CPUs
  // "SSE41", "AVX2", "AVX512": hold the kernels to these instructions; "DEFAULT": no cap. "": as it is, which is at
  // first what PLUMB_MAX_CPU_ISA says.
  std::string max_isa;
};

// InvalidArgument, naming the field, for what is none of the above, and for a PLUMB_MAX_CPU_ISA that is none; nothing
// is changed then.
Status SetRuntime(const RuntimeOptions& options);

struct RuntimeInfo {
  int num_cpus = 1;     // that this process may run on (affinity and cgroup quota considered)
  int num_threads = 1;  // that loops use
  std::string isa;      // that kernels use: "AVX2"
  std::string cpu_isa;  // that the CPU has
};
RuntimeInfo GetRuntime();

// What the device really computes in, HIGH first; it runs other precisions as one of these. Errors: those of
// OpenDevice.
Result<std::vector<Precision>> DevicePrecisions(const std::string& device);

}  // namespace plumb

#endif  // PLUMB_PLUMB_H_
