// SPDX-License-Identifier: Apache-2.0
// Which of several options brings a wrong verdict: flags of another runtime, environment variables, options of our
// devices. The verdict of a check decides, never a tolerance.
//
// Example:
//   plumb::BisectRunner runner({"net.onnx", ""}, {}, "python3 dump.py {flag} {model} {inputs} {dump}");
//   plumb::BisectOptions options;
//   options.alternatives = {"--fuse-gelu", "--fuse-norm", "--winograd"};
//   options.run = [&](const std::vector<std::string>& on) { return runner.Run(on); };
//   PLUMB_ASSIGN_OR_RETURN(const plumb::BisectReport report, plumb::Bisect(options));
//   std::puts(plumb::FormatBisectText(report, 100).c_str());
//
// Threading: free functions without shared state; a runner serves one thread.
#ifndef PLUMB_TOOL_BISECT_H_
#define PLUMB_TOOL_BISECT_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "plumb/session.h"

namespace plumb {

struct BisectRun {
  std::vector<std::string> on;  // the alternatives that were switched on
  bool wrong = false;
  std::string verdict;  // "wrong at 'conv_3' (Convolution)", "aligned"
  std::string bits;     // a checksum of all tensors; "": unknown
  double seconds = 0;
};

struct BisectOptions {
  std::vector<std::string> alternatives;
  std::function<Result<BisectRun>(const std::vector<std::string>& on)> run;
  bool each = false;                                // also run every alternative alone
  std::function<void(const BisectRun& done)> done;  // may be empty
};

enum class Influence {
  kUnknown,   // does not bring it; whether it changes anything is not known
  kBrings,    // wrong with it (alone, or with others that bring it)
  kHeals,     // the same where everything is wrong without: right with it
  kDoesNot,   // changes values, and not the verdict
  kNoEffect,  // not a bit of any tensor changes
};
// "brings it", "heals it", "does not", "has no effect at all", "does not; its effect is unknown".
const char* InfluenceName(Influence influence);

struct BisectReport {
  std::vector<std::string> alternatives;
  std::vector<Influence> influences;  // by alternative
  std::vector<BisectRun> runs;        // in their order; the first is without any, the second with all
  // Groups that bring (or heal) it only together.
  std::vector<std::vector<std::string>> together;
  std::string again;  // a command that shows it; the caller's
  bool found() const { return !together.empty(); }
};

// Runs with none and with all; where the verdicts differ, halves what differs until one is left (log2 of the number of
// runs), and goes on with the others until they do not differ any more. InvalidArgument for fewer than one alternative,
// or two that are the same. Errors: the runs'.
Result<BisectReport> Bisect(const BisectOptions& options);

// For people; and a JSON line for each run and each alternative.
std::string FormatBisectText(const BisectReport& report, size_t width);
std::string FormatBisectLines(const BisectReport& report);

// Runs a command with some alternatives on and judges it. {flag} in the command becomes those that are flags; those
// named in `variables` (NAME=VALUE) are set in its environment. A command with {model} and {dump} dumps what another
// runtime computes ({inputs}: an .npz of the network inputs), and is judged as a subject. One with {dump} alone prints
// the last line of a check itself, and may dump.
class BisectRunner {
 public:
  BisectRunner(ModelFiles model, SessionOptions session, std::string command);
  ~BisectRunner();
  BisectRunner(const BisectRunner&) = delete;
  BisectRunner& operator=(const BisectRunner&) = delete;

  void AddVariable(const std::string& variable);
  void JudgeOnly(const std::vector<std::string>& layers);  // as CheckOptions::layers
  // Opens the model and looks for the layers, before anything is run. Errors: those of Session::Open; InvalidArgument.
  Status Check() const;
  // InvalidArgument: the command failed, or what it dumped cannot be judged.
  Result<BisectRun> Run(const std::vector<std::string>& on);
  // Without any; {NAME} in the command becomes the value: a word for a shell.
  Result<BisectRun> RunWith(const std::map<std::string, std::string>& values);
  // The command with these on, as a person types it; {model} and the like stay.
  std::string CommandWith(const std::vector<std::string>& on) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plumb

#endif  // PLUMB_TOOL_BISECT_H_
