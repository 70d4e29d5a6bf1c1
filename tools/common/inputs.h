// SPDX-License-Identifier: Apache-2.0
// The input options that model_check, model_run and model_convert share.
#ifndef PLUMB_TOOLS_COMMON_INPUTS_H_
#define PLUMB_TOOLS_COMMON_INPUTS_H_

#include <string>
#include <vector>

#include "common/cli.h"
#include "plumb/inputs.h"

namespace plumb {

struct InputArguments {
  std::vector<std::string> files;  // FILE (all inputs by name, or the only input) or NAME=FILE
  std::string range;               // LO,HI of generated inputs
  std::string bias;                // of images and TNN's -n: comma separated
  std::string scale;
  std::string channel_order = "rgb";
  const std::string* samples = nullptr;  // --inputs of a tool that has it: where it is given, images may be among them
  std::string layout;                    // of given images of four dims; empty: the model's

  void AddTo(CommandLine* command_line);
  Result<InputOptions> Read(uint64_t seed) const;

 private:
  Status CheckImageOptions(const CommandLine& command_line) const;
};

}  // namespace plumb

#endif  // PLUMB_TOOLS_COMMON_INPUTS_H_
