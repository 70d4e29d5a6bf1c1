// SPDX-License-Identifier: Apache-2.0
// The OpenCL functions that Plumb calls, found at run time: libOpenCL.so.1 is opened with dlopen, so that one binary
// runs with and without a loader or a driver. The only file that includes the OpenCL headers; only a few .cc files
// include it.
#ifndef PLUMB_DEVICE_OPENCL_API_H_
#define PLUMB_DEVICE_OPENCL_API_H_

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <string>

#include "plumb/status.h"

namespace plumb::opencl {

// clang-format off
#define PLUMB_CL_FUNCTIONS(X)                                                                                          \
  X(clGetPlatformIDs) X(clGetPlatformInfo) X(clGetDeviceIDs) X(clGetDeviceInfo) X(clCreateContext)                     \
  X(clCreateCommandQueue) X(clReleaseCommandQueue) X(clCreateBuffer) X(clReleaseMemObject)                             \
  X(clCreateProgramWithSource) X(clCreateProgramWithBinary) X(clBuildProgram) X(clGetProgramInfo)                      \
  X(clGetProgramBuildInfo) X(clReleaseProgram) X(clCreateKernel) X(clReleaseKernel) X(clSetKernelArg)                  \
  X(clGetKernelWorkGroupInfo) X(clGetKernelInfo) X(clCreateKernelsInProgram) X(clEnqueueNDRangeKernel)                 \
  X(clEnqueueReadBuffer) X(clEnqueueWriteBuffer) X(clEnqueueCopyBuffer) X(clFlush) X(clFinish)
// clang-format on

struct Api {
#define PLUMB_CL_MEMBER(name) decltype(&::name) name = nullptr;
  PLUMB_CL_FUNCTIONS(PLUMB_CL_MEMBER)
#undef PLUMB_CL_MEMBER
};

// The functions, loaded once per process. NotFound with how to install it when there is no library.
Result<const Api*> LoadApi();

// "CL_OUT_OF_RESOURCES (-5)"
std::string ErrorName(cl_int code);
// OK, or "clFinish: CL_OUT_OF_RESOURCES (-5)"; failed allocations are OutOfMemory, everything else DeviceError.
Status Check(cl_int code, const char* function);

}  // namespace plumb::opencl

#endif  // PLUMB_DEVICE_OPENCL_API_H_
