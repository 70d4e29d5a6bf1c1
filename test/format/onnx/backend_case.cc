// SPDX-License-Identifier: Apache-2.0
#include "format/onnx/backend_case.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "format/onnx/import.h"
#include "format/onnx/parse.h"
#include "plumb/plumb.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

using Values = std::map<std::string, Tensor>;

using Types = std::map<std::string, int>;  // ONNX's, by name

Status ReadValues(const std::string& folder, const char* kind, const std::vector<onnx::ValueInfoIr>& infos,
                  Values* values, Types* types = nullptr) {
  int file = 0;
  for (const onnx::ValueInfoIr& info : infos) {
    const std::string path = folder + "/" + kind + "_" + std::to_string(file++) + ".pb";
    if (info.kind != onnx::ValueInfoIr::kTensor) return Status::NotSupported("'" + info.name + "' is no tensor");
    PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFile(path));
    PLUMB_ASSIGN_OR_RETURN(const onnx::ConstantIr constant, onnx::ParseTensor(bytes, path));
    if (constant.value.empty()) return Status::NotSupported("'" + info.name + "': " + constant.why);
    (*values)[info.name] = constant.value;
    if (types != nullptr) (*types)[info.name] = constant.type;
  }
  return Status::Ok();
}

// As numpy's assert_allclose of the suite.
Status Compare(const std::string& name, const Tensor& output, const Tensor& expected, int type, bool* same_dtype) {
  // 64-bit unsigned integers and what is smaller than a byte have no dtype here: they come out as they are carried.
  const DType wanted = onnx::StoredDType(type).value();
  const bool has_dtype = type != onnx::kTypeUint64 && onnx::FindTiny(type) == nullptr;
  *same_dtype = *same_dtype && has_dtype;
  if (output.dtype() != wanted) {
    return Status::Mismatch("output '" + name + "' is " + DTypeName(output.dtype()) + ", expected " +
                            DTypeName(wanted));
  }
  PLUMB_ASSIGN_OR_RETURN(const Tensor found, output.ConvertedTo(expected.dtype()));
  if (found.shape() != expected.shape()) {
    return Status::Mismatch("output '" + name + "' has the shape " + found.shape().ToString() + ", expected " +
                            expected.shape().ToString());
  }
  for (int64_t i = 0; i < found.NumElements(); ++i) {
    const double a = found.ValueAt(i), b = expected.ValueAt(i);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b || std::fabs(a - b) <= 1e-7 + 1e-3 * std::fabs(b)) continue;
    return Status::Mismatch("output '" + name + "' [" + std::to_string(i) + "] is " + std::to_string(a) +
                            ", expected " + std::to_string(b));
  }
  return Status::Ok();
}

Result<Values> Forward(std::shared_ptr<const Graph> graph, const std::string& device, const Values& inputs,
                       BackendOutcome* outcome) {
  NetworkOptions options;
  options.fallback = true;
  options.num_threads = 1;
  PLUMB_ASSIGN_OR_RETURN(const auto network, CreateNetwork(graph, device, options));
  outcome->layers += static_cast<int>(network->steps().size());
  for (const StepInfo* step : network->steps()) outcome->fallback = outcome->fallback || step->fallback;
  for (const GraphInput& input : graph->inputs) {
    if (inputs.count(input.name) == 0)
      return Status::NotSupported("'" + input.name + "' is random: nothing to compare with");
    PLUMB_ASSIGN_OR_RETURN(const Tensor value, inputs.at(input.name).ConvertedTo(input.dtype));
    PLUMB_RETURN_IF_ERROR(network->SetInput(input.name, value));
  }
  PLUMB_RETURN_IF_ERROR(network->Forward());
  Values outputs;
  for (const std::string& name : graph->outputs) {
    PLUMB_ASSIGN_OR_RETURN(outputs[name], network->GetOutput(name));
  }
  return outputs;
}

