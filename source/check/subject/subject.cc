// SPDX-License-Identifier: Apache-2.0
// CheckSubjectBlobs: lockstep over the tensors of a runtime that is not ours; nothing runs but the reference.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <set>

#include "check/core/coverage.h"
#include "check/numbers/arithmetic.h"
#include "check/numbers/half_storage.h"
#include "check/numbers/int8.h"
#include "check/numbers/int8_weights.h"
#include "check/numbers/stored_half.h"
#include "check/subject/judged_graph.h"
#include "check/subject/subject_steps.h"
#include "check/walk/lockstep.h"
#include "device/grouped_step.h"
#include "graph/resources.h"
#include "plumb/tool/interrupt.h"

namespace plumb {
namespace {

// In what a blob of the subject is stored.
using StorageOfBlob = std::function<DType(const std::string& blob)>;

PortInfo StoredPort(const LayerGroup& group, const LayerGroup::Port& port, const BlobInfo& blob,
                    const StorageOfBlob& storage) {
  PortInfo info = PortOf(group, port, blob);
  if (blob.dtype == DType::kF32 && !info.constant) info.stored = storage(port.blob);
  return info;
}

GroupedStep MakeStep(const Cone& cone, const BlobTable& blobs, const JudgedGraph& judged, const std::string& device,
                     const BlobSource& subject, const StorageOfBlob& storage, bool rounds_constants) {
  const LayerGroup& group = cone.group;
  GroupedStep step;
  step.index = group.last().index;
  step.name = group.last().name;
  step.type = group.last().type;
  step.device = step.kernel = device;
  step.group = &group;
  for (const Layer* member : group.members) {
    const auto several = judged.members.find(member->name);
    const std::vector<MemberInfo> members =
        several == judged.members.end() ? std::vector<MemberInfo>{MemberOf(*member)} : several->second;
    step.members.insert(step.members.end(), members.begin(), members.end());
  }
  for (const auto& port : group.inputs) step.inputs.push_back(StoredPort(group, port, blobs.at(port.blob), storage));
  for (const auto& port : group.outputs) step.outputs.push_back(StoredPort(group, port, blobs.at(port.blob), storage));
  if (cone.known) step.numerics = subject.ComputedBy(group.outputs[0].blob);
  step.detail = step.numerics.Name();
  for (PortInfo& port : step.inputs) {
    if (port.constant && port.dtype == DType::kF32 && rounds_constants) port.stored = step.outputs[0].stored;
  }
  return step;
}

// A step whose tensors were read from the subject.
class StoredEvent : public LayerEvent {
 public:
  explicit StoredEvent(const StepInfo& step) : step_(step) {}
  const StepInfo& step() const override { return step_; }
  int forward() const override { return 0; }
  double seconds() const override { return 0; }
  Result<Tensor> Input(size_t i) const override { return inputs[i]; }
  Result<Tensor> Output(size_t i) const override { return outputs[i]; }

  std::vector<Tensor> inputs, outputs;

 private:
  const StepInfo& step_;
};

class SubjectCheck {
 public:
  SubjectCheck(const Graph& graph, const BlobSource& subject, const std::map<std::string, Tensor>& inputs,
               const SubjectOptions& options, StorageOfBlob storage)
      : subject_(subject),
        inputs_(inputs),
        options_(options),
        storage_(std::move(storage)),
        judged_(
            MakeJudgedGraph(graph, options.check.record == nullptr ? ImportRecord() : *options.check.record, subject)),
        lockstep_(OptionsFor(graph, inputs, options)) {}

  Result<RunReport> Run() {
    PLUMB_ASSIGN_OR_RETURN(blobs_, InferShapes(judged_.graph, options_.input_shapes));
    for (const std::string& blob : judged_.computed) blobs_.at(blob).value = Tensor();
    cones_ = FindCones(judged_.graph, blobs_, [this](const std::string& blob) { return Known(blob); });
    const bool rounds = ModelOf(options_.check.arithmetic).weights != DType::kF32;
    for (const Cone& cone : cones_)
      steps_.push_back(MakeStep(cone, blobs_, judged_, options_.device, subject_, storage_, rounds));
    Scene scene;
    scene.device = options_.device;
    scene.description = options_.description;
    scene.graph = &judged_.graph;
    scene.blobs = &blobs_;
    scene.storage = storage_;
    for (const StepInfo& step : steps_) scene.steps.push_back(&step);
    scene.output = [this](const std::string& name) { return Output(name); };
    scene.earlier = [this](const std::string& blob) -> Result<Tensor> {
      if (!Known(blob)) return Status::NotFound(fmt::format("the subject has no tensor '{}'", blob));
      return Load(blob);
    };
    PLUMB_RETURN_IF_ERROR(lockstep_.Begin(std::move(scene), {}));
    PLUMB_RETURN_IF_ERROR(lockstep_.SetOwnInputs(inputs_));
    for (size_t i = 0; i < steps_.size(); ++i) {
      PLUMB_RETURN_IF_ERROR(Interrupter::Check());
      PLUMB_RETURN_IF_ERROR(RunStep(cones_[i], steps_[i]));
    }
    return lockstep_.Finish();
  }

