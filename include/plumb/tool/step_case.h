// SPDX-License-Identifier: Apache-2.0
// One step as files to hand to whoever can fix it: a model of this step alone, what it read, what it wrote, and what it
// should have written.
//
// Example:
//   const plumb::ModelFiles model{"net.tnnproto", ""};
//   PLUMB_ASSIGN_OR_RETURN(const auto session, plumb::Session::Open(model, plumb::SessionOptions()));
//   plumb::CheckOptions check;
//   check.layers = {"0"};
//   check.on_step = [&](const plumb::StepCase& step) {
//     return plumb::WriteStepCase("the_case", model, *session->graph(), step);
//   };
//   PLUMB_ASSIGN_OR_RETURN(const plumb::RunReport run, session->CheckDevice("X86", {}, check));
//
// Threading: a free function without shared state.
#ifndef PLUMB_TOOL_STEP_CASE_H_
#define PLUMB_TOOL_STEP_CASE_H_

#include <string>

#include "plumb/check.h"
#include "plumb/model.h"

namespace plumb {

// Writes into the folder, which is made: case.tnnproto and case.tnnmodel; inputs.npz; device.npz (what was judged),
// reference.npz (float64) and tau.npz (doc/check.md, "The rule"); README.txt with the command. Of an .onnx file also a
// case of ONNX's backend tests (model.onnx, test_data_set_0/), whose outputs are the reference rounded to the model's
// dtype, and show.py, which judges another runtime alone by it: `runtime`, onnxruntime where it is
// empty (CheckShown). Where the file has no such part README.txt says why.
// IoError where the folder cannot be written; NotSupported for a step that is no layer of the graph.
Status WriteStepCase(const std::string& folder, const ModelFiles& model, const Graph& graph, const StepCase& step,
                     const std::string& runtime = "");

// InvalidArgument where the folder holds files of something else than an older case, which would be mixed with a new
// one. Empty, or no such folder: Ok.
Status CheckCaseFolder(const std::string& folder);

// InvalidArgument where no show.py can be written for the runtime: onnxruntime, openvino, mnn, ncnn, torch, tract and
// opencv can run an .onnx, by their own readers or converters; LiteRT cannot (NotSupported). Empty: Ok.
Status CheckShown(const std::string& runtime);

}  // namespace plumb

#endif  // PLUMB_TOOL_STEP_CASE_H_
