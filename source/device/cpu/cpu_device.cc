#include "device/cpu/cpu_device.h"

#include <cstring>
#include <fstream>

#include "device/cpu/blocked_layout.h"
#include "device/cpu/kernel_list.h"

namespace plumb::cpu {
namespace {

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

}  // namespace

const std::vector<KernelRow>& CpuDevice::kernels() const { return KernelList(); }

bool CpuDevice::Fuses(const LayerGroup& group, const Layer& next, const BlobTable& blobs) const {
  return MayFuse(group, next, blobs);
}

Status CpuDevice::Upload(const Tensor& src, const DeviceTensor& dst) {
  if (!IsBlocked(dst.layout)) return HostDevice::Upload(src, dst);
  Copy(dst.shape, src.data<float>(), Format::kPlain, dst.host<float>(), Format::kBlocked);
  return Status::Ok();
}

Result<Tensor> CpuDevice::Download(const DeviceTensor& src) {
  if (!IsBlocked(src.layout)) return HostDevice::Download(src);
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(src.dtype, src.shape));
  Copy(src.shape, src.host<float>(), Format::kBlocked, tensor.data<float>(), Format::kPlain);
  return tensor;
}

Status CpuDevice::Reorder(const DeviceTensor& src, const DeviceTensor& dst) {
  if (!IsBlocked(src.layout) && !IsBlocked(dst.layout)) return HostDevice::Reorder(src, dst);
  Copy(src.shape, src.host<float>(), FormatOf(src), dst.host<float>(), FormatOf(dst));
  return Status::Ok();
}

std::string CpuInfo(const std::string& field) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(field, 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

}  // namespace plumb::cpu
