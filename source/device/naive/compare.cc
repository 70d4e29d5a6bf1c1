// Equal, Greater, Less, And, Not and their Plumb relatives (op/compare.h). i64 compares as i64, everything else as
// double, which holds it exactly. A step, so nothing behind uncertain inputs can be judged; on its own a result is
// exact.
#include "op/compare.h"

#include <cstring>

#include "device/naive/broadcast.h"
#include "device/naive/elementwise.h"

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

Status Run(const NaiveArgs& args) {
  std::vector<BlobInfo> infos;
  for (const Tensor* in : args.inputs) infos.push_back({in->dtype(), in->shape(), *in});
  PLUMB_ASSIGN_OR_RETURN(const CompareOperands o, ResolveCompare(args.layer, infos));
  if (o.a.dtype == DType::kI64) return Compare<int64_t>(args.layer.kind, o, args.outputs[0]);
  return Compare<double>(args.layer.kind, o, args.outputs[0]);
}

Status RunNot(const NaiveArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor truth, args.inputs[0]->ConvertedTo(DType::kBool));
  for (int64_t i = 0; i < truth.NumElements(); ++i) args.outputs[0]->data<bool>()[i] = !truth.data<bool>()[i];
  return Status::Ok();
}

template <Status (*run)(const NaiveArgs&)>
NaiveOp Op() {
  NaiveOp op;
  op.run = run;
  op.run_with_bound = [](const NaiveArgs& args, const BoundArgs& bound) {
    std::memset(bound.tau[0]->raw(), 0, bound.tau[0]->bytes());
    return run(args);
  };
  op.propagates = false;
  return op;
}

}  // namespace

NaiveOp NaiveEqual() { return Op<Run>(); }
NaiveOp NaiveGreater() { return Op<Run>(); }
NaiveOp NaiveLess() { return Op<Run>(); }
NaiveOp NaiveAnd() { return Op<Run>(); }
NaiveOp NaivePlumbGreaterOrEqual() { return Op<Run>(); }
NaiveOp NaivePlumbLessOrEqual() { return Op<Run>(); }
NaiveOp NaivePlumbOr() { return Op<Run>(); }
NaiveOp NaivePlumbXor() { return Op<Run>(); }
NaiveOp NaiveNot() { return Op<RunNot>(); }

}  // namespace plumb
