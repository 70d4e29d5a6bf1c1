// SPDX-License-Identifier: Apache-2.0
// One call of model_check: the model, its inputs, and what is judged on them, one after the other.
#ifndef PLUMB_TOOLS_MODEL_CHECK_RUN_H_
#define PLUMB_TOOLS_MODEL_CHECK_RUN_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/dumping.h"
#include "model_check/bundle.h"
#include "model_check/options.h"
#include "plumb/report.h"
#include "plumb/session.h"
#include "plumb/tool/baseline.h"
#include "plumb/tool/check_all.h"

namespace plumb {

class Run {
 public:
  explicit Run(const Options& options)
      : options_(options), subject_(options.foreign.subject), golden_(options.foreign.golden) {}

  // Does all that was asked for, prints it, writes the reports; returns the exit code.
  int Go();

 private:
  Status Load();
  Status ParseAsked();
  void Judge();
  CheckPlan Plan();
  CheckHooks Hooks();
  Result<std::unique_ptr<Network>> Prepare(std::shared_ptr<Device> device, const NetworkOptions& options);
  // Prints a run; of a device compares the outputs with -f when it is given, and writes what -do asks for.
  Status Judged(RunReport* run, const std::map<std::string, Tensor>& outputs);
  void PrintGolden(const RunReport& golden);
  // -e: network outputs only, against -f or NAIVE.
  Status CheckOutputs(Network* network);
  void NotRun(AskedDevice* asked);
  Status CheckLayerFiles();
  // --headroom; the exit code.
  int ShowHeadroom() const;
  // Says what stands in the way, and keeps it for the conclusion.
  void AddError(const Status& status);
  int Finish();
  Status ReadBaseline();
  // What is worse than the baseline says is printed, and wrong; or the baseline is written anew.
  Status JudgeByBaseline();
  // The model, its inputs, subject and golden.
  Status OpenSession();
  // --inputs: runs them all; the worst one's inputs are those of the check.
  Status TakeWorstSample(SessionOptions options);
  // --golden onnxruntime, litert: of each sample.
  std::function<Result<GoldenRun>(const std::map<std::string, Tensor>&)> MakesGolden(
      const SessionOptions& options) const;
  void Take(std::unique_ptr<Session> session);
  // --samples-only, --part.
  bool LayersAreLeftOut() const;
  Status WriteInputs() const;
  Status WriteBundleTo(const std::string& path) const;
  void Describe(CheckedModel* checked) const;
  std::function<Status(const std::string&, const Tensor&, const Tensor&)> OnWrong() const;
  Status Extract(const StepCase& step);
  Status CompareWith(const std::string& device, const NamedValues& outputs, const NamedValues& reference);
  Status WriteOutputs(const NamedValues& outputs, const NamedValues& reference) const;
  void Print(const RunReport& run);
  void Say(const std::string& text) const;

  const Options& options_;
  std::string subject_, golden_;  // with --inputs those of the worst sample
  std::unique_ptr<Session> session_;
  NetworkOptions network_options_;
  std::shared_ptr<const Graph> graph_;
  NetworkInputs inputs_;
  ComparisonRule rule_;
  DumpLog dump_log_;
  CheckBundle bundle_;
  Baseline baseline_;
  double min_tested_ = 0.5;
  CheckResult result_;
  bool legend_said_ = false, device_begun_ = false, extracted_ = false;
};

}  // namespace plumb

#endif  // PLUMB_TOOLS_MODEL_CHECK_RUN_H_
