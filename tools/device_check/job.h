// SPDX-License-Identifier: Apache-2.0
// One machine's part of a call: what is pushed there, what runs there, and what comes back.
#ifndef PLUMB_TOOLS_DEVICE_CHECK_JOB_H_
#define PLUMB_TOOLS_DEVICE_CHECK_JOB_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device_check/board.h"
#include "device_check/options.h"
#include "device_check/parts.h"
#include "plumb/tool/remote.h"

namespace plumb {

// The model and its inputs as files of names that are safe anywhere, and the arguments that go with them; the same for
// every machine.
struct Payload {
  std::vector<RemoteFile> files;
  std::vector<std::string> arguments;  // of model_check and model_run there
  std::string structure, weights;      // of the model, as the user named it; weights: empty when generated
  std::shared_ptr<const Graph> graph;  // where it was loaded
  std::string stamp;                   // what tells this run from another one
};

struct Outcome {
  std::string machine;
  std::string device;             // where each of several is judged by itself
  std::string verdict = "error";  // Conclusion::verdict
  std::string line;               // the last line of the report, or what went wrong
  int exit_code = 4;              // ours
  // What failed, where the exit code is none of a check: "way" (adb, ssh), "program" (that ran there), "report" (that
  // it wrote), "here" (on this machine); "" otherwise.
  std::string failed;
  std::optional<int> program;     // what the program there ended with, as its shell says it
  nlohmann::ordered_json report;  // model_check's; null without
  int pushed = 0, found = 0;
  uint64_t pushed_bytes = 0;
};

// How sentences name what --program runs.
constexpr const char* kUsersProgram = "the program";

// Whether Ctrl-C was pressed; then what runs ends, and what was made there is removed.
bool Interrupted();
void CatchInterrupt();

// Threading: a machine's jobs one after the other in any thread; those of other machines at the same time.
class Job {
 public:
  // `device`: Outcome::device. `board`, `number`: of all machines, and which one this is.
  Job(DeviceCheckOptions options, const Payload& payload, std::string folder, std::string device, Board* board,
      size_t number);
  // A machine: "adb" or "ssh" and its name, or neither.
  Status Open(const std::string& kind, const std::string& name);
  // Pushes, runs, prints; what fails is the outcome's line and exit code, printed too.
  Outcome Go();
  Status Clean();
  // "adb X", "adb X, ARM".
  const std::string& name() const { return name_; }
  // Where -o keeps what it dumps; "" without.
  std::string KeptFolder() const;

 private:
  Status Run(Outcome* outcome);
  Status CheckThere(Outcome* outcome);
  Status DumpThere(Outcome* outcome);
  Status RunProgramThere(Outcome* outcome);
  Status OpenDumpFolder(const std::string& plan);
  Status DumpPartThere(const DumpPart& part, const std::string& local);
  Status JudgeDump(Outcome* outcome);
  Status Push(const std::vector<std::string>& tools, const std::vector<RemoteFile>& more);
  // A program there, behind --runner.
  Result<RemoteResult> RunTool(const std::string& tool, const std::vector<std::string>& arguments,
                               std::vector<std::string> environment = {});
  // "NAME=value" of this environment's variables that mean something there.
  std::vector<std::string> Environment() const;
  std::vector<std::string> ReportArguments(const std::string& json) const;
  // What the machine said, as it is printed; "" of nothing.
  std::string Words(const std::string& text) const;
  // A program there failed: which exit code is ours then is said in doc/on_device.md.
  Status EndedBadly(const std::string& program, const RemoteResult& ran);
  // What came back is not what it should be.
  Status Refuse(const Status& status);
  // The report is in `folder_`, written there or by our own model_check.
  Status Take(const RemoteResult& ran, bool there, Outcome* outcome);
  std::string InOurWords(const std::string& text) const;
  void Progressed(double seconds);

  const DeviceCheckOptions options_;
  const Payload& payload_;
  std::string folder_, dump_folder_;  // here, of this job's own; that of the dump may stay
  std::string device_, name_;
  Board* board_;
  size_t number_;
  std::unique_ptr<RemoteMachine> machine_;
  std::unique_ptr<RemoteWorkspace> workspace_;
  std::string doing_, printed_;
  int64_t step_ = 0, steps_ = 4;
  bool has_library_ = false;  // libplumb.so went there with the tool
  int exit_code_ = 0;         // ours, where a program failed there
  std::string failed_;        // Outcome::failed, where it is known
  std::optional<int> program_;
  bool cleaning_ = false;
};

}  // namespace plumb

#endif  // PLUMB_TOOLS_DEVICE_CHECK_JOB_H_
