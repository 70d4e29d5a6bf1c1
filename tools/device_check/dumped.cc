// SPDX-License-Identifier: Apache-2.0
// The modes in which the machine only dumps and this one judges: with our model_run, in parts; or with a program of the
// user's own.
#include <fmt/core.h>

#include <filesystem>
#include <system_error>

#include "common/print.h"
#include "common/vocabulary.h"
#include "device_check/job.h"
#include "device_check/parts.h"
#include "device_check/report.h"
#include "plumb/tool/file.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlan = "device_check.txt";  // what the parts of an unfinished folder are of

std::string SafeName(std::string name) {
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  }
  return name;
}

}  // namespace

std::string Job::KeptFolder() const {
  return options_.output_folder.empty() ? "" : options_.output_folder + "/" + SafeName(name_);
}

// With -o a folder that stays: it is empty, or holds the finished parts of the same run.
Status Job::OpenDumpFolder(const std::string& plan) {
  dump_folder_ = options_.output_folder.empty() ? folder_ : KeptFolder();
  if (options_.output_folder.empty()) return Status::Ok();
  std::error_code error;
  fs::create_directories(dump_folder_, error);
  if (error) return Status::IoError(fmt::format("-o: cannot make '{}': {}", dump_folder_, error.message()));
  const auto there = ReadWholeFile(dump_folder_ + "/" + kPlan);
  if (there.ok() && *there == plan) return Status::Ok();
  if (!fs::is_empty(dump_folder_, error)) {
    return Status::InvalidArgument(
        fmt::format("-o: '{}' holds something else already; name a new folder, or remove it", dump_folder_));
  }
  return WriteFile(dump_folder_ + "/" + kPlan, plan);
}

Status Job::DumpPartThere(const DumpPart& part, const std::string& local) {
  std::error_code error;
  if (fs::exists(local + "/manifest.json", error)) return Status::Ok();  // of the run that was cut off
  fs::remove_all(local, error);
  const std::string side = part.inputs ? "DUMP_INPUT_BLOB=1" : "DUMP_OUTPUT_BLOB=1";
  PLUMB_ASSIGN_OR_RETURN(const RemoteResult ran, RunTool("model_run", {"--device=" + options_.device, "--quiet"},
                                                         {side, "DUMP_BLOB_FORMAT=npy", "DUMP_BLOB_DIR=dump",
                                                          "DUMP_BLOB_LAYERS=" + part.layers}));
  if (ran.exit_code != 0) return EndedBadly("model_run", ran);
  PLUMB_RETURN_IF_ERROR(workspace_->PullFolder("dump", local + ".part"));
  if (const Status there = CheckPulledFolder(machine_->name(), local + ".part"); !there.ok()) return Refuse(there);
  fs::rename(local + ".part", local, error);
  if (error) return Status::IoError(fmt::format("cannot rename '{}.part': {}", local, error.message()));
  return workspace_->Remove("dump");
}

Status Job::DumpThere(Outcome* outcome) {
  PLUMB_ASSIGN_OR_RETURN(const uint64_t bytes, ParseBytes("--part-size", options_.part_size));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<DumpPart> parts, PlanParts(*payload_.graph, bytes));
  std::string plan = payload_.structure + "\n" + options_.device + "\n" + payload_.stamp;
  for (const DumpPart& part : parts) plan += (part.inputs ? "in " : "out ") + part.layers + "\n";
  PLUMB_RETURN_IF_ERROR(OpenDumpFolder(plan));
  PLUMB_RETURN_IF_ERROR(Push({"model_run"}, payload_.files));
  const std::string folder = dump_folder_ + "/parts";
  std::error_code error;
  fs::create_directories(folder, error);
  steps_ = static_cast<int64_t>(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    step_ = static_cast<int64_t>(i);
    doing_ = "layers " + parts[i].layers;
    PLUMB_RETURN_IF_ERROR(DumpPartThere(parts[i], fmt::format("{}/{}", folder, i)));
  }
  if (const Status joined = JoinParts(folder, parts.size(), dump_folder_ + "/dump"); !joined.ok()) {
    return joined.code() == StatusCode::kCorruptModel ? Refuse(joined.AddContext(machine_->name())) : joined;
  }
  fs::remove_all(folder, error);
  fs::remove(dump_folder_ + "/" + kPlan, error);
  return JudgeDump(outcome);
}

