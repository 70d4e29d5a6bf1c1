// SPDX-License-Identifier: Apache-2.0
#include "device_check/job.h"

#include <fmt/core.h>

#include <signal.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "common/option_words.h"
#include "common/print.h"
#include "common/vocabulary.h"
#include "device_check/binaries.h"
#include "device_check/report.h"
#include "plumb/tool/environment.h"
#include "plumb/tool/file.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

volatile std::sig_atomic_t interrupted = 0;

constexpr const char* kReport = "report.json";

std::vector<std::string> WordsOf(const std::string& text) {
  std::vector<std::string> words;
  for (const std::string& word : SplitList(text, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

// Why a program that left no report ended: what the shell there says by its exit code.
std::string WhyEnded(int code) {
  if (code == 126 || code == 127) return fmt::format("could not be started there (exit code {})", code);
  if (code > 128 && code < 128 + 65) {
    const char* help = code == 137 ? ": mostly for want of memory (--judge here needs less)" : "";
    return fmt::format("was ended by signal {} ({}){}", code - 128, ::strsignal(code - 128), help);
  }
  return fmt::format("ended with exit code {}", code);
}

void ReplaceAll(std::string* text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text->find(from, at)) != std::string::npos; at += to.size()) {
    text->replace(at, from.size(), to);
  }
}

}  // namespace

bool Interrupted() { return interrupted != 0; }

void CatchInterrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // a second time ends at once
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

Job::Job(DeviceCheckOptions options, const Payload& payload, std::string folder, std::string device, Board* board,
         size_t number)
    : options_(std::move(options)),
      payload_(payload),
      folder_(std::move(folder)),
      device_(std::move(device)),
      board_(board),
      number_(number) {}

void Job::Progressed(double seconds) {
  board_->Step(number_, name_, step_, steps_, fmt::format("{} ({:.0f} s)", doing_, seconds));
}

Status Job::Open(const std::string& kind, const std::string& name) {
  RemoteOptions remote;
  remote.ssh_config = options_.ssh_config;
  remote.timeout = options_.timeout;
  remote.silence = options_.silence;
  remote.wait = [this](double seconds) {
    Progressed(seconds);
    return cleaning_ || !Interrupted();
  };
  if (kind == "adb") {
    PLUMB_ASSIGN_OR_RETURN(machine_, OpenAdb(name, remote));
  } else if (kind == "ssh") {
    PLUMB_ASSIGN_OR_RETURN(machine_, OpenSsh(name, remote));
  } else {
    machine_ = OpenThisMachine(remote);
  }
  name_ = machine_->name() + (device_.empty() ? "" : ", " + device_);
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  return error ? Status::IoError(fmt::format("cannot make the folder '{}': {}", folder_, error.message()))
               : Status::Ok();
}

Status Job::Clean() { return RemoteWorkspace::Clean(machine_.get(), options_.device_folder); }

Status Job::Run(Outcome* outcome) {
  doing_ = "connecting";
  PLUMB_ASSIGN_OR_RETURN(workspace_, RemoteWorkspace::Open(machine_.get(), options_.device_folder));
  step_ = 1;
  if (!options_.program.empty()) return RunProgramThere(outcome);
  return options_.judge == "here" ? DumpThere(outcome) : CheckThere(outcome);
}

Outcome Job::Go() {
  Outcome outcome;
  outcome.machine = machine_->name();
  outcome.device = device_;
  const Status status = Run(&outcome);
  if (workspace_) {
    outcome.pushed = workspace_->pushed();
    outcome.found = workspace_->found();
    outcome.pushed_bytes = workspace_->pushed_bytes();
    const std::string cached = workspace_->folder();
    doing_ = "cleaning up";
    cleaning_ = true;
    const Status closed = workspace_->Close();
    if (!closed.ok() && status.ok()) {
      board_->Print([&] { PrintErrorText("warning: " + PrintableMessage(closed.message()) + "\n"); });
    }
    workspace_.reset();
    if (!options_.output.quiet && status.ok()) {
      printed_ += ShownLine(
          "files   {}: {} pushed ({:.1f} MB), {} there already; kept in {} for the next run, --clean removes "
          "them\n",
          outcome.machine, outcome.pushed, static_cast<double>(outcome.pushed_bytes) / 1e6, outcome.found, cached);
    }
  }
  step_ = steps_;
  doing_.clear();
  board_->Step(number_, name_, step_, steps_, doing_);
  if (status.ok()) printed_ += PrintableLine(outcome.line) + "\n";
  board_->Print([&] {
    PrintText(printed_);
    if (!status.ok()) outcome.exit_code = Fail(status);
  });
  if (!status.ok()) {
    outcome.line = InOptionWords(status.message());
    outcome.failed = !failed_.empty() ? failed_ : status.code() == StatusCode::kDeviceError ? "way" : "here";
    if (exit_code_ != kExitOk) outcome.exit_code = exit_code_;
    if (program_) outcome.program = program_;
  }
  return outcome;
}

