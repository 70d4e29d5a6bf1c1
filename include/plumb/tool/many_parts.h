// SPDX-License-Identifier: Apache-2.0
// Many samples (plumb/tool/many.h) in several processes: each runs every n-th sample and writes its lines to a file of
// its own; here they become one file of results. A process that dies is started again and goes on behind what it has
// done. The sample that ended it twice is an error of that sample. Whatever the number of processes, the results are
// the same bytes, as each sample runs on the same options.
//
// Example:
//   plumb::PartsOptions parts;
//   parts.command = {"model_check", "-m", "net.onnx", "-d", "X86", "--inputs", "photos", "--samples-only"};
//   parts.results = "photos.jsonl";
//   PLUMB_ASSIGN_OR_RETURN(const auto samples, plumb::ListSamples("photos", 1));
//   for (const plumb::Sample& sample : samples) parts.samples.push_back(sample.name);
//   parts.workers = parts.parts = 4;
//   PLUMB_RETURN_IF_ERROR(plumb::RunParts(parts));  // CheckMany with the same results finds all of it done
//
// Threading: one call at a time for one file of results.
#ifndef PLUMB_TOOL_MANY_PARTS_H_
#define PLUMB_TOOL_MANY_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plumb/status.h"

namespace plumb {

// How many processes are worth their start: one for each eight samples, and no more than there are CPUs; 0: none.
int WorthwhileWorkers(size_t samples);

struct PartsOptions {
  // The program and its arguments; "--part K/N --results FILE" are added: samples K, K + N, ... counted from 1.
  std::vector<std::string> command;
  std::string results;  // what stands there is not run again; FILE.part-K are beside it meanwhile
  std::vector<std::string> samples;
  int64_t parts = 1;
  int workers = 1;   // so many at once
  bool ray = false;  // on a Ray cluster, by plumbnn in $PLUMB_PYTHON (or what GoldenOptions::python says)
  std::function<void(int64_t done)> progress;  // samples, on each device; or empty
};

// InvalidArgument: a process could not do its work, with what it said. DeviceError: an Interrupter says stop.
Status RunParts(const PartsOptions& options);

}  // namespace plumb

#endif  // PLUMB_TOOL_MANY_PARTS_H_
