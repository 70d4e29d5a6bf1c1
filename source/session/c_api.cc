// SPDX-License-Identifier: Apache-2.0
// plumb_c.h over the C++ headers: C's structures to ours and back, a Status to a code and this thread's sentence.
#include "plumb_c.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "plumb/dump.h"
#include "plumb/judge.h"
#include "plumb/plumb.h"
#include "plumb/tool/check_all.h"

struct plumb_model {
  std::shared_ptr<const plumb::Graph> graph;
};
struct plumb_network {
  std::unique_ptr<plumb::Network> network;
  std::map<std::string, plumb::Tensor> outputs;  // that were asked for since the last run
};
struct plumb_report {
  plumb::CheckResult result;  // owns what `layers` points to
  plumb::Conclusion conclusion;
  std::string text, json;
  std::vector<plumb_layer> layers;
  const plumb_layer* first_wrong = nullptr;
};

struct plumb_judgement {
  plumb::Judgement found;
  std::string text;
};

namespace plumb {
namespace {

static_assert(static_cast<int>(DType::kBool) == PLUMB_BOOL && static_cast<int>(DType::kF64) == PLUMB_F64 &&
              static_cast<int>(DType::kI64) == PLUMB_I64);
static_assert(static_cast<int>(StatusCode::kInternal) == PLUMB_INTERNAL &&
              static_cast<int>(StatusCode::kIoError) == PLUMB_IO_ERROR);

std::string& LastError() {
  thread_local std::string sentence;
  return sentence;
}

plumb_code Code(const Status& status) {
  if (!status.ok()) LastError() = status.message();
  return static_cast<plumb_code>(status.code());
}

// No exception may go through C: those of the standard library are for want of memory, or a mistake of ours.
template <class F>
plumb_code Guarded(F function) noexcept {
  try {
    return Code(function());
  } catch (const std::bad_alloc&) {
    return Code(Status::OutOfMemory("there is not enough memory"));
  } catch (const std::exception& error) {
    return Code(Status::Internal(error.what()));
  }
}

Status Needs(const void* pointer, const char* what) {
  if (pointer != nullptr) return Status::Ok();
  return Status::InvalidArgument(fmt::format("{} is NULL", what));
}

Result<Shape> ToShape(const plumb_tensor& from) {
  PLUMB_RETURN_IF_ERROR(Needs(from.name, "the name of a tensor"));
  if (from.rank < 0 || from.rank > PLUMB_DUMP_MAX_RANK) {
    return Status::InvalidArgument(
        fmt::format("tensor '{}': expected a rank of 0 to {}, found {}", from.name, PLUMB_DUMP_MAX_RANK, from.rank));
  }
  Shape shape(std::vector<int64_t>(from.dims, from.dims + from.rank));
  PLUMB_RETURN_IF_ERROR(shape.Validate().AddContext(fmt::format("tensor '{}'", from.name)));
  return shape;
}

// A copy: what the caller has need not be aligned, nor live on.
Result<Tensor> ToTensor(const plumb_tensor& from) {
  PLUMB_ASSIGN_OR_RETURN(const Shape shape, ToShape(from));
  if (from.dtype < PLUMB_F32 || from.dtype > PLUMB_BOOL)
    return Status::InvalidArgument(fmt::format("tensor '{}': {} is no plumb_dtype", from.name, from.dtype + 0));
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(static_cast<DType>(from.dtype), shape));
  if (tensor.bytes() == 0) return tensor;
  PLUMB_RETURN_IF_ERROR(Needs(from.data, fmt::format("the data of tensor '{}'", from.name).c_str()));
  std::memcpy(tensor.raw(), from.data, tensor.bytes());
  return tensor;
}

Status Describe(const std::string& name, DType dtype, const Shape& shape, const void* data, plumb_tensor* to) {
  *to = {};
  if (shape.rank() > PLUMB_DUMP_MAX_RANK) {
    return Status::NotSupported(
        fmt::format("tensor '{}' has {} dims, and a plumb_tensor {}", name, shape.rank(), PLUMB_DUMP_MAX_RANK));
  }
  to->name = name.c_str();
  to->dtype = static_cast<plumb_dtype>(dtype);
  to->rank = shape.rank();
  std::copy(shape.dims().begin(), shape.dims().end(), to->dims);
  to->data = data;
  return Status::Ok();
}

Result<SessionOptions> ToOptions(const plumb_check_options& from, const std::vector<std::string>& devices) {
  SessionOptions options;
  options.load.open_dims = OpenDims::kUsual;
  for (size_t i = 0; i < from.num_inputs; ++i) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor tensor, ToTensor(from.inputs[i]));
    options.inputs.values[from.inputs[i].name] = tensor;
  }
  for (size_t i = 0; i < from.num_subject; ++i) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor tensor, ToTensor(from.subject[i]));
    options.subject.tensors.push_back({from.subject[i].name, tensor});
  }
  if (from.subject_path != nullptr) options.subject.path = from.subject_path;
  options.checks_devices = !devices.empty();
  return options;
}

