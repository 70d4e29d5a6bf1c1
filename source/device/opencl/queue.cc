// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/queue.h"

#include <fmt/core.h>

#include <algorithm>

namespace plumb::opencl {

Result<std::unique_ptr<Queue>> Queue::Create(Context* context) {
  cl_int code = CL_SUCCESS;
  const cl_command_queue handle =
      context->api().clCreateCommandQueue(context->handle(), context->adapter().device, 0, &code);
  PLUMB_RETURN_IF_ERROR(Check(code, "clCreateCommandQueue").AddContext(context->adapter().Description()));
  std::unique_ptr<Queue> queue(new Queue(context, handle));
  PLUMB_ASSIGN_OR_RETURN(queue->nothing_, queue->Allocate(64));
  return queue;
}

Queue::~Queue() {
  nothing_.reset();
  context_.api().clFinish(queue_);
  context_.api().clReleaseCommandQueue(queue_);
}

Result<std::shared_ptr<Buffer>> Queue::Allocate(size_t bytes) {
  const size_t size = std::max<size_t>(bytes, 64);
  const Adapter& adapter = context_.adapter();
  if (adapter.max_buffer > 0 && size > adapter.max_buffer) {
    return Status::OutOfMemory(fmt::format("a buffer of {} bytes is larger than {} allocates at once ({})", size,
                                           adapter.name, adapter.max_buffer));
  }
  cl_int code = CL_SUCCESS;
  const cl_mem memory = context_.api().clCreateBuffer(context_.handle(), CL_MEM_READ_WRITE, size, nullptr, &code);
  if (code != CL_SUCCESS) {
    return Status::OutOfMemory(
        fmt::format("no memory for {} bytes on {}: clCreateBuffer: {}", size, adapter.name, ErrorName(code)));
  }
  return std::shared_ptr<Buffer>(std::make_shared<ClBuffer>(context_.api(), memory, size));
}

Status Queue::Write(const std::shared_ptr<Buffer>& buffer, size_t offset, const void* data, size_t bytes) {
  if (bytes == 0) return Status::Ok();
  return Check(
      context_.api().clEnqueueWriteBuffer(queue_, MemoryOf(buffer), CL_TRUE, offset, bytes, data, 0, nullptr, nullptr),
      "clEnqueueWriteBuffer");
}

Status Queue::Read(const std::shared_ptr<Buffer>& buffer, size_t offset, void* data, size_t bytes) {
  if (bytes == 0) return Status::Ok();
  return Check(
      context_.api().clEnqueueReadBuffer(queue_, MemoryOf(buffer), CL_TRUE, offset, bytes, data, 0, nullptr, nullptr),
      "clEnqueueReadBuffer");
}

Status Queue::Copy(const DeviceTensor& src, const DeviceTensor& dst, size_t bytes) {
  if (bytes == 0 || (src.buffer == dst.buffer && src.offset == dst.offset)) return Status::Ok();
  return Check(context_.api().clEnqueueCopyBuffer(queue_, MemoryOf(src.buffer), MemoryOf(dst.buffer), src.offset,
                                                  dst.offset, bytes, 0, nullptr, nullptr),
               "clEnqueueCopyBuffer");
}

Status Queue::Finish() {
  ++submissions_;
  return Check(context_.api().clFinish(queue_), "clFinish");
}

}  // namespace plumb::opencl
