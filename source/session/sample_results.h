// SPDX-License-Identifier: Apache-2.0
// SampleResults: the file of what many samples gave (ManyOptions::results), so that a call that was killed goes on. Its
// first line says of which network and options it is; then a JSON line per sample and device, with a checksum of the
// input values: a sample whose file was changed is another one.
#ifndef PLUMB_SESSION_SAMPLE_RESULTS_H_
#define PLUMB_SESSION_SAMPLE_RESULTS_H_

#include <fstream>
#include <map>
#include <string>

#include "plumb/tool/many.h"

namespace plumb {

// Of input values by name, in all of their bits.
std::string ChecksumOf(const std::map<std::string, Tensor>& tensors);

class SampleResults {
 public:
  // Reads what stands there of options.device; a last line that was cut off is taken away. Without options.results
  // nothing is read or written. InvalidArgument: it is of another network or of other options.
  Status Open(const ManyOptions& options, const Graph& graph);
  // What a sample gave with these inputs, or null.
  const SampleResult* Find(const std::string& sample, const std::string& inputs) const;
  Status Add(const SampleResult& result, const std::string& inputs);

 private:
  struct Done {
    SampleResult result;
    std::string inputs;
  };
  Status Foreign(const std::string& found) const;

  std::string path_, device_;
  std::map<std::string, Done> known_;
  std::ofstream out_;
};

}  // namespace plumb

#endif  // PLUMB_SESSION_SAMPLE_RESULTS_H_