Status Job::RunProgramThere(Outcome* outcome) {
  PLUMB_RETURN_IF_ERROR(OpenDumpFolder(options_.program + "\n"));
  std::vector<RemoteFile> files;
  for (const std::string& path : options_.push) files.push_back({path, path.substr(path.find_last_of('/') + 1)});
  PLUMB_RETURN_IF_ERROR(Push({}, files));
  doing_ = "the program runs there";
  // The one text that a shell there reads as it is: it is the user's own command line.
  const std::string command = options_.runner.empty() ? options_.program : options_.runner + " " + options_.program;
  std::vector<std::string> environment = Environment();
  environment.insert(environment.end(), {"DUMP_OUTPUT_BLOB=1", "DUMP_BLOB_FORMAT=npy", "DUMP_BLOB_DIR=dump"});
  PLUMB_ASSIGN_OR_RETURN(const RemoteResult ran, workspace_->Run({"sh", "-c", command}, environment));
  outcome->program = ran.exit_code;
  if (!options_.output.quiet) board_->Print([&] { PrintErrorText(Words(ran.out)); });
  if (ran.exit_code != 0) return EndedBadly(kUsersProgram, ran);
  doing_ = "pulling the dump";
  const std::string local = dump_folder_ + "/dump";
  const Status pulled = workspace_->PullFolder("dump", local);
  std::error_code error;
  if (!pulled.ok() || !fs::exists(local + "/manifest.json", error)) {
    return Status::InvalidArgument(fmt::format(
        "{}: the program ended well and left no dump in $DUMP_BLOB_DIR; does it call plumb_dump_open and "
        "plumb_dump_close "
        "(plumb_dump.h)? {}",
        machine_->name(), pulled.ok() ? "its last lines: " + LastLines(ran.out + "\n" + ran.err) : pulled.message()));
  }
  if (const Status there = CheckPulledFolder(machine_->name(), local); !there.ok()) return Refuse(there);
  fs::remove(dump_folder_ + "/" + kPlan, error);
  return JudgeDump(outcome);
}

// This machine's model_check, on the user's own model.
Status Job::JudgeDump(Outcome* outcome) {
  doing_ = "judging here";
  const ModelFiles files = options_.model.Files();
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<std::string> call = {"env", fmt::format("COLUMNS={}", OutputWidth()), (own / "model_check").string()};
  const auto add = [&](const std::string& option, const std::string& value) {
    if (!value.empty()) call.push_back(option + "=" + value);
  };
  add(files.weights.empty() ? "--model" : "--proto", files.structure);
  add("--model", files.weights);
  for (const std::string& shape : options_.model.shapes) add("--shape", shape);
  for (const std::string& constant : options_.model.constants.texts) add("--constant", constant);
  add("--seed", std::to_string(options_.model.seed));
  if (options_.model.random_weights) call.emplace_back("--random-weights");
  for (const std::string& input : options_.input.files) add("--input", input);
  add("--bias", options_.input.bias);
  add("--scale", options_.input.scale);
  if (options_.input.channel_order != "rgb") add("--channel-order", options_.input.channel_order);
  add("--subject", dump_folder_ + "/dump");
  add("--names", options_.words.names);
  add("--layout", options_.words.layout);
  add("--arithmetic", options_.words.arithmetic);
  const std::vector<std::string> report = ReportArguments(folder_ + "/report.json");
  call.insert(call.end(), report.begin(), report.end());
  RemoteOptions options;
  options.wait = [this](double seconds) {
    Progressed(seconds);
    return !Interrupted();
  };
  const std::lock_guard<std::mutex> judging(board_->judging());
  const auto here = OpenThisMachine(options);
  PLUMB_ASSIGN_OR_RETURN(const RemoteResult judged, here->Run(call));
  return Take(judged, false, outcome);
}

}  // namespace plumb
