// PlumbBitwiseAnd, -Or, -Xor, -Not, PlumbBitShift (op/bitwise.h) on unsigned bits; exact.
#include "op/bitwise.h"

#include "device/naive/broadcast.h"
#include "device/naive/elementwise.h"

namespace plumb {
namespace {

template <class U>
U Combine(OpKind kind, bool left, U a, U b) {
  switch (kind) {
    case OpKind::kPlumbBitwiseAnd: return static_cast<U>(a & b);
    case OpKind::kPlumbBitwiseOr: return static_cast<U>(a | b);
    case OpKind::kPlumbBitwiseXor: return static_cast<U>(a ^ b);
    default: break;
  }
  if (b >= sizeof(U) * 8) return 0;
  return static_cast<U>(left ? a << b : a >> b);
}

template <class U>
Status Apply(const NaiveArgs& args) {
  const OpKind kind = args.layer.kind;
  const bool left = kind == OpKind::kPlumbBitShift && ParamOf<BitShiftParam>(args.layer).left;
  const auto* a = static_cast<const U*>(args.inputs[0]->raw());
  const auto* b = static_cast<const U*>(args.inputs[1]->raw());
  auto* y = static_cast<U*>(args.outputs[0]->raw());
  const Broadcast walk(args.inputs[0]->shape(), args.inputs[1]->shape(), args.outputs[0]->shape());
  ParallelFor(args.outputs[0]->NumElements(), kElementGrain, [&](int64_t begin, int64_t end) {
    walk.ForEach(begin, end, [&](int64_t i, int64_t ia, int64_t ib) { y[i] = Combine<U>(kind, left, a[ia], b[ib]); });
  });
  return Status::Ok();
}

Status Run(const NaiveArgs& args) {
  switch (args.inputs[0]->dtype()) {
    case DType::kBool: return Apply<uint8_t>(args);
    case DType::kI32: return Apply<uint32_t>(args);
    default: return Apply<uint64_t>(args);
  }
}

Status RunNot(const NaiveArgs& args) {
  const Tensor& in = *args.inputs[0];
  const bool truth = in.dtype() == DType::kBool;
  const auto* x = static_cast<const uint8_t*>(in.raw());
  auto* y = static_cast<uint8_t*>(args.outputs[0]->raw());
  for (size_t i = 0; i < in.bytes(); ++i) y[i] = static_cast<uint8_t>(truth ? x[i] == 0 : ~x[i]);
  return Status::Ok();
}

template <Status (*run)(const NaiveArgs&)>
NaiveOp Op() {
  NaiveOp op;
  op.run = run;
  op.run_with_bound = [](const NaiveArgs& args, const BoundArgs& bound) {
    SetExact(bound);
    return run(args);
  };
  return op;
}

}  // namespace

NaiveOp NaivePlumbBitwiseAnd() { return Op<Run>(); }
NaiveOp NaivePlumbBitwiseOr() { return Op<Run>(); }
NaiveOp NaivePlumbBitwiseXor() { return Op<Run>(); }
NaiveOp NaivePlumbBitwiseNot() { return Op<RunNot>(); }
NaiveOp NaivePlumbBitShift() { return Op<Run>(); }

}  // namespace plumb