 private:
  static CheckOptions OptionsFor(const Graph& graph, const std::map<std::string, Tensor>& inputs,
                                 const SubjectOptions& options) {
    CheckOptions check = options.check;
    for (const GraphInput& input : graph.inputs) check.inherited = check.inherited && inputs.count(input.name) != 0;
    return check;
  }

  bool Known(const std::string& blob) const { return subject_.Has(blob) || inputs_.count(blob) != 0; }

  Result<Tensor> Load(const std::string& blob) const {
    if (subject_.Has(blob)) return subject_.Load(blob);
    return inputs_.at(blob);
  }

  Result<Tensor> Output(const std::string& name) const {
    if (!subject_.Has(name)) return Status::NotFound(fmt::format("the subject has no tensor '{}'", name));
    PLUMB_ASSIGN_OR_RETURN(Tensor value, subject_.Load(name));
    if (value.shape() != blobs_.at(name).shape) return Status::NotFound("another shape");
    return value;
  }

  // Why the step cannot be replayed on the subject's inputs; "" when it can.
  Result<std::string> LoadInputs(const StepInfo& step, StoredEvent* event) const {
    for (const PortInfo& port : step.inputs) {
      Tensor value;
      if (!port.constant) {
        PLUMB_ASSIGN_OR_RETURN(value, Load(port.blob));
        if (value.shape() != port.shape) {
          return fmt::format("its input '{}' has the shape {} in the subject, the model says {}", port.blob,
                             value.shape().ToString(), port.shape.ToString());
        }
      }
      event->inputs.push_back(std::move(value));
    }
    return std::string();
  }

  Status RunStep(const Cone& cone, const StepInfo& step) {
    if (!cone.known) {
      lockstep_.Skip(step, Verdict::kNotTested,
                     fmt::format("the subject has no tensor '{}', nor any behind it", step.outputs[0].blob));
      return Status::Ok();
    }
    if (!cone.missing.empty()) {
      lockstep_.Skip(
          step, Verdict::kNotTested,
          fmt::format("the subject has no tensor of the network input '{}'; give the one that it ran on with -i",
                      cone.missing));
      return Status::Ok();
    }
    StoredEvent event(step);
    PLUMB_ASSIGN_OR_RETURN(const std::string reason, LoadInputs(step, &event));
    if (!reason.empty()) {
      lockstep_.Skip(step, Verdict::kNotTested, reason);
      return Status::Ok();
    }
    for (const PortInfo& port : step.outputs) {
      PLUMB_ASSIGN_OR_RETURN(Tensor value, subject_.Load(port.blob));
      if (value.shape() != port.shape) {
        lockstep_.Skip(step, Verdict::kWrong,
                       fmt::format("output '{}' has the shape {}, expected {} (from the same inputs)", port.blob,
                                   value.shape().ToString(), port.shape.ToString()));
        return Status::Ok();
      }
      event.outputs.push_back(std::move(value));
    }
    PLUMB_RETURN_IF_ERROR(lockstep_.Before(event));
    return lockstep_.After(event);
  }

