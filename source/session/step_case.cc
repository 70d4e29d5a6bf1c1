// SPDX-License-Identifier: Apache-2.0
#include "plumb/tool/step_case.h"

#include <fmt/core.h>

#include <filesystem>
#include <set>

#include "base/process.h"
#include "base/text.h"
#include "format/onnx/extract.h"
#include "plumb/model.h"
#include "plumb/tensor_file.h"
#include "plumb/tool/file.h"
#include "plumb/tool/printing.h"
#include "session/case_files.h"

namespace plumb {
namespace {

// The members as a graph of their own, on the inputs as the device read them.
class CaseGraph {
 public:
  CaseGraph(const Graph& whole, const StepCase& step) : whole_(whole), step_(step) {}

  Result<Graph> Make() {
    graph_.source = whole_.source;
    graph_.weights_generated = whole_.weights_generated;
    graph_.weight_seed = whole_.weight_seed;
    const std::vector<PortInfo>& ports = step_.report.step.inputs;
    for (size_t i = 0; i < ports.size(); ++i) {
      if (!seen_.insert(ports[i].blob).second) continue;
      PLUMB_ASSIGN_OR_RETURN(Tensor value, step_.inputs[i].ConvertedTo(ports[i].dtype));
      if (ports[i].constant) {
        graph_.constants[ports[i].blob] = std::move(value);
        continue;
      }
      graph_.inputs.push_back({ports[i].blob, value.dtype(), value.shape()});
      PLUMB_ASSIGN_OR_RETURN(Tensor given, value.ConvertedTo(whole_.ModelDType(ports[i].blob, value.dtype())));
      inputs_.push_back({ports[i].blob, std::move(given)});
    }
    for (const Layer* layer : step_.layers) {
      graph_.layers.push_back(*layer);
      graph_.layers.back().index = static_cast<int>(graph_.layers.size()) - 1;
      for (const std::string& blob : layer->inputs) {  // inside of the step
        const auto constant = whole_.constants.find(blob);
        if (constant != whole_.constants.end()) graph_.constants.insert(*constant);
      }
    }
    for (const PortInfo& port : step_.report.step.outputs) graph_.outputs.push_back(port.blob);
    PLUMB_RETURN_IF_ERROR(InferShapes(graph_).status());
    return std::move(graph_);
  }

  // In the model's dtypes.
  const std::vector<NamedTensor>& inputs() const { return inputs_; }

