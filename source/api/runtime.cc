// SPDX-License-Identifier: Apache-2.0
#include "plumb/plumb.h"

#include "base/cpu.h"
#include "base/threads.h"
#include "device/device.h"

namespace plumb {

Status SetRuntime(const RuntimeOptions& options) {
  if (options.num_threads < 0) {
    return Status::InvalidArgument("RuntimeOptions::num_threads: expected 0 or more, found " +
                                   std::to_string(options.num_threads));
  }
  const Status isa = options.max_isa.empty() ? CheckIsaEnvironment()
                                             : SetMaxIsa(options.max_isa).AddContext("RuntimeOptions::max_isa");
  if (isa.ok()) SetNumThreads(options.num_threads);
  return isa;
}

RuntimeInfo GetRuntime() { return {NumCpus(), NumThreads(), IsaName(), IsaName(CpuIsa())}; }

Result<std::vector<Precision>> DevicePrecisions(const std::string& device) {
  PLUMB_ASSIGN_OR_RETURN(const auto opened, OpenDevice(device));
  std::vector<Precision> precisions;
  for (const Precision precision : {Precision::kHigh, Precision::kNormal, Precision::kLow}) {
    if (opened->EffectivePrecision(precision) == precision) precisions.push_back(precision);
  }
  return precisions;
}

}  // namespace plumb
