// SPDX-License-Identifier: Apache-2.0
// Einsum (op/einsum.h): one loop over the output, one over the summed dims, float64 accumulation.
// tau (tolerance.md, "MatMul, Gemm, Einsum"): sqrt((8 sigma)^2 + (12 d)^2) + 2^-126 (K + sum |terms' factors|), with
// sigma^2 = sig^2 + u_out^2 y^2, sig and d of the serial sum of the products; each product of n factors adds n - 2
// roundings. Uncertain operands: first order, in quadrature.
#include "op/einsum.h"

#include <algorithm>
#include <cmath>

#include "base/by_dtype.h"
#include "reference/core/elementwise.h"
#include "reference/core/serial_sum.h"

namespace plumb {
namespace {

// Offsets into all operands, stepped like an odometer over dims[first ...].
class Odometer {
 public:
  Odometer(const EinsumPlan& plan, size_t first, size_t last) : plan_(plan), first_(first), at_(last - first, 0) {}

  void Step(std::vector<int64_t>* offsets) {
    for (size_t d = at_.size(); d-- > 0;) {
      const size_t loop = first_ + d;
      const bool carry = ++at_[d] == plan_.dims[loop];
      const int64_t move = carry ? 1 - plan_.dims[loop] : 1;
      for (size_t i = 0; i < offsets->size(); ++i) (*offsets)[i] += move * plan_.strides[i][loop];
      if (!carry) return;
      at_[d] = 0;
    }
  }

 private:
  const EinsumPlan& plan_;
  size_t first_;
  std::vector<int64_t> at_;
};

std::vector<int64_t> OffsetsOf(const EinsumPlan& plan, int64_t element) {
  std::vector<int64_t> offsets(plan.strides.size(), 0);
  for (size_t d = static_cast<size_t>(plan.out.rank()); d-- > 0; element /= plan.dims[d]) {
    for (size_t i = 0; i < offsets.size(); ++i) offsets[i] += element % plan.dims[d] * plan.strides[i][d];
  }
  return offsets;
}

// term(offsets of the operands) for every term of output element `element`.
template <class F>
void ForEachTerm(const EinsumPlan& plan, int64_t element, F term) {
  std::vector<int64_t> offsets = OffsetsOf(plan, element);
  Odometer odometer(plan, static_cast<size_t>(plan.out.rank()), plan.dims.size());
  for (int64_t t = 0; t < plan.terms; ++t) {
    term(offsets);
    odometer.Step(&offsets);
  }
}

Result<EinsumPlan> PlanOf(const ReferenceArgs& args) {
  std::vector<Shape> shapes;
  for (const Tensor* in : args.inputs) shapes.push_back(in->shape());
  return PlanEinsum(args.layer, shapes);
}

int64_t Grain(const EinsumPlan& plan) { return std::max<int64_t>(1, kElementGrain / (plan.terms + 1)); }

Status RunEinsum(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const EinsumPlan plan, PlanOf(args));
  return WithNumber(args.outputs[0]->dtype(), [&](auto number) {
    using T = decltype(number);
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
    ParallelFor(plan.out.NumElements(), Grain(plan), [&](int64_t begin, int64_t end) {
      for (int64_t y = begin; y < end; ++y) {
        Sum sum = 0;
        ForEachTerm(plan, y, [&](const std::vector<int64_t>& at) {
          Sum product = static_cast<Sum>(args.inputs[0]->data<T>()[at[0]]);
          for (size_t i = 1; i < at.size(); ++i) product *= static_cast<Sum>(args.inputs[i]->data<T>()[at[i]]);
          sum += product;
        });
        args.outputs[0]->data<T>()[y] = static_cast<T>(sum);
      }
    });
    return Status::Ok();
  });
}

double TauOfEinsum(const EinsumPlan& plan, const ReferenceArgs& args, const BoundArgs& bound, int64_t y) {
  SerialSum sum(plan.terms);
  double magnitudes = 0, squares = 0, inherited = 0;
  const size_t n = args.inputs.size();
  ForEachTerm(plan, y, [&](const std::vector<int64_t>& at) {
    double product = 1;
    for (size_t i = 0; i < n; ++i) {
      product *= args.inputs[i]->data<double>()[at[i]];
      magnitudes += std::fabs(args.inputs[i]->data<double>()[at[i]]);
    }
    sum.Add(product);
    squares += product * product;
    for (size_t i = 0; i < n; ++i) {
      if (InputTau(bound, i) == nullptr) continue;
      double slope = InputTau(bound, i)[at[i]];
      for (size_t j = 0; j < n; ++j) {
        if (j != i) slope *= args.inputs[j]->data<double>()[at[j]];
      }
      inherited += slope * slope;
    }
  });
  const Arithmetic& a = bound.arithmetic;
  const double roundings = n > 2 ? static_cast<double>(n - 2) : 0;
  const bool moves = n == 1 && plan.terms == 1;
  if (moves) return std::sqrt(inherited);
  const double sigma2 = sum.sig2(a.u) + a.u_out * a.u_out * sum.value() * sum.value() + roundings * a.u * a.u * squares;
  return std::sqrt(64 * sigma2 + 144 * sum.d2() + inherited) + kEta * (static_cast<double>(plan.terms) + magnitudes);
}

Status BoundEinsum(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(RunEinsum(args));
  SetExact(bound);
  if (!IsFloat(args.outputs[0]->dtype())) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const EinsumPlan plan, PlanOf(args));
  ParallelFor(plan.out.NumElements(), Grain(plan), [&](int64_t begin, int64_t end) {
    for (int64_t y = begin; y < end; ++y) bound.tau[0]->data<double>()[y] = TauOfEinsum(plan, args, bound, y);
  });
  return Status::Ok();
}

}  // namespace

ReferenceOp ReferenceEinsum() { return {RunEinsum, BoundEinsum}; }

}  // namespace plumb
