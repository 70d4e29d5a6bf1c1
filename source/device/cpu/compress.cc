// SPDX-License-Identifier: Apache-2.0
// PlumbCompress (op/selection.h) in plain order: the kept slices of the axis, copied one after the other.
#include <cstring>

#include "device/cpu/function_kernel.h"
#include "op/selection.h"

namespace plumb::cpu {
namespace {

Status Compress(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const CompressShape s, ResolveCompress(layer, WithValues(in)));
  const size_t bytes = static_cast<size_t>(s.inner) * DTypeSize(in[0].dtype);
  char* to = out[0].host<char>();
  for (int64_t o = 0; o < s.outer; ++o) {
    for (const int64_t i : s.kept) {
      std::memcpy(to, in[0].host<char>() + static_cast<size_t>(o * s.size + i) * bytes, bytes);
      to += bytes;
    }
  }
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_compress = FunctionKernelOf<Compress, Takes::kAny>();

}  // namespace plumb::cpu
