// SPDX-License-Identifier: Apache-2.0
#include "device/x86/x86_device.h"

#include <fmt/core.h>

#include "device/cpu/cpu_device.h"
#include "device/x86/onednn.h"

namespace plumb {
namespace {

std::string CpuModel() {
  const std::string model = cpu::CpuInfo("model name");
  return model.empty() ? "x86-64 CPU" : model;
}

class X86Device : public cpu::CpuDevice {
 public:
  const char* name() const override { return "X86"; }
  std::string Description() const override { return fmt::format("{}, {}", CpuModel(), cpu::OneDnnVersion()); }
};

}  // namespace

Status CheckX86Cpu(Isa cpu) {
  if (cpu != Isa::kGeneric) return Status::Ok();
  return Status::NotFound(
      fmt::format("device X86 needs a CPU with SSE4.2, AES and PCLMUL (x86-64 from about 2010 on), and this one ('{}') "
                  "lacks at least one of them; use device NAIVE, which runs on every CPU",
                  CpuModel()));
}

Result<std::unique_ptr<Device>> CreateX86Device() {
  PLUMB_RETURN_IF_ERROR(CheckX86Cpu(CpuIsa()));
  PLUMB_RETURN_IF_ERROR(CheckIsaEnvironment());
  PLUMB_RETURN_IF_ERROR(cpu::InitOneDnn());
  return std::unique_ptr<Device>(std::make_unique<X86Device>());
}

}  // namespace plumb
