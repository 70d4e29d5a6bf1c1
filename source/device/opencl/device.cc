// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/device.h"

#include <fmt/core.h>

#include <algorithm>

#include "device/opencl/kernel_list.h"
#include "device/opencl/opencl_device.h"
#include "device/shared/fused_tail.h"

namespace plumb {
namespace opencl {

Queue& QueueOf(Device* device) { return static_cast<OpenclDevice*>(device)->queue(); }

Result<std::unique_ptr<Device>> OpenclDevice::Create(int index) {
  PLUMB_ASSIGN_OR_RETURN(Context * context, Context::Open(index));
  PLUMB_ASSIGN_OR_RETURN(std::unique_ptr<Queue> queue, Queue::Create(context));
  return std::unique_ptr<Device>(new OpenclDevice(std::move(queue)));
}

std::string OpenclDevice::Description() const {
  const Context& context = queue_->context();
  return context.adapter().Description() + (context.cpu_shapes() == context.adapter().cpu ? ""
                                            : context.cpu_shapes()                        ? ", CPU kernels"
                                                                                          : ", GPU kernels");
}

const std::vector<KernelRow>& OpenclDevice::kernels() const { return KernelList(); }

bool OpenclDevice::Fuses(const LayerGroup& group, const Layer& next, const BlobTable& blobs) const {
  std::vector<const Layer*> members = group.members;
  members.push_back(&next);
  return ReadGroup(members, blobs).ok();
}

Precision OpenclDevice::EffectivePrecision(Precision wanted) const {
  return wanted == Precision::kHigh ? Precision::kHigh : Precision::kNormal;
}

Status OpenclDevice::Upload(const Tensor& src, const DeviceTensor& dst) {
  if (FormOf(dst.layout) == Form{}) return queue_->Write(dst.buffer, dst.offset, src.raw(), src.bytes());
  DeviceTensor staged = dst;
  staged.layout = PlainLayout();
  staged.offset = 0;
  PLUMB_ASSIGN_OR_RETURN(staged.buffer, Allocate(src.bytes()));
  PLUMB_RETURN_IF_ERROR(queue_->Write(staged.buffer, 0, src.raw(), src.bytes()));
  PLUMB_RETURN_IF_ERROR(Reorder(staged, dst));
  return queue_->Finish();
}

Result<Tensor> OpenclDevice::Download(const DeviceTensor& src) {
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(src.dtype, src.shape));
  DeviceTensor plain = src;
  if (!(FormOf(src.layout) == Form{})) {
    plain.layout = PlainLayout();
    plain.offset = 0;
    PLUMB_ASSIGN_OR_RETURN(plain.buffer, Allocate(tensor.bytes()));
    PLUMB_RETURN_IF_ERROR(Reorder(src, plain));
  }
  PLUMB_RETURN_IF_ERROR(queue_->Read(plain.buffer, plain.offset, tensor.raw(), tensor.bytes()));
  return tensor;
}

Status OpenclDevice::Reorder(const DeviceTensor& src, const DeviceTensor& dst) {
  const Form from = FormOf(src.layout), to = FormOf(dst.layout);
  if (from == to || src.dtype != DType::kF32) return queue_->Copy(src, dst, dst.bytes());
  const std::lock_guard<std::mutex> lock(mutex_);
  Launcher& launcher = reorders_[from.half][to.half];
  if (launcher.empty()) {
    const std::string name = fmt::format("reorder_{}{}", from.half ? "f16" : "f32", to.half ? "_f16" : "_f32");
    PLUMB_ASSIGN_OR_RETURN(launcher, Launcher::Create(this, "reorder.cl", name, false));
  }
  const Planes planes = PlanesOf(dst);
  return launcher.Run({planes.elements()}, dst, src, planes.batch, planes.channels, planes.pixels, planes.block,
                      PlanesOf(src).block);
}

Result<Array> OpenclDevice::AddFlag(std::string message) {
  const int zeros[2] = {0, 0};
  PLUMB_ASSIGN_OR_RETURN(Array array, UploadArray(this, zeros, sizeof(zeros)));
  const std::lock_guard<std::mutex> lock(mutex_);
  flags_.push_back({array.buffer, std::move(message)});
  return array;
}

Status OpenclDevice::Finish() {
  PLUMB_RETURN_IF_ERROR(queue_->Finish());
  const std::lock_guard<std::mutex> lock(mutex_);
  flags_.erase(std::remove_if(flags_.begin(), flags_.end(), [](const Flag& flag) { return flag.buffer.expired(); }),
               flags_.end());
  for (const Flag& flag : flags_) {
    const std::shared_ptr<Buffer> buffer = flag.buffer.lock();
    if (buffer == nullptr) continue;
    int values[2] = {0, 0};
    PLUMB_RETURN_IF_ERROR(queue_->Read(buffer, 0, values, sizeof(values)));
    if (values[0] == 0) continue;
    const int zeros[2] = {0, 0};
    PLUMB_RETURN_IF_ERROR(queue_->Write(buffer, 0, zeros, sizeof(zeros)));
    return Status::InvalidArgument(fmt::format("{}, found {}", flag.message, values[1]));
  }
  return Status::Ok();
}

}  // namespace opencl

Result<std::unique_ptr<Device>> CreateOpenclDevice(int index) { return opencl::OpenclDevice::Create(index); }

Result<std::vector<std::string>> OpenclAdapters() {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<opencl::Adapter> adapters, opencl::Context::ListAdapters());
  std::vector<std::string> lines;
  for (const opencl::Adapter& adapter : adapters) lines.push_back(adapter.Description());
  return lines;
}

}  // namespace plumb
