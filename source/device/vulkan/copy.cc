// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/copy.h"

namespace plumb::vulkan {

LaunchSpec CopySpec(DType dtype, const Argument& dst, const Argument& src, const Walk& walk, int64_t src_offset,
                    int64_t dst_offset) {
  LaunchSpec launch;
  launch.shader = "copy" + SizeSuffix(dtype);
  launch.constants = {static_cast<uint32_t>(walk.rank())};
  launch.arguments = {dst, src};
  int64_t count = 1;
  for (const int64_t dim : walk.dims) count *= dim;
  launch.push.Int(count).Int(src_offset).Int(dst_offset);
  launch.push.Ints(walk.dims, kCopyRank).Ints(walk.strides[0], kCopyRank).Ints(walk.strides[1], kCopyRank);
  launch.Over(count);
  return launch;
}

LaunchSpec CopyAllSpec(DType dtype, const Argument& dst, const Argument& src, int64_t count) {
  return CopySpec(dtype, dst, src, {{count}, {{1}, {1}}}, 0, 0);
}

bool SameMemory(const DeviceTensor& a, const DeviceTensor& b, size_t offset_in_a) {
  return a.buffer == b.buffer && a.offset + offset_in_a == b.offset;
}

}  // namespace plumb::vulkan
