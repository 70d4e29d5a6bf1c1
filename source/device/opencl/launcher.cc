// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/launcher.h"

#include <fmt/core.h>

#include <climits>
#include <utility>

#include "device/opencl/device.h"
#include "device/opencl/queue.h"

namespace plumb::opencl {

Result<Array> UploadArray(Device* device, const void* data, size_t bytes) {
  PLUMB_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> buffer, device->Allocate(bytes));
  PLUMB_RETURN_IF_ERROR(QueueOf(device).Write(buffer, 0, data, bytes));
  return Array{std::move(buffer)};
}

Launcher& Launcher::operator=(Launcher&& other) noexcept {
  std::swap(queue_, other.queue_);
  std::swap(kernel_, other.kernel_);
  std::swap(name_, other.name_);
  std::swap(group_, other.group_);
  return *this;
}

Launcher::~Launcher() {
  if (kernel_ != nullptr) queue_->context().api().clReleaseKernel(kernel_);
}

bool Launcher::CpuShapes(Device* device) { return QueueOf(device).context().cpu_shapes(); }

Result<Launcher> Launcher::Create(Device* device, const char* file, const std::string& name, bool half) {
  Launcher launcher;
  launcher.queue_ = &QueueOf(device);
  launcher.name_ = name;
  Context& context = launcher.queue_->context();
  PLUMB_ASSIGN_OR_RETURN(const cl_program program, context.Program(file, half ? Storage::kF16 : Storage::kF32));
  const std::string frame = fmt::format("kernel {} of {}", name, file);
  cl_int code = CL_SUCCESS;
  launcher.kernel_ = context.api().clCreateKernel(program, name.c_str(), &code);
  PLUMB_RETURN_IF_ERROR(Check(code, "clCreateKernel").AddContext(frame));
  code = context.api().clGetKernelWorkGroupInfo(launcher.kernel_, context.adapter().device,
                                                CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof(launcher.group_),
                                                launcher.group_, nullptr);
  PLUMB_RETURN_IF_ERROR(Check(code, "clGetKernelWorkGroupInfo").AddContext(frame));
  if (launcher.group_[0] == 0) return Status::Internal(frame + " names no work-group size");
  return launcher;
}

void Launcher::SetBytes(const void* value, size_t size) {
  const cl_int code = queue_->context().api().clSetKernelArg(kernel_, next_, size, value);
  if (code != CL_SUCCESS && status_.ok()) {
    status_ = Check(code, "clSetKernelArg").AddContext(fmt::format("kernel {} argument {}", name_, next_));
  }
  ++next_;
}

void Launcher::Set(const DeviceTensor& tensor) {
  const cl_mem memory = MemoryOf(tensor.buffer);
  const cl_long first = static_cast<cl_long>(tensor.offset / ElementBytes(tensor));
  SetBytes(&memory, sizeof(memory));
  SetBytes(&first, sizeof(first));
}

void Launcher::Set(const Array& array) {
  const cl_mem memory = MemoryOf(array.buffer == nullptr ? queue_->nothing() : array.buffer);
  SetBytes(&memory, sizeof(memory));
}

void Launcher::Set(int64_t value) {
  if ((value > INT_MAX || value < INT_MIN) && status_.ok()) {
    status_ =
        Status::NotSupported(fmt::format("kernel {} counts in 32 bits, and a size of this layer is {}", name_, value));
  }
  Set(static_cast<int>(value));
}

Status Launcher::Enqueue(Extent extent) {
  const int64_t wanted[3] = {extent.x, extent.y, extent.z};
  size_t global[3];
  cl_uint dims = 1;
  for (size_t d = 0; d < 3; ++d) {
    global[d] = (static_cast<size_t>(wanted[d]) + group_[d] - 1) / group_[d] * group_[d];
    if (global[d] > 1) dims = static_cast<cl_uint>(d + 1);
    if (global[d] > INT_MAX) {
      return Status::NotSupported(
          fmt::format("kernel {} counts in 32 bits, and this layer needs {} work items", name_, global[d]));
    }
  }
  return Check(queue_->context().api().clEnqueueNDRangeKernel(queue_->handle(), kernel_, dims, nullptr, global, group_,
                                                              0, nullptr, nullptr),
               "clEnqueueNDRangeKernel")
      .AddContext("kernel " + name_);
}

}  // namespace plumb::opencl
