// SPDX-License-Identifier: Apache-2.0
// From a wrong check to the smallest model that still shows it. Each wrong step is tried alone, on the inputs that it
// read; neighbours are added while it is right there; then sizes are cut while it stays wrong. The verdict is that of a
// check (doc/check.md), of a device of ours or of a command that dumps what another runtime computes.
//
// Example:
//   plumb::ReduceOptions options;
//   options.command = "python3 dump.py {model} {inputs} {dump}";
//   options.folder = "cases";
//   PLUMB_ASSIGN_OR_RETURN(const plumb::ReduceReport report, plumb::Reduce({"net.onnx", ""}, {}, options));
//   std::puts(plumb::FormatReduceText(report, 100).c_str());
//
// Threading: free functions without shared state.
#ifndef PLUMB_TOOL_REDUCE_H_
#define PLUMB_TOOL_REDUCE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plumb/session.h"

namespace plumb {

struct ReduceTry {
  std::string what;     // "conv_3 alone", "channels 64 to 32 (elements 0 to 31)"
  bool wrong = false;   // still shows the fault, and is kept
  std::string outcome;  // "wrong, E 41", "aligned, E 0.3", or why it could not be judged
  double seconds = 0;
};

struct ReduceOptions {
  std::string device;      // of ours: "X86"
  NetworkOptions network;  // of that device
  // Prepares a model on it, in place of CreateNetwork: for a device of the program's own. May be empty.
  std::function<Result<std::unique_ptr<Network>>(std::shared_ptr<const Graph> graph, const NetworkOptions& options)>
      prepare;
  // Or what a shell runs, in its own working directory: {model} is the candidate's file, {dump} an empty folder for
  // what it computes, {inputs} an .npz of the network inputs. Without {inputs} these are in the dump, or of no use.
  std::string command;
  std::string folder;   // made, and a folder in it for each case; older cases in it go
  int max_cases = 3;    // wrong steps of other operators or causes come first
  double seconds = 60;  // for each case; the whole check before them is not counted
  // The runtime that a case's show.py judges (CheckShown of plumb/tool/step_case.h). Empty: that of plumb-golden in the
  // command, else ONNX Runtime.
  std::string show;
  // What else model_check is told in the script of a case, beside device, layout and arithmetic: "--max-isa SSE41",
  // "--names names.csv".
  std::string reproduce;
  std::function<void(const std::string& layer, const ReduceTry& done)> tried;  // may be empty
};

struct ReducedCase {
  int index = 0;  // of the wrong step in the whole model
  std::string layer, type, cause;
  std::string folder;  // empty: no smaller model shows it
  bool in_time = true;
  int layers = 0, all_layers = 0;                         // of the case, of the whole model
  int nodes = 0;                                          // of the case: source nodes, or layers
  std::vector<std::string> needed_before, needed_behind;  // "'conv1' (Convolution)": without them the step is right
  std::string inputs;                                     // "x f32 [1,1,3,3]"
  double excess = 0;                                      // E of the case
  std::vector<ReduceTry> tries;
};

struct ReduceReport {
  std::string model, judged;  // judged: the device, or the command
  int wrong_steps = 0;
  std::vector<ReducedCase> cases;
};

// Judges the whole model, and reduces what is wrong. `options.subject` and golden of the session do not count. Errors:
// those of Session; InvalidArgument for options that contradict each other, for a folder case-N that holds no case, and
// for a command that fails on the whole model or dumps nothing of it.
Result<ReduceReport> Reduce(const ModelFiles& model, const SessionOptions& session, const ReduceOptions& options);

// For people, and a JSON line for each case and each of its tries.
std::string FormatReduceText(const ReduceReport& report, size_t width);
std::string FormatReduceLines(const ReduceReport& report);

}  // namespace plumb

#endif  // PLUMB_TOOL_REDUCE_H_
