// SPDX-License-Identifier: Apache-2.0
// A golden: what the framework that a model comes from computes for it, operator by operator; taken as right.
//
// It is made here by running that framework (GoldenRun), or was made before (plumb-golden, a dump folder, an .npz), and
// read with ReadGolden. A tensor's name is the one that the model's file gives it.
//
// Example:
//   PLUMB_ASSIGN_OR_RETURN(const plumb::Golden golden, plumb::ReadGolden("golden"));  // or GoldenRun::folder()
//   std::printf("%s: 'prob' begins with %g\n", golden.description.c_str(), golden.tensors.at("prob").ValueAt(0));
//
// Ownership: a GoldenRun removes its folder when it ends; what was read from it stays. Threading: values; several runs
// may be made at once. A run starts a child process (the program and its arguments, no shell) and waits for it.
#ifndef PLUMB_GOLDEN_H_
#define PLUMB_GOLDEN_H_

#include <map>
#include <string>
#include <utility>

#include "plumb/status.h"
#include "plumb/tensor.h"
#include "plumb/tool/file.h"

namespace plumb {

struct GoldenOptions {
  std::map<std::string, Tensor> constants;  // network inputs that are constants for us (LoadOptions::input_values)
  // The Python that has plumb_golden and the framework; "": what PLUMB_PYTHON names, else the build's venv, else
  // python3.
  std::string python;
  std::string signature;  // of a .tflite (LoadOptions::signature)
};

class GoldenRun {
 public:
  // Runs `python -m plumb_golden onnx MODEL` on these inputs. InvalidArgument: the model is no .onnx; Python, the
  // package or ONNX Runtime is missing (the message says how to install it); what the run says went wrong. IoError: no
  // room for it.
  static Result<GoldenRun> OnnxRuntime(const std::string& model, const std::map<std::string, Tensor>& inputs,
                                       const GoldenOptions& options = {});
  // The same with `plumb_golden litert` of a .tflite, on LiteRT's plain kernels.
  static Result<GoldenRun> LiteRt(const std::string& model, const std::map<std::string, Tensor>& inputs,
                                  const GoldenOptions& options = {});
  // The one of them that runs files with this model's ending; OnnxRuntime, and its error, where neither does.
  static Result<GoldenRun> Of(const std::string& model, const std::map<std::string, Tensor>& inputs,
                              const GoldenOptions& options = {});

  struct Framework;  // which one runs it

  // "ONNX Runtime", "LiteRT".
  const std::string& framework() const { return framework_; }
  // The dump folder, as long as this object lives.
  std::string folder() const { return work_.path() + "/golden"; }

 private:
  GoldenRun(WorkFolder work, std::string framework) : work_(std::move(work)), framework_(std::move(framework)) {}
  static Result<GoldenRun> Run(const Framework& framework, const std::string& model,
                               const std::map<std::string, Tensor>& inputs, const GoldenOptions& options);
  WorkFolder work_;
  std::string framework_;
};

struct Golden {
  std::string description;  // "dump folder of onnxruntime 1.31.1, 76 tensors"
  std::map<std::string, Tensor> tensors;
};

// Every tensor of a dump folder, .npz, ... (doc/subjects.md lists what is read). NotFound, IoError, CorruptModel,
// InvalidArgument.
Result<Golden> ReadGolden(const std::string& path);

}  // namespace plumb

#endif  // PLUMB_GOLDEN_H_
