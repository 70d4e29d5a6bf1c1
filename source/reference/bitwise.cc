// SPDX-License-Identifier: Apache-2.0
// PlumbBitwiseAnd, -Or, -Xor, -Not, PlumbBitShift (op/bitwise.h) on unsigned bits; exact.
#include "op/bitwise.h"

#include "reference/core/broadcast.h"
#include "reference/core/elementwise.h"

namespace plumb {
namespace {

template <class U>
U CombineBitwise(OpKind kind, bool left, U a, U b) {
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
Status ApplyBitwise(const ReferenceArgs& args) {
  const OpKind kind = args.layer.kind;
  const bool left = kind == OpKind::kPlumbBitShift && ParamOf<BitShiftParam>(args.layer).left;
  const auto* a = static_cast<const U*>(args.inputs[0]->raw());
  const auto* b = static_cast<const U*>(args.inputs[1]->raw());
  auto* y = static_cast<U*>(args.outputs[0]->raw());
  const Broadcast walk(args.inputs[0]->shape(), args.inputs[1]->shape(), args.outputs[0]->shape());
  ParallelFor(args.outputs[0]->NumElements(), kElementGrain, [&](int64_t begin, int64_t end) {
    walk.ForEach(begin, end,
                 [&](int64_t i, int64_t ia, int64_t ib) { y[i] = CombineBitwise<U>(kind, left, a[ia], b[ib]); });
  });
  return Status::Ok();
}

Status RunBitwise(const ReferenceArgs& args) {
  switch (args.inputs[0]->dtype()) {
    case DType::kBool: return ApplyBitwise<uint8_t>(args);
    case DType::kI32: return ApplyBitwise<uint32_t>(args);
    default: return ApplyBitwise<uint64_t>(args);
  }
}

Status RunNotBitwise(const ReferenceArgs& args) {
  const Tensor& in = *args.inputs[0];
  const bool truth = in.dtype() == DType::kBool;
  const auto* x = static_cast<const uint8_t*>(in.raw());
  auto* y = static_cast<uint8_t*>(args.outputs[0]->raw());
  for (size_t i = 0; i < in.bytes(); ++i) y[i] = static_cast<uint8_t>(truth ? x[i] == 0 : ~x[i]);
  return Status::Ok();
}

template <Status (*run)(const ReferenceArgs&)>
ReferenceOp OpBitwise() {
  ReferenceOp op;
  op.run = run;
  op.run_with_bound = [](const ReferenceArgs& args, const BoundArgs& bound) {
    SetExact(bound);
    return run(args);
  };
  return op;
}

}  // namespace

ReferenceOp ReferencePlumbBitwiseAnd() { return OpBitwise<RunBitwise>(); }
ReferenceOp ReferencePlumbBitwiseOr() { return OpBitwise<RunBitwise>(); }
ReferenceOp ReferencePlumbBitwiseXor() { return OpBitwise<RunBitwise>(); }
ReferenceOp ReferencePlumbBitwiseNot() { return OpBitwise<RunNotBitwise>(); }
ReferenceOp ReferencePlumbBitShift() { return OpBitwise<RunBitwise>(); }

}  // namespace plumb
