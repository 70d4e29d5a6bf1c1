// ArgMaxOrMin: indices are exact; the replay sees the device's own inputs, so ties are decided by the rule, not by
// rounding.
#include "op/arg_max.h"

#include "device/naive/rows.h"

namespace plumb {
namespace {

template <class T>
bool IsNaN(T v) {
  return v != v;
}

template <class T>
int32_t IndexOf(const ArgMaxParam& p, const Rows& rows, const T* x) {
  int64_t best = 0;
  for (int64_t i = 1; i < rows.n; ++i) {
    const T v = x[i * rows.inner], b = x[best * rows.inner];
    const bool better = IsNaN(v) ? !IsNaN(b) : !IsNaN(b) && (p.mode == 1 ? v > b : v < b);
    const bool equal = IsNaN(v) ? IsNaN(b) : v == b;
    if (better || (equal && p.select_last_index)) best = i;
  }
  return static_cast<int32_t>(best);
}

template <class T>
Status RunAs(const NaiveArgs& args, const Rows& rows) {
  const auto& p = ParamOf<ArgMaxParam>(args.layer);
  const T* x = args.inputs[0]->data<T>();
  int32_t* y = args.outputs[0]->data<int32_t>();
  rows.ForEach([&](int64_t row, int64_t at) { y[row] = IndexOf(p, rows, x + at); });
  return Status::Ok();
}

Status Run(const NaiveArgs& args) {
  const Shape& shape = args.inputs[0]->shape();
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<ArgMaxParam>(args.layer).axis, shape.rank()));
  const Rows rows = Rows::Over(shape, axis, axis + 1);
  switch (args.inputs[0]->dtype()) {
    case DType::kI32: return RunAs<int32_t>(args, rows);
    case DType::kI64: return RunAs<int64_t>(args, rows);
    default:
      return WithStorage(args.inputs[0]->dtype(), [&](auto storage) { return RunAs<decltype(storage)>(args, rows); });
  }
}

}  // namespace

NaiveOp NaiveArgMaxOrMin() { return ExactStep<Run>(); }

}  // namespace plumb
