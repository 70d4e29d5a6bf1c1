// SPDX-License-Identifier: Apache-2.0
// model_convert -align: the original model in ONNX Runtime and the converted files on our devices, on the same inputs.
#ifndef PLUMB_TOOLS_ALIGN_H_
#define PLUMB_TOOLS_ALIGN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/cli.h"
#include "common/constants.h"
#include "common/inputs.h"
#include "plumb/align.h"

namespace plumb {

struct AlignArguments {
  std::string mode;  // empty: no alignment; "outputs" or "all"
  std::string devices = "NAIVE";
  int num_inputs = 1;
  double tolerance = AlignOptions().tolerance;
  InputArguments input;
  std::string signature;  // not an option: LoadOptions::signature of the original

  void AddTo(CommandLine* command_line);
};

// Returns kExitOk or kExitMisaligned after printing the report; a Status when nothing could be compared.
// `imported`: the original as the conversion loaded it; `constants`: those that it had.
Result<int> AlignAndPrint(const AlignArguments& arguments, const std::string& original, const Graph& imported,
                          const std::string& proto, uint64_t seed, const ConstantOptions& constants);

}  // namespace plumb

#endif  // PLUMB_TOOLS_ALIGN_H_
