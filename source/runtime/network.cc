// SPDX-License-Identifier: Apache-2.0
#include "plumb/network.h"

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "base/block_pool.h"
#include "base/memory_budget.h"
#include "base/threads.h"
#include "device/naive/naive_device.h"
#include "op/core/op.h"
#include "plumb/tool/interrupt.h"
#include "runtime/plan.h"
#include "runtime/poison.h"

namespace plumb {
namespace {

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Values known from the shapes alone (decision 6): their producers do not run.
Result<std::shared_ptr<const Graph>> WithoutKnownValues(std::shared_ptr<const Graph> graph, BlobTable* blobs) {
  auto known = [&](const Layer& layer) {
    for (const std::string& name : layer.outputs) {
      if (blobs->at(name).value.empty()) return false;
    }
    return true;
  };
  bool any = false;
  for (const Layer& layer : graph->layers) any = any || known(layer);
  if (!any) return graph;
  auto reduced = std::make_shared<Graph>(*graph);
  reduced->layers.clear();
  for (const Layer& layer : graph->layers) {
    if (!known(layer)) {
      reduced->layers.push_back(layer);
      continue;
    }
    for (const std::string& name : layer.outputs) reduced->constants[name] = blobs->at(name).value;
  }
  return std::shared_ptr<const Graph>(std::move(reduced));
}

// For failures while it runs, which the values that it reads decide: "layer 3 'put' (ScatterND) on x86/scatter, reading
// 'x', 'at'".
std::string RunFrame(const Layer& layer, const std::string& kernel) {
  std::string inputs;
  for (const std::string& input : layer.inputs) inputs += fmt::format("{}{}'", inputs.empty() ? "'" : ", '", input);
  return fmt::format("{} on {}{}", LayerFrame(layer), kernel, inputs.empty() ? "" : ", reading " + inputs);
}

// Devices run what LoadModel makes of TNN's quantised layers, unless it is told to keep them.
Status RefuseQuantized(const Graph& graph) {
  std::string names;
  int count = 0;
  for (const Layer& layer : graph.layers) {
    if (!layer.quantized && !layer.dynamic_range_quantized) continue;
    if (++count <= 3) names += (names.empty() ? "" : ", ") + LayerFrame(layer);
  }
  if (count == 0) return Status::Ok();
  return Status::NotSupported(fmt::format(
      "model '{}' has {} quantised layers ({}{}) as its file says them; load it without LoadOptions::keep_quantized",
      graph.source, count, names, count > 3 ? ", ..." : ""));
}

// Ten thousand times ResNet-50's; on a fast CPU a quarter of an hour.
constexpr double kMaxFlops = 1e14;

// A shape can ask for years of work without asking for much memory: that is a mistake or an attack, said at once.
Status CheckWork(const Graph& graph, const BlobTable& blobs) {
  double total = 0;
  for (const Layer& layer : graph.layers) {
    const OpDef& op = GetOp(layer.kind);
    if (op.flops == nullptr) continue;  // one operation per element, which the memory bounds
    std::vector<BlobInfo> inputs, outputs;
    for (const std::string& name : layer.inputs) inputs.push_back(blobs.at(name));
    for (const std::string& name : layer.outputs) outputs.push_back(blobs.at(name));
    total += op.flops(layer, inputs, outputs);
    if (total <= kMaxFlops) continue;
    char text[32];
    std::snprintf(text, sizeof(text), "%.3g", total);
    return Status::NotSupported(
        fmt::format("model '{}': up to {} it takes {} operations, more than the limit of 1e14; give it smaller shapes "
                    "(LoadOptions::input_shapes)",
                    graph.source, LayerFrame(layer), text));
  }
  return Status::Ok();
}

}  // namespace

struct Network::Impl {
  class Event;

  Plan plan;
  std::shared_ptr<const Graph> graph;  // as given; plan.graph lacks the layers evaluated on the host
  std::shared_ptr<Graph> released;     // plan.graph, where release_weights takes weights out of it
  std::vector<Observer*> observers;
  std::vector<std::shared_ptr<Observer>> owned;
  int forward = 0;
  std::set<std::string> set_inputs;
  std::map<std::string, DeviceTensor> own_inputs;  // of inputs that are lent: where they lie in the arena
  bool has_outputs = false;                        // the last Forward came to its end
  bool began = false;                              // some Forward did
  const pid_t process = getpid();

