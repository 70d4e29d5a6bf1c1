// One call of model_check: the model, its inputs, and what is judged on them, one after the other.
#ifndef PLUMB_TOOLS_MODEL_CHECK_RUN_H_
#define PLUMB_TOOLS_MODEL_CHECK_RUN_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "foreign.h"
#include "golden_run.h"
#include "model_check/options.h"
#include "plumb/report.h"

namespace plumb {

class Run {
 public:
  explicit Run(const Options& options) : options_(options), foreign_(options.foreign) {}

  Status Load();
  bool has_subject() const { return foreign_.subject() != nullptr; }
  bool has_golden() const { return foreign_.golden() != nullptr; }
  // With --quiet, which prints no report, this is where the headline is said.
  bool inputs_differ() const;

  // The golden judged like a device: where it computed a layer otherwise than the model here says, the conversion is wrong.
  Result<Verdict> JudgeGolden();
  Result<Verdict> JudgeSubject();
  // Judges every layer; compares the outputs with -f when it is given; writes what -do and -du ask for.
  Result<Verdict> CheckDevice(const std::string& device);
  // -e: network outputs only, against -f or NAIVE.
  Result<Verdict> CheckOutputs(const std::string& device);
  Result<Verdict> CheckLayerFiles() { return CompareLayerFiles(options_.files, graph_, network_options_, inputs_); }

  Status WriteReports() const;

 private:
  // At the size that golden or subject ran at, when there is one.
  Status LoadGraph();
  Status CheckConstants() const;
  // The golden gets the input that the check would have without it.
  Status MakeGolden(const BlobTable& blobs);
  Status LoadInputs(const BlobTable& blobs);
  void Describe();
  void AddConversion(RunReport* report) const;
  std::function<Status(const std::string&, const Tensor&, const Tensor&)> OnWrong() const;
  Status Forward(Network* network) const;
  Result<bool> CompareWith(const std::string& device, const NamedValues& outputs, const NamedValues& reference) const;
  Status WriteOutputs(const NamedValues& outputs, const NamedValues& reference) const;
  void Print(const RunReport& run) const;

  const Options& options_;
  Foreign foreign_;
  GoldenRun golden_run_;
  NetworkOptions network_options_;
  std::shared_ptr<const Graph> graph_;
  NetworkInputs inputs_;
  ComparisonRule rule_;
  CheckSubject subject_;
  std::vector<RunReport> reports_;
};

}  // namespace plumb

#endif  // PLUMB_TOOLS_MODEL_CHECK_RUN_H_
