// SPDX-License-Identifier: Apache-2.0
// What a device does before it can compute for the first time: its driver compiles kernels, which may take half a
// minute. The library says nothing by itself; a program that wants to tell its user sets a listener. Threading: the
// listener is called on the thread that compiles, one call at a time, and must not set another.
#ifndef PLUMB_TOOL_COMPILING_H_
#define PLUMB_TOOL_COMPILING_H_

#include <functional>
#include <string>

namespace plumb {

struct Compiling {
  std::string device;        // "OPENCL"
  std::string what;          // "convolution_cpu.cl"
  int number = 0;            // how many programs this process began to compile, this one included
  bool done = false;         // called before with false and afterwards with true
  std::string cache_folder;  // where the result is kept for later runs; empty: nowhere, each run compiles
};

// Replaces the one before; null: nobody listens. Nothing is called for what comes out of the cache.
void SetCompileListener(std::function<void(const Compiling&)> listener);

}  // namespace plumb

#endif  // PLUMB_TOOL_COMPILING_H_
