// SPDX-License-Identifier: Apache-2.0
// The options that bring other runtimes in: --subject (what is judged) and --golden (what is taken as right).
#ifndef PLUMB_TOOLS_MODEL_CHECK_FOREIGN_H_
#define PLUMB_TOOLS_MODEL_CHECK_FOREIGN_H_

#include <string>
#include <vector>

#include "common/cli.h"
#include "common/model_options.h"
#include "plumb/session.h"

namespace plumb {

struct ForeignArguments {
  std::string subject, golden, expect;
  DumpWords words;
  bool pair_by_order = false;
  std::vector<std::string> tensors;  // of raw files: NAME=1,3,224,224 or NAME=i32:1,10

  void AddTo(CommandLine* command_line);
  Status Read(SessionOptions* options) const;
};

}  // namespace plumb

#endif  // PLUMB_TOOLS_MODEL_CHECK_FOREIGN_H_
