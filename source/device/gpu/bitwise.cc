// SPDX-License-Identifier: Apache-2.0
// The rows of op/bitwise.def and PlumbBitShift, with broadcasting.
#include <fmt/core.h>

#include <string>

#include "device/gpu/kernel_list.h"
#include "device/shared/walk.h"
#include "op/bitwise.h"

namespace plumb::gpu {

Status plan_bitwise(Plan* plan) {
  constexpr size_t kRank = 8;  // of bitwise.gpu
  const DType dtype = plan->in(0).dtype;
  if (dtype != DType::kI32 && dtype != DType::kI64 && dtype != DType::kBool) {
    return Status::NotSupported(std::string("takes i32, i64 and bool, found ") + DTypeName(dtype));
  }
  const bool shift = plan->layer().kind == OpKind::kPlumbBitShift;
  const int64_t row = !shift ? BitwiseRow(plan->layer().kind) : ParamOf<BitShiftParam>(plan->layer()).left ? -1 : -2;
  const int second = plan->has(1) ? 1 : 0;
  const Shape& out = plan->out().shape;
  const Walk walk = BroadcastWalk({plan->in(0).shape.dims(), plan->in(second).shape.dims()}, out.dims());
  if (walk.rank() > kRank) return Status::NotSupported(fmt::format("broadcasts over more than {} dims", kRank));
  const std::string type = dtype == DType::kBool ? "u8" : DTypeName(dtype);
  plan->Add("bitwise_" + type, out.NumElements(), {plan->Out(0, type), plan->In(0, type), plan->In(second, type)})
      .Int(row)
      .Int(static_cast<int64_t>(DTypeSize(dtype)) * 8)
      .Int(static_cast<int64_t>(walk.rank()))
      .Ints(walk.dims, kRank)
      .Ints(walk.strides[0], kRank)
      .Ints(walk.strides[1], kRank);
  return Status::Ok();
}

}  // namespace plumb::gpu
