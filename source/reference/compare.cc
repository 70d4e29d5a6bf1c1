// SPDX-License-Identifier: Apache-2.0
// Equal, Greater, Less, And, Not and their Plumb relatives (op/compare.h). i64 compares as i64, everything else as
// double, which holds it exactly. A result is exact; behind uncertain inputs tau is 1 where another result is possible.
#include "op/compare.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/core/broadcast.h"
#include "reference/core/elementwise.h"

namespace plumb {
namespace {

template <class T>
bool Holds(OpKind kind, T a, T b) {
  switch (kind) {
    case OpKind::kEqual: return a == b;
    case OpKind::kGreater: return a > b;
    case OpKind::kLess: return a < b;
    case OpKind::kPlumbGreaterOrEqual: return a >= b;
    case OpKind::kPlumbLessOrEqual: return a <= b;
    case OpKind::kPlumbOr: return a != T(0) || b != T(0);
    case OpKind::kPlumbXor: return (a != T(0)) != (b != T(0));
    default: return a != T(0) && b != T(0);
  }
}

template <class T>
Status Compare(OpKind kind, const CompareOperands& o, Tensor* out) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor a, o.a.value.ConvertedTo(DTypeOf<T>::value));
  PLUMB_ASSIGN_OR_RETURN(const Tensor b, o.b.value.ConvertedTo(DTypeOf<T>::value));
  bool* y = out->data<bool>();
  const Broadcast walk(o.a.shape, o.b.shape, o.out);
  ParallelFor(out->NumElements(), kElementGrain, [&](int64_t begin, int64_t end) {
    walk.ForEach(begin, end,
                 [&](int64_t i, int64_t ia, int64_t ib) { y[i] = Holds(kind, a.data<T>()[ia], b.data<T>()[ib]); });
  });
  return Status::Ok();
}

Result<CompareOperands> OperandsOf(const ReferenceArgs& args) {
  std::vector<BlobInfo> infos;
  for (const Tensor* in : args.inputs) infos.push_back({in->dtype(), in->shape(), *in});
  return ResolveCompare(args.layer, infos);
}

Status RunCompare(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const CompareOperands o, OperandsOf(args));
  if (o.a.dtype == DType::kI64) return Compare<int64_t>(args.layer.kind, o, args.outputs[0]);
  return Compare<double>(args.layer.kind, o, args.outputs[0]);
}

// Whether another result is possible with operands that are off by no more than ta and tb.
bool MayTurn(OpKind kind, double a, double ta, double b, double tb) {
  switch (kind) {
    case OpKind::kEqual:
    case OpKind::kGreater:
    case OpKind::kLess:
    case OpKind::kPlumbGreaterOrEqual:
    case OpKind::kPlumbLessOrEqual: return ta + tb > 0 && !(std::fabs(a - b) > ta + tb);
    default: break;
  }
  const auto others = [](double x, double tau) {
    return tau > 0 && !(std::fabs(x) > tau) ? std::vector<double>{0, 1} : std::vector<double>{x};
  };
  const bool now = Holds(kind, a, b);
  for (const double x : others(a, ta)) {
    for (const double y : others(b, tb)) {
      if (Holds(kind, x, y) != now) return true;
    }
  }
  return false;
}

Status BoundCompare(const ReferenceArgs& args, const BoundArgs& bound) {
  SetExact(bound);
  PLUMB_RETURN_IF_ERROR(RunCompare(args));
  const double *tau_a = InputTau(bound, 0), *tau_b = args.inputs.size() > 1 ? InputTau(bound, 1) : nullptr;
  if (tau_a == nullptr && tau_b == nullptr) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const CompareOperands o, OperandsOf(args));
  if (args.inputs.size() == 1 && ParamOf<BinaryParam>(args.layer).weight_input_index == 0) std::swap(tau_a, tau_b);
  PLUMB_ASSIGN_OR_RETURN(const Tensor a, o.a.value.ConvertedTo(DType::kF64));
  PLUMB_ASSIGN_OR_RETURN(const Tensor b, o.b.value.ConvertedTo(DType::kF64));
  double* tau = bound.tau[0]->data<double>();
  Broadcast(a.shape(), b.shape(), args.outputs[0]->shape())
      .ForEach(0, args.outputs[0]->NumElements(), [&](int64_t i, int64_t ia, int64_t ib) {
        const double ta = tau_a == nullptr ? 0 : tau_a[ia], tb = tau_b == nullptr ? 0 : tau_b[ib];
        tau[i] = MayTurn(args.layer.kind, a.data<double>()[ia], ta, b.data<double>()[ib], tb) ? 1 : 0;
      });
  return Status::Ok();
}

Status RunNot(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor truth, args.inputs[0]->ConvertedTo(DType::kBool));
  for (int64_t i = 0; i < truth.NumElements(); ++i) args.outputs[0]->data<bool>()[i] = !truth.data<bool>()[i];
  return Status::Ok();
}

Status BoundNot(const ReferenceArgs& args, const BoundArgs& bound) {
  SetExact(bound);
  PLUMB_RETURN_IF_ERROR(RunNot(args));
  if (const double* tau = InputTau(bound, 0))
    std::copy_n(tau, bound.tau[0]->NumElements(), bound.tau[0]->data<double>());
  return Status::Ok();
}

template <Status (*run)(const ReferenceArgs&), Status (*run_with_bound)(const ReferenceArgs&, const BoundArgs&)>
ReferenceOp OpCompare() {
  ReferenceOp op{run, run_with_bound};
  op.takes_uncertain_integers = true;
  return op;
}

}  // namespace

ReferenceOp ReferenceEqual() { return OpCompare<RunCompare, BoundCompare>(); }
ReferenceOp ReferenceGreater() { return OpCompare<RunCompare, BoundCompare>(); }
ReferenceOp ReferenceLess() { return OpCompare<RunCompare, BoundCompare>(); }
ReferenceOp ReferenceAnd() { return OpCompare<RunCompare, BoundCompare>(); }
ReferenceOp ReferencePlumbGreaterOrEqual() { return OpCompare<RunCompare, BoundCompare>(); }
ReferenceOp ReferencePlumbLessOrEqual() { return OpCompare<RunCompare, BoundCompare>(); }
ReferenceOp ReferencePlumbOr() { return OpCompare<RunCompare, BoundCompare>(); }
ReferenceOp ReferencePlumbXor() { return OpCompare<RunCompare, BoundCompare>(); }
ReferenceOp ReferenceNot() { return OpCompare<RunNot, BoundNot>(); }

}  // namespace plumb
