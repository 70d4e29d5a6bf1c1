// SPDX-License-Identifier: Apache-2.0
// What device_check is asked for.
#ifndef PLUMB_TOOLS_DEVICE_CHECK_OPTIONS_H_
#define PLUMB_TOOLS_DEVICE_CHECK_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/cli.h"
#include "common/inputs.h"
#include "common/model_options.h"
#include "common/output_options.h"

namespace plumb {

struct DeviceCheckOptions {
  // Machines; none: this one.
  std::vector<std::string> adb, ssh;
  std::string ssh_config, device_folder;
  double timeout = 0, silence = 30;
  bool clean = false;
  // What runs there.
  std::string binaries, runner;
  std::string device = "ALL";
  RunOptions run;
  // On what.
  ModelOptions model;
  InputArguments input;
  // Who judges: model_check there, or this machine what model_run (or a program) there dumps.
  std::string judge = "there", part_size = "64M";
  std::string program;
  std::vector<std::string> push;
  std::string output_folder;  // keeps the dumps
  DumpWords words;            // of a dump
  // How it is judged and printed.
  std::vector<std::string> layers;
  std::string min_tested = "50%";
  OutputOptions output;
  bool all = false, full = false;
  std::string json;
  std::string again;  // the call, to be typed again: without -d and what only reports

  bool judges_here() const { return judge == "here" || !program.empty(); }
  void AddTo(CommandLine* command_line);

 private:
  void AddMachines(CommandLine* command_line);
  void AddDumps(CommandLine* command_line);
  Status CheckModes() const;
  Status CheckDumpVariables() const;
};

}  // namespace plumb

#endif  // PLUMB_TOOLS_DEVICE_CHECK_OPTIONS_H_
