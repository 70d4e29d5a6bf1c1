// PlumbIsNaN, PlumbIsInf, the bitwise operators with broadcasting, and PlumbRoundFloat.
#include <fmt/core.h>

#include <limits>

#include "device/gpu/kernel_list.h"
#include "device/shared/walk.h"
#include "op/bitwise.h"
#include "op/classify.h"
#include "op/round_float.h"

namespace plumb::gpu {

Status plan_classify(Plan* plan) {
  PLUMB_RETURN_IF_ERROR(plan->RequireF32(0));
  const bool nan = plan->layer().kind == OpKind::kPlumbIsNaN;
  Launch& launch = plan->Add("classify", plan->out().shape.NumElements(), {plan->Out(0, "u8"), plan->In(0, "real")});
  launch.Int(nan);
  if (nan) {
    launch.Int(0).Int(0);
  } else {
    const auto& p = ParamOf<IsInfParam>(plan->layer());
    launch.Int(p.detect_positive).Int(p.detect_negative);
  }
  return Status::Ok();
}

Status plan_bitwise(Plan* plan) {
  constexpr size_t kRank = 8;  // of bitwise.gpu
  const OpKind kind = plan->layer().kind;
  const DType dtype = plan->in(0).dtype;
  if (dtype != DType::kI32 && dtype != DType::kI64 && dtype != DType::kBool) {
    return Status::NotSupported(std::string("takes i32, i64 and bool, found ") + DTypeName(dtype));
  }
  const int64_t shift = kind == OpKind::kPlumbBitShift && !ParamOf<BitShiftParam>(plan->layer()).left ? 5 : 4;
  const int64_t op = kind == OpKind::kPlumbBitwiseAnd   ? 0
                     : kind == OpKind::kPlumbBitwiseOr  ? 1
                     : kind == OpKind::kPlumbBitwiseXor ? 2
                     : kind == OpKind::kPlumbBitwiseNot ? (dtype == DType::kBool ? 6 : 3)
                                                        : shift;
  const int second = plan->has(1) ? 1 : 0;
  const Shape& out = plan->out().shape;
  const Walk walk = BroadcastWalk({plan->in(0).shape.dims(), plan->in(second).shape.dims()}, out.dims());
  if (walk.rank() > kRank) return Status::NotSupported(fmt::format("broadcasts over more than {} dims", kRank));
  const std::string type = dtype == DType::kBool ? "u8" : DTypeName(dtype);
  plan->Add("bitwise_" + type, out.NumElements(), {plan->Out(0, type), plan->In(0, type), plan->In(second, type)})
      .Int(op)
      .Int(static_cast<int64_t>(DTypeSize(dtype)) * 8)
      .Int(static_cast<int64_t>(walk.rank()))
      .Ints(walk.dims, kRank)
      .Ints(walk.strides[0], kRank)
      .Ints(walk.strides[1], kRank);
  return Status::Ok();
}

Status plan_round_float(Plan* plan) {
  PLUMB_RETURN_IF_ERROR(plan->RequireF32(0));
  PLUMB_ASSIGN_OR_RETURN(const SmallFloat* format, RoundFloatFormat(plan->layer()));
  const bool saturate = ParamOf<RoundFloatParam>(plan->layer()).saturate || !format->has_nan;
  const float beyond = saturate               ? static_cast<float>(format->largest)
                       : format->has_infinity ? std::numeric_limits<float>::infinity()
                                              : std::numeric_limits<float>::quiet_NaN();
  plan->Add("round_float", plan->out().shape.NumElements(), {plan->Out(0, "real"), plan->In(0, "real")})
      .Int(format->mantissa)
      .Int(format->bias)
      .Float(static_cast<float>(format->largest))
      .Float(beyond)
      .Int(format->has_nan)
      .Int(format->unsigned_zero);
  return Status::Ok();
}

}  // namespace plumb::gpu