  Status Prepare();
  Status PrepareKernel(Step* step);
  bool PreparesLate(const Step& step) const {
    return plan.options.single_forward && !step.empty && !step.kernel->ReadsResources();
  }
  std::shared_ptr<Graph> ShareOnly();
  Result<const GraphInput*> FindInput(const std::string& name) const;
  Result<DeviceTensor> FindOutput(const std::string& name);
  Result<Tensor> Carried(const std::string& name, const Tensor& value) const;
  Status PutInput(const std::string& name, const Tensor& value);
  Status CheckInputs() const;
  Status CheckProcess() const;
  DeviceTensor& TensorOf(const std::string& blob) {
    return plan.values[static_cast<size_t>(plan.blob_values.at(blob))].tensor;
  }
  std::string Frame() const { return fmt::format("model '{}'", graph->source); }
  Status Run();
  Status RunStep(Step& step);
  Status RunWatched(Step& step, const std::vector<Observer*>& watchers, Status* observed);
  std::vector<Observer*> Watchers(const Step& step);
};

class Network::Impl::Event : public LayerEvent {
 public:
  Event(const Plan& plan, const Step& step, int forward) : plan_(plan), step_(step), forward_(forward) {}
  const StepInfo& step() const override { return step_.info; }
  int forward() const override { return forward_; }
  double seconds() const override { return seconds_; }
  Result<Tensor> Input(size_t i) const override { return Get(step_.input_tensors[i], step_.info.inputs[i]); }
  Result<Tensor> Output(size_t i) const override { return Get(step_.output_tensors[i], step_.info.outputs[i]); }
  void set_seconds(double seconds) { seconds_ = seconds; }

