// SPDX-License-Identifier: Apache-2.0
// ScatterElements, PlumbScatterElements, ScatterND, PlumbScatterND (op/scatter.h).
// Without a reduction, and with min and max: bit-exact. With add and mul the result is rounded once at the end here; a
// device rounds after every update: tau = 8 u sqrt(sum of the squared intermediate results) + 4 eta where anything was
// added. Uncertain inputs: assigned elements carry their own tau; add in quadrature; mul, min, max first order.
#include "op/scatter.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/by_dtype.h"
#include "reference/core/elementwise.h"

namespace plumb {
namespace {

// The result element by element with its tau; `squares`: of the intermediate results.
struct Cell {
  double y = 0, tau2 = 0, squares = 0;
};

void CombineScatter(Reduction reduction, double update, double tau, Cell* cell) {
  const double old = cell->y;
  switch (reduction) {
    case Reduction::kAdd: *cell = {old + update, cell->tau2 + tau * tau, cell->squares}; break;
    case Reduction::kMul:
      *cell = {old * update, cell->tau2 * update * update + old * old * tau * tau, cell->squares * update * update};
      break;
    case Reduction::kMin:
    case Reduction::kMax: {
      const bool take = std::isnan(update) || (reduction == Reduction::kMin ? update < old : update > old);
      *cell = {take ? update : old, std::max(cell->tau2, tau * tau), 0};
      return;
    }
    default: *cell = {update, tau * tau, 0}; return;
  }
  cell->squares += cell->y * cell->y;
}

template <class T>
T Updated(Reduction reduction, T old, T update) {
  using U = std::make_unsigned_t<T>;
  if (reduction == Reduction::kAdd) return static_cast<T>(static_cast<U>(old) + static_cast<U>(update));
  if (reduction == Reduction::kMul) return static_cast<T>(static_cast<U>(old) * static_cast<U>(update));
  return reduction == Reduction::kMin ? std::min(old, update) : std::max(old, update);
}

// f(element of the data, element of the updates) in order.
template <class F>
Status ForEachUpdate(const ReferenceArgs& args, Reduction* reduction, F f) {
  PLUMB_ASSIGN_OR_RETURN(const ScatterShape s, ResolveScatter(args.layer, InfosOf(args)));
  *reduction = s.reduction;
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> targets,
                         ScatterTargets(s, args.inputs[0]->shape(), *args.inputs[1]));
  for (size_t t = 0; t < targets.size(); ++t) {
    for (int64_t k = 0; k < s.slice; ++k) f(targets[t] + k, static_cast<int64_t>(t) * s.slice + k);
  }
  return Status::Ok();
}

Status Assign(const ReferenceArgs& args) {
  Reduction reduction{};
  Tensor* out = args.outputs[0];
  std::memcpy(out->raw(), args.inputs[0]->raw(), out->bytes());
  return WithBits(out->dtype(), [&](auto bits) {
    using T = decltype(bits);
    const T* updates = static_cast<const T*>(args.inputs[2]->raw());
    T* y = static_cast<T*>(out->raw());
    return ForEachUpdate(args, &reduction, [&](int64_t to, int64_t from) { y[to] = updates[from]; });
  });
}

template <class T>
Status ReduceWhole(const ReferenceArgs& args) {
  Reduction reduction{};
  std::memcpy(args.outputs[0]->raw(), args.inputs[0]->raw(), args.outputs[0]->bytes());
  T* y = args.outputs[0]->data<T>();
  const T* updates = args.inputs[2]->data<T>();
  return ForEachUpdate(args, &reduction,
                       [&](int64_t to, int64_t from) { y[to] = Updated(reduction, y[to], updates[from]); });
}

template <class T>
Status ReduceReal(const ReferenceArgs& args, const BoundArgs* bound) {
  const T* data = args.inputs[0]->data<T>();
  const T* updates = args.inputs[2]->data<T>();
  const double* data_tau = bound == nullptr ? nullptr : InputTau(*bound, 0);
  const double* update_tau = bound == nullptr ? nullptr : InputTau(*bound, 2);
  std::vector<Cell> cells(static_cast<size_t>(args.outputs[0]->NumElements()));
  for (size_t i = 0; i < cells.size(); ++i) {
    const double tau = data_tau == nullptr ? 0 : data_tau[i];
    cells[i] = {static_cast<double>(data[i]), tau * tau, 0};
  }
  Reduction reduction{};
  PLUMB_RETURN_IF_ERROR(ForEachUpdate(args, &reduction, [&](int64_t to, int64_t from) {
    CombineScatter(reduction, static_cast<double>(updates[from]), update_tau == nullptr ? 0 : update_tau[from],
                   &cells[static_cast<size_t>(to)]);
  }));
  for (size_t i = 0; i < cells.size(); ++i) {
    args.outputs[0]->data<T>()[i] = static_cast<T>(cells[i].y);
    if (bound == nullptr) continue;
    const double own = cells[i].squares == 0 ? kExact : 8 * bound->arithmetic.u * std::sqrt(cells[i].squares);
    bound->tau[0]->data<double>()[i] =
        Quadrature(StoredTau(own, cells[i].y, bound->arithmetic), std::sqrt(cells[i].tau2));
  }
  return Status::Ok();
}

Result<bool> Assigns(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const ScatterShape s, ResolveScatter(args.layer, InfosOf(args)));
  return s.reduction == Reduction::kNone;
}

Status RunScatter(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const bool assigns, Assigns(args));
  if (assigns) return Assign(args);
  switch (args.inputs[0]->dtype()) {
    case DType::kI32: return ReduceWhole<int32_t>(args);
    case DType::kI64: return ReduceWhole<int64_t>(args);
    case DType::kF64: return ReduceReal<double>(args, nullptr);
    default: return ReduceReal<float>(args, nullptr);
  }
}

Status BoundScatter(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_ASSIGN_OR_RETURN(const bool assigns, Assigns(args));
  if (!assigns && IsFloat(args.inputs[0]->dtype())) return ReduceReal<double>(args, &bound);
  if (assigns && IsFloat(args.inputs[0]->dtype())) return RunMovedWithBound(Assign, args, bound);
  SetExact(bound);
  return RunScatter(args);
}

}  // namespace

ReferenceOp ReferenceScatterElements() { return {RunScatter, BoundScatter}; }
ReferenceOp ReferencePlumbScatterElements() { return {RunScatter, BoundScatter}; }
ReferenceOp ReferenceScatterND() { return {RunScatter, BoundScatter}; }
ReferenceOp ReferencePlumbScatterND() { return {RunScatter, BoundScatter}; }

}  // namespace plumb
