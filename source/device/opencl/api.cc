// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/api.h"

#include <fmt/core.h>

#include <dlfcn.h>

namespace plumb::opencl {
namespace {

struct NamedCode {
  cl_int code;
  const char* name;
};

#define PLUMB_CL_CODE(name) {name, #name},
constexpr NamedCode kCodes[] = {
    PLUMB_CL_CODE(CL_DEVICE_NOT_FOUND) PLUMB_CL_CODE(CL_DEVICE_NOT_AVAILABLE) PLUMB_CL_CODE(CL_COMPILER_NOT_AVAILABLE)
        PLUMB_CL_CODE(CL_MEM_OBJECT_ALLOCATION_FAILURE) PLUMB_CL_CODE(CL_OUT_OF_RESOURCES) PLUMB_CL_CODE(
            CL_OUT_OF_HOST_MEMORY) PLUMB_CL_CODE(CL_PROFILING_INFO_NOT_AVAILABLE) PLUMB_CL_CODE(CL_MEM_COPY_OVERLAP)
            PLUMB_CL_CODE(CL_BUILD_PROGRAM_FAILURE) PLUMB_CL_CODE(CL_MAP_FAILURE) PLUMB_CL_CODE(
                CL_MISALIGNED_SUB_BUFFER_OFFSET) PLUMB_CL_CODE(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
                PLUMB_CL_CODE(CL_INVALID_VALUE) PLUMB_CL_CODE(CL_INVALID_DEVICE_TYPE) PLUMB_CL_CODE(
                    CL_INVALID_PLATFORM) PLUMB_CL_CODE(CL_INVALID_DEVICE) PLUMB_CL_CODE(CL_INVALID_CONTEXT)
                    PLUMB_CL_CODE(CL_INVALID_QUEUE_PROPERTIES) PLUMB_CL_CODE(CL_INVALID_COMMAND_QUEUE) PLUMB_CL_CODE(
                        CL_INVALID_HOST_PTR) PLUMB_CL_CODE(CL_INVALID_MEM_OBJECT) PLUMB_CL_CODE(CL_INVALID_BINARY)
                        PLUMB_CL_CODE(CL_INVALID_BUILD_OPTIONS) PLUMB_CL_CODE(CL_INVALID_PROGRAM) PLUMB_CL_CODE(
                            CL_INVALID_PROGRAM_EXECUTABLE) PLUMB_CL_CODE(CL_INVALID_KERNEL_NAME)
                            PLUMB_CL_CODE(CL_INVALID_KERNEL_DEFINITION) PLUMB_CL_CODE(CL_INVALID_KERNEL)
                                PLUMB_CL_CODE(CL_INVALID_ARG_INDEX) PLUMB_CL_CODE(CL_INVALID_ARG_VALUE) PLUMB_CL_CODE(
                                    CL_INVALID_ARG_SIZE) PLUMB_CL_CODE(CL_INVALID_KERNEL_ARGS)
                                    PLUMB_CL_CODE(CL_INVALID_WORK_DIMENSION) PLUMB_CL_CODE(CL_INVALID_WORK_GROUP_SIZE)
                                        PLUMB_CL_CODE(CL_INVALID_WORK_ITEM_SIZE) PLUMB_CL_CODE(CL_INVALID_GLOBAL_OFFSET)
                                            PLUMB_CL_CODE(CL_INVALID_EVENT_WAIT_LIST) PLUMB_CL_CODE(CL_INVALID_EVENT)
                                                PLUMB_CL_CODE(CL_INVALID_OPERATION)
                                                    PLUMB_CL_CODE(CL_INVALID_BUFFER_SIZE)
                                                        PLUMB_CL_CODE(CL_INVALID_GLOBAL_WORK_SIZE){
                                                            -1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};
#undef PLUMB_CL_CODE

Result<Api> Load() {
  void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = dlopen("libOpenCL.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Status::NotFound(
        "there is no OpenCL loader (libOpenCL.so.1): install ocl-icd-libopencl1 and a driver, "
        "such as pocl-opencl-icd or the GPU maker's");
  }
  Api api;
  const char* missing = nullptr;
#define PLUMB_CL_LOAD(name)                                               \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, #name)); \
  if (api.name == nullptr) missing = #name;
  PLUMB_CL_FUNCTIONS(PLUMB_CL_LOAD)
#undef PLUMB_CL_LOAD
  if (missing == nullptr) return api;
  return Status::NotFound(fmt::format("the OpenCL loader lacks {}; OpenCL 1.2 is needed", missing));
}

}  // namespace

Result<const Api*> LoadApi() {
  static const auto* api = new Result<Api>(Load());  // never unloaded: drivers do not survive that
  if (!api->ok()) return api->status();
  return &**api;
}

std::string ErrorName(cl_int code) {
  for (const NamedCode& named : kCodes) {
    if (named.code == code) return fmt::format("{} ({})", named.name, code);
  }
  return "error " + std::to_string(code);
}

Status Check(cl_int code, const char* function) {
  if (code == CL_SUCCESS) return Status::Ok();
  const std::string text = fmt::format("{}: {}", function, ErrorName(code));
  if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY) return Status::OutOfMemory(text);
  return Status::DeviceError(text);
}

}  // namespace plumb::opencl
