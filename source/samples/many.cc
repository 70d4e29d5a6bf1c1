// SPDX-License-Identifier: Apache-2.0
#include "plumb/tool/many.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/threads.h"
#include "check/core/metrics.h"
#include "check/core/scores.h"
#include "plumb/dump.h"
#include "plumb/plumb.h"
#include "plumb/tool/interrupt.h"
#include "samples/dumped_samples.h"
#include "samples/sample_results.h"

namespace plumb {
namespace {

SampleResult OfOutput(const std::string& name, const Tensor& device, const Tensor& reference) {
  SampleResult result;
  result.output = name;
  result.relative = RelativeDifference(CompareTensors(device, reference), reference);
  if (!IsScoreVector(device.shape())) return result;
  const int64_t found = TopIndices(device, 1)[0], expected = TopIndices(reference, 1)[0];
  result.top1_device = found, result.top1_reference = expected;
  result.changed = found != expected;
  result.margin = reference.ValueAt(expected) - reference.ValueAt(found);
  result.moved = result.margin + device.ValueAt(found) - device.ValueAt(expected);
  return result;
}

// Without the dump that the environment may ask for, which is of the run that is looked at.
Result<std::unique_ptr<Network>> NetworkOf(const std::shared_ptr<const Graph>& graph, const std::string& device,
                                           const NetworkOptions& options) {
  PLUMB_ASSIGN_OR_RETURN(std::shared_ptr<Device> opened, OpenDevice(device, options.device_index));
  return Network::Create(graph, std::move(opened), options);
}

// One of the two that are compared: a network of ours, or what somebody else computed.
struct Side {
  std::unique_ptr<Network> network;
  std::optional<DumpedSamples> dumps;
};

class ManyRunner {
 public:
  ManyRunner(const ManyOptions& options, const std::shared_ptr<const Graph>& graph)
      : options_(options), graph_(graph) {}

  ~ManyRunner() { SetNumThreads(threads_); }  // networks set their own

  Status Open(const std::vector<Sample>& samples) {
    for (const Sample& sample : samples) ++of_that_name_[DumpedSamples::NameOf(sample.name)];
    PLUMB_ASSIGN_OR_RETURN(const DumpOptions dump, DumpOptionsFromEnvironment());
    NetworkOptions plain = options_.network;
    plain.single_forward = false;
    plain.unfuse = plain.unfuse || dump.unfuse;
    PLUMB_RETURN_IF_ERROR(OpenSide("subject", options_.subject, options_.device, plain, &tested_));
    NetworkOptions own;
    own.input_shapes = plain.input_shapes;
    own.num_threads = threads_;
    PLUMB_RETURN_IF_ERROR(OpenSide("golden", options_.golden, "NAIVE", own, &reference_));
    const Network* network = tested_.network != nullptr ? tested_.network.get() : reference_.network.get();
    if (network != nullptr) {
      blobs_ = network->blobs();
    } else {
      PLUMB_ASSIGN_OR_RETURN(blobs_, InferShapes(*graph_, options_.network.input_shapes));
    }
    return results_.Open(options_, *graph_);
  }

  // The sample's result, run or out of the file of results.
  Result<SampleResult> Take(const Sample& sample, bool* kept) {
    Given given;
    const Status ready = Prepare(sample, &given);
    const SampleResult* done = results_.Find(sample.name, given.checksum);
    *kept = done != nullptr;
    if (*kept) return *done;
    PLUMB_RETURN_IF_ERROR(results_.Begin(sample.name));
    auto ran = ready.ok() ? Run(&given) : ready;
    SampleResult result;
    if (ran.ok()) {
      result = std::move(*ran);
    } else {
      result.error = ran.status().message();
    }
    result.name = sample.name;
    PLUMB_RETURN_IF_ERROR(results_.Add(result, given.checksum));
    return result;
  }

  Status Finish(const std::vector<Sample>& samples) {
    std::vector<std::string> names;
    for (const Sample& sample : samples) names.push_back(sample.name);
    return results_.Close(names);
  }

 private:
  using Values = std::map<std::string, Tensor>;
  struct Given {
    Values inputs, tested, reference;
    std::string checksum;  // of all of them; empty: they could not be read
  };

  Status OpenSide(const std::string& what, const SampleDumps& dumps, const std::string& device,
                  const NetworkOptions& network, Side* side) const {
    if (!dumps.given()) {
      PLUMB_ASSIGN_OR_RETURN(side->network, NetworkOf(graph_, device, network));
      return Status::Ok();
    }
    if (what == "golden" && options_.make_golden) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(side->dumps, DumpedSamples::Open(what, dumps.path, SampleBatch(*graph_)));
    return Status::Ok();
  }

