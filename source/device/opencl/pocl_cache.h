// SPDX-License-Identifier: Apache-2.0
// PoCL compiles into a folder of its own ($POCL_CACHE_DIR, else $XDG_CACHE_HOME/pocl/kcache, else
// $HOME/.cache/pocl/kcache, else /tmp/pocl/kcache) and has no device at all where it cannot make that folder.
#ifndef PLUMB_DEVICE_OPENCL_POCL_CACHE_H_
#define PLUMB_DEVICE_OPENCL_POCL_CACHE_H_

#include <string>

namespace plumb::opencl {

// To be called before a driver is asked for anything: where PoCL's folder cannot be written, or others can have written
// into it (PoCL runs what lies there), sets POCL_CACHE_DIR to one of our own. Returns "" when there is a folder, else
// the sentence that says why PoCL will have no device and what to do.
std::string PreparePoclCache();

}  // namespace plumb::opencl

#endif  // PLUMB_DEVICE_OPENCL_POCL_CACHE_H_
