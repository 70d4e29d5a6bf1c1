// One call of model_check: the model, its inputs, and what is judged on them, one after the other.
#ifndef PLUMB_TOOLS_MODEL_CHECK_RUN_H_
#define PLUMB_TOOLS_MODEL_CHECK_RUN_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/dumping.h"
#include "foreign.h"
#include "model_check/options.h"
#include "plumb/golden.h"
#include "plumb/report.h"

namespace plumb {

class Run {
 public:
  explicit Run(const Options& options) : options_(options), foreign_(options.foreign) {}

  // Does all that was asked for, prints it, writes the reports; returns the exit code.
  int Go();

 private:
  Status Load();
  Status ParseAsked();
  void Judge();
  // The golden judged like a device: where it computed a layer otherwise than the model here says, the conversion is wrong.
  Status JudgeGolden();
  Status JudgeSubject();
  void JudgeOn(AskedDevice* asked);
  // Judges every layer; compares the outputs with -f when it is given; writes what -do and -du ask for.
  Status CheckDevice(const std::string& device, Network* network);
  // -e: network outputs only, against -f or NAIVE.
  Status CheckOutputs(const std::string& device, Network* network);
  Status CheckLayerFiles();
  // Says what stands in the way, and keeps it for the conclusion.
  void AddError(const Status& status);
  int Finish();
  // At the size that golden or subject ran at, when there is one.
  Status LoadGraph();
  Status CheckConstants() const;
  // The golden gets the input that the check would have without it.
  Status MakeGolden(const BlobTable& blobs);
  Status LoadInputs(const BlobTable& blobs);
  void Describe();
  void AddConversion(RunReport* report) const;
  std::function<Status(const std::string&, const Tensor&, const Tensor&)> OnWrong() const;
  Status CompareWith(const std::string& device, const NamedValues& outputs, const NamedValues& reference);
  Status WriteOutputs(const NamedValues& outputs, const NamedValues& reference) const;
  CheckOptions CheckOptionsHere() const;
  void Print(const RunReport& run) const;
  void Say(const std::string& text) const;

  const Options& options_;
  Foreign foreign_;
  std::optional<GoldenRun> golden_run_;
  NetworkOptions network_options_;
  std::shared_ptr<const Graph> graph_;
  NetworkInputs inputs_;
  ComparisonRule rule_;
  DumpLog dump_log_;
  double min_tested_ = 0.5;
  CheckResult result_;
};

}  // namespace plumb

#endif  // PLUMB_TOOLS_MODEL_CHECK_RUN_H_
