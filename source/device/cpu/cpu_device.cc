// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/cpu_device.h"

#include <cstring>
#include <fstream>

#include "device/cpu/attention_group.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/half_layout.h"
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

// Room for an f32 copy of a blob in its own order.
Result<DeviceTensor> WideCopy(Device* device, const DeviceTensor& half) {
  DeviceTensor wide{half.dtype, half.shape, OrderOf(half.layout), nullptr, 0};
  PLUMB_ASSIGN_OR_RETURN(wide.buffer, device->Allocate(wide.bytes()));
  return wide;
}

bool IsStoredHalf(const DeviceTensor& tensor) { return tensor.dtype == DType::kF32 && IsHalf(tensor.layout); }

}  // namespace

const std::vector<KernelRow>& CpuDevice::kernels() const { return KernelList(); }

bool CpuDevice::Fuses(const LayerGroup& group, const Layer& next, const BlobTable& blobs) const {
  return MayFuse(group, next, blobs);
}

size_t CpuDevice::FusesAhead(const std::vector<const Layer*>& chain, const BlobTable& blobs) const {
  return AttentionAhead(chain, blobs);
}

Status CpuDevice::Upload(const Tensor& src, const DeviceTensor& dst) {
  if (IsStoredHalf(dst)) {
    PLUMB_ASSIGN_OR_RETURN(const DeviceTensor wide, WideCopy(this, dst));
    PLUMB_RETURN_IF_ERROR(Upload(src, wide));
    Narrow(wide, dst);
    return Status::Ok();
  }
  if (!IsBlocked(dst.layout)) return HostDevice::Upload(src, dst);
  Copy(dst.shape, src.data<float>(), Format::kPlain, dst.host<float>(), Format::kBlocked);
  return Status::Ok();
}

std::shared_ptr<plumb::Buffer> CpuDevice::Borrow(const Tensor& src, const DeviceTensor& dst) {
  return IsStoredHalf(dst) || IsBlocked(dst.layout) ? nullptr : HostDevice::Borrow(src, dst);
}

Result<Tensor> CpuDevice::Download(const DeviceTensor& src) {
  if (IsStoredHalf(src)) {
    PLUMB_ASSIGN_OR_RETURN(const DeviceTensor wide, WideCopy(this, src));
    Widen(src, wide);
    return Download(wide);
  }
  if (!IsBlocked(src.layout)) return HostDevice::Download(src);
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(src.dtype, src.shape));
  Copy(src.shape, src.host<float>(), Format::kBlocked, tensor.data<float>(), Format::kPlain);
  return tensor;
}

Result<Tensor> CpuDevice::View(const DeviceTensor& src) {
  return IsStoredHalf(src) || IsBlocked(src.layout) ? Download(src) : HostDevice::View(src);
}

Status CpuDevice::Reorder(const DeviceTensor& src, const DeviceTensor& dst) {
  if (IsStoredHalf(src)) {
    PLUMB_ASSIGN_OR_RETURN(const DeviceTensor wide, WideCopy(this, src));
    Widen(src, wide);
    return Reorder(wide, dst);
  }
  if (IsStoredHalf(dst)) {
    PLUMB_ASSIGN_OR_RETURN(const DeviceTensor wide, WideCopy(this, dst));
    PLUMB_RETURN_IF_ERROR(Reorder(src, wide));
    Narrow(wide, dst);
    return Status::Ok();
  }
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