Status Job::Push(const std::vector<std::string>& tools, const std::vector<RemoteFile>& more) {
  std::vector<RemoteFile> files;
  for (const std::string& tool : tools) {
    PLUMB_ASSIGN_OR_RETURN(const std::string path, FindBinary({tool, options_.binaries, workspace_->architecture(),
                                                               machine_->name(), !options_.runner.empty()}));
    files.push_back({path, tool});
    const std::string library = LibraryOf(path);
    if (library.empty()) continue;
    files.push_back({library, library.substr(library.rfind('/') + 1)});
    has_library_ = true;
  }
  files.insert(files.end(), more.begin(), more.end());
  return workspace_->Put(files, [this](const RemoteFile& file) { doing_ = "pushing " + file.local; });
}

Result<RemoteResult> Job::RunTool(const std::string& tool, const std::vector<std::string>& arguments,
                                  std::vector<std::string> environment) {
  std::vector<std::string> all = WordsOf(options_.runner);
  all.push_back("./" + tool);
  all.insert(all.end(), payload_.arguments.begin(), payload_.arguments.end());
  all.insert(all.end(), arguments.begin(), arguments.end());
  environment.push_back(fmt::format("COLUMNS={}", OutputWidth() - 2));  // its lines are printed behind "| "
  if (has_library_) environment.emplace_back("LD_LIBRARY_PATH=.");
  const std::vector<std::string> own = Environment();
  environment.insert(environment.end(), own.begin(), own.end());
  return workspace_->Run(all, environment);
}

std::vector<std::string> Job::Environment() const {
  std::vector<std::string> found;
  for (const EnvironmentVariable& variable : EnvironmentVariables()) {
    const std::string name = variable.name;
    const char* value = std::getenv(variable.name);
    const bool of_this_machine = name == "PLUMB_CACHE_DIR" || name == "PLUMB_PYTHON";
    const bool of_program = name == "DUMP_INPUT_BLOB" || name == "DUMP_BLOB_LAYERS" || name == "DUMP_BLOB_TYPES" ||
                            name == "DUMP_BLOB_FORWARDS";
    const bool counts = options_.program.empty() ? name.rfind("PLUMB_", 0) == 0 && !of_this_machine : of_program;
    if (counts && value != nullptr && *value != '\0') found.push_back(name + "=" + value);
  }
  return found;
}

std::vector<std::string> Job::ReportArguments(const std::string& json) const {
  std::vector<std::string> arguments = {"--min-tested=" + options_.min_tested, "--json=" + json,
                                        fmt::format("--color={}", options_.output.Colored() ? "always" : "never")};
  for (const std::string& layer : options_.layers) arguments.push_back("--layers=" + layer);
  if (options_.all) arguments.emplace_back("--all");
  if (options_.full) arguments.emplace_back("--full");
  if (options_.output.quiet) arguments.emplace_back("--quiet");
  return arguments;
}

Status Job::CheckThere(Outcome* outcome) {
  doing_ = "comparing files";
  PLUMB_RETURN_IF_ERROR(Push({"model_check"}, payload_.files));
  step_ = 2;
  doing_ = "model_check runs there";
  std::vector<std::string> arguments = ReportArguments(kReport);
  arguments.push_back("--device=" + options_.device);
  PLUMB_ASSIGN_OR_RETURN(const RemoteResult ran, RunTool("model_check", arguments));
  outcome->program = ran.exit_code;
  step_ = 3;
  doing_ = "pulling the report";
  // A program that was killed left none, which is what is said then.
  if (ran.exit_code <= kExitFailure && !workspace_->Pull(kReport, folder_ + "/" + kReport).ok())
    return EndedBadly("model_check", ran);
  return Take(ran, true, outcome);
}

