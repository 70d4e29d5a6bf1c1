// SPDX-License-Identifier: Apache-2.0
// Copies along a walk (copy.cl), of which the kernels that only move elements are made.
#ifndef PLUMB_DEVICE_OPENCL_COPY_H_
#define PLUMB_DEVICE_OPENCL_COPY_H_

#include "device/opencl/launcher.h"
#include "device/opencl/walk.h"

namespace plumb::opencl {

// Walk of copy.cl.
struct CopyWalk {
  int rank;
  int dims[kMaxRank], x[kMaxRank], y[kMaxRank];
};

// One copy: where it begins and how both sides are walked.
struct Copy {
  CopyWalk walk{};
  int64_t count = 0, y_first = 0, x_first = 0;

  static Copy Of(const Walk& plan);
  Status Run(Launcher* launcher, const DeviceTensor& to, const DeviceTensor& from) const {
    return launcher->Run({count}, to, from, count, y_first, x_first, walk);
  }
};

Result<Launcher> LoadCopy(const KernelSpec& spec, const DeviceTensor& tensor);

}  // namespace plumb::opencl

#endif  // PLUMB_DEVICE_OPENCL_COPY_H_
