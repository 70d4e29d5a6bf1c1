// SPDX-License-Identifier: Apache-2.0
// SampleResults: the file of what many samples gave (ManyOptions::results), so that a call that was killed goes on. Its
// first line says of which network and options it is; then a JSON line per sample and device, with a checksum of the
// input values: a sample whose file was changed is another one.
#ifndef PLUMB_SAMPLES_SAMPLE_RESULTS_H_
#define PLUMB_SAMPLES_SAMPLE_RESULTS_H_

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plumb/tool/many.h"

namespace plumb {

// Of values by name, in all of their bits.
std::string ChecksumOf(const std::vector<const std::map<std::string, Tensor>*>& values);

// The lines of several such files as one: a head, then of each device the samples in the order of `names`, others
// behind them; of each device and sample the last line that says a result. The first text has the head.
std::string JoinResults(const std::vector<std::string>& texts, const std::vector<std::string>& names);

// Without the samples that ended their processes, so that they are tried again.
std::string WithoutDied(const std::string& text);

class SampleResults {
 public:
  // Reads what stands there of options.device; a last line that was cut off is taken away. Without options.results
  // nothing is read or written. InvalidArgument: it is of another network or of other options.
  Status Open(const ManyOptions& options, const Graph& graph);
  // What a sample gave with these inputs, or null. What failed is to be tried again, but for what ended its process
  // twice.
  const SampleResult* Find(const std::string& sample, const std::string& inputs) const;
  // With ManyOptions::says_begun. InvalidArgument: somebody took the file away.
  Status Begin(const std::string& sample);
  Status Add(const SampleResult& result, const std::string& inputs);
  // Puts the lines in the order of the samples.
  Status Close(const std::vector<std::string>& names);

 private:
  struct Done {
    SampleResult result;
    std::string inputs;
    bool final = false;
  };
  Status OfOthers(const std::string& found) const;
  Status ReadLines(const std::string& text, const std::string& head);
  Status AddThoseThatDied();
  Status Write(const nlohmann::ordered_json& line);

  std::string path_, device_;
  bool says_begun_ = false;
  std::map<std::string, int> begun_;
  std::map<std::string, Done> known_;
  std::ofstream out_;
};

}  // namespace plumb

#endif  // PLUMB_SAMPLES_SAMPLE_RESULTS_H_