Status Job::EndedBadly(const std::string& program, const RemoteResult& ran) {
  const bool users = program == kUsersProgram;
  const bool ours = !users && (ran.exit_code == kExitUsage || ran.exit_code == kExitNoDevice);
  exit_code_ = ours ? ran.exit_code : users && ran.exit_code <= 128 ? kExitUsage : kExitFailure;
  failed_ = "program";
  program_ = ran.exit_code;
  const std::string said = LastLines(ran.out + "\n" + ran.err);
  const std::string lines = said.empty() ? "it said nothing" : "its last lines: " + said;
  const std::string sentence = fmt::format("{}: {} {}; {}", machine_->name(), program, WhyEnded(ran.exit_code), lines);
  return exit_code_ == kExitUsage ? Status::InvalidArgument(sentence) : Status::DeviceError(sentence);
}

Status Job::Refuse(const Status& status) {
  failed_ = "report";
  return status;
}

std::string Job::Words(const std::string& text) const {
  const std::string words =
      MachineWords(text, StdoutIsTerminal() || StderrIsTerminal() ? static_cast<size_t>(OutputWidth()) : 0);
  return words.empty() ? "" : ShownLine("{} says:\n", name_) + words;
}

// The report says how the check ended; a program that left none did not get so far.
Status Job::Take(const RemoteResult& ran, bool there, Outcome* outcome) {
  outcome->report = nlohmann::ordered_json(nullptr);
  if (!PathExists(folder_ + "/" + kReport)) {
    const Status ended = EndedBadly("model_check", ran);
    if (!there) failed_ = "here", program_.reset();
    return ended;
  }
  auto report = ReadMachineJson(machine_->name() + ": its report", folder_ + "/" + kReport);
  if (!report.ok()) return Refuse(report.status());
  const auto conclusion = ConcludeReport(machine_->name(), *report);
  if (!conclusion.ok()) return Refuse(conclusion.status());
  if (conclusion->exit_code != ran.exit_code) {
    return Refuse(Status::CorruptModel(fmt::format("{}: model_check {}, and its report holds exit code {}",
                                                   machine_->name(), WhyEnded(ran.exit_code), conclusion->exit_code)));
  }
  outcome->report = std::move(*report);
  outcome->report["model"] = payload_.structure;
  outcome->report["reproduce"] = options_.again;
  outcome->verdict = conclusion->verdict;
  outcome->line = fmt::format("{}: {}", name_, conclusion->line);
  outcome->exit_code = conclusion->exit_code;
  board_->Print([&] { PrintErrorText(there ? Words(ran.err) : ran.err); });
  printed_ += there ? Words(InOurWords(ran.out)) : InOurWords(ran.out);
  return Status::Ok();
}

// The report names files there, and the call; here they are the user's own. Its last line comes with the machine's
// name, from the JSON.
std::string Job::InOurWords(const std::string& text) const {
  std::string ours;
  std::vector<std::string> lines = SplitList(text, '\n');
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (!lines.empty()) lines.pop_back();
  for (std::string& line : lines) {
    if (line.rfind("model   ", 0) == 0) {
      ReplaceAll(&line, "model.tnnproto", PrintableLine(payload_.structure));
      ReplaceAll(&line, "model.tnnmodel", PrintableLine(payload_.weights));
    }
    if (line.rfind("input   ", 0) == 0) {
      for (const RemoteFile& file : payload_.files)
        ReplaceAll(&line, ": " + file.name, ": " + PrintableLine(file.local));
    }
    const size_t begin = line.find("Reproduce: "), device = line.rfind(" -d ");
    if (begin != std::string::npos) {
      const bool names = !options_.judges_here() && device != std::string::npos && device > begin;
      const std::string behind = names ? line.substr(device) : "";
      line.replace(begin, std::string::npos, "Reproduce: " + options_.again + behind);
    }
    ours += line + "\n";
  }
  return ours;
}

}  // namespace plumb