 private:
  const Graph& whole_;
  const StepCase& step_;
  std::set<std::string> seen_;
  Graph graph_;
  std::vector<NamedTensor> inputs_;
};

std::vector<NamedTensor> NamedOutputs(const StepCase& step, const std::vector<Tensor>& values) {
  std::vector<NamedTensor> named;
  for (size_t i = 0; i < values.size(); ++i) named.push_back({step.report.step.outputs[i].blob, values[i]});
  return named;
}

Status WriteSides(const std::string& folder, const StepCase& step) {
  const std::pair<const char*, const std::vector<Tensor>*> sides[] = {
      {"device", &step.device}, {"reference", &step.reference}, {"tau", &step.tau}};
  for (const auto& [name, values] : sides) {
    PLUMB_RETURN_IF_ERROR(WriteTensors(fmt::format("{}/{}.npz", folder, name), NamedOutputs(step, *values)));
  }
  return Status::Ok();
}

// The reference as the model's dtype can hold it.
Result<std::vector<NamedTensor>> RightOutputsOf(const Graph& graph, const StepCase& step) {
  std::vector<NamedTensor> outputs;
  for (size_t i = 0; i < step.reference.size(); ++i) {
    const PortInfo& port = step.report.step.outputs[i];
    PLUMB_ASSIGN_OR_RETURN(Tensor value, step.reference[i].ConvertedTo(graph.ModelDType(port.blob, port.dtype)));
    outputs.push_back({port.blob, std::move(value)});
  }
  return outputs;
}

std::string CaseText(const std::string& folder, const CaseContents& contents, const std::string& without_onnx) {
  const StepCase& step = contents.step;
  const LayerReport& report = step.report;
  const OutputReport* worst = report.Worst();
  std::string text = fmt::format("Layer {} '{}' ({}) of {}: {}", report.step.index, Printable(report.step.name),
                                 Printable(report.step.type), report.step.device, VerdictName(report.verdict));
  if (worst != nullptr) text += fmt::format(", E {}, R {}", Number(worst->excess, 3), Number(worst->rms_excess, 3));
  if (!report.reason.empty()) text += "; " + PrintableLine(report.reason);
  if (report.reason.find(report.cause) == std::string::npos) text += "; " + PrintableLine(report.cause);
  if (!contents.said.empty()) text += "\n" + PrintableLine(contents.said);
  text +=
      "\n\ninputs.npz     what it read\ndevice.npz     what it wrote\nreference.npz  what it should have written, "
      "float64\ntau.npz        the largest error that rounding explains, value by value\n\nAgain on any device:\n"
      "    model_check -m case.tnnproto -i inputs.npz -d X86\n";
  if (!contents.show.empty())
    text += "\nWhere it was found, from the folder that the command was run in:\n    sh " +
            PrintableLine(QuotedForShell(folder + "/show.sh")) + "\n";
  if (contents.onnx.empty()) return text;
  if (!without_onnx.empty()) return text + "\nThere is no ONNX case: " + PrintableLine(without_onnx) + "\n";
  return text +
         fmt::format(
             "\nIn {} alone:\n    python3 show.py\n\nmodel.onnx and test_data_set_0/ are a case of ONNX's backend "
             "tests.\n",
             ShownTitle(contents.runtime));
}

// model.onnx and test_data_set_0/; the sentence that says why there is none.
Result<std::string> WriteOnnxCase(const std::string& folder, const CaseContents& contents) {
  const std::string data = folder + "/test_data_set_0";
  std::error_code error;
  std::filesystem::create_directories(data, error);
  if (error) return Status::IoError(fmt::format("folder '{}' cannot be made: {}", data, error.message()));
  const Status written = onnx::WriteOnnxPart(contents.onnx, folder, contents.inputs, contents.outputs);
  if (written.ok()) {
    PLUMB_RETURN_IF_ERROR(WriteFile(folder + "/show.py", ShowPython(contents.runtime)));
    return std::string();
  }
  if (written.code() != StatusCode::kNotSupported) return written;
  std::filesystem::remove(data, error);  // where nothing was written into it
  return written.message();
}

}  // namespace

bool IsCaseFolder(const std::string& folder) {
  std::error_code error;
  const auto has = [&](const char* file) { return std::filesystem::is_regular_file(folder + "/" + file, error); };
  return has("case.tnnproto") && has("reference.npz") && has("tau.npz");
}

void RemoveCase(const std::string& folder) {
  std::error_code error;
  for (const char* name : {"test_data_set_0", "dump", "case.tnnproto", "case.tnnmodel", "inputs.npz", "device.npz",
                           "reference.npz", "tau.npz", "model.onnx", "show.sh", "show.py", "tried.jsonl", "README.txt"})
    std::filesystem::remove_all(folder + "/" + name, error);
  std::filesystem::remove(folder, error);  // where it is empty
}

Status CheckCaseFolder(const std::string& folder) {
  std::error_code error;
  if (folder.empty() || IsCaseFolder(folder) || !std::filesystem::is_directory(folder, error)) return Status::Ok();
  if (std::filesystem::is_empty(folder, error) || error) return Status::Ok();
  return Status::InvalidArgument(fmt::format(
      "'{}' holds files that are no case of Plumb; name a new folder, an empty one or that of an older case", folder));
}

Status WriteCaseContents(const std::string& folder, const CaseContents& contents) {
  PLUMB_RETURN_IF_ERROR(CheckCaseFolder(folder));
  if (IsCaseFolder(folder)) RemoveCase(folder);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Status::IoError(fmt::format("folder '{}' cannot be made: {}", folder, error.message()));
  PLUMB_RETURN_IF_ERROR(SaveModel(contents.graph, folder + "/case"));
  PLUMB_RETURN_IF_ERROR(WriteTensors(folder + "/inputs.npz", contents.inputs));
  PLUMB_RETURN_IF_ERROR(WriteSides(folder, contents.step));
  std::string without_onnx;
  if (!contents.onnx.empty()) {
    PLUMB_ASSIGN_OR_RETURN(without_onnx, WriteOnnxCase(folder, contents));
  }
  if (!contents.show.empty()) PLUMB_RETURN_IF_ERROR(WriteFile(folder + "/show.sh", contents.show));
  return WriteFile(folder + "/README.txt", CaseText(folder, contents, without_onnx));
}

Status WriteStepCase(const std::string& folder, const ModelFiles& model, const Graph& graph, const StepCase& step,
                     const std::string& runtime) {
  PLUMB_RETURN_IF_ERROR(CheckShown(runtime));
  CaseGraph made(graph, step);
  PLUMB_ASSIGN_OR_RETURN(const Graph part, made.Make());
  const ModelFormat* format = FindModelFormat(model.structure);
  const bool is_onnx = format != nullptr && std::string(format->type) == "ONNX";
  PLUMB_ASSIGN_OR_RETURN(const std::vector<NamedTensor> outputs, RightOutputsOf(graph, step));
  return WriteCaseContents(folder,
                           {part, made.inputs(), outputs, is_onnx ? model.structure : "", step, "", "", runtime});
}

}  // namespace plumb