 private:
  Result<Tensor> Get(const DeviceTensor& tensor, const PortInfo& port) const {
    auto result = plan_.device->Download(tensor);
    if (result.ok()) return result;
    return result.status().AddContext(fmt::format("blob '{}'", port.blob));
  }
  const Plan& plan_;
  const Step& step_;
  int forward_;
  double seconds_ = 0;
};

// The plan's graph as a copy of its own, tensors shared, and the given one without weights.
std::shared_ptr<Graph> Network::Impl::ShareOnly() {
  auto own = std::make_shared<Graph>(*plan.graph);
  plan.graph = own;
  auto bare = std::make_shared<Graph>(*graph);
  for (Layer& layer : bare->layers) layer.resources.clear();
  graph = bare;
  return own;
}

Status Network::Impl::Prepare() {
  SetNumThreads(plan.options.num_threads);
  PLUMB_RETURN_IF_ERROR(RefuseQuantized(*graph));
  PLUMB_ASSIGN_OR_RETURN(plan.blobs, InferShapes(*graph, plan.options.input_shapes));
  PLUMB_RETURN_IF_ERROR(CheckWork(*graph, plan.blobs));
  PLUMB_ASSIGN_OR_RETURN(plan.graph, WithoutKnownValues(graph, &plan.blobs));
  if (plan.options.release_weights) released = ShareOnly();
  const std::string frame = Frame();
  if (plan.options.fallback) plan.fallback = CreateNaiveDevice();
  plan.options.precision = plan.device->EffectivePrecision(plan.options.precision);
  PLUMB_RETURN_IF_ERROR(ChooseKernels(GroupLayers(*plan.graph, plan.blobs, *plan.device, !plan.options.unfuse), &plan));
  PLUMB_RETURN_IF_ERROR(ChooseLayouts(&plan).AddContext(frame));
  PLUMB_RETURN_IF_ERROR(PlanMemory(&plan).AddContext(frame));
  for (auto& step : plan.steps) {
    step->empty = true;
    for (const BlobInfo& out : step->spec->outputs) step->empty = step->empty && out.shape.NumElements() == 0;
    for (int id : step->inputs) step->input_tensors.push_back(plan.values[static_cast<size_t>(id)].tensor);
    for (int id : step->outputs) step->output_tensors.push_back(plan.values[static_cast<size_t>(id)].tensor);
    if (step->empty) continue;
    if (step->workspace >= 0) step->spec->workspace = plan.values[static_cast<size_t>(step->workspace)].tensor;
    if (!PreparesLate(*step)) PLUMB_RETURN_IF_ERROR(PrepareKernel(step.get()).AddContext(frame));
  }
  return Status::Ok();
}

Status Network::Impl::PrepareKernel(Step* step) {
  Kernel* kernel = step->kernel.get();
  PLUMB_RETURN_IF_ERROR(kernel->Prepare(*step->spec, step->input_tensors, step->output_tensors)
                            .AddContext(fmt::format("{} on {}", LayerFrame(step->group.last()), step->info.kernel)));
  if (released != nullptr && !kernel->ReadsResources()) {
    for (const Layer* member : step->group.members)
      released->layers[static_cast<size_t>(member - released->layers.data())].resources.clear();
    ReleaseKeptBlocks();  // packed weights have other sizes
  }
  step->info.numerics = kernel->DeclaredNumerics();
  const std::string detail = kernel->Detail(), numerics = step->info.numerics.Name();
  step->info.detail = detail + (detail.empty() || numerics.empty() ? "" : " ") + numerics;
  return Status::Ok();
}

Result<const GraphInput*> Network::Impl::FindInput(const std::string& name) const {
  std::string known;
  for (const GraphInput& input : graph->inputs) {
    if (input.name == name) return &input;
    known += fmt::format("{}{}'", known.empty() ? "'" : ", '", input.name);
  }
  return Status::InvalidArgument(
      fmt::format("{} has no input '{}'; its inputs are {}", Frame(), name, known.empty() ? "none" : known));
}

// An output of the last Forward, where the device has it.
Result<DeviceTensor> Network::Impl::FindOutput(const std::string& name) {
  PLUMB_RETURN_IF_ERROR(CheckProcess());
  const auto& outputs = graph->outputs;
  if (std::find(outputs.begin(), outputs.end(), name) == outputs.end()) {
    std::string known;
    for (const std::string& output : outputs) known += fmt::format("{}{}'", known.empty() ? "'" : ", '", output);
    return Status::InvalidArgument(fmt::format("{} has no output '{}'; its outputs are {}", Frame(), name, known));
  }
  if (!has_outputs) {
    return Status::InvalidArgument(fmt::format(
        "{} has no value for output '{}': no Forward ran to its end before its outputs were asked for", Frame(), name));
  }
  return TensorOf(name);
}

// A value for the input in the dtype that carries it; shares the given one's memory where that is the same.
Result<Tensor> Network::Impl::Carried(const std::string& name, const Tensor& value) const {
  PLUMB_RETURN_IF_ERROR(CheckProcess());
  PLUMB_RETURN_IF_ERROR(FindInput(name).status());
  const BlobInfo& info = plan.blobs.at(name);
  Tensor carried = value;
  if (value.dtype() != info.dtype && value.dtype() == graph->ModelDType(name, info.dtype)) {
    PLUMB_ASSIGN_OR_RETURN(carried, value.ConvertedTo(info.dtype));
  }
  if (carried.dtype() == info.dtype && carried.shape() == info.shape &&
      (!carried.empty() || carried.NumElements() == 0)) {
    return carried;
  }
  return Status::InvalidArgument(fmt::format(
      "network input '{}' expects {} {}, found {}", name, DTypeName(info.dtype), info.shape.ToString(),
      carried.empty() ? "an empty Tensor" : DTypeName(carried.dtype()) + (" " + carried.shape().ToString())));
}

// Into the network's own memory.
Status Network::Impl::PutInput(const std::string& name, const Tensor& value) {
  const auto own = own_inputs.find(name);
  if (own != own_inputs.end()) {
    MoveValue(plan.blob_values.at(name), own->second.buffer, own->second.offset, &plan);
    own_inputs.erase(own);
  }
  PLUMB_RETURN_IF_ERROR(plan.device->Upload(value, TensorOf(name)));
  set_inputs.insert(name);
  return Status::Ok();
}

// Memory that nobody wrote to would be computed with: other numbers every time.
Status Network::Impl::CheckInputs() const {
  std::string missing;
  int count = 0;
  for (const GraphInput& input : graph->inputs) {
    const BlobInfo& info = plan.blobs.at(input.name);
    if (set_inputs.count(input.name) != 0 || info.shape.NumElements() == 0) continue;
    ++count;
    missing += fmt::format("{}{}' {} {}", missing.empty() ? "'" : ", '", input.name, DTypeName(info.dtype),
                           info.shape.ToString());
  }
  if (count == 0) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("SetInput was never called for network input{}{}", count == 1 ? " " : "s ", missing));
}

