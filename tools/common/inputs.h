// Network inputs as the tools take them: from files (-i), or generated.
#ifndef PLUMB_TOOLS_COMMON_INPUTS_H_
#define PLUMB_TOOLS_COMMON_INPUTS_H_

#include <map>
#include <string>
#include <vector>

#include "common/cli.h"
#include "plumb/graph.h"

namespace plumb {

// The input options that model_check and model_run share.
struct InputOptions {
  std::vector<std::string> files;  // FILE (all inputs by name, or the only input) or NAME=FILE
  std::string range;               // LO,HI of generated inputs
  std::string bias;                // of images and TNN's -n: comma separated
  std::string scale;
  std::string channel_order = "rgb";

  void AddTo(CommandLine* command_line);

 private:
  Status CheckImageOptions(const CommandLine& command_line) const;
};

struct NetworkInputs {
  std::map<std::string, Tensor> values;  // one per network input
  std::vector<std::string> lines;        // one per network input, for reports
  bool generated = false;
};

// The shapes of the tensors in -i files, for inputs that the model leaves open (LoadOptions::open_shapes): by name, and "" for
// a single tensor whose name nobody says. A file that cannot be read is left to PrepareInputs.
std::map<std::string, Shape> ShapesOfFiles(const InputOptions& options);

// Every network input exactly once, of the dtype and shape that the prepared graph has. A file that fits no input, an input
// that no file gives while others are given, another shape: an error that names both sides.
Result<NetworkInputs> PrepareInputs(const InputOptions& options, const Graph& graph, const BlobTable& blobs, uint64_t seed);

}  // namespace plumb

#endif  // PLUMB_TOOLS_COMMON_INPUTS_H_
