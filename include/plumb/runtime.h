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
#ifndef PLUMB_RUNTIME_H_
#define PLUMB_RUNTIME_H_

#include <string>
#include <vector>

#include "plumb/precision.h"
#include "plumb/status.h"

namespace plumb {

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

#endif  // PLUMB_RUNTIME_H_
