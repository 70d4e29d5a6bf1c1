// SPDX-License-Identifier: Apache-2.0
// --inputs: many samples on each device, or a subject's, outputs only, before the worst one is checked layer by layer.
#ifndef PLUMB_TOOLS_MODEL_CHECK_MANY_H_
#define PLUMB_TOOLS_MODEL_CHECK_MANY_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/cli.h"
#include "plumb/report.h"
#include "plumb/tool/many.h"

namespace plumb {

struct ManyArguments {
  std::string samples, results, executor = "processes", part;
  int workers = 0;  // 0: by the number of samples and CPUs
  bool samples_only = false;
  std::vector<std::string> command;  // this call without what a part has otherwise

  void AddTo(CommandLine* command_line);
  // When the other options are declared, too.
  static void AddRulesTo(CommandLine* command_line);
  // From the command line that was parsed.
  void Keep(const CommandLine& command_line);
  bool given() const { return !samples.empty(); }
  // "2/5" of --part: 2 and 5; without it 1 and 1. InvalidArgument otherwise.
  Result<std::pair<int64_t, int64_t>> Part() const;
  // A sample that says the shapes which a model leaves open; without files and values: none does.
  Sample OneWithShapes() const;
};

struct ManyOutcome {
  std::string text;  // for people
  Sample worst;      // over all devices; where none of these is there, the first
  // Of that sample, where there are such.
  TensorSource subject, golden;
  bool ran = false;
  // Why the first device that was left out is; its exit code.
  Status left_out = Status::Ok();
  int exit_code = 0;
  int64_t failed = 0, all = 0;  // samples that no device could run, samples
};

// How the samples are run; ManyOptions without the device.
struct ManyRun {
  std::shared_ptr<const Graph> graph;
  ManyOptions options;
  bool quiet = false;
  size_t width = 100;
};

// The subject comes first, where there is one. A device that is not there or cannot run the network is left out, for
// the check, where layers are judged, will say so. InvalidArgument: no sample could be run.
Result<ManyOutcome> RunSamples(const ManyArguments& arguments, const ManyRun& run,
                               const std::vector<AskedDevice>& devices);

}  // namespace plumb

#endif  // PLUMB_TOOLS_MODEL_CHECK_MANY_H_
