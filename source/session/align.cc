// SPDX-License-Identifier: Apache-2.0
#include "plumb/align.h"

#include <fmt/core.h>

#include <algorithm>

#include "check/core/metrics.h"
#include "graph/file_order.h"
#include "op/core/op.h"
#include "plumb/inputs.h"
#include "plumb/plumb.h"
#include "session/foreign.h"
#include "session/foreign_judge.h"

namespace plumb {
namespace {

AlignedTensor Compare(const std::string& name, const Tensor& ours, const Tensor& theirs, double tolerance) {
  AlignedTensor tensor;
  tensor.name = name;
  tensor.shape = ours.shape();
  if (ours.shape() != theirs.shape()) {
    tensor.problem =
        fmt::format("has the shape {}, the original's is {}", ours.shape().ToString(), theirs.shape().ToString());
    tensor.equal = false;
    return tensor;
  }
  tensor.difference = CompareTensors(ours, theirs);
  tensor.relative = RelativeDifference(tensor.difference, theirs);
  tensor.equal = tensor.relative <= tolerance;
  return tensor;
}

// Compares every tensor that both sides have while the network runs.
class LayerWatcher : public Observer {
 public:
  LayerWatcher(const Graph& graph, const Golden& golden, double tolerance, AlignedDevice* report)
      : graph_(graph), golden_(golden), tolerance_(tolerance), report_(report) {}

  Status After(const LayerEvent& event) override {
    const StepInfo& step = event.step();
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const auto it = golden_.tensors.find(step.outputs[i].blob);
      if (it == golden_.tensors.end()) {
        ++report_->unpaired;
        continue;
      }
      PLUMB_ASSIGN_OR_RETURN(Tensor ours, event.Output(i));
      PLUMB_ASSIGN_OR_RETURN(ours, ToFileOrder(graph_, it->first, ours));
      PLUMB_ASSIGN_OR_RETURN(ours, ours.ConvertedTo(graph_.ModelDType(it->first, ours.dtype())));
      report_->layers.push_back({step.index, step.name, step.type, step.kernel, step.members.back().nodes,
                                 Compare(it->first, ours, it->second, tolerance_)});
      if (report_->layers.back().tensor.equal) continue;
      if (report_->first_different < 0) report_->first_different = static_cast<int>(report_->layers.size()) - 1;
      report_->equal = false;
    }
    return Status::Ok();
  }

 private:
  const Graph& graph_;
  const Golden& golden_;
  double tolerance_;
  AlignedDevice* report_;
};

Result<std::unique_ptr<Network>> Prepare(const std::shared_ptr<const Graph>& graph, const std::string& device,
                                         bool unfuse) {
  NetworkOptions options;
  options.unfuse = unfuse;
  options.fallback = true;
  return CreateNetwork(graph, device, options);
}

// The original's run, each step on its own inputs. Which integers its weights were is in the original alone.
Result<RunReport> JudgeOriginal(const std::string& original, const Graph& graph,
                                const std::map<std::string, Tensor>& inputs, const std::string& folder,
                                const GoldenOptions& golden) {
  ImportRecord record;
  LoadOptions load;
  load.evaluator = ReferenceEvaluator();
  load.record = &record;
  load.input_values = golden.constants;
  load.signature = golden.signature;
  for (const auto& [name, value] : inputs) load.open_shapes[name] = value.shape();
  PLUMB_RETURN_IF_ERROR(LoadModel(original, load).status());
  PairingOptions pairing;
  if (!graph.file_axes.empty()) pairing.layout = "NHWC";
  Foreign foreign(pairing, false);
  PLUMB_RETURN_IF_ERROR(foreign.OpenGolden({folder, {}}));
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(graph));
  PLUMB_RETURN_IF_ERROR(foreign.Pair(graph, blobs, {}));
  CheckOptions check;
  check.record = &record;
  check.inherited = false;
  return JudgeForeign("original", graph, *foreign.golden(), inputs, std::nullopt, std::move(check));
}

