#include "device/arm/arm_device.h"

#include <fmt/core.h>

#include "base/cpu.h"
#include "device/cpu/cpu_device.h"

namespace plumb {
namespace {

class ArmDevice : public cpu::CpuDevice {
 public:
  const char* name() const override { return "ARM"; }
  // Linux names a core by the numbers of its designer and part.
  std::string Description() const override {
    const std::string designer = cpu::CpuInfo("CPU implementer"), part = cpu::CpuInfo("CPU part");
    return part.empty() ? "64-bit ARM CPU, NEON" : fmt::format("64-bit ARM CPU {} {}, NEON", designer, part);
  }
};

}  // namespace

Result<std::unique_ptr<Device>> CreateArmDevice() {
  PLUMB_RETURN_IF_ERROR(CheckIsaEnvironment());
  return std::unique_ptr<Device>(std::make_unique<ArmDevice>());
}

}  // namespace plumb
