// Cast, PlumbCast (op/cast.h). tau: 0 for integers and from floats (one correct rounding, or none); an integer beyond
// 2^24 that becomes f32 is rounded once, 8 u |y|. A float to an integer steps, so uncertain inputs cannot be judged
// behind it.
#include "op/cast.h"

#include <cmath>
#include <cstring>

#include "device/naive/naive_op.h"

namespace plumb {
namespace {

Status Run(const NaiveArgs& args) {
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

Status Bound(const NaiveArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(Run(args));
  PLUMB_ASSIGN_OR_RETURN(const DType to, CastTarget(args.layer));
  const bool rounds = to == DType::kF32 && !IsFloat(args.inputs[0]->dtype());
  double* tau = bound.tau[0]->data<double>();
  for (int64_t i = 0; i < bound.tau[0]->NumElements(); ++i) {
    const double y = rounds ? std::fabs(args.outputs[0]->data<double>()[i]) : 0;
    tau[i] = y <= 0x1p24 ? 0 : 8 * bound.arithmetic.u_out * y;
  }
  return Status::Ok();
}

NaiveOp Op() {
  NaiveOp op{Run, Bound};
  op.propagates = false;
  return op;
}

}  // namespace

NaiveOp NaiveCast() { return Op(); }
NaiveOp NaivePlumbCast() { return Op(); }

}  // namespace plumb
