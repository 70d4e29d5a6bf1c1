// SPDX-License-Identifier: Apache-2.0
// ArgMaxOrMin: indices are exact, for the replay sees the device's own inputs. Of elements that are equal, or may be
// within their own uncertainty, the device may have chosen any: tau is how far its choice lies from ours
// (ReferenceOp::picks), or, where that is not known, the farthest such element.
#include "op/arg_max.h"

#include "reference/core/axis_rows.h"

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
Status RunAs(const ReferenceArgs& args, const Rows& rows) {
  const auto& p = ParamOf<ArgMaxParam>(args.layer);
  const T* x = args.inputs[0]->data<T>();
  int32_t* y = args.outputs[0]->data<int32_t>();
  rows.ForEach([&](int64_t row, int64_t at) { y[row] = IndexOf(p, rows, x + at); });
  return Status::Ok();
}

Status RunArgMax(const ReferenceArgs& args) {
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

// Whether element i may be the one, too: as large (small) as the best but for tau.
template <class T>
bool IsAsGood(const ArgMaxParam& p, const T* x, const double* tau, int64_t i, int64_t best) {
  if (IsNaN(x[i]) || IsNaN(x[best])) return IsNaN(x[i]) && IsNaN(x[best]);
  const double off = tau == nullptr ? 0 : tau[i] + tau[best];
  const auto a = static_cast<double>(x[i]), b = static_cast<double>(x[best]);
  return x[i] == x[best] || (off > 0 && (p.mode == 1 ? a + off >= b : a - off <= b));
}

template <class T>
Status BoundAs(const ReferenceArgs& args, const BoundArgs& bound, const Rows& rows) {
  const auto& p = ParamOf<ArgMaxParam>(args.layer);
  const T* x = args.inputs[0]->data<T>();
  const double* tau_x = InputTau(bound, 0);
  const int32_t* y = args.outputs[0]->data<int32_t>();
  const Tensor* device = bound.device_outputs.empty() ? nullptr : bound.device_outputs[0];
  rows.ForEach([&](int64_t row, int64_t at) {
    const auto as_good = [&](int64_t i) {
      return IsAsGood(p, x, tau_x, at + i * rows.inner, at + y[row] * rows.inner);
    };
    int64_t farthest = 0;
    if (device != nullptr) {
      const int64_t i = device->data<int32_t>()[row];
      if (i >= 0 && i < rows.n && as_good(i)) farthest = std::abs(i - y[row]);
    } else {
      for (int64_t i = 0; i < rows.n; ++i) {
        if (std::abs(i - y[row]) > farthest && as_good(i)) farthest = std::abs(i - y[row]);
      }
    }
    bound.tau[0]->data<double>()[row] = static_cast<double>(farthest);
  });
  return Status::Ok();
}

Status BoundArgMax(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(RunArgMax(args));
  const Shape& shape = args.inputs[0]->shape();
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<ArgMaxParam>(args.layer).axis, shape.rank()));
  const Rows rows = Rows::Over(shape, axis, axis + 1);
  switch (args.inputs[0]->dtype()) {
    case DType::kI32: return BoundAs<int32_t>(args, bound, rows);
    case DType::kI64: return BoundAs<int64_t>(args, bound, rows);
    default: return BoundAs<double>(args, bound, rows);
  }
}

}  // namespace

ReferenceOp ReferenceArgMaxOrMin() {
  ReferenceOp op{RunArgMax, BoundArgMax};
  op.picks = true;
  return op;
}

}  // namespace plumb
