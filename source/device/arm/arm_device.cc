// SPDX-License-Identifier: Apache-2.0
#include "device/arm/arm_device.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "base/cpu.h"
#include "device/arm/half_kernels.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/half_storage.h"
#include "device/cpu/kernel_list.h"

namespace plumb {
namespace {

std::vector<KernelRow> OwnAndShared() {
  const KernelRow kOwn[] = {
#define PLUMB_ARM_KERNEL(op, name, file) {#name, OpKind::k##op, cpu::kernel_##name.supports, cpu::kernel_##name.create},
#include "device/arm/kernel_list.def"
#undef PLUMB_ARM_KERNEL
  };
  std::vector<KernelRow> rows;
  for (const KernelRow& row : kOwn) rows.push_back(row);
  for (const KernelRow& row : cpu::KernelList()) rows.push_back(row);
  return rows;
}

class ArmDevice : public cpu::CpuDevice {
 public:
  const char* name() const override { return "ARM"; }
  const std::vector<KernelRow>& kernels() const override {
    static const auto* rows = new std::vector<KernelRow>(OwnAndShared());
    return *rows;
  }
  // Linux names a core by the numbers of its designer and part.
  std::string Description() const override {
    const std::string designer = cpu::CpuInfo("CPU implementer"), part = cpu::CpuInfo("CPU part");
    const char* vectors = CpuHasHalfArithmetic() ? "NEON with fp16" : "NEON";
    return part.empty() ? fmt::format("64-bit ARM CPU, {}", vectors)
                        : fmt::format("64-bit ARM CPU {} {}, {}", designer, part, vectors);
  }
  // Every ARMv8 CPU converts f16, but one that does not compute in it is quicker with f32 blobs.
  Precision EffectivePrecision(Precision wanted) const override {
    return CpuHasHalfArithmetic() ? wanted : Precision::kHigh;
  }
  std::unique_ptr<Kernel> InPrecision(const KernelSpec& spec, std::unique_ptr<Kernel> kernel) const override {
    return spec.precision == Precision::kHigh ? std::move(kernel) : cpu::WithHalfStorage(std::move(kernel));
  }
};

}  // namespace

Result<std::unique_ptr<Device>> CreateArmDevice() {
  PLUMB_RETURN_IF_ERROR(CheckIsaEnvironment());
  return std::unique_ptr<Device>(std::make_unique<ArmDevice>());
}

}  // namespace plumb
