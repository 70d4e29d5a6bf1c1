// SPDX-License-Identifier: Apache-2.0
// --inputs: many samples on each device, outputs only, before the worst one is checked layer by layer.
#ifndef PLUMB_TOOLS_MODEL_CHECK_MANY_H_
#define PLUMB_TOOLS_MODEL_CHECK_MANY_H_

#include <memory>
#include <string>
#include <vector>

#include "common/cli.h"
#include "plumb/report.h"
#include "plumb/tool/many.h"

namespace plumb {

struct ManyArguments {
  std::string samples, results;

  void AddTo(CommandLine* command_line);
  // When the other options are declared, too.
  static void AddRulesTo(CommandLine* command_line);
  bool given() const { return !samples.empty(); }
  // A sample that says the shapes which a model leaves open; without files and values: none does.
  Sample OneWithShapes() const;
};

struct ManyOutcome {
  std::string text;  // for people
  Sample worst;      // over all devices; where none of these is there, the first
  bool ran = false;
  int64_t failed = 0, all = 0;  // samples that no device could run, samples
};

// How the samples are run; ManyOptions without the device.
struct ManyRun {
  std::shared_ptr<const Graph> graph;
  ManyOptions options;
  bool quiet = false;
  size_t width = 100;
};

// A device that is not there or cannot run the network is left out, for the check will say so. InvalidArgument: no
// sample could be run.
Result<ManyOutcome> RunSamples(const ManyArguments& arguments, const ManyRun& run,
                               const std::vector<AskedDevice>& devices);

}  // namespace plumb

#endif  // PLUMB_TOOLS_MODEL_CHECK_MANY_H_