// Imports with the shapes of the data; binds what the importer says that it must know.
Result<Graph> Import(const onnx::ModelIr& model, const Values& inputs, BackendOutcome* outcome,
                     ImportRecord* record = nullptr) {
  LoadOptions options;
  options.record = record;
  options.evaluator = ReferenceEvaluator();
  for (int attempt = 0;; ++attempt) {
    options.input_shapes.clear();
    for (const auto& [name, value] : inputs) {
      if (options.input_values.count(name) == 0) options.input_shapes[name] = value.shape();
    }
    onnx::ImportResult result = onnx::ImportModel(model, options);
    if (result.status.ok()) return std::move(result.graph);
    const size_t bound = options.input_values.size();
    for (const auto& [name, suits] : result.needed) options.input_values[name] = inputs.at(name);
    if (options.input_values.size() == bound || attempt == 8) return result.status;
    outcome->bound_inputs = static_cast<int>(options.input_values.size());
  }
}

// The graph after a way through files.
Result<Graph> ThroughFiles(const Graph& graph) {
  const std::string prefix = (fs::temp_directory_path() / ("plumb_onnx_" + std::to_string(::getpid()))).string();
  PLUMB_RETURN_IF_ERROR(SaveModel(graph, prefix));
  Result<Graph> again = LoadModel(prefix + ".tnnproto");
  fs::remove(prefix + ".tnnproto");
  fs::remove(prefix + ".tnnmodel");
  return again;
}

Status SameBits(const Values& a, const Values& b) {
  for (const auto& [name, value] : a) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor other, b.at(name).ConvertedTo(value.dtype()));  // a tnnproto has no such dtype
    const bool same = value.dtype() == other.dtype() && value.shape() == other.shape() &&
                      std::memcmp(value.raw(), other.raw(), value.bytes()) == 0;
    const std::string kinds = std::string(DTypeName(value.dtype())) + " " + value.shape().ToString() + ", then " +
                              DTypeName(other.dtype()) + " " + other.shape().ToString();
    if (!same) return Status::Mismatch("round trip: output '" + name + "' has other bits: " + kinds);
  }
  return Status::Ok();
}

Result<Values> ReadInputs(const onnx::ModelIr& model, const std::string& data) {
  Values inputs;
  std::vector<onnx::ValueInfoIr> fed;
  for (const onnx::ValueInfoIr& input : model.graph.inputs) {
    if (model.graph.constants.count(input.name) == 0) fed.push_back(input);
  }
  PLUMB_RETURN_IF_ERROR(ReadValues(data, "input", fed, &inputs));
  return inputs;
}

Status RunDataSet(const onnx::ModelIr& model, const std::string& data, const std::string& device, bool round_trip,
                  BackendOutcome* outcome) {
  Values expected;
  Types types;
  PLUMB_ASSIGN_OR_RETURN(const Values inputs, ReadInputs(model, data));
  PLUMB_RETURN_IF_ERROR(ReadValues(data, "output", model.graph.outputs, &expected, &types));
  PLUMB_ASSIGN_OR_RETURN(Graph graph, Import(model, inputs, outcome));
  const auto shared = std::make_shared<const Graph>(std::move(graph));
  PLUMB_ASSIGN_OR_RETURN(const Values outputs, Forward(shared, device, inputs, outcome));
  for (const auto& [name, value] : expected) {
    PLUMB_RETURN_IF_ERROR(Compare(name, outputs.at(name), value, types.at(name), &outcome->same_dtypes));
  }
  if (!round_trip) return Status::Ok();
  Result<Graph> again = ThroughFiles(*shared);
  if (!again.ok()) return Status::Mismatch("round trip: " + again.status().message());
  Result<Values> second = Forward(std::make_shared<const Graph>(std::move(*again)), device, inputs, outcome);
  if (!second.ok()) return Status::Mismatch("round trip: " + second.status().message());
  return SameBits(outputs, *second);
}

Status Run(const std::string& folder, const std::string& device, bool round_trip, BackendOutcome* outcome) {
  const std::string path = folder + "/model.onnx";
  PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFile(path));
  PLUMB_ASSIGN_OR_RETURN(const onnx::ModelIr model, onnx::ParseModel(bytes, path));
  outcome->op_type = model.graph.nodes.size() == 1 ? model.graph.nodes[0].op_type : "several";
  int sets = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().rfind("test_data_set_", 0) != 0) continue;
    ++sets;
    PLUMB_RETURN_IF_ERROR(RunDataSet(model, entry.path().string(), device, round_trip, outcome));
  }
  return sets > 0 ? Status::Ok() : Status::NotFound("there is no data set");
}

}  // namespace

