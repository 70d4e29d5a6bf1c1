// SPDX-License-Identifier: Apache-2.0
// Queue: an in-order command queue with its buffers, one per Device object. Counts how often work is handed to the
// driver.
#ifndef PLUMB_DEVICE_OPENCL_QUEUE_H_
#define PLUMB_DEVICE_OPENCL_QUEUE_H_

#include <atomic>
#include <memory>

#include "device/device.h"
#include "device/opencl/context.h"

namespace plumb::opencl {

class ClBuffer : public Buffer {
 public:
  ClBuffer(const Api& api, cl_mem memory, size_t size) : api_(api), memory_(memory), size_(size) {}
  ~ClBuffer() override { api_.clReleaseMemObject(memory_); }
  size_t size() const override { return size_; }
  cl_mem memory() const { return memory_; }

 private:
  const Api& api_;
  cl_mem memory_;
  size_t size_;
};

inline cl_mem MemoryOf(const std::shared_ptr<Buffer>& buffer) { return static_cast<ClBuffer*>(buffer.get())->memory(); }

class Queue {
 public:
  static Result<std::unique_ptr<Queue>> Create(Context* context);
  ~Queue();

  Context& context() const { return context_; }
  cl_command_queue handle() const { return queue_; }
  Result<std::shared_ptr<Buffer>> Allocate(size_t bytes);
  // Blocking.
  Status Write(const std::shared_ptr<Buffer>& buffer, size_t offset, const void* data, size_t bytes);
  Status Read(const std::shared_ptr<Buffer>& buffer, size_t offset, void* data, size_t bytes);
  Status Copy(const DeviceTensor& src, const DeviceTensor& dst, size_t bytes);
  Status Finish();
  // A buffer for arguments that are not read.
  const std::shared_ptr<Buffer>& nothing() const { return nothing_; }
  // How often Finish was called: one per Forward that nobody watches.
  int submissions() const { return submissions_; }

 private:
  Queue(Context* context, cl_command_queue queue) : context_(*context), queue_(queue) {}
  Context& context_;
  cl_command_queue queue_;
  std::shared_ptr<Buffer> nothing_;
  std::atomic<int> submissions_{0};
};

}  // namespace plumb::opencl

#endif  // PLUMB_DEVICE_OPENCL_QUEUE_H_
