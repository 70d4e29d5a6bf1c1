// SPDX-License-Identifier: Apache-2.0
// The files of a case that shows a fault: what WriteStepCase and Reduce write.
#ifndef PLUMB_SESSION_CASE_FILES_H_
#define PLUMB_SESSION_CASE_FILES_H_

#include <string>
#include <vector>

#include "plumb/check.h"
#include "plumb/tensor_file.h"

namespace plumb {

struct CaseContents {
  const Graph& graph;                       // the whole case
  const std::vector<NamedTensor>& inputs;   // in the model's dtypes
  const std::vector<NamedTensor>& outputs;  // right ones, in the model's dtypes, of the ONNX case
  std::string onnx;                         // the file that the nodes are taken from; empty: none
  const StepCase& step;                     // that is wrong
  std::string show;                         // what a shell runs to show it again; empty: README.txt's command
  std::string said;                         // sentences for README.txt
  std::string runtime;                      // that show.py judges; empty: ONNX Runtime
};

// Whether the folder holds a case that was written by WriteCaseContents.
bool IsCaseFolder(const std::string& folder);
// Takes the files of such a case away, and the folder where nothing else is in it.
void RemoveCase(const std::string& folder);

// Makes the folder; what an older case left there goes. IoError where it cannot be written.
Status WriteCaseContents(const std::string& folder, const CaseContents& contents);

// A script that judges the runtime by the files of a case.
std::string ShowPython(const std::string& runtime);
// "OpenVINO" of openvino.
const char* ShownTitle(const std::string& runtime);
// What plumb-golden runs in the command, as CheckShown calls it; empty where that is ONNX Runtime or not known.
std::string ShownByCommand(const std::string& command);

}  // namespace plumb

#endif  // PLUMB_SESSION_CASE_FILES_H_
