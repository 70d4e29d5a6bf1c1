// model_convert -align: the original model in ONNX Runtime and the converted files on our devices, on the same inputs.
// Output by output; where one differs (or with `all`) layer by layer, up to the first operator that differs.
#ifndef PLUMB_TOOLS_ALIGN_H_
#define PLUMB_TOOLS_ALIGN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/cli.h"
#include "common/constants.h"
#include "common/inputs.h"

namespace plumb {

struct AlignOptions {
  std::string mode;  // empty: no alignment; "outputs" or "all"
  std::string devices = "NAIVE";
  int num_inputs = 1;
  double tolerance = 1e-4;  // of the largest value of a tensor
  InputArguments input;

  void AddTo(CommandLine* command_line);
};

// Returns kExitOk or kExitMisaligned after printing the report; a Status when nothing could be compared.
// `constants`: the texts of --constant that the conversion had.
Result<int> Align(const AlignOptions& options, const std::string& original, const std::string& proto, uint64_t seed,
                  const ConstantOptions& constants);

}  // namespace plumb

#endif  // PLUMB_TOOLS_ALIGN_H_