Result<RunReport> JudgeDevice(const std::shared_ptr<const Graph>& graph, const std::string& device,
                              const std::map<std::string, Tensor>& inputs) {
  PLUMB_ASSIGN_OR_RETURN(const auto network, Prepare(graph, device, false));
  CheckOptions options;
  options.causes = options.inherited = false;
  Checker checker(options);
  PLUMB_RETURN_IF_ERROR(checker.Attach(network.get(), inputs));
  PLUMB_RETURN_IF_ERROR(RunNetwork(network.get(), inputs).status());
  return checker.Finish();
}

bool HasIntegers(const Graph& graph) {
  return std::any_of(graph.layers.begin(), graph.layers.end(),
                     [](const Layer& layer) { return layer.kind == OpKind::kPlumbQuantizeLinear; });
}

// Each runtime rounds integers in its own way, so that later layers differ though every step is right.
Status JudgeSteps(const std::shared_ptr<const Graph>& graph, const std::map<std::string, Tensor>& inputs,
                  RunReport original, AlignReport* report) {
  report->steps.push_back(std::move(original));
  for (const AlignedDevice& device : report->devices) {
    if (device.device == "NAIVE" || device.equal) continue;
    PLUMB_ASSIGN_OR_RETURN(RunReport judged, JudgeDevice(graph, device.device, inputs));
    report->steps.push_back(std::move(judged));
  }
  report->equal = std::all_of(report->steps.begin(), report->steps.end(),
                              [](const RunReport& run) { return run.verdict == Verdict::kAligned; });
  return Status::Ok();
}

}  // namespace

Result<AlignedDevice> AlignDevice(const std::shared_ptr<const Graph>& graph, const std::string& device,
                                  const std::map<std::string, Tensor>& inputs, const Golden& golden,
                                  const AlignOptions& options) {
  AlignedDevice report;
  report.device = device;
  PLUMB_ASSIGN_OR_RETURN(const auto network, Prepare(graph, device, false));
  PLUMB_ASSIGN_OR_RETURN(const auto outputs, RunNetwork(network.get(), inputs));
  for (const std::string& name : graph->outputs) {
    const auto it = golden.tensors.find(name);
    if (it == golden.tensors.end())
      return Status::InvalidArgument(fmt::format("the original gave no tensor named '{}'", name));
    report.outputs.push_back(Compare(name, outputs.at(name), it->second, options.tolerance));
    report.equal = report.equal && report.outputs.back().equal;
  }
  if (report.equal && !options.every_layer) return report;
  LayerWatcher watcher(*graph, golden, options.tolerance, &report);  // outlives the network
  PLUMB_ASSIGN_OR_RETURN(const auto unfused, Prepare(graph, device, true));
  unfused->AddObserver(&watcher);
  PLUMB_RETURN_IF_ERROR(RunNetwork(unfused.get(), inputs).status());
  return report;
}

Result<AlignReport> Align(const std::string& original, const std::shared_ptr<const Graph>& graph,
                          const std::vector<std::string>& devices, const std::map<std::string, Tensor>& inputs,
                          const AlignOptions& options, const GoldenOptions& golden_options) {
  PLUMB_ASSIGN_OR_RETURN(const GoldenRun run, GoldenRun::Of(original, inputs, golden_options));
  PLUMB_ASSIGN_OR_RETURN(const Golden golden, ReadGolden(run.folder()));
  AlignReport report;
  report.original = golden.description;
  report.framework = run.framework();
  for (const std::string& device : devices) {
    PLUMB_ASSIGN_OR_RETURN(AlignedDevice aligned, AlignDevice(graph, device, inputs, golden, options));
    report.equal = report.equal && aligned.equal;
    report.devices.push_back(std::move(aligned));
  }
  if (report.equal) return report;
  PLUMB_ASSIGN_OR_RETURN(RunReport steps, JudgeOriginal(original, *graph, inputs, run.folder(), golden_options));
  if (HasIntegers(*graph) || !steps.computed_as.empty())
    PLUMB_RETURN_IF_ERROR(JudgeSteps(graph, inputs, std::move(steps), &report));
  return report;
}

}  // namespace plumb