void AddLayers(plumb_report* report) {
  size_t wrong = SIZE_MAX;
  for (const RunReport& run : report->result.runs) {
    const size_t first = report->layers.size();
    for (const LayerReport& layer : run.layers) {
      const OutputReport* worst = layer.Worst();
      report->layers.push_back({run.device.c_str(), layer.step.index, layer.step.name.c_str(), layer.step.type.c_str(),
                                VerdictName(layer.verdict), layer.reason.c_str(), layer.cause.c_str(),
                                worst == nullptr ? 0 : worst->excess});
    }
    if (wrong == SIZE_MAX && run.first_wrong >= 0) wrong = first + static_cast<size_t>(run.first_wrong);
  }
  if (wrong != SIZE_MAX) report->first_wrong = &report->layers[wrong];
}

Result<std::unique_ptr<plumb_report>> Check(const plumb_check_options& options) {
  PLUMB_RETURN_IF_ERROR(Needs(options.model, "plumb_check_options.model"));
  CheckPlan plan;
  std::istringstream names(options.devices == nullptr ? "" : options.devices);
  for (std::string name; std::getline(names, name, ',');) plan.devices.push_back(name);
  plan.reproduce = fmt::format("model_check -m {}", options.model);
  plan.reproduce_subject = "with this subject";
  PLUMB_ASSIGN_OR_RETURN(const SessionOptions session_options, ToOptions(options, plan.devices));
  PLUMB_ASSIGN_OR_RETURN(const auto session, Session::Open(options.model, session_options));
  auto report = std::make_unique<plumb_report>();
  PLUMB_ASSIGN_OR_RETURN(report->result, CheckAll(session.get(), plan));
  report->conclusion = Conclude(report->result);
  for (const RunReport& run : report->result.runs) report->text += FormatText(report->result.checked, run, {}) + "\n";
  report->text += report->conclusion.line + "\n";
  report->json = FormatJson(report->result);
  AddLayers(report.get());
  return report;
}

