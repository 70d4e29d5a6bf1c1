// SPDX-License-Identifier: Apache-2.0
// Context: one OpenCL device of this machine ("adapter") with its compiled programs, shared by all networks of the
// process and never torn down (drivers do not survive that at exit). Threading: all functions may be called from any
// thread.
#ifndef PLUMB_DEVICE_OPENCL_CONTEXT_H_
#define PLUMB_DEVICE_OPENCL_CONTEXT_H_

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "device/opencl/api.h"

namespace plumb::opencl {

// What an adapter says of itself.
struct Adapter {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  std::string platform_name, name, version, driver;
  bool cpu = false;
  bool has_f64 = false;
  uint64_t max_buffer = 0;  // bytes of the largest allocation
  uint64_t memory = 0;
  unsigned units = 1;
  // "NVIDIA H200 (NVIDIA CUDA, OpenCL 3.0 CUDA, driver 550.54)"
  std::string Description() const;
};

// How the elements of f32 blobs are stored: which variant of a program a kernel is taken from.
enum class Storage { kF32, kF16 };

// Which 3x3 convolutions are computed by Winograd's algorithm (winograd.cc).
enum class WinogradUse { kWhereItPays, kAlways, kNever };

class Context {
 public:
  // All adapters, GPUs first, in the loader's order otherwise. NotFound says what to install.
  static Result<std::vector<Adapter>> ListAdapters();
  // The context of adapter `index` of that list. InvalidArgument when there are fewer.
  static Result<Context*> Open(int index);

  const Adapter& adapter() const { return adapter_; }
  const Api& api() const { return api_; }
  cl_context handle() const { return context_; }
  // Whether kernels shaped for CPU drivers (wide vectors, no local memory) run: by device type, or by the environment
  // variable PLUMB_OPENCL_SHAPES=cpu|gpu.
  bool cpu_shapes() const { return cpu_shapes_; }
  // The environment variable PLUMB_OPENCL_WINOGRAD: off, or 4 for tiles of 4 x 4 wherever they are possible.
  WinogradUse winograd() const { return winograd_; }

  // The program of kernel file `file` ("unary.cl"), built once per process and kept in the disk cache. A compile error
  // is a DeviceError with the first lines of the build log.
  Result<cl_program> Program(const std::string& file, Storage storage);

  // The steps behind Program, for tests: from the disk cache or the source; from a source given as text.
  Result<cl_program> Build(const std::string& file, const std::string& options);
  Result<cl_program> BuildFromSource(const std::string& source, const std::string& file, const std::string& options);
  std::string Options(Storage storage) const;
  std::string CacheKey(const std::string& source, const std::string& options) const;

 private:
  Context(const Api& api, Adapter adapter, cl_context context);
  Result<cl_program> BuildFromBinary(const std::string& binary, const std::string& options);
  std::string Binary(cl_program program) const;
  Status ReadEnvironment();

  const Api& api_;
  Adapter adapter_;
  cl_context context_;
  bool cpu_shapes_ = false;
  WinogradUse winograd_ = WinogradUse::kWhereItPays;
  std::mutex mutex_;
  std::map<std::string, cl_program> programs_;  // by options and file
};

// The text of an embedded kernel file with its #include lines replaced by the files they name. NotFound: no such file.
Result<std::string> KernelSource(const std::string& file);
// All embedded .cl files: the test compiles each.
std::vector<std::string> KernelFiles();

}  // namespace plumb::opencl

#endif  // PLUMB_DEVICE_OPENCL_CONTEXT_H_
