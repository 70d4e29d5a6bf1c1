// SPDX-License-Identifier: Apache-2.0
// Cast, PlumbCast (op/cast.h). tau: 0 for integers and from floats (one correct rounding, or none); an integer beyond
// 2^24 that becomes f32 is rounded once, 8 u |y|. Uncertain inputs: what the cast makes of x - tau and of x + tau.
#include "op/cast.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "reference/core/elementwise.h"
#include "reference/core/steps.h"

namespace plumb {
namespace {

Status RunCast(const ReferenceArgs& args) {
  const Tensor& in = *args.inputs[0];
  Tensor* out = args.outputs[0];
  PLUMB_ASSIGN_OR_RETURN(const DType to, CastTarget(args.layer));
  // In f64 storage an f32 blob is not rounded again; f16 and bf16 are, for this is what the operator is for.
  const bool narrow = to == DType::kF16 || to == DType::kBF16;
  PLUMB_ASSIGN_OR_RETURN(const Tensor rounded, in.ConvertedTo(narrow ? to : out->dtype()));
  PLUMB_ASSIGN_OR_RETURN(const Tensor stored, rounded.ConvertedTo(out->dtype()));
  std::memcpy(out->raw(), stored.raw(), stored.bytes());
  return Status::Ok();
}

double RoundedTo(double x, DType to) {
  const auto narrow = static_cast<float>(x);
  return to == DType::kF16 ? HalfToFloat(FloatToHalf(narrow)) : BFloat16ToFloat(FloatToBFloat16(narrow));
}

// Casts are monotonic, but for integers that wrap around.
Status AddInputTau(const ReferenceArgs& args, DType target, const double* tau_x, double* tau) {
  const DType to = args.outputs[0]->dtype();
  const bool steps = !IsFloat(args.inputs[0]->dtype());
  PLUMB_ASSIGN_OR_RETURN(const Tensor in, args.inputs[0]->ConvertedTo(DType::kF64));
  PLUMB_ASSIGN_OR_RETURN(const Tensor out, args.outputs[0]->ConvertedTo(DType::kF64));
  for (int64_t i = 0; i < in.NumElements(); ++i) {
    const double x = in.data<double>()[i], y = out.data<double>()[i], t = tau_x[i];
    if (target == DType::kF16 || target == DType::kBF16) {
      const double moved = (steps ? kStepsToTau : 1) * t;
      tau[i] = std::max(std::fabs(RoundedTo(x - moved, target) - y), std::fabs(RoundedTo(x + moved, target) - y));
    } else if (IsFloat(to)) {
      tau[i] = Quadrature(tau[i], (steps ? kStepsToTau : 1) * t);
    } else if (to == DType::kBool) {
      tau[i] = t > 0 && std::fabs(x) <= t ? 1 : 0;
    } else {
      tau[i] = std::max(std::fabs(std::trunc(x - t) - y), std::fabs(std::trunc(x + t) - y));
    }
  }
  return Status::Ok();
}

Status BoundCast(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(RunCast(args));
  PLUMB_ASSIGN_OR_RETURN(const DType to, CastTarget(args.layer));
  const bool rounds = to == DType::kF32 && !IsFloat(args.inputs[0]->dtype());
  double* tau = bound.tau[0]->data<double>();
  for (int64_t i = 0; i < bound.tau[0]->NumElements(); ++i) {
    const double y = rounds ? std::fabs(args.outputs[0]->data<double>()[i]) : 0;
    tau[i] = y <= 0x1p24 ? 0 : 8 * bound.arithmetic.u_out * y;
  }
  if (InputTau(bound, 0) != nullptr) PLUMB_RETURN_IF_ERROR(AddInputTau(args, to, InputTau(bound, 0), tau));
  const Tensor& in = *args.inputs[0];
  const bool any = bound.arithmetic.any_integer_of_nan && to != DType::kBool;
  if (!any || in.dtype() != DType::kF64 || IsFloat(args.outputs[0]->dtype())) return Status::Ok();
  for (int64_t i = 0; i < in.NumElements(); ++i) {
    if (std::isnan(in.data<double>()[i])) tau[i] = INFINITY;
  }
  return Status::Ok();
}

ReferenceOp OpCast() {
  ReferenceOp op{RunCast, BoundCast};
  op.takes_uncertain_integers = true;
  return op;
}

}  // namespace

ReferenceOp ReferenceCast() { return OpCast(); }
ReferenceOp ReferencePlumbCast() { return OpCast(); }

}  // namespace plumb
