// SPDX-License-Identifier: Apache-2.0
// Many samples: one network on many inputs, outputs only: a device, or what another runtime dumped, beside the
// reference or the original framework's outputs. Says which answers changed, how sure the share of equal ones is, and
// which sample to look at layer by layer. plumb/tool/many_parts.h shares them out among processes.
#ifndef PLUMB_TOOL_MANY_H_
#define PLUMB_TOOL_MANY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plumb/golden.h"
#include "plumb/inputs.h"
#include "plumb/subject.h"

namespace plumb {

struct Sample {
  std::string name;                // "cat.png", "17" of a .npz
  std::vector<std::string> files;  // as InputOptions::files; or:
  std::map<std::string, Tensor> values;
  std::function<Result<std::map<std::string, Tensor>>()> load;  // reads the values when they are needed; or empty

  Result<std::map<std::string, Tensor>> Values() const {
    return load ? load() : Result<std::map<std::string, Tensor>>(values);
  }
};

// A folder: each file is a sample of a network with one input, each folder in it one with a file for each input
// (x.npy of input 'x'), by name. A .txt: a path in each line, from the .txt's folder on. A .npz: arrays by input whose
// first axis counts the samples, `batch` in each; rows are read when they are needed (of what is compressed all are
// read here). NotFound, InvalidArgument: nothing there, arrays of other lengths.
Result<std::vector<Sample>> ListSamples(const std::string& path, int64_t batch);

// What was computed elsewhere for each sample: by another runtime, or by the original framework.
struct SampleDumps {
  // A folder with what TensorSource reads for each sample, under its name or that without an ending (of "cat.png":
  // cat/, cat.npz). Or, for the rows of a .npz, a .npz of outputs with as many rows.
  std::string path;
  PairingOptions pairing;
  bool given() const { return !path.empty(); }
};

// The tensors of that sample. `batch`: as of ListSamples. NotFound: it has none there; InvalidArgument: it has two.
Result<TensorSource> TensorsOfSample(const SampleDumps& dumps, const std::string& sample, int64_t batch);

// Of one sample, of the output that differs most.
struct SampleResult {
  std::string name;
  std::string error;     // why it could not be run; nothing below is meant then
  bool changed = false;  // the top-1 of some output that is read as scores
  std::string output;
  double relative = 0;  // the largest difference over the largest value of the reference; infinite: NaN on one side
  // Of scores: the classes, how far the reference's top-1 leads the device's, and by how much the two were moved.
  int64_t top1_device = -1, top1_reference = -1;
  double margin = 0, moved = 0;
};

// Whether `a` stands before `b`: its answer changed, or differs more; what could not be run comes last.
bool IsWorse(const SampleResult& a, const SampleResult& b);

struct ManyOptions {
  std::string device;  // with a subject its name, and nothing runs
  NetworkOptions network;
  SampleDumps subject;  // stands where a device stands
  SampleDumps golden;   // stands where the reference stands
  // Computes the golden of these inputs now; golden.path is then its name ("onnxruntime") and no file. Or empty.
  std::function<Result<GoldenRun>(const std::map<std::string, Tensor>& inputs)> make_golden;
  const ImportRecord* record = nullptr;  // of both: what LoadOptions::record was filled with; outlives the call
  InputOptions inputs;                   // how files are read; its files and values are the samples'
  // JSON lines of what is done, on one device or several. What stands there of the same input values is not run again.
  // Empty: none.
  std::string results;
  std::string model;  // its name, for the first line of `results`; a checksum beside it says which network it is
  // Also a line in `results` before each sample is run. One that was begun twice, and never ended, has ended the
  // process that ran it: it is not run a third time.
  bool says_begun = false;
  std::function<void(int64_t done, const std::string& sample)> progress;  // or empty
};

struct ManyReport {
  std::vector<SampleResult> samples;  // those that changed first, then by `relative`; then those that could not be run
  int64_t ran = 0, agreed = 0, failed = 0, kept = 0;  // kept: out of `results`
  double low = 0, high = 1;                           // 95 % interval of the share that agrees (Wilson)
};

// InvalidArgument: `results` is of another network or of other options. A sample that cannot be run, or that subject or
// golden lack or ran on another input, is its own result. At the end the lines of `results` stand in the order of the
// samples. The dump that the environment may ask for is not written here.
Result<ManyReport> CheckMany(const std::shared_ptr<const Graph>& graph, const std::vector<Sample>& samples,
                             const ManyOptions& options);

// The first dim of the network's first input: so many rows of a .npz are one sample.
int64_t SampleBatch(const Graph& graph);

// Begins the file of results, or finds that it is of this network and of these options, as CheckMany does first:
// InvalidArgument where it is of others.
Status BeginResults(const Graph& graph, const ManyOptions& options);

// The counts, the interval, and the worst first.
ManyReport RankSamples(std::vector<SampleResult> samples);

// Which two are compared: "on X86 and on the reference".
std::string SidesOf(const ManyOptions& options);

// A line of counts, which begins with these `sides`, and a table of the `most` worst samples, in lines of that width.
std::string FormatMany(const ManyReport& report, const std::string& sides, int most, size_t width = 100);

}  // namespace plumb

#endif  // PLUMB_TOOL_MANY_H_
