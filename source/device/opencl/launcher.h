// SPDX-License-Identifier: Apache-2.0
// Launcher: one kernel of a kernel file with the way to hand it its arguments; Queue: where launches go.
// Kernels take a blob as two arguments, `global stored* y, long y_at` (its first element), a constant array as one
// pointer, whole numbers as int, and small structs by value. Binding order: outputs, inputs, constants, numbers. No
// OpenCL header is needed here, so that operators' files compile fast.
#ifndef PLUMB_DEVICE_OPENCL_LAUNCHER_H_
#define PLUMB_DEVICE_OPENCL_LAUNCHER_H_

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "device/device.h"
#include "device/opencl/blocked_layout.h"

typedef struct _cl_kernel* cl_kernel;  // as CL/cl.h has it

namespace plumb::opencl {

class Queue;  // queue.h
Queue& QueueOf(Device* device);

// A constant array on the device; a null buffer is an argument that the kernel does not read.
struct Array {
  std::shared_ptr<Buffer> buffer;
};
// Blocking copy of `bytes` bytes.
Result<Array> UploadArray(Device* device, const void* data, size_t bytes);
inline Result<Array> UploadArray(Device* device, const std::vector<float>& values) {
  return UploadArray(device, values.data(), values.size() * sizeof(float));
}
inline Result<Array> UploadArray(Device* device, const std::vector<int>& values) {
  return UploadArray(device, values.data(), values.size() * sizeof(int));
}

// Work items in up to three dims; each is rounded up to the kernel's work-group size (kernels guard their ids).
struct Extent {
  int64_t x = 1, y = 1, z = 1;
};

// Items of a work-group of the kernels marked LINEAR (common.clh); the others have one.
constexpr int64_t kLinearGroup = 64;

class Launcher {
 public:
  Launcher() = default;
  Launcher(Launcher&& other) noexcept { *this = std::move(other); }
  Launcher& operator=(Launcher&& other) noexcept;
  ~Launcher();

  // Kernel `name` of `file` in the variant for f32 blobs stored as f32 or (half) f16.
  static Result<Launcher> Create(Device* device, const char* file, const std::string& name, bool half);

  // Enqueues; nothing is waited for. An empty extent launches nothing.
  template <class... A>
  Status Run(Extent extent, const A&... arguments) {
    if (extent.x <= 0 || extent.y <= 0 || extent.z <= 0) return Status::Ok();
    next_ = 0;
    status_ = Status::Ok();
    (Set(arguments), ...);
    if (!status_.ok()) return status_;
    return Enqueue(extent);
  }
  bool empty() const { return kernel_ == nullptr; }
  // Whether kernels shaped for CPU drivers should be taken on this device.
  static bool CpuShapes(Device* device);

 private:
  void Set(const DeviceTensor& tensor);
  void Set(const Array& array);
  void Set(const std::vector<DeviceTensor>& tensors) {
    for (const DeviceTensor& tensor : tensors) Set(tensor);
  }
  void Set(int value) { SetBytes(&value, sizeof(value)); }
  void Set(int64_t value);
  void Set(float value) { SetBytes(&value, sizeof(value)); }
  template <class T>
  void Set(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_class_v<T>);
    SetBytes(&value, sizeof(value));
  }
  void SetBytes(const void* value, size_t size);
  Status Enqueue(Extent extent);

  Queue* queue_ = nullptr;
  cl_kernel kernel_ = nullptr;
  std::string name_;
  size_t group_[3] = {1, 1, 1};
  unsigned next_ = 0;
  Status status_;
};

}  // namespace plumb::opencl

#endif  // PLUMB_DEVICE_OPENCL_LAUNCHER_H_
