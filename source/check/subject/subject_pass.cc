// SPDX-License-Identifier: Apache-2.0
#include "check/subject/subject_pass.h"

#include <fmt/core.h>

#include "check/numbers/arithmetic.h"
#include "check/subject/judged_graph.h"
#include "check/subject/subject_steps.h"
#include "check/walk/lockstep.h"
#include "device/grouped_step.h"
#include "plumb/tool/interrupt.h"

namespace plumb {
namespace {

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

class SubjectPass {
 public:
  SubjectPass(const Graph& graph, const BlobSource& subject, const std::map<std::string, Tensor>& inputs,
              const SubjectOptions& options, StorageOfBlob storage, const Look& look)
      : subject_(subject),
        inputs_(inputs),
        options_(options),
        storage_(std::move(storage)),
        look_(look),
        judged_(
            MakeJudgedGraph(graph, options.check.record == nullptr ? ImportRecord() : *options.check.record, subject)),
        lockstep_(OptionsFor(graph, inputs, options, look)) {}

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
    scene.ties = look_.ties;
    for (const StepInfo& step : steps_) scene.steps.push_back(&step);
    scene.output = [this](const std::string& name) { return Output(name); };
    scene.earlier = [this](const std::string& blob) -> Result<Tensor> {
      if (!Known(blob)) return Status::NotFound(fmt::format("the subject has no tensor '{}'", blob));
      return Load(blob);
    };
    PLUMB_RETURN_IF_ERROR(lockstep_.Begin(std::move(scene), {}));
    PLUMB_RETURN_IF_ERROR(lockstep_.SetOwnInputs(inputs_));
    if (look_.steps != nullptr && options_.check.causes) PLUMB_RETURN_IF_ERROR(ReadNetworkInputs());
    for (size_t i = 0; i < steps_.size(); ++i) {
      PLUMB_RETURN_IF_ERROR(Interrupter::Check());
      PLUMB_RETURN_IF_ERROR(look_.steps == nullptr ? RunStep(cones_[i], steps_[i]) : RunOrKeep(i));
      const LayerReport* settled = lockstep_.Settled();
      if (look_.ends && settled != nullptr && look_.ends(*settled)) return lockstep_.Unfinished();
    }
    return lockstep_.Finish();
  }

 private:
  static CheckOptions OptionsFor(const Graph& graph, const std::map<std::string, Tensor>& inputs,
                                 const SubjectOptions& options, const Look& look) {
    CheckOptions check = options.check;
    check.layers.clear();  // layers speak for one another
    check.inherited = check.inherited && look.steps == nullptr;
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

  // Among what causes are sought in is every tensor that was there before.
  Status ReadNetworkInputs() {
    for (const GraphInput& input : judged_.graph.inputs) {
      if (!Known(input.name)) continue;
      PLUMB_ASSIGN_OR_RETURN(const Tensor value, Load(input.name));
      PLUMB_RETURN_IF_ERROR(lockstep_.NoteRead(input.name, value));
    }
    return Status::Ok();
  }

  Status RunOrKeep(size_t i) {
    const GroupedStep& step = steps_[i];
    if (look_.steps->count(step.outputs[0].blob) != 0) return RunStep(cones_[i], step);
    LayerReport kept;
    kept.step = step;
    const auto earlier = look_.earlier.find(step.outputs[0].blob);
    if (earlier != look_.earlier.end()) kept = *earlier->second;
    std::vector<Tensor> outputs;
    for (size_t o = 0; options_.check.causes && cones_[i].known && o < step.outputs.size(); ++o) {
      PLUMB_ASSIGN_OR_RETURN(Tensor value, subject_.Load(step.outputs[o].blob));
      outputs.push_back(std::move(value));
    }
    return lockstep_.Keep(*step.group, std::move(kept), outputs);
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
  const Look look_;
  const JudgedGraph judged_;
  Lockstep lockstep_;
  BlobTable blobs_;
  std::vector<Cone> cones_;
  std::vector<GroupedStep> steps_;
};

}  // namespace

Result<RunReport> RunPass(const Graph& graph, const BlobSource& subject, const std::map<std::string, Tensor>& inputs,
                          const SubjectOptions& options, StorageOfBlob storage, const Look& look) {
  return SubjectPass(graph, subject, inputs, options, std::move(storage), look).Run();
}

}  // namespace plumb