Result<std::vector<Tensor>> ToTensors(const plumb_tensor* from, size_t count, const char* what) {
  std::vector<Tensor> tensors;
  if (count > 0) PLUMB_RETURN_IF_ERROR(Needs(from, what));
  for (size_t i = 0; i < count; ++i) {
    plumb_tensor named = from[i];
    if (named.name == nullptr) named.name = what;
    PLUMB_ASSIGN_OR_RETURN(Tensor tensor, ToTensor(named));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace
}  // namespace plumb

using plumb::Guarded;
using plumb::Needs;
using plumb::Status;

const char* plumb_version(void) { return plumb::Version(); }
const char* plumb_last_error(void) { return plumb::LastError().c_str(); }

plumb_code plumb_model_load(const char* path, const plumb_tensor* shapes, size_t num_shapes, plumb_model** model) {
  return Guarded([&]() -> Status {
    PLUMB_RETURN_IF_ERROR(Needs(model, "plumb_model_load: model"));
    *model = nullptr;
    PLUMB_RETURN_IF_ERROR(Needs(path, "plumb_model_load: path"));
    plumb::LoadOptions options;
    options.evaluator = plumb::ReferenceEvaluator();
    options.open_dims = plumb::OpenDims::kUsual;
    for (size_t i = 0; i < num_shapes; ++i) {
      PLUMB_ASSIGN_OR_RETURN(options.input_shapes[shapes[i].name == nullptr ? "" : shapes[i].name],
                             plumb::ToShape(shapes[i]));
    }
    PLUMB_ASSIGN_OR_RETURN(plumb::Graph graph, plumb::LoadModel(path, options));
    *model = new plumb_model{std::make_shared<const plumb::Graph>(std::move(graph))};
    return Status::Ok();
  });
}

void plumb_model_free(plumb_model* model) { delete model; }
size_t plumb_model_num_inputs(const plumb_model* model) { return model->graph->inputs.size(); }
size_t plumb_model_num_outputs(const plumb_model* model) { return model->graph->outputs.size(); }

plumb_code plumb_model_input(const plumb_model* model, size_t i, plumb_tensor* input) {
  return Guarded([&]() -> Status {
    const auto& inputs = model->graph->inputs;
    if (i >= inputs.size())
      return Status::InvalidArgument(fmt::format("the model has {} inputs, and none of number {}", inputs.size(), i));
    return plumb::Describe(inputs[i].name, inputs[i].dtype, inputs[i].shape, nullptr, input);
  });
}

const char* plumb_model_output_name(const plumb_model* model, size_t i) {
  return i < model->graph->outputs.size() ? model->graph->outputs[i].c_str() : nullptr;
}

plumb_code plumb_network_create(const plumb_model* model, const char* device, int threads, plumb_network** network) {
  return Guarded([&]() -> Status {
    PLUMB_RETURN_IF_ERROR(Needs(network, "plumb_network_create: network"));
    *network = nullptr;
    PLUMB_RETURN_IF_ERROR(Needs(model, "plumb_network_create: model"));
    PLUMB_RETURN_IF_ERROR(Needs(device, "plumb_network_create: device"));
    plumb::NetworkOptions options;
    options.num_threads = threads;
    PLUMB_ASSIGN_OR_RETURN(auto made, plumb::CreateNetwork(model->graph, device, options));
    *network = new plumb_network{std::move(made), {}};
    return Status::Ok();
  });
}

void plumb_network_free(plumb_network* network) { delete network; }

plumb_code plumb_network_set_input(plumb_network* network, const plumb_tensor* input) {
  return Guarded([&]() -> Status {
    PLUMB_RETURN_IF_ERROR(Needs(input, "plumb_network_set_input: input"));
    PLUMB_ASSIGN_OR_RETURN(const plumb::Tensor tensor, plumb::ToTensor(*input));
    return network->network->SetInput(input->name, tensor);
  });
}

plumb_code plumb_network_dump(plumb_network* network, const char* folder) {
  return Guarded([&]() -> Status {
    PLUMB_RETURN_IF_ERROR(Needs(folder, "plumb_network_dump: folder"));
    plumb::DumpOptions options;
    options.inputs = options.outputs = true;
    options.format = plumb::DumpOptions::Format::kNpy;
    options.folder = folder;
    return plumb::AddDump(network->network.get(), options);
  });
}

plumb_code plumb_network_run(plumb_network* network) {
  return Guarded([&]() -> Status {
    network->outputs.clear();
    return network->network->Forward();
  });
}

plumb_code plumb_network_output(plumb_network* network, const char* name, plumb_tensor* output) {
  return Guarded([&]() -> Status {
    PLUMB_RETURN_IF_ERROR(Needs(name, "plumb_network_output: name"));
    if (network->outputs.count(name) == 0) {
      PLUMB_ASSIGN_OR_RETURN(network->outputs[name], network->network->GetOutput(name));
    }
    const auto& [kept, tensor] = *network->outputs.find(name);
    return plumb::Describe(kept, tensor.dtype(), tensor.shape(), tensor.raw(), output);
  });
}

plumb_code plumb_check(const plumb_check_options* options, plumb_report** report) {
  return Guarded([&]() -> Status {
    PLUMB_RETURN_IF_ERROR(Needs(report, "plumb_check: report"));
    *report = nullptr;
    PLUMB_RETURN_IF_ERROR(Needs(options, "plumb_check: options"));
    PLUMB_ASSIGN_OR_RETURN(auto made, plumb::Check(*options));
    *report = made.release();
    return Status::Ok();
  });
}

void plumb_report_free(plumb_report* report) { delete report; }
int plumb_report_exit_code(const plumb_report* report) { return report->conclusion.exit_code; }
const char* plumb_report_summary(const plumb_report* report) { return report->conclusion.line.c_str(); }
const char* plumb_report_text(const plumb_report* report) { return report->text.c_str(); }
const char* plumb_report_json(const plumb_report* report) { return report->json.c_str(); }
size_t plumb_report_num_layers(const plumb_report* report) { return report->layers.size(); }
const plumb_layer* plumb_report_layer(const plumb_report* report, size_t i) {
  return i < report->layers.size() ? &report->layers[i] : nullptr;
}
const plumb_layer* plumb_report_first_wrong(const plumb_report* report) { return report->first_wrong; }

plumb_code plumb_judge(const char* op, const char* attributes, const plumb_tensor* inputs, size_t num_inputs,
                       const plumb_tensor* outputs, size_t num_outputs, const char* arithmetic,
                       plumb_judgement** judgement) {
  return Guarded([&]() -> Status {
    PLUMB_RETURN_IF_ERROR(Needs(judgement, "plumb_judge: judgement"));
    *judgement = nullptr;
    PLUMB_RETURN_IF_ERROR(Needs(op, "plumb_judge: op"));
    plumb::OperatorCall call;
    call.op = op;
    PLUMB_ASSIGN_OR_RETURN(call.inputs, plumb::ToTensors(inputs, num_inputs, "plumb_judge: inputs"));
    std::istringstream words(attributes == nullptr ? "" : attributes);
    for (std::string word; words >> word;) {
      PLUMB_ASSIGN_OR_RETURN(auto attribute, plumb::ParseAttribute(word));
      call.attributes.insert(std::move(attribute));
    }
    plumb::JudgeCallOptions options;
    const std::string how = arithmetic == nullptr ? "" : arithmetic;
    options.find = how == "found";
    if (!how.empty() && !options.find) {
      PLUMB_ASSIGN_OR_RETURN(options.arithmetic, plumb::ParseCallArithmetic(how));
    }
    PLUMB_ASSIGN_OR_RETURN(const auto computed, plumb::ToTensors(outputs, num_outputs, "plumb_judge: outputs"));
    PLUMB_ASSIGN_OR_RETURN(plumb::Judgement found, plumb::JudgeCall(call, computed, options));
    std::string text = found.Describe();
    *judgement = new plumb_judgement{std::move(found), std::move(text)};
    return Status::Ok();
  });
}

void plumb_judgement_free(plumb_judgement* judgement) { delete judgement; }
const char* plumb_judgement_verdict(const plumb_judgement* judgement) {
  return plumb::VerdictName(judgement->found.verdict);
}
double plumb_judgement_excess(const plumb_judgement* judgement) { return judgement->found.Worst().report.excess; }
const char* plumb_judgement_text(const plumb_judgement* judgement) { return judgement->text.c_str(); }
