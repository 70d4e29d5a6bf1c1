// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/process.h"
#include "dump/checksum.h"
#include "plumb/golden.h"
#include "plumb/tensor_file.h"
#include "plumb/tool/bisect.h"
#include "plumb/tool/file.h"
#include "session/case_judge.h"

namespace plumb {
namespace {

constexpr double kRunSeconds = 3600;

// Of every tensor of a dump, by name; "" where there is none.
std::string BitsOf(const std::string& dump) {
  const auto golden = ReadGolden(dump);
  if (!golden.ok() || golden->tensors.empty()) return "";
  Checksum checksum;
  for (const auto& [name, tensor] : golden->tensors) {
    checksum.Add(name.data(), name.size() + 1);
    checksum.Add(tensor.raw(), tensor.bytes());
  }
  return checksum.Text();
}

std::string VerdictOf(const RunReport& report) {
  if (report.first_wrong < 0) return VerdictName(report.verdict);
  const LayerReport& layer = report.layers[static_cast<size_t>(report.first_wrong)];
  return fmt::format("wrong at '{}' ({})", layer.step.name, layer.step.type);
}

}  // namespace

struct BisectRunner::Impl {
  ModelFiles model;
  SessionOptions session;
  std::string command;
  std::vector<std::string> variables, layers;
  WorkFolder work;
  std::string inputs;  // written by the first run that needs them

  bool Dumps() const { return command.find("{model}") != std::string::npos; }
  bool IsVariable(const std::string& one) const {
    return std::find(variables.begin(), variables.end(), one) != variables.end();
  }
  Status WriteInputs();
  Result<RunReport> JudgeDump(const std::string& dump);
  // `filled`: but for the model, the dump and the inputs.
  Result<BisectRun> RunCommand(const std::string& filled);
};

BisectRunner::BisectRunner(ModelFiles model, SessionOptions session, std::string command) : impl_(new Impl) {
  impl_->model = std::move(model);
  impl_->session = std::move(session);
  impl_->command = std::move(command);
}
BisectRunner::~BisectRunner() = default;

void BisectRunner::AddVariable(const std::string& variable) { impl_->variables.push_back(variable); }
void BisectRunner::JudgeOnly(const std::vector<std::string>& layers) { impl_->layers = layers; }

Status BisectRunner::Impl::WriteInputs() {
  if (!inputs.empty() || command.find("{inputs}") == std::string::npos) return Status::Ok();
  SessionOptions own = session;
  own.checks_devices = true;  // every input is needed
  PLUMB_ASSIGN_OR_RETURN(const auto opened, Session::Open(model, own));
  std::vector<NamedTensor> tensors;
  for (const auto& [name, value] : opened->inputs().values) tensors.push_back({name, value});
  inputs = work.path() + "/inputs.npz";
  return WriteTensors(inputs, tensors);
}

Result<RunReport> BisectRunner::Impl::JudgeDump(const std::string& dump) {
  SessionOptions options = session;
  options.subject.path = dump;
  if (!inputs.empty()) {
    options.inputs.values.clear();
    options.inputs.files = {inputs};
  }
  const auto session_of_dump = Session::Open(model, options);  // the model opens: Check has seen it
  if (!session_of_dump.ok())
    return Status::InvalidArgument("what the command dumped cannot be judged: " + session_of_dump.status().message());
  const auto& opened = *session_of_dump;
  CheckOptions check;
  check.layers = layers;
  check.causes = false;
  return opened->JudgeSubject(std::move(check));
}

Status BisectRunner::Check() const {
  PLUMB_ASSIGN_OR_RETURN(const auto opened, Session::Open(impl_->model, impl_->session));
  for (const std::string& name : impl_->layers) {
    const auto& layers = opened->graph()->layers;
    const auto is_it = [&](const Layer& layer) {
      const std::vector<std::string>& nodes = layer.nodes;
      return layer.name == name || std::to_string(layer.index) == name ||
             std::find(nodes.begin(), nodes.end(), name) != nodes.end();
    };
    if (std::none_of(layers.begin(), layers.end(), is_it))
      return Status::InvalidArgument(
          fmt::format("no layer '{}' to judge: neither a name nor an index (0 to {}); model_info lists them", name,
                      layers.empty() ? 0 : layers.back().index));
  }
  return Status::Ok();
}

std::string BisectRunner::CommandWith(const std::vector<std::string>& on) const {
  std::string flags, before;
  for (const std::string& one : on) {
    const size_t equals = one.find('=');
    if (impl_->IsVariable(one)) {
      before += one.substr(0, equals + 1) + QuotedForShell(one.substr(equals + 1)) + " ";
    } else {
      flags += (flags.empty() ? "" : " ") + one;
    }
  }
  const std::string filled = FilledCommand(impl_->command, {{"flag", flags}});
  return before.empty() ? filled : "export " + before + "; " + filled;
}

Result<BisectRun> BisectRunner::Run(const std::vector<std::string>& on) {
  auto run = impl_->RunCommand(CommandWith(on));
  if (!run.ok()) return run.status().AddContext(on.empty() ? "without any alternative" : "with " + on.back());
  return run;
}

Result<BisectRun> BisectRunner::RunWith(const std::map<std::string, std::string>& values) {
  return impl_->RunCommand(FilledCommand(CommandWith({}), values));
}

Result<BisectRun> BisectRunner::Impl::RunCommand(const std::string& filled) {
  const auto begin = std::chrono::steady_clock::now();
  if (work.path().empty()) {
    PLUMB_ASSIGN_OR_RETURN(work, WorkFolder::Make("plumb-bisect"));
  }
  PLUMB_RETURN_IF_ERROR(WriteInputs());
  const std::string dump = work.path() + "/dump";
  std::error_code error;
  std::filesystem::remove_all(dump, error);
  std::filesystem::create_directories(dump, error);
  if (error) return Status::IoError(fmt::format("folder '{}' cannot be made: {}", dump, error.message()));
  const std::string all = FilledCommand(
      filled,
      {{"model", QuotedForShell(model.structure)}, {"inputs", QuotedForShell(inputs)}, {"dump", QuotedForShell(dump)}});
  BisectRun run;
  if (Dumps()) {
    PLUMB_RETURN_IF_ERROR(RunShell(all, kRunSeconds));
    PLUMB_ASSIGN_OR_RETURN(const RunReport report, JudgeDump(dump));
    run.wrong = report.verdict == Verdict::kWrong;
    run.verdict = VerdictOf(report);
    if (report.verdict == Verdict::kNotTested)
      return Status::InvalidArgument("what the command dumped cannot be judged: " + report.why_not_tested);
  } else {
    PLUMB_ASSIGN_OR_RETURN(run.verdict, LastLineOfCheck(all, kRunSeconds));
    run.wrong = run.verdict.rfind("FAILED", 0) == 0;
    run.verdict = run.verdict.substr(0, run.verdict.find(';'));
  }
  run.bits = BitsOf(dump);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return run;
}

}  // namespace plumb