Status Network::Impl::CheckProcess() const {
  if (plan.device->SurvivesFork() || getpid() == process) return Status::Ok();
  return Status::NotSupported(
      fmt::format("this network was made before the process was forked, and the driver of {} does not work in the "
                  "child: make the network there",
                  plan.device->name()));
}

Status Network::Impl::RunStep(Step& step) {
  if (step.empty) return Status::Ok();
  if (plan.poison) PLUMB_RETURN_IF_ERROR(PoisonStep(step, plan.device.get()));
  return step.kernel->Run(step.input_tensors, step.output_tensors);
}

std::vector<Observer*> Network::Impl::Watchers(const Step& step) {
  std::vector<Observer*> watchers;
  for (Observer* observer : observers) {
    if (observer->Wants(step.info, forward)) watchers.push_back(observer);
  }
  return watchers;
}

Status Network::Impl::RunWatched(Step& step, const std::vector<Observer*>& watchers, Status* observed) {
  auto note = [&](Status status) {
    if (observed->ok()) *observed = std::move(status);
  };
  Event event(plan, step, forward);
  PLUMB_RETURN_IF_ERROR(plan.device->Finish());
  for (Observer* observer : watchers) note(observer->Before(event));
  const double start = Now();
  PLUMB_RETURN_IF_ERROR(RunStep(step));
  PLUMB_RETURN_IF_ERROR(plan.device->Finish());
  event.set_seconds(Now() - start);
  for (Observer* observer : watchers) note(observer->After(event));
  return Status::Ok();
}

Status Network::Impl::Run() {
#ifndef PLUMB_BLOB_HOOKS
  // Better than observers that never hear of a step: model_check would call a network aligned that nobody looked at.
  if (!observers.empty()) {
    return Status::NotSupported(
        "this build of Plumb cannot watch, dump or check layers: it was configured with "
        "-DPLUMB_BLOB_HOOKS=OFF; build it with -DPLUMB_BLOB_HOOKS=ON");
  }
#endif
  PLUMB_RETURN_IF_ERROR(CheckProcess());
  PLUMB_RETURN_IF_ERROR(CheckInputs());
  if (began && plan.options.single_forward)
    return Status::InvalidArgument("it was made for a single Forward (NetworkOptions::single_forward) and had that");
  began = true;
  has_outputs = false;
  SetNumThreads(plan.options.num_threads);
  Status observed;
  for (Observer* observer : observers) {
    Status status = observer->ForwardBegin(forward);
    if (observed.ok()) observed = std::move(status);
  }
  PLUMB_RETURN_IF_ERROR(plan.device->Begin());
  for (auto& step : plan.steps) {
    const bool late = PreparesLate(*step);
    if (late) PLUMB_RETURN_IF_ERROR(PrepareKernel(step.get()));
    Status status = Interrupter::Check();
    for (const auto& [from, to] : step->reorders) {
      if (status.ok()) {
        status = plan.device->Reorder(plan.values[static_cast<size_t>(from)].tensor,
                                      plan.values[static_cast<size_t>(to)].tensor);
      }
    }
#ifdef PLUMB_BLOB_HOOKS
    if (status.ok() && !observers.empty()) {
      const std::vector<Observer*> watchers = Watchers(*step);
      status = watchers.empty() ? RunStep(*step) : RunWatched(*step, watchers, &observed);
    } else
#endif
        if (status.ok()) {
      status = RunStep(*step);
    }
    if (!status.ok()) return status.AddContext(RunFrame(step->group.last(), step->info.kernel));
    if (late) step->kernel.reset();
  }
  PLUMB_RETURN_IF_ERROR(plan.device->Finish());
  has_outputs = true;
  for (Observer* observer : observers) {
    Status status = observer->ForwardEnd(forward);
    if (observed.ok()) observed = std::move(status);
  }
  ++forward;
  return observed;
}