  SampleReading Reading(const char* what) const {
    const SampleDumps& dumps = std::string(what) == "golden" ? options_.golden : options_.subject;
    return {what, dumps.pairing, options_.subject.given() && options_.golden.given(), *graph_, blobs_, options_.record};
  }

  Status Read(const Side& side, const char* what, const std::string& sample, const Values& inputs,
              Values* values) const {
    if (!side.dumps) return Status::Ok();
    const std::string name = DumpedSamples::NameOf(sample);
    if (of_that_name_.at(name) > 1)
      return Status::InvalidArgument(fmt::format("several samples are named '{}', and the {} has one", name, what));
    PLUMB_ASSIGN_OR_RETURN(const TensorSource source, side.dumps->Find(sample));
    PLUMB_ASSIGN_OR_RETURN(*values, OutputsOf(source, inputs, Reading(what)));
    return Status::Ok();
  }

  // All that lies in files.
  Status Prepare(const Sample& sample, Given* given) const {
    InputOptions options = options_.inputs;
    options.files = sample.files;
    PLUMB_ASSIGN_OR_RETURN(options.values, sample.Values());
    PLUMB_ASSIGN_OR_RETURN(NetworkInputs inputs, PrepareInputs(options, *graph_, blobs_));
    given->inputs = std::move(inputs.values);
    PLUMB_RETURN_IF_ERROR(Read(tested_, "subject", sample.name, given->inputs, &given->tested));
    PLUMB_RETURN_IF_ERROR(Read(reference_, "golden", sample.name, given->inputs, &given->reference));
    given->checksum = ChecksumOf({&given->inputs, &given->tested, &given->reference});
    return Status::Ok();
  }

  Result<SampleResult> Run(Given* given) {
    if (tested_.network != nullptr) {
      PLUMB_ASSIGN_OR_RETURN(given->tested, RunNetwork(tested_.network.get(), given->inputs));
    }
    if (reference_.network != nullptr) {
      PLUMB_ASSIGN_OR_RETURN(given->reference, RunNetwork(reference_.network.get(), given->inputs));
    }
    if (options_.golden.given() && options_.make_golden) {
      PLUMB_ASSIGN_OR_RETURN(const GoldenRun golden, options_.make_golden(given->inputs));
      PLUMB_ASSIGN_OR_RETURN(given->reference, OutputsOf({golden.folder(), {}}, given->inputs, Reading("golden")));
    }
    SampleResult worst;
    for (const auto& [name, value] : given->tested) {
      const auto reference = given->reference.find(name);
      if (reference == given->reference.end()) continue;
      SampleResult one = OfOutput(name, value, reference->second);
      if (worst.output.empty() || IsWorse(one, worst)) worst = std::move(one);
    }
    if (worst.output.empty())
      return Status::InvalidArgument("golden and subject (or device) have no network output in common");
    return worst;
  }

  const ManyOptions& options_;
  const std::shared_ptr<const Graph>& graph_;
  const int threads_ = NumThreads();
  BlobTable blobs_;
  std::map<std::string, int> of_that_name_;  // how many samples
  Side tested_, reference_;
  SampleResults results_;
};

}  // namespace

int64_t SampleBatch(const Graph& graph) {
  return graph.inputs.empty() ? 1 : std::max<int64_t>(1, graph.inputs[0].shape.DimOrOne(0));
}

Status BeginResults(const Graph& graph, const ManyOptions& options) {
  SampleResults results;
  return results.Open(options, graph);
}

Result<ManyReport> CheckMany(const std::shared_ptr<const Graph>& graph, const std::vector<Sample>& samples,
                             const ManyOptions& options) {
  ManyRunner runner(options, graph);
  PLUMB_RETURN_IF_ERROR(runner.Open(samples));
  std::vector<SampleResult> results;
  int64_t all_kept = 0;
  for (const Sample& sample : samples) {
    PLUMB_RETURN_IF_ERROR(Interrupter::Check());
    if (options.progress) options.progress(static_cast<int64_t>(results.size()), sample.name);
    bool kept = false;
    PLUMB_ASSIGN_OR_RETURN(SampleResult result, runner.Take(sample, &kept));
    all_kept += kept;
    results.push_back(std::move(result));
  }
  PLUMB_RETURN_IF_ERROR(runner.Finish(samples));
  ManyReport report = RankSamples(std::move(results));
  report.kept = all_kept;
  return report;
}

}  // namespace plumb
