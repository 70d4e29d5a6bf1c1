// SPDX-License-Identifier: Apache-2.0
#include "plumb/golden.h"

#include <fmt/core.h>

#include <vector>

#include "base/process.h"
#include "base/text.h"
#include "interop/tensor_set.h"
#include "plumb/tensor_file.h"
#include "session/python.h"

namespace plumb {
namespace {

// What it says, errors among it; where it cannot be started, why.
ProcessResult RunPython(const std::vector<std::string>& arguments) {
  ProcessOptions options;
  options.merge = true;
  ProcessResult result = RunProcess(arguments, options);
  if (!result.error.empty()) result.out = result.error;
  return result;
}

// The name of the package there: alone, or as a part of the wheel.
Result<std::string> FindPackage(const std::string& python, const std::string& modules, const std::string& needs) {
  const ProcessResult there = RunPython({python, "-c", "import plumb_golden, " + modules});
  if (there.exit_code == 0) return std::string("plumb_golden");
  if (RunPython({python, "-c", "import plumbnn.golden, " + modules}).exit_code == 0) {
    return std::string("plumbnn.golden");
  }
  return Status::InvalidArgument(fmt::format("{}; PLUMB_PYTHON names another Python that has them",
                                             fmt::format(fmt::runtime(needs), python, LastLineOf(there.out))));
}

}  // namespace

struct GoldenRun::Framework {
  const char* name;
  const char* recipe;  // of plumb_golden
  const char* ending;  // of the model
  const char* modules;
  const char* needs;     // what is said where they are missing: of which Python, and what it says
  bool knows_constants;  // has --constant; else they are inputs like others
};

namespace {

constexpr GoldenRun::Framework kOnnxRuntime = {
    "ONNX Runtime",
    "onnx",
    ".onnx",
    "onnx, onnxruntime",
    "running ONNX Runtime needs plumb_golden, onnx and onnxruntime in {} ({}): platforms/linux/run.sh installs them "
    "into build/venv",
    true};
constexpr GoldenRun::Framework kLiteRt = {
    "LiteRT",
    "litert",
    ".tflite",
    "ai_edge_litert",
    "running LiteRT needs plumb_golden and ai_edge_litert in {0} ({1}): {0} -m pip install ai-edge-litert",
    false};

}  // namespace

Result<GoldenRun> GoldenRun::OnnxRuntime(const std::string& model, const std::map<std::string, Tensor>& inputs,
                                         const GoldenOptions& options) {
  return Run(kOnnxRuntime, model, inputs, options);
}

Result<GoldenRun> GoldenRun::LiteRt(const std::string& model, const std::map<std::string, Tensor>& inputs,
                                    const GoldenOptions& options) {
  return Run(kLiteRt, model, inputs, options);
}

Result<GoldenRun> GoldenRun::Of(const std::string& model, const std::map<std::string, Tensor>& inputs,
                                const GoldenOptions& options) {
  return Run(EndsWith(model, kLiteRt.ending) ? kLiteRt : kOnnxRuntime, model, inputs, options);
}

Result<GoldenRun> GoldenRun::Run(const Framework& framework, const std::string& model,
                                 const std::map<std::string, Tensor>& inputs, const GoldenOptions& options) {
  if (!EndsWith(model, framework.ending)) {
    return Status::InvalidArgument(
        fmt::format("{} runs the original {}, and '{}' is none: name that one, or make the golden with "
                    "plumb-golden and give its folder",
                    framework.name, framework.ending, model));
  }
  const std::string python = PythonOf(options.python);
  PLUMB_ASSIGN_OR_RETURN(const std::string package, FindPackage(python, framework.modules, framework.needs));
  PLUMB_ASSIGN_OR_RETURN(WorkFolder work, WorkFolder::Make("plumb-golden"));
  const std::string folder = work.path();
  GoldenRun run(std::move(work), framework.name);
  std::vector<std::string> arguments = {python, "-m", package, framework.recipe, model, "-o", run.folder()};
  std::vector<NamedTensor> tensors;
  for (const auto& [name, value] : inputs) tensors.push_back({name, value});
  if (!framework.knows_constants) {
    for (const auto& [name, value] : options.constants) tensors.push_back({name, value});
  }
  if (!tensors.empty()) {
    PLUMB_RETURN_IF_ERROR(WriteTensors(folder + "/inputs.npz", tensors));
    arguments.insert(arguments.end(), {"--input", folder + "/inputs.npz"});
  }
  if (!options.signature.empty()) arguments.insert(arguments.end(), {"--signature", options.signature});
  for (const auto& [name, value] : options.constants) {
    if (!framework.knows_constants) break;
    const std::string file = fmt::format("{}/constant{}.npy", folder, arguments.size());
    PLUMB_RETURN_IF_ERROR(WriteTensors(file, {{"", value}}));
    arguments.insert(arguments.end(), {"--constant", fmt::format("{}={}", name, file)});
  }
  const ProcessResult ended = RunPython(arguments);
  if (ended.exit_code == 0) return run;
  return Status::InvalidArgument(fmt::format("plumb_golden on '{}': {}", model, LastLineOf(ended.out)));
}

Result<Golden> ReadGolden(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const TensorSet set, TensorSet::Open(path));
  Golden golden;
  golden.description = set.description();
  for (const StoredTensor& tensor : set.tensors()) {
    PLUMB_ASSIGN_OR_RETURN(golden.tensors[tensor.name], tensor.load());
  }
  return golden;
}

}  // namespace plumb
