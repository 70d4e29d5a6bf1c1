// SPDX-License-Identifier: Apache-2.0
// What model_check is asked for.
#ifndef PLUMB_TOOLS_MODEL_CHECK_OPTIONS_H_
#define PLUMB_TOOLS_MODEL_CHECK_OPTIONS_H_

#include <string>

#include "common/cli.h"
#include "common/inputs.h"
#include "common/model_options.h"
#include "common/output_options.h"
#include "model_check/files.h"
#include "model_check/foreign.h"
#include "model_check/many.h"

namespace plumb {

struct Options {
  ModelOptions model;
  RunOptions run;
  std::string device;
  InputArguments input;
  ManyArguments many;
  bool probe = false;
  bool headroom = false;
  std::string extract, bundle, show;
  bool with_model = false, poison = false;
  int repeat = 0, vary_threads = 0, batch = 0;
  std::string inputs_to;
  ForeignArguments foreign;
  FileOptions files;
  bool full = false;
  bool all = false;
  bool no_source_lines = false;
  OutputOptions output;
  std::vector<std::string> layers;
  std::string min_tested = "50%";
  std::string json, csv, junit, markdown, html, sarif, model_explorer;
  std::string baseline;
  std::string reason, until;  // of --update-baseline
  bool update_baseline = false;
  std::string again;  // the call, to be typed again for one device: without -d and what only reports

  void AddTo(CommandLine* command_line);
  // A share between 0 and 1.
  Result<double> MinTested() const;

 private:
  void AddReports(CommandLine* command_line);
  Status CheckDeviceOptions(const CommandLine& command_line) const;
};

}  // namespace plumb

#endif  // PLUMB_TOOLS_MODEL_CHECK_OPTIONS_H_
