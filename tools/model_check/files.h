// SPDX-License-Identifier: Apache-2.0
// model_check's comparisons of whole tensors without a bound, and the files that it writes: TNN's options -e, -f, -b,
// -a, -do and -du with their meaning (doc/check.md), without TNN's silent passes.
#ifndef PLUMB_TOOLS_MODEL_CHECK_FILES_H_
#define PLUMB_TOOLS_MODEL_CHECK_FILES_H_

#include <map>
#include <memory>
#include <string>

#include "common/inputs.h"
#include "plumb/diff.h"
#include "plumb/network.h"
#include "plumb/report.h"

namespace plumb {

struct FileOptions {
  bool outputs_only = false;   // -e
  std::string reference;       // -f
  bool double_batch = false;   // -b
  std::string layer_files;     // -a: prefix of one TNN text file per blob
  std::string output_folder;   // -do
  std::string output_here;     // -o, which may stand alone
  std::string failing_folder;  // -du
  std::string rule = "default";
  std::string atol, rtol;

  void AddTo(CommandLine* command_line);
  Result<ComparisonRule> Rule() const;

 private:
  Status CheckFolders();
};

// Repeats dim 0 of every input; all inputs must have the same dim 0, as TNN wants it.
Status DoubleBatch(NetworkInputs* inputs, std::map<std::string, Shape>* shapes);

using NamedValues = std::map<std::string, Tensor>;

// Runs the network on NAIVE and returns its outputs.
Result<NamedValues> RunReference(const std::shared_ptr<const Graph>& graph, const NetworkOptions& options,
                                 const NetworkInputs& inputs);
// Every network output from a file (-f); InvalidArgument when one is missing or has another element count.
Result<NamedValues> ReadReference(const std::string& path, const NamedValues& like, bool doubled);

// Prints one block per output (per batch item with `by_item`), returns whether all keep the rule.
Result<bool> CompareOutputs(const ComparisonRule& rule, const NamedValues& device, const NamedValues& reference,
                            bool by_item);

// Writes cpu_<name>.txt and device_<name>.txt into the folder (made when missing), values only, one per line.
Status WritePair(const std::string& folder, const std::string& name, const Tensor& reference, const Tensor& device);

// -a: runs NAIVE and compares every layer's outputs with <prefix><blob>.txt; prints each; missing files are "not
// tested". Returns the exit code's meaning: wrong, or nothing compared, or aligned.
Result<FileComparison> CompareLayerFiles(const FileOptions& options, const std::shared_ptr<const Graph>& graph,
                                         const NetworkOptions& network_options, const NetworkInputs& inputs);

}  // namespace plumb

#endif  // PLUMB_TOOLS_MODEL_CHECK_FILES_H_
