// SPDX-License-Identifier: Apache-2.0
// The CPU device that this build has.
#ifndef PLUMB_TEST_DEVICE_CPU_CPU_NAME_H_
#define PLUMB_TEST_DEVICE_CPU_CPU_NAME_H_

#include <string>

namespace plumb {

#if defined(__aarch64__)
constexpr const char *kCpuDevice = "ARM", *kCpuPrefix = "arm/";
#else
constexpr const char *kCpuDevice = "X86", *kCpuPrefix = "x86/";
#endif

// A kernel as steps name it.
inline std::string On(const char* kernel) { return std::string(kCpuPrefix) + kernel; }

}  // namespace plumb

#endif  // PLUMB_TEST_DEVICE_CPU_CPU_NAME_H_
