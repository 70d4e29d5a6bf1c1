// SPDX-License-Identifier: Apache-2.0
// A line on a terminal's standard error while a driver compiles kernels: the first start of OPENCL takes half a minute.
#ifndef PLUMB_TOOLS_COMMON_COMPILE_PROGRESS_H_
#define PLUMB_TOOLS_COMMON_COMPILE_PROGRESS_H_

#include <string>

#include "plumb/tool/compiling.h"

namespace plumb {

// From now on. Without a terminal nothing is printed.
void ShowCompiling();

// "OPENCL compiles kernels, once per machine (cached in ~/.cache/plumb): convolution_cpu.cl, 3 done, 12 s". `home` is
// what ~ stands for; empty: nothing.
std::string CompilingLine(const Compiling& event, int done, double seconds, const std::string& home);

}  // namespace plumb

#endif  // PLUMB_TOOLS_COMMON_COMPILE_PROGRESS_H_
