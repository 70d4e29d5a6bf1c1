// SPDX-License-Identifier: Apache-2.0
// Judges a model of the disk again and again: on a device of ours, or as a command computes it.
#ifndef PLUMB_SESSION_CASE_JUDGE_H_
#define PLUMB_SESSION_CASE_JUDGE_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "plumb/session.h"
#include "plumb/tool/reduce.h"

namespace plumb {

// Puts texts in place of {model}, {dump}, {inputs} and the like.
std::string FilledCommand(std::string command, const std::map<std::string, std::string>& values);

// Runs the command in a shell for so many seconds at most. InvalidArgument with its last line where it fails.
Status RunShell(const std::string& command, double seconds);
// The same of model_check: the last line that it prints. Exit code 1 is a verdict, others but 0 are errors.
Result<std::string> LastLineOfCheck(const std::string& command, double seconds);

struct JudgedModel {
  std::unique_ptr<Session> session;
  RunReport report;
};

class CaseJudge {
 public:
  CaseJudge(const ReduceOptions& options, SessionOptions session) : options_(options), session_(std::move(session)) {}

  bool runs_command() const { return !options_.command.empty(); }
  bool gives_inputs() const { return options_.command.find("{inputs}") != std::string::npos; }
  // "X86", or the command.
  const std::string& name() const { return runs_command() ? options_.command : options_.device; }

  // What parts are judged with: the layout and arithmetic of the whole model, once it was judged.
  const SessionOptions& session() const { return session_; }

  // The whole model, on the session's own inputs; what it was computed in holds for all that follow.
  Result<JudgedModel> JudgeWhole(const ModelFiles& model, const std::string& work);
  // A part of it on its inputs.npz, in `seconds` at most.
  Result<JudgedModel> JudgePart(const std::string& model, const std::string& inputs, const std::string& work,
                                double seconds, CheckOptions check) const;

  // The same part as the reference itself computes it.
  Result<RunReport> JudgeRight(const std::string& model, const std::string& inputs) const;

  // What the judged run had in these blobs; where it does not say, what the reference has.
  Result<std::map<std::string, Tensor>> ValuesOf(const Session& session, const std::set<std::string>& blobs) const;

 private:
  // On the device; kernels of layers that the graph lacks do not count.
  Result<std::unique_ptr<Network>> Prepare(const std::shared_ptr<const Graph>& graph) const;
  Result<JudgedModel> Judge(const ModelFiles& model, SessionOptions options, double seconds, CheckOptions check) const;
  Status Dump(const std::string& model, const std::string& inputs, const std::string& dump, double seconds) const;

  const ReduceOptions& options_;
  SessionOptions session_;
};

}  // namespace plumb

#endif  // PLUMB_SESSION_CASE_JUDGE_H_
