// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <filesystem>

#include "base/text.h"
#include "plumb/plumb.h"
#include "plumb/tool/file.h"
#include "session/case_files.h"
#include "session/reduce_step.h"

namespace plumb {
namespace {

// A step that was handed over, kept.
struct KeptStep {
  LayerReport report;
  std::vector<const Layer*> layers;
  std::vector<Tensor> inputs, device, reference, tau;

  explicit KeptStep(const StepCase& step)
      : report(step.report),
        layers(step.layers),
        inputs(step.inputs),
        device(step.device),
        reference(step.reference),
        tau(step.tau) {}
  StepCase View() const { return {report, layers, inputs, device, reference, tau}; }
};

// What the reference makes of the network outputs.
Result<std::vector<NamedTensor>> RightOutputs(const Graph& graph, const std::map<std::string, Tensor>& inputs) {
  PLUMB_ASSIGN_OR_RETURN(const auto network, CreateNetwork(Graph(graph), "NAIVE"));
  PLUMB_ASSIGN_OR_RETURN(const auto values, RunNetwork(network.get(), inputs));
  std::vector<NamedTensor> outputs;
  for (const std::string& name : graph.outputs) outputs.push_back({name, values.at(name)});
  return outputs;
}

std::string SaidOf(const ReducedCase& reduced) {
  std::string text = fmt::format("Reduced from {} layers to {}.", reduced.all_layers, reduced.layers);
  for (const std::string& layer : reduced.needed_before) text += fmt::format(" It needs {} before it.", layer);
  for (const std::string& layer : reduced.needed_behind) text += fmt::format(" It needs {} behind it.", layer);
  return text + " tried.jsonl lists what was tried.";
}

std::string InputsText(const std::vector<NamedTensor>& inputs) {
  std::string text;
  for (const NamedTensor& input : inputs) {
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", input.name, DTypeName(input.tensor.dtype()),
                        input.tensor.shape().ToString());
  }
  return text;
}

}  // namespace

Status WriteReducedCase(const CaseModel& model, const CaseJudge& judge, const ReduceOptions& options,
                        const std::set<std::string>& layers, const std::set<std::string>& blobs,
                        const std::string& folder, const std::string& work, ReducedCase* reduced) {
  constexpr double kLastSeconds = 600;
  PLUMB_ASSIGN_OR_RETURN(const std::string path, model.Write(work));
  std::vector<KeptStep> kept;
  CheckOptions check;
  check.on_step = [&](const StepCase& step) {
    RunReport one;
    one.layers.push_back(step.report);
    if (kept.empty() && FindGuilty(one, layers, blobs) != nullptr) kept.emplace_back(step);
    return Status::Ok();
  };
  PLUMB_ASSIGN_OR_RETURN(const JudgedModel judged,
                         judge.JudgePart(path, work + "/inputs.npz", work, kLastSeconds, std::move(check)));
  const LayerReport* guilty = FindGuilty(judged.report, layers, blobs);
  if (guilty == nullptr || kept.empty()) {
    reduced->tries.push_back({"the reduced case once more", false, "right: the fault comes and goes", 0});
    return Status::Ok();
  }
  const Graph& graph = *judged.session->graph();
  reduced->excess = guilty->Worst() == nullptr ? 0 : guilty->Worst()->excess;
  reduced->inputs = InputsText(model.inputs());
  PLUMB_ASSIGN_OR_RETURN(const auto outputs, RightOutputs(graph, judged.session->inputs().values));
  const StepCase step = kept[0].View();
  const std::string show = ShowScript(options, judge.session(), graph, model.is_onnx());
  const CaseContents contents = {
      graph, model.inputs(), outputs,          model.is_onnx() ? path : "",
      step,  show,           SaidOf(*reduced), options.show.empty() ? ShownByCommand(options.command) : options.show};
  PLUMB_RETURN_IF_ERROR(WriteCaseContents(folder, contents));
  reduced->folder = folder;
  ReduceReport alone;
  alone.cases.push_back(*reduced);
  return WriteFile(folder + "/tried.jsonl", FormatReduceLines(alone));
}

}  // namespace plumb
