// SPDX-License-Identifier: Apache-2.0
#include "plumb/tool/reduce.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "plumb/plumb.h"
#include "plumb/tool/file.h"
#include "plumb/tool/step_case.h"
#include "session/case_files.h"
#include "session/reduce_step.h"

namespace plumb {
namespace {

Status CheckReduceOptions(const ModelFiles& model, const ReduceOptions& options) {
  if (model.structure.empty()) return Status::InvalidArgument("no model is named: what is reduced is a model");
  if (options.device.empty() == options.command.empty())
    return Status::InvalidArgument("a device or a command is reduced for, and not both: name one of them");
  if (options.folder.empty()) return Status::InvalidArgument("no folder is named for the cases");
  if (options.max_cases < 1)
    return Status::InvalidArgument(fmt::format("max_cases: expected 1 or more, found {}", options.max_cases));
  constexpr double kMostSeconds = 1e8;
  if (!(options.seconds > 0 && options.seconds <= kMostSeconds))
    return Status::InvalidArgument(
        fmt::format("seconds: expected more than 0 and at most {:.0f}, found {}", kMostSeconds, options.seconds));
  PLUMB_RETURN_IF_ERROR(CheckShown(options.show));
  if (options.command.empty()) return CheckDeviceName(options.device);
  for (const char* mark : {"{model}", "{dump}"}) {
    if (options.command.find(mark) == std::string::npos)
      return Status::InvalidArgument(fmt::format(
          "the command '{}' lacks {}: it is given the model's file and a folder to dump into", options.command, mark));
  }
  const ModelFormat* format = FindModelFormat(model.structure);
  if (format != nullptr && std::string(format->type) == "TFLITE")
    return Status::NotSupported(fmt::format(
        "model '{}': parts of a .tflite file are written as tnnproto, which that command cannot run", model.structure));
  return Status::Ok();
}

// The folders case-1, case-2 ... that are there already. InvalidArgument where one of them holds no case, or the model.
Result<std::vector<std::string>> OldCases(const std::string& folder, const std::string& model) {
  std::vector<std::string> old;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(folder, error); !error && it != std::filesystem::end(it);
       it.increment(error)) {
    const std::string path = it->path().string(), name = it->path().filename().string();
    const std::string number = name.rfind("case-", 0) == 0 ? name.substr(5) : "";
    if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) continue;
    if (!IsCaseFolder(path))
      return Status::InvalidArgument(
          fmt::format("folder '{}' is in the way and holds no case of model_reduce: name another output", path));
    if (std::filesystem::equivalent(path, std::filesystem::absolute(model, error).parent_path(), error))
      return Status::InvalidArgument(
          fmt::format("folder '{}' holds the model that is reduced: name another output", path));
    old.push_back(path);
  }
  return old;
}

// Of each operator and cause one, then the others; each in the order of execution.
std::vector<const LayerReport*> ChooseWrong(const RunReport& report, size_t most) {
  std::vector<const LayerReport*> first, others;
  std::set<std::string> known;
  for (const LayerReport& layer : report.layers) {
    if (layer.verdict != Verdict::kWrong) continue;
    (known.insert(layer.step.type + "\n" + layer.cause).second ? first : others).push_back(&layer);
  }
  first.insert(first.end(), others.begin(), others.end());
  if (first.size() > most) first.resize(most);
  return first;
}

}  // namespace

Result<ReduceReport> Reduce(const ModelFiles& model, const SessionOptions& session, const ReduceOptions& options) {
  PLUMB_RETURN_IF_ERROR(CheckReduceOptions(model, options));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<std::string> old, OldCases(options.folder, model.structure));
  SessionOptions own = session;
  own.subject = own.golden = TensorSource();
  own.run_onnxruntime = own.run_litert = false;
  PLUMB_ASSIGN_OR_RETURN(const WorkFolder work, WorkFolder::Make("plumb-reduce"));
  CaseJudge judge(options, std::move(own));
  PLUMB_ASSIGN_OR_RETURN(const JudgedModel whole, judge.JudgeWhole(model, work.path()));
  ReduceReport report;
  report.model = model.structure;
  report.judged = judge.name();
  report.wrong_steps = whole.report.Count(Verdict::kWrong);
  const size_t tested = whole.report.layers.size() - static_cast<size_t>(whole.report.Count(Verdict::kNotTested));
  if (judge.runs_command() && tested == 0)
    return Status::InvalidArgument("the command dumped no tensor that can be judged: " + whole.report.why_not_tested);
  for (const std::string& path : old) RemoveCase(path);
  const std::vector<const LayerReport*> wrong = ChooseWrong(whole.report, static_cast<size_t>(options.max_cases));
  for (size_t i = 0; i < wrong.size(); ++i) {
    report.cases.emplace_back();
    const std::string name = fmt::format("case-{}", i + 1);
    StepReducer reducer(model, whole, *wrong[i], judge, options, work.path() + "/" + name);
    PLUMB_RETURN_IF_ERROR(reducer.Go(options.folder + "/" + name, &report.cases.back()));
  }
  return report;
}

}  // namespace plumb