Network::Network(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Network::~Network() = default;

Result<std::unique_ptr<Network>> Network::Create(std::shared_ptr<const Graph> graph, std::shared_ptr<Device> device,
                                                 NetworkOptions options) {
  if (graph == nullptr || device == nullptr)
    return Status::InvalidArgument("Network::Create: the graph or the device is null");
  auto impl = std::make_unique<Impl>();
  impl->graph = std::move(graph);
  impl->plan.device = std::move(device);
  impl->plan.poison = PoisonedNetworks::Wanted();
  impl->plan.options = std::move(options);
  const std::string what = fmt::format("preparing model '{}' on {}", impl->graph->source, impl->plan.device->name());
  PLUMB_RETURN_IF_ERROR(CatchNoMemory(what, [&] { return impl->Prepare(); }));
  return std::unique_ptr<Network>(new Network(std::move(impl)));
}

const Graph& Network::graph() const { return *impl_->graph; }
Device& Network::device() const { return *impl_->plan.device; }
std::string Network::device_name() const { return impl_->plan.device->name(); }
std::string Network::device_description() const { return impl_->plan.device->Description(); }
const BlobTable& Network::blobs() const { return impl_->plan.blobs; }
const NetworkOptions& Network::options() const { return impl_->plan.options; }
size_t Network::arena_bytes() const { return impl_->plan.arena_bytes; }
size_t Network::unplanned_bytes() const { return impl_->plan.unplanned_bytes; }

std::vector<const StepInfo*> Network::steps() const {
  std::vector<const StepInfo*> steps;
  for (const auto& step : impl_->plan.steps) steps.push_back(&step->info);
  return steps;
}

Status Network::SetInput(const std::string& name, const Tensor& value) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor carried, impl_->Carried(name, value));
  return impl_->PutInput(name, carried);
}

Status Network::LendInput(const std::string& name, const Tensor& value) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor carried, impl_->Carried(name, value));
  const auto lent = impl_->plan.device->Borrow(carried, impl_->TensorOf(name));
  if (lent == nullptr) return impl_->PutInput(name, carried);
  impl_->own_inputs.emplace(name, impl_->TensorOf(name));
  MoveValue(impl_->plan.blob_values.at(name), lent, 0, &impl_->plan);
  impl_->set_inputs.insert(name);
  return Status::Ok();
}

Result<Tensor> Network::GetInput(const std::string& name) const {
  PLUMB_RETURN_IF_ERROR(impl_->CheckProcess());
  PLUMB_RETURN_IF_ERROR(impl_->FindInput(name).status());
  if (impl_->set_inputs.count(name) == 0) {
    return Status::InvalidArgument(
        fmt::format("{}: SetInput was never called for network input '{}'", impl_->Frame(), name));
  }
  return impl_->plan.device->Download(impl_->TensorOf(name));
}

Status Network::Forward() {
  return CatchNoMemory("running it", [&] { return impl_->Run(); }).AddContext(impl_->Frame());
}

ForwardHandle Network::ForwardAsync() {
  // Where no thread can be started, Wait runs it: what both launch policies together mean to libstdc++ and libc++.
  const auto policy = std::launch::async | std::launch::deferred;
  return ForwardHandle(std::async(policy, [this] { return Forward(); }).share());
}

Result<Tensor> Network::GetOutput(const std::string& name) const {
  PLUMB_ASSIGN_OR_RETURN(const Tensor carried, GetCarriedOutput(name));
  return carried.ConvertedTo(impl_->graph->ModelDType(name, carried.dtype()));
}

Result<Tensor> Network::ViewOutput(const std::string& name) const {
  PLUMB_ASSIGN_OR_RETURN(const DeviceTensor output, impl_->FindOutput(name));
  PLUMB_ASSIGN_OR_RETURN(const Tensor carried, impl_->plan.device->View(output));
  return carried.ConvertedTo(impl_->graph->ModelDType(name, carried.dtype()));
}

Result<Tensor> Network::GetCarriedOutput(const std::string& name) const {
  PLUMB_ASSIGN_OR_RETURN(const DeviceTensor output, impl_->FindOutput(name));
  return impl_->plan.device->Download(output);
}

int Network::forwards() const { return impl_->forward; }

void Network::AddObserver(Observer* observer) { impl_->observers.push_back(observer); }

void Network::AddObserver(std::shared_ptr<Observer> observer) {
  impl_->observers.push_back(observer.get());
  impl_->owned.push_back(std::move(observer));
}

void Network::RemoveObserver(const Observer* observer) {
  auto& all = impl_->observers;
  all.erase(std::remove(all.begin(), all.end(), observer), all.end());
  auto& owned = impl_->owned;
  const auto same = [&](const std::shared_ptr<Observer>& one) { return one.get() == observer; };
  owned.erase(std::remove_if(owned.begin(), owned.end(), same), owned.end());
}

}  // namespace plumb
