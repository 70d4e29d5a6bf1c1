// SPDX-License-Identifier: Apache-2.0
// DumpedSamples: the network outputs that a subject or a golden holds of each sample.
#ifndef PLUMB_SAMPLES_DUMPED_SAMPLES_H_
#define PLUMB_SAMPLES_DUMPED_SAMPLES_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plumb/graph.h"
#include "plumb/model.h"
#include "plumb/tool/many.h"

namespace plumb {

// How the tensors of one sample become network outputs.
struct SampleReading {
  const char* what;  // "subject" or "golden"
  PairingOptions pairing;
  bool has_other;  // there is one of each, so that a name may be of either
  const Graph& graph;
  const BlobTable& blobs;
  const ImportRecord* record;  // or null
};

// Those network outputs that it has, paired and in the graph's layout. InvalidArgument: it has none of them, has one in
// another shape, or says that it ran on other inputs than these.
Result<std::map<std::string, Tensor>> OutputsOf(const TensorSource& source, const std::map<std::string, Tensor>& inputs,
                                                const SampleReading& how);

class DumpedSamples {
 public:
  // NotFound, InvalidArgument: as ListSamples, or no folder and no .npz.
  static Result<DumpedSamples> Open(const std::string& what, const std::string& path, int64_t batch);

  // What a dump of that sample is called, without an ending: of "images/cat.png" "cat".
  static std::string NameOf(const std::string& sample);
  // NotFound: it has nothing of that sample; InvalidArgument: it has two.
  Result<TensorSource> Find(const std::string& sample) const;

 private:
  DumpedSamples(std::string what, std::string path) : what_(std::move(what)), path_(std::move(path)) {}

  std::string what_, path_;
  std::map<std::string, std::vector<std::string>> paths_;  // by name, with and without an ending
  std::map<std::string, Sample> rows_;                     // of a .npz
};

}  // namespace plumb

#endif  // PLUMB_SAMPLES_DUMPED_SAMPLES_H_
