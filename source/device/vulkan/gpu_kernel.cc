// SPDX-License-Identifier: Apache-2.0
// The operators of device/gpu: one kernel class carries out their plans.
#include "device/gpu/kernel_list.h"
#include "device/vulkan/kernel_list.h"
#include "device/vulkan/loop_rounds.h"

namespace plumb::vulkan {
namespace {

Result<gpu::Plan> PlanOf(gpu::PlanFunction function, const KernelSpec& spec) {
  gpu::Plan plan(spec, {false, MaxLoopRounds(spec)});
  PLUMB_RETURN_IF_ERROR(gpu::MakePlan(function, &plan));
  return plan;
}

class GpuKernel : public Kernel {
 public:
  explicit GpuKernel(gpu::PlanFunction function) : function_(function) {}

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>& inputs,
                 const std::vector<DeviceTensor>& outputs) override {
    PLUMB_ASSIGN_OR_RETURN(const gpu::Plan plan, PlanOf(function_, spec));
    Builder b(spec, inputs, outputs);
    std::vector<Argument> constants, scratches, flags;
    for (const std::vector<int32_t>& values : plan.constants) {
      PLUMB_ASSIGN_OR_RETURN(constants.emplace_back(), b.Constant(values.data(), values.size() * sizeof(int32_t)));
    }
    for (const int64_t elements : plan.scratches) {
      PLUMB_ASSIGN_OR_RETURN(const std::shared_ptr<Buffer> buffer,
                             spec.device->Allocate(static_cast<size_t>(elements) * sizeof(int32_t)));
      scratches.push_back(Argument::Own(buffer));
    }
    for (const std::string& complaint : plan.complaints) {
      PLUMB_ASSIGN_OR_RETURN(const std::shared_ptr<Buffer> buffer, b.device().AddFlag(complaint));
      flags.push_back(Argument::Own(buffer));
    }
    for (const gpu::Launch& planned : plan.launches) {
      if (planned.items() == 0) continue;
      LaunchSpec launch;
      launch.shader = "gpu_" + planned.program;
      for (const gpu::Port& port : planned.ports) {
        const auto at = static_cast<size_t>(port.index);
        launch.arguments.push_back(port.from == gpu::Port::kInput      ? Argument::Input(port.index)
                                   : port.from == gpu::Port::kOutput   ? Argument::Output(port.index)
                                   : port.from == gpu::Port::kConstant ? constants[at]
                                   : port.from == gpu::Port::kScratch  ? scratches[at]
                                                                       : flags[at]);
      }
      for (const int64_t word : planned.words) launch.push.Int(word);
      launch.Over(planned.items());
      PLUMB_ASSIGN_OR_RETURN(launches_.emplace_back(), Launch::Create(b.device().context(), std::move(launch)));
      PLUMB_RETURN_IF_ERROR(launches_.back()->Bind(inputs, outputs));
    }
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    for (const auto& launch : launches_) PLUMB_RETURN_IF_ERROR(launch->Run(inputs, outputs));
    return Status::Ok();
  }

 private:
  gpu::PlanFunction function_;
  std::vector<std::unique_ptr<Launch>> launches_;
};

template <gpu::PlanFunction function>
Status SupportsPlan(const KernelSpec& spec) {
  PLUMB_ASSIGN_OR_RETURN(const gpu::Plan plan, PlanOf(function, spec));
  for (const gpu::Launch& launch : plan.launches) {
    for (const gpu::Port& port : launch.ports) {
      PLUMB_RETURN_IF_ERROR(RequireDType(spec, gpu::DTypeOfPort(port.type, DType::kF32)));
    }
  }
  return Status::Ok();
}

template <gpu::PlanFunction function>
std::unique_ptr<Kernel> MakeGpuKernel(const KernelSpec&) {
  return std::make_unique<GpuKernel>(function);
}

}  // namespace

void AddGpuKernels(std::vector<KernelRow>* rows) {
#define PLUMB_GPU_KERNEL(op, name, file) \
  rows->push_back({#name, OpKind::k##op, SupportsPlan<gpu::plan_##name>, MakeGpuKernel<gpu::plan_##name>});
#include "device/gpu/kernel_list.def"
#undef PLUMB_GPU_KERNEL
}

}  // namespace plumb::vulkan
