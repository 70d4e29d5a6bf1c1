// SPDX-License-Identifier: Apache-2.0
// --constant NAME=VALUES or NAME=FILE: network inputs of an ONNX model that become constants
// (LoadOptions::input_values).
#ifndef PLUMB_TOOLS_COMMON_CONSTANTS_H_
#define PLUMB_TOOLS_COMMON_CONSTANTS_H_

#include <map>
#include <string>
#include <vector>

#include "common/cli.h"
#include "plumb/tensor.h"

namespace plumb {

struct ConstantOptions {
  std::vector<std::string> texts;

  void AddTo(CommandLine* command_line);
  // VALUES are a list (i64 when all are whole numbers, else f64), to which the network input gives its dtype and shape.
  Result<std::map<std::string, Tensor>> Read() const;
  // For reports: one line per constant, "sr: the constant 16000".
  std::vector<std::string> Lines() const;
};

}  // namespace plumb

#endif  // PLUMB_TOOLS_COMMON_CONSTANTS_H_
