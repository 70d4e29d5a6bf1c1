// SPDX-License-Identifier: Apache-2.0
#include "check/planted_fault.h"

#include <set>

#include "check/numbers/replay.h"

namespace plumb {
namespace {

const PlantedFault* planted = nullptr;
Device* planted_device = nullptr;

const KernelRow* HealthyRow(const KernelSpec& spec) {
  for (const KernelRow& row : planted_device->kernels()) {
    if (row.op == spec.layer().kind && row.supports(spec).ok()) return &row;
  }
  return nullptr;
}

class OutputFault : public Kernel {
 public:
  explicit OutputFault(const KernelSpec& spec) : device_(spec.device), kernel_(HealthyRow(spec)->create(spec)) {}
  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_RETURN_IF_ERROR(kernel_->ChooseLayouts(spec, arriving, choice));
    choice->shares.clear();  // a view cannot be spoiled without its source; a stale buffer needs memory of its own
    return Status::Ok();
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>& in,
                 const std::vector<DeviceTensor>& out) override {
    return kernel_->Prepare(spec, in, out);
  }
  Numerics DeclaredNumerics() const override { return kernel_->DeclaredNumerics(); }
  Status Run(const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) override {
    PLUMB_ASSIGN_OR_RETURN(const Tensor before, device_->Download(out[0]));
    PLUMB_RETURN_IF_ERROR(kernel_->Run(in, out));
    PLUMB_ASSIGN_OR_RETURN(Tensor value, device_->Download(out[0]));
    planted->spoil_output(&value, before);
    return device_->Upload(value, out[0]);
  }

 private:
  Device* device_;
  std::unique_ptr<Kernel> kernel_;
};

// The device's own kernel of the group, or of the group without its last member, whose blob has the same shape.
class WrongKernel : public Kernel {
 public:
  explicit WrongKernel(const KernelSpec& spec) : device_(spec.device), group_(spec.group) {
    if (planted->without_tail) {
      group_.members.pop_back();
      group_.outputs = {{static_cast<int>(group_.members.size()) - 1, 0, group_.last().outputs[0]}};
    }
    kernel_ = HealthyRow(spec)->create(Cut(spec));
  }
  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    return kernel_->ChooseLayouts(Cut(spec), arriving, choice);
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>& in,
                 const std::vector<DeviceTensor>& out) override {
    return kernel_->Prepare(Cut(spec), in, out);
  }
  Numerics DeclaredNumerics() const override { return kernel_->DeclaredNumerics(); }
  Status Run(const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) override {
    if (!planted->compute) return kernel_->Run(in, out);
    PLUMB_ASSIGN_OR_RETURN(const Tensor input, device_->Download(in[0]));
    PLUMB_ASSIGN_OR_RETURN(Tensor output, device_->Download(out[0]));
    planted->compute(input, &output);
    return device_->Upload(output, out[0]);
  }

 private:
  KernelSpec Cut(const KernelSpec& spec) const {
    return {group_, spec.inputs, spec.outputs, spec.device, spec.precision, spec.blobs, spec.workspace, spec.direct};
  }

  Device* device_;
  LayerGroup group_;
  std::unique_ptr<Kernel> kernel_;
};

class LayerFault : public Kernel {
 public:
  explicit LayerFault(const KernelSpec& spec) : device_(spec.device), blobs_(*spec.blobs), group_(spec.group) {
    for (const Layer* member : spec.group.members) {
      layers_.push_back(std::make_unique<Layer>(*member));
      Layer* copy = layers_.back().get();
      copy->param = member->param->Clone();
      for (auto& [slot, tensor] : copy->resources) tensor = tensor.Clone().value();
      if (copy->name == planted->layer) planted->spoil_layer(copy);
    }
    for (size_t i = 0; i < layers_.size(); ++i) group_.members[i] = layers_[i].get();
  }
  Status Run(const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) override {
    std::vector<Tensor> inputs;
    for (const DeviceTensor& tensor : in) {
      PLUMB_ASSIGN_OR_RETURN(const Tensor value, device_->Download(tensor));
      PLUMB_ASSIGN_OR_RETURN(Tensor wide, value.ConvertedTo(DType::kF64));
      inputs.push_back(std::move(wide));
    }
    PLUMB_ASSIGN_OR_RETURN(const ReplayResult result, ReplayValues(group_, inputs, blobs_));
    PLUMB_ASSIGN_OR_RETURN(const Tensor narrow, result.values[0].ConvertedTo(DType::kF32));
    return device_->Upload(narrow, out[0]);
  }

 private:
  Device* device_;
  const BlobTable& blobs_;
  LayerGroup group_;
  std::vector<std::unique_ptr<Layer>> layers_;
};

Status Supports(const KernelSpec& spec) {
  for (const Layer* member : spec.group.members) {
    if (member->name == planted->layer && HealthyRow(spec) != nullptr) return Status::Ok();
  }
  return Status::NotSupported("not the planted layer");
}

std::unique_ptr<Kernel> Create(const KernelSpec& spec) {
  if (planted->spoil_output) return std::make_unique<OutputFault>(spec);
  if (planted->compute || planted->without_tail) return std::make_unique<WrongKernel>(spec);
  return std::make_unique<LayerFault>(spec);
}

}  // namespace

void Plant(const PlantedFault& fault, const Graph& graph, Device* device) {
  planted = &fault;
  planted_device = device;
  std::set<OpKind> kinds;
  for (const Layer& layer : graph.layers) kinds.insert(layer.kind);
  for (OpKind kind : kinds) device->kernels_in_front.push_back({"planted_fault", kind, Supports, Create});
}

}  // namespace plumb
