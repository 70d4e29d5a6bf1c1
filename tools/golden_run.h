// --golden onnxruntime: runs the original model in ONNX Runtime through the Python package of tools/python, on the very
// inputs that the check uses, and keeps the dump until the program ends.
#ifndef PLUMB_TOOLS_GOLDEN_RUN_H_
#define PLUMB_TOOLS_GOLDEN_RUN_H_

#include <map>
#include <string>
#include <vector>

#include "plumb/status.h"
#include "plumb/tensor.h"

namespace plumb {

class GoldenRun {
 public:
  GoldenRun() = default;
  GoldenRun(const GoldenRun&) = delete;
  GoldenRun& operator=(const GoldenRun&) = delete;
  ~GoldenRun();  // removes the dump

  // Runs $PLUMB_PYTHON (else build/venv, else python3) -m plumb_golden onnx MODEL; returns the dump's folder. `constants`: texts of
  // --constant. InvalidArgument: the model is no .onnx; the package is not installed (the message says how to install
  // it); what it says went wrong.
  Result<std::string> OnnxRuntime(const std::string& model, const std::map<std::string, Tensor>& inputs,
                                  const std::vector<std::string>& constants);

 private:
  std::string work_;
};

}  // namespace plumb

#endif  // PLUMB_TOOLS_GOLDEN_RUN_H_
