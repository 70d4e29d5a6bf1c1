// What model_check is asked for, and the command line that asks for it again.
#ifndef PLUMB_TOOLS_MODEL_CHECK_OPTIONS_H_
#define PLUMB_TOOLS_MODEL_CHECK_OPTIONS_H_

#include <string>

#include "common/cli.h"
#include "common/inputs.h"
#include "common/model_options.h"
#include "foreign.h"
#include "model_check/files.h"

namespace plumb {

struct Options {
  ModelOptions model;
  RunOptions run;
  std::string device;
  InputOptions input;
  ForeignOptions foreign;
  FileOptions files;
  bool full = false;
  bool quiet = false;
  std::string json, csv;

  void AddTo(CommandLine* command_line);
};

// The command line without -d and the report options.
std::string Reproduce(const Options& options);

}  // namespace plumb

#endif  // PLUMB_TOOLS_MODEL_CHECK_OPTIONS_H_