std::vector<std::string> BackendCases(const std::string& group) {
  std::vector<std::string> folders;
  std::error_code error;
  const char* data = std::getenv("PLUMB_ONNX_DATA");
  const fs::path root = data != nullptr ? data : kBackendData;
  for (const fs::directory_entry& entry : fs::directory_iterator(root / group, error)) {
    if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path().string());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

Result<BackendModel> LoadBackendCase(const std::string& folder) {
  PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFile(folder + "/model.onnx"));
  PLUMB_ASSIGN_OR_RETURN(const onnx::ModelIr model, onnx::ParseModel(bytes, folder + "/model.onnx"));
  PLUMB_ASSIGN_OR_RETURN(const Values inputs, ReadInputs(model, folder + "/test_data_set_0"));
  BackendModel loaded;
  BackendOutcome outcome;
  PLUMB_ASSIGN_OR_RETURN(loaded.graph, Import(model, inputs, &outcome, &loaded.record));
  for (const GraphInput& input : loaded.graph.inputs) {
    if (inputs.count(input.name) == 0) return Status::NotSupported("'" + input.name + "' is random");
    PLUMB_ASSIGN_OR_RETURN(loaded.inputs[input.name], inputs.at(input.name).ConvertedTo(input.dtype));
  }
  for (const onnx::NodeIr& node : model.graph.nodes) {
    loaded.op_types.push_back(node.op_type);
    loaded.tensors.insert(loaded.tensors.end(), node.outputs.begin(), node.outputs.end());
  }
  return loaded;
}

Result<BackendModel> LoadFoldedCase(const std::string& folder) {
  PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFile(folder + "/model.onnx"));
  PLUMB_ASSIGN_OR_RETURN(onnx::ModelIr model, onnx::ParseModel(bytes, folder + "/model.onnx"));
  PLUMB_ASSIGN_OR_RETURN(const Values inputs, ReadInputs(model, folder + "/test_data_set_0"));
  Values outputs;
  PLUMB_RETURN_IF_ERROR(ReadValues(folder + "/test_data_set_0", "output", model.graph.outputs, &outputs));
  BackendModel loaded;
  LoadOptions options;
  options.record = &loaded.record;
  options.evaluator = ReferenceEvaluator();
  for (const onnx::ValueInfoIr& input : model.graph.inputs) {
    if (inputs.count(input.name) != 0) options.input_values[input.name] = inputs.at(input.name);
  }
  for (const onnx::NodeIr& node : model.graph.nodes) loaded.op_types.push_back(node.op_type);
  const std::vector<onnx::ValueInfoIr> written = std::move(model.graph.outputs);
  model.graph.outputs.clear();
  for (onnx::ValueInfoIr output : written) {
    const Tensor& value = outputs.at(output.name);
    if (output.type != onnx::kTypeFloat || value.NumElements() == 0) continue;
    loaded.tensors.push_back(output.name);
    onnx::NodeIr add;
    add.name = add.op_type = "Add";
    add.inputs = {output.name, "add/" + output.name};
    add.outputs = {"sum/" + output.name};
    model.graph.nodes.push_back(add);
    output.name = add.inputs[1], output.has_shape = true, output.dims = value.shape().dims();
    output.dim_names.assign(output.dims.size(), "");
    model.graph.inputs.push_back(output);
    output.name = add.outputs[0];
    model.graph.outputs.push_back(output);
    PLUMB_ASSIGN_OR_RETURN(loaded.inputs[add.inputs[1]], Tensor::Zeros(DType::kF32, value.shape()));
  }
  if (loaded.tensors.empty()) return Status::NotSupported("no output is f32");
  onnx::ImportResult result = onnx::ImportModel(model, options);
  if (!result.status.ok()) return result.status;
  loaded.graph = std::move(result.graph);
  return loaded;
}

BackendOutcome RunBackendCase(const std::string& folder, const std::string& device, bool round_trip) {
  BackendOutcome outcome;
  const Status status = Run(folder, device, round_trip, &outcome);
  if (status.ok()) return outcome;
  outcome.kind = status.code() == StatusCode::kMismatch ? BackendOutcome::kFailed : BackendOutcome::kNotSupported;
  outcome.reason = status.message();
  const size_t line = outcome.reason.find('\n');  // the importer's headline; the first node is what counts
  if (line != std::string::npos) outcome.reason = outcome.reason.substr(line + 3);
  outcome.reason = outcome.reason.substr(0, outcome.reason.find('\n'));
  return outcome;
}

}  // namespace plumb