  const BlobSource& subject_;
  const std::map<std::string, Tensor>& inputs_;
  const SubjectOptions& options_;
  const StorageOfBlob storage_;
  const JudgedGraph judged_;
  Lockstep lockstep_;
  BlobTable blobs_;
  std::vector<Cone> cones_;
  std::vector<GroupedStep> steps_;
};

// The reference replays with the weights that the subject has.
Result<Graph> WithStoredWeights(const Graph& graph, const StorageOfBlob& storage) {
  Graph stored = graph;
  for (Layer& layer : stored.layers) {
    const DType format = storage(layer.outputs[0]);
    if (format == DType::kF32) continue;
    for (auto& [slot, weight] : layer.resources) {
      PLUMB_ASSIGN_OR_RETURN(weight, RoundedTo(format, weight));
    }
  }
  return stored;
}

// In what the subject's blobs are stored: everywhere so, unless their values say otherwise.
Result<HalfStorage> FindHalfStorage(const Graph& graph, const BlobTable& blobs, const BlobSource& subject,
                                    DType format) {
  std::map<std::string, HalfValues> values;
  for (const auto& [blob, info] : blobs) {
    if (info.dtype != DType::kF32 || !info.value.empty() || !subject.Has(blob)) continue;
    PLUMB_ASSIGN_OR_RETURN(const Tensor value, subject.Load(blob));
    if (value.dtype() == DType::kF32) values[blob] = HalfValuesOf(value);
  }
  HalfStorage found = HalfStorage::Find(graph, values);
  return found.format() == format ? std::move(found) : HalfStorage::Everywhere(format);
}

// The batch normalisation that alone reads the layer's output, which the subject has not; null: there is none.
const Layer* FoldedNorm(const Graph& graph, const Layer& layer, const BlobSource& subject) {
  const std::string& blob = layer.outputs[0];
  const auto& outputs = graph.outputs;
  if (subject.Has(blob) || std::find(outputs.begin(), outputs.end(), blob) != outputs.end()) return nullptr;
  const Layer* reader = nullptr;
  for (const Layer& other : graph.layers) {
    if (std::find(other.inputs.begin(), other.inputs.end(), blob) == other.inputs.end()) continue;
    if (reader != nullptr) return nullptr;
    reader = &other;
  }
  return reader != nullptr && reader->kind == OpKind::kBatchNormCxx ? reader : nullptr;
}

// Blobs that lie on no grid were computed in floats, and so were layers that neither read nor wrote anything else.
Result<RunReport> CheckInt8(const Graph& graph, const BlobSource& subject, const std::map<std::string, Tensor>& inputs,
                            const SubjectOptions& options) {
  std::set<std::string> floats;
  std::map<std::string, double> steps;  // of grids that are sure
  const auto note = [&](const std::string& blob) -> Status {
    if (!subject.Has(blob)) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(const Tensor value, subject.Load(blob));
    const Grid grid = FindGrid(value);
    if (value.dtype() == DType::kF32 && grid.none() && !grid.few) floats.insert(blob);
    if (!grid.few) steps[blob] = grid.step;
    return Status::Ok();
  };
  for (const GraphInput& input : graph.inputs) {
    PLUMB_RETURN_IF_ERROR(note(input.name));
    if (!subject.Has(input.name)) floats.insert(input.name);
  }
  std::vector<RoundedLayer> quantised;
  for (const Layer& layer : graph.layers) {
    bool any = false;
    for (const std::string& blob : layer.outputs) {
      PLUMB_RETURN_IF_ERROR(note(blob));
      any = any || floats.count(blob) == 0;
    }
    for (const std::string& blob : layer.inputs)
      any = any || (graph.constants.count(blob) == 0 && floats.count(blob) == 0);
    quantised.push_back({any, IsProduct(layer) ? FoldedNorm(graph, layer, subject) : nullptr,
                         layer.inputs.empty() ? 0 : steps[layer.inputs[0]]});
  }
  Graph stored = graph;
  PLUMB_RETURN_IF_ERROR(RoundWeights(options.check.int8_weights, quantised, &stored));
  const auto storage = [&](const std::string& blob) { return floats.count(blob) == 0 ? DType::kI8 : DType::kF32; };
  return SubjectCheck(stored, subject, inputs, options, storage).Run();
}

}  // namespace

Result<RunReport> CheckSubjectBlobs(const Graph& graph, const BlobSource& subject,
                                    const std::map<std::string, Tensor>& inputs, const SubjectOptions& options) {
  // A subject of another size, or in another layout than declared, may not fit the weights, and kernels trust them.
  Graph checked = graph;
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(checked, options.input_shapes));
  PLUMB_RETURN_IF_ERROR(CheckResources(blobs, &checked));
  SubjectOptions every = options;  // layers speak for one another, but not those of int8
  every.check.layers.clear();
  const auto check = [&]() -> Result<RunReport> {
    const NumericModel& model = ModelOf(options.check.arithmetic);
    if (model.blobs == DType::kI8) return CheckInt8(graph, subject, inputs, options);
    HalfStorage half;
    if (model.is_half()) {
      PLUMB_ASSIGN_OR_RETURN(half, FindHalfStorage(graph, blobs, subject, model.blobs));
    }
    const auto storage = [&half](const std::string& blob) { return half.Of(blob); };
    if (model.weights == DType::kF32) return SubjectCheck(graph, subject, inputs, every, storage).Run();
    PLUMB_ASSIGN_OR_RETURN(const Graph stored, WithStoredWeights(graph, storage));
    return SubjectCheck(stored, subject, inputs, every, storage).Run();
  };
  PLUMB_ASSIGN_OR_RETURN(RunReport report, check());
  PLUMB_RETURN_IF_ERROR(KeepNamedLayers(options.check.layers, graph.outputs, options.check.min_tested, &report));
  return report;
}

}  // namespace plumb
