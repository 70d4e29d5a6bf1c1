// SPDX-License-Identifier: Apache-2.0
#include "session/case_judge.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/process.h"
#include "plumb/plumb.h"
#include "plumb/tool/interrupt.h"
#include "session/graph_values.h"

namespace plumb {
namespace {

constexpr double kWholeSeconds = 3600;  // of a command on the whole model

std::string LastWords(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

// `timeout` ends all that the shell has started.
ProcessResult RunForSeconds(const std::string& command, double seconds) {
  ProcessOptions options;
  options.merge = true;
  return RunProcess({"timeout", "-k", "5", fmt::format("{:.1f}", seconds), "sh", "-c", command}, options);
}

Status HowItEnded(const ProcessResult& ended, double seconds) {
  constexpr int kTimedOut = 124;
  if (!ended.error.empty()) return Status::InvalidArgument(ended.error);
  if (ended.exit_code == kTimedOut)
    return Status::InvalidArgument(fmt::format("the command took more than {:.0f} s", seconds));
  return Status::InvalidArgument(
      fmt::format("the command ended with exit code {}: {}", ended.exit_code, LastWords(ended.out)));
}

bool IsEmptyFolder(const std::string& folder) {
  std::error_code error;
  return std::filesystem::is_empty(folder, error) || error;
}

// Where fp32 was found, a whole run may hold convolutions by Winograd's algorithm (LoneWinograd). So may a part, unless
// that would explain what is wrong.
bool WinogradExplainsOne(const RunReport& report) {
  return std::any_of(report.layers.begin(), report.layers.end(), [](const LayerReport& layer) {
    return layer.verdict == Verdict::kWrong && layer.reason.find("Winograd's algorithm would") != std::string::npos;
  });
}

}  // namespace

std::string FilledCommand(std::string command, const std::map<std::string, std::string>& values) {
  for (const auto& [name, value] : values) {
    const std::string mark = "{" + name + "}";
    for (size_t at = command.find(mark); at != std::string::npos; at = command.find(mark, at + value.size()))
      command.replace(at, mark.size(), value);
  }
  return command;
}

Status RunShell(const std::string& command, double seconds) {
  const ProcessResult ended = RunForSeconds(command, seconds);
  return ended.exit_code == 0 ? Status::Ok() : HowItEnded(ended, seconds);
}

Result<std::string> LastLineOfCheck(const std::string& command, double seconds) {
  const ProcessResult ended = RunForSeconds(command, seconds);
  constexpr int kWrong = 1;
  if (ended.exit_code == 0 || ended.exit_code == kWrong) return LastWords(ended.out);
  return HowItEnded(ended, seconds);
}

Status CaseJudge::Dump(const std::string& model, const std::string& inputs, const std::string& dump,
                       double seconds) const {
  std::error_code error;
  std::filesystem::create_directories(dump, error);
  if (error) return Status::IoError(fmt::format("folder '{}' cannot be made: {}", dump, error.message()));
  const std::string command = FilledCommand(
      options_.command,
      {{"model", QuotedForShell(model)}, {"inputs", QuotedForShell(inputs)}, {"dump", QuotedForShell(dump)}});
  PLUMB_RETURN_IF_ERROR(RunShell(command, seconds));
  if (!IsEmptyFolder(dump)) return Status::Ok();
  return Status::InvalidArgument("the command wrote nothing into {dump}");
}

Result<JudgedModel> CaseJudge::Judge(const ModelFiles& model, SessionOptions options, double seconds,
                                     CheckOptions check) const {
  const auto begin = std::chrono::steady_clock::now();
  const Interrupter limit(
      [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds; });
  JudgedModel judged;
  options.checks_devices = !runs_command();
  PLUMB_ASSIGN_OR_RETURN(judged.session, Session::Open(model, options));
  if (runs_command()) {
    PLUMB_ASSIGN_OR_RETURN(judged.report, judged.session->JudgeSubject(std::move(check)));
    return judged;
  }
  PLUMB_ASSIGN_OR_RETURN(const auto network, Prepare(judged.session->graph()));
  PLUMB_ASSIGN_OR_RETURN(
      judged.report, judged.session->CheckNetwork(network.get(), judged.session->inputs().values, std::move(check)));
  return judged;
}

Result<std::unique_ptr<Network>> CaseJudge::Prepare(const std::shared_ptr<const Graph>& graph) const {
  NetworkOptions network = options_.network;
  std::set<std::string> names;
  for (const Layer& layer : graph->layers) names.insert(layer.name);
  for (auto it = network.kernels.begin(); it != network.kernels.end();)
    it = names.count(it->first) > 0 ? std::next(it) : network.kernels.erase(it);
  return options_.prepare ? options_.prepare(graph, network) : CreateNetwork(graph, options_.device, network);
}

Result<JudgedModel> CaseJudge::JudgeWhole(const ModelFiles& model, const std::string& work) {
  SessionOptions options = session_;
  if (runs_command()) {
    const std::string inputs = work + "/inputs.npz";
    if (gives_inputs()) {
      SessionOptions own = session_;
      own.checks_devices = true;  // every input is needed
      PLUMB_ASSIGN_OR_RETURN(const auto opened, Session::Open(model, own));
      std::vector<NamedTensor> tensors;
      for (const auto& [name, value] : opened->inputs().values) tensors.push_back({name, value});
      PLUMB_RETURN_IF_ERROR(WriteTensors(inputs, tensors));
      options.inputs.files = {inputs};
      options.inputs.values.clear();
    }
    options.subject.path = work + "/dump";
    PLUMB_RETURN_IF_ERROR(Dump(model.structure, inputs, options.subject.path, kWholeSeconds));
  }
  PLUMB_ASSIGN_OR_RETURN(JudgedModel judged, Judge(model, std::move(options), kWholeSeconds, {}));
  // A part of one step would be judged as whatever explains that step.
  const std::string& as = judged.report.judged_as;  // "NCHW, fp32+winograd"
  const size_t comma = as.find(", ");
  if (comma != std::string::npos) {
    const auto arithmetic = ParseArithmetic(as.substr(comma + 2));
    const bool declared = session_.arithmetic.has_value();
    if (arithmetic.ok()) session_.arithmetic = *arithmetic;
    if (!declared && session_.arithmetic == SubjectArithmetic::kFp32 && !WinogradExplainsOne(judged.report))
      session_.arithmetic = SubjectArithmetic::kWinograd;
    const std::string layout = as.substr(0, comma);
    if (layout == "NCHW" || layout == "NHWC") session_.pairing.layout = layout;
  }
  session_.load.input_shapes.clear();  // a part has its own inputs
  session_.load.open_shapes.clear();
  session_.load.input_values.clear();
  session_.inputs = InputOptions();
  return judged;
}

Result<JudgedModel> CaseJudge::JudgePart(const std::string& model, const std::string& inputs, const std::string& work,
                                         double seconds, CheckOptions check) const {
  SessionOptions options = session_;
  options.inputs.files = {inputs};
  if (runs_command()) {
    options.subject.path = work + "/dump";
    PLUMB_RETURN_IF_ERROR(Dump(model, inputs, options.subject.path, seconds));
    if (!gives_inputs()) options.inputs.files.clear();
  }
  return Judge({model, ""}, std::move(options), seconds, std::move(check));
}

Result<RunReport> CaseJudge::JudgeRight(const std::string& model, const std::string& inputs) const {
  SessionOptions options = session_;
  options.inputs.files = {inputs};
  options.checks_devices = true;
  PLUMB_ASSIGN_OR_RETURN(const auto session, Session::Open({model, ""}, options));
  CheckOptions check;
  check.causes = check.inherited = false;
  return session->CheckDevice("NAIVE", {}, std::move(check));
}

Result<std::map<std::string, Tensor>> CaseJudge::ValuesOf(const Session& session,
                                                          const std::set<std::string>& blobs) const {
  std::map<std::string, Tensor> values;
  if (session.subject() != nullptr) {
    for (const std::string& blob : blobs) {
      if (!session.subject()->Has(blob)) continue;
      PLUMB_ASSIGN_OR_RETURN(values[blob], session.subject()->Load(blob));
    }
  }
  std::unique_ptr<Network> network;
  if (!runs_command() && !KnowsAll(values, blobs)) {
    PLUMB_ASSIGN_OR_RETURN(network, Prepare(session.graph()));
  }
  return GraphValues(session.graph(), session.inputs().values, network.get(), blobs, std::move(values));
}

}  // namespace plumb
