// SPDX-License-Identifier: Apache-2.0
#include "op/pixel_shuffle.h"

#include <fmt/core.h>

#include "op/core/strided.h"

namespace plumb {
namespace {

Status Check4D(const Shape& in, int64_t r) {
  if (in.rank() != 4) return Status::InvalidArgument("input must be 4-D, found " + in.ToString());
  if (r < 1 || r > (1 << 15)) return Status::InvalidArgument(fmt::format("factor {} is not in 1 .. 32768", r));
  return Status::Ok();
}

Result<StridedMap> DepthToSpace(const Shape& in, int64_t r, bool crd) {
  PLUMB_RETURN_IF_ERROR(Check4D(in, r));
  if (in[1] % (r * r) != 0) {
    return Status::InvalidArgument(
        fmt::format("the {} channels of {} are no multiple of {}", in[1], in.ToString(), r * r));
  }
  const int64_t c = in[1] / (r * r);
  const Shape out{in[0], c, in[2] * r, in[3] * r};
  if (crd) return Transposed({in[0], c, r, r, in[2], in[3]}, {0, 1, 4, 2, 5, 3}, out);
  return Transposed({in[0], r, r, c, in[2], in[3]}, {0, 3, 4, 1, 5, 2}, out);
}

Result<StridedMap> SpaceToDepth(const Shape& in, int64_t r, bool crd) {
  PLUMB_RETURN_IF_ERROR(Check4D(in, r));
  if (in[2] % r != 0 || in[3] % r != 0) {
    return Status::InvalidArgument(fmt::format("height and width of {} are no multiples of {}", in.ToString(), r));
  }
  const std::vector<int64_t> dims{in[0], in[1], in[2] / r, r, in[3] / r, r};
  const Shape out{in[0], in[1] * r * r, in[2] / r, in[3] / r};
  return crd ? Transposed(dims, {0, 1, 3, 5, 2, 4}, out) : Transposed(dims, {0, 3, 5, 1, 2, 4}, out);
}

Result<StridedMap> PixelShuffle(const Layer& layer, const std::vector<BlobInfo>& inputs, int) {
  return DepthToSpace(inputs[0].shape, ParamOf<PixelShuffleParam>(layer).upscale_factor, true);
}

Result<StridedMap> Reorg(const Layer& layer, const std::vector<BlobInfo>& inputs, int) {
  const auto& p = ParamOf<ReorgParam>(layer);
  if (p.mode != 0 && p.mode != 1)
    return Status::InvalidArgument(fmt::format("mode {} is neither 0 (DCR) nor 1 (CRD)", p.mode));
  return p.forward != 0 ? DepthToSpace(inputs[0].shape, p.stride, p.mode == 1)
                        : SpaceToDepth(inputs[0].shape, p.stride, p.mode == 1);
}

}  // namespace

OpDef DefinePixelShuffle() { return DefineByMap(MakeParam<PixelShuffleParam>, PixelShuffle); }
OpDef DefineReorg() { return DefineByMap(MakeParam<ReorgParam>, Reorg); }

}  // namespace plumb
