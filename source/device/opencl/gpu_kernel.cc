// SPDX-License-Identifier: Apache-2.0
// The operators of device/gpu: one kernel class carries out their plans.
#include <fmt/core.h>

#include <limits>
#include <map>

#include "device/gpu/kernel_list.h"
#include "device/opencl/device.h"
#include "device/opencl/kernel_list.h"

namespace plumb::opencl {
namespace {

gpu::Plan EmptyPlan(const KernelSpec& spec) {
  return {spec, {spec.precision != Precision::kHigh, std::numeric_limits<int64_t>::max()}};
}

// gpu.clh: the numbers of a launch.
struct Words {
  int32_t w[gpu::kMaxWords];
};

template <gpu::PlanFunction function>
class GpuKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    gpu::Plan plan = EmptyPlan(spec);
    PLUMB_RETURN_IF_ERROR(gpu::MakePlan(function, &plan));
    for (const gpu::Launch& launch : plan.launches) {
      for (const gpu::Port& port : launch.ports) {
        PLUMB_RETURN_IF_ERROR(RequireF64(spec.device, gpu::DTypeOfPort(port.type, DType::kF32)));
      }
    }
    return Status::Ok();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    gpu::Plan plan = EmptyPlan(spec);
    PLUMB_RETURN_IF_ERROR(gpu::MakePlan(function, &plan));
    PLUMB_RETURN_IF_ERROR(ClKernel::ChooseLayouts(spec, arriving, choice));
    for (const gpu::Launch& launch : plan.launches) {
      for (const gpu::Port& port : launch.ports) {
        if (port.from != gpu::Port::kInput || port.type != "f32") continue;
        choice->inputs[static_cast<size_t>(port.index)] = PlainLayout();
      }
    }
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    gpu::Plan plan = EmptyPlan(spec);
    PLUMB_RETURN_IF_ERROR(gpu::MakePlan(function, &plan));
    for (const std::vector<int32_t>& values : plan.constants) {
      PLUMB_ASSIGN_OR_RETURN(constants_.emplace_back(),
                             UploadArray(spec.device, values.data(), values.size() * sizeof(int32_t)));
    }
    for (const int64_t elements : plan.scratches) {
      scratches_.emplace_back();
      PLUMB_ASSIGN_OR_RETURN(scratches_.back().buffer,
                             spec.device->Allocate(static_cast<size_t>(elements) * sizeof(int32_t)));
    }
    for (const std::string& complaint : plan.complaints) {
      PLUMB_ASSIGN_OR_RETURN(flags_.emplace_back(), static_cast<OpenclDevice*>(spec.device)->AddFlag(complaint));
    }
    for (const gpu::Launch& launch : plan.launches) {
      Launcher& launcher = launchers_[launch.program];
      if (!launcher.empty()) continue;
      PLUMB_ASSIGN_OR_RETURN(launcher, Load(spec, fmt::format("gpu_{}.cl", launch.program).c_str(), launch.program));
    }
    launches_ = std::move(plan.launches);
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    for (const gpu::Launch& launch : launches_) {
      arguments_.clear();
      for (const gpu::Port& port : launch.ports) arguments_.push_back(ArgumentOf(port, inputs, outputs));
      Words words{};
      for (size_t i = 0; i < launch.words.size(); ++i) words.w[i] = static_cast<int32_t>(launch.words[i]);
      PLUMB_RETURN_IF_ERROR(launchers_[launch.program].Run({launch.items()}, arguments_, words));
    }
    return Status::Ok();
  }

 private:
  // The blob as elements of the port's type.
  DeviceTensor ArgumentOf(const gpu::Port& port, const std::vector<DeviceTensor>& inputs,
                          const std::vector<DeviceTensor>& outputs) const {
    const auto at = static_cast<size_t>(port.index);
    DeviceTensor tensor;
    tensor.layout = PlainLayout();
    if (port.from == gpu::Port::kInput) tensor = inputs[at];
    if (port.from == gpu::Port::kOutput) tensor = outputs[at];
    if (port.from == gpu::Port::kConstant) tensor.buffer = constants_[at].buffer;
    if (port.from == gpu::Port::kScratch) tensor.buffer = scratches_[at].buffer;
    if (port.from == gpu::Port::kFlag) tensor.buffer = flags_[at].buffer;
    if (port.type != "real") tensor.layout = PlainLayout();
    tensor.dtype = gpu::DTypeOfPort(port.type, tensor.dtype);
    return tensor;
  }

  std::vector<gpu::Launch> launches_;
  std::vector<Array> constants_, scratches_, flags_;
  std::map<std::string, Launcher> launchers_;
  std::vector<DeviceTensor> arguments_;
};

}  // namespace

void AddGpuKernels(std::vector<KernelRow>* rows) {
#define PLUMB_GPU_KERNEL(op, name, file) \
  rows->push_back(                       \
      {#name, OpKind::k##op, GpuKernel<gpu::plan_##name>::Supports, MakeKernel<GpuKernel<gpu::plan_##name>>});
#include "device/gpu/kernel_list.def"
#undef PLUMB_GPU_KERNEL
}

}  // namespace plumb::opencl
