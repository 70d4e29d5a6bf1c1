#include "device/x86/x86_device.h"

#include <fmt/core.h>

#include <cstring>
#include <fstream>

#include "base/cpu.h"
#include "device/x86/blocked_layout.h"
#include "device/x86/kernel_list.h"
#include "device/x86/onednn.h"

namespace plumb {
namespace x86 {
namespace {

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "x86-64 CPU";
}

void Copy(const Shape& shape, const float* src, Format from, float* dst, Format to) {
  const MapShape map = MapOf(shape);
  const int block = ChannelBlock();
  const int64_t src_image = map.ImageElements(from, block), dst_image = map.ImageElements(to, block);
  if (from == to) {
    std::memcpy(dst, src, static_cast<size_t>(map.batch * src_image) * sizeof(float));
  } else if (to == Format::kBlocked) {
    ToBlocked(map, block, src, src_image, dst, dst_image);
  } else {
    ToPlain(map, block, src, src_image, dst, dst_image);
  }
}

class X86Device : public HostDevice {
 public:
  const char* name() const override { return "X86"; }
  std::string Description() const override { return fmt::format("{}, {}", CpuModel(), OneDnnVersion()); }
  const std::vector<KernelRow>& kernels() const override { return KernelList(); }
  bool Fuses(const LayerGroup& group, const Layer& next, const BlobTable& blobs) const override {
    return MayFuse(group, next, blobs);
  }

  Status Upload(const Tensor& src, const DeviceTensor& dst) override {
    if (!IsBlocked(dst.layout)) return HostDevice::Upload(src, dst);
    Copy(dst.shape, src.data<float>(), Format::kPlain, dst.host<float>(), Format::kBlocked);
    return Status::Ok();
  }
  Result<Tensor> Download(const DeviceTensor& src) override {
    if (!IsBlocked(src.layout)) return HostDevice::Download(src);
    PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(src.dtype, src.shape));
    Copy(src.shape, src.host<float>(), Format::kBlocked, tensor.data<float>(), Format::kPlain);
    return tensor;
  }
  Status Reorder(const DeviceTensor& src, const DeviceTensor& dst) override {
    if (!IsBlocked(src.layout) && !IsBlocked(dst.layout)) return HostDevice::Reorder(src, dst);
    Copy(src.shape, src.host<float>(), FormatOf(src), dst.host<float>(), FormatOf(dst));
    return Status::Ok();
  }
};

}  // namespace
}  // namespace x86

Status CheckX86Cpu(Isa cpu) {
  if (cpu != Isa::kGeneric) return Status::Ok();
  return Status::NotFound(
      fmt::format("device X86 needs a CPU with SSE4.2, AES and PCLMUL (x86-64 from about 2010 on), and this one ('{}') "
                  "lacks at least one of them; use device NAIVE, which runs on every CPU",
                  x86::CpuModel()));
}

Result<std::unique_ptr<Device>> CreateX86Device() {
  PLUMB_RETURN_IF_ERROR(CheckX86Cpu(CpuIsa()));
  PLUMB_RETURN_IF_ERROR(CheckIsaEnvironment());
  PLUMB_RETURN_IF_ERROR(x86::InitOneDnn());
  return std::unique_ptr<Device>(std::make_unique<x86::X86Device>());
}

}  // namespace plumb
