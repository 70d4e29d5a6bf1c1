// SPDX-License-Identifier: Apache-2.0
// BatchNormCxx, Scale, BiasAdd: y = scale * x + bias.
// tau = 24 u max(|scale x|, |bias|, terms). terms is the larger of a|mean| and |b| of the batch normalisation that was
// folded: a runtime that did not fold it rounds those, and where they cancel the folded bias says nothing of them.
// Models that came folded have no terms. BiasAdd is an addition: 8 u |y|.
#include "op/affine.h"

#include <algorithm>

#include "reference/core/elementwise.h"

namespace plumb {
namespace {

struct AffineCoefficients {
  AffineShape shape;
  Tensor scale, bias, terms;

  static Result<AffineCoefficients> Of(const ReferenceArgs& args) {
    AffineCoefficients c;
    PLUMB_ASSIGN_OR_RETURN(c.shape, ResolveAffine(args.layer, args.inputs[0]->shape()));
    if (c.shape.scale != nullptr) {
      PLUMB_ASSIGN_OR_RETURN(c.scale, c.shape.scale->ConvertedTo(DType::kF32));
    }
    if (c.shape.bias != nullptr) {
      PLUMB_ASSIGN_OR_RETURN(c.bias, c.shape.bias->ConvertedTo(DType::kF32));
    }
    if (const Tensor* terms = args.layer.Resource(kAffineTerms)) c.terms = *terms;
    return c;
  }
  static double At(const Tensor& tensor, int64_t c, double absent) {
    if (tensor.empty()) return absent;
    return static_cast<double>(tensor.data<float>()[tensor.NumElements() == 1 ? 0 : c]);
  }

  // f(begin, end, scale, bias) for each run of elements with the same coefficients.
  template <class F>
  void ForEachRun(int64_t elements, F f) const {
    if (elements == 0) return;
    const int64_t inner = shape.inner;
    ParallelFor(elements / inner, std::max<int64_t>(1, kElementGrain / inner), [&](int64_t begin, int64_t end) {
      for (int64_t run = begin; run < end; ++run) {
        const int64_t c = run % shape.count;
        f(run * inner, (run + 1) * inner, At(scale, c, 1), At(bias, c, 0));
      }
    });
  }
};

Status RunAffine(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const AffineCoefficients coefficients, AffineCoefficients::Of(args));
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    const T* x = args.inputs[0]->data<T>();
    T* y = args.outputs[0]->data<T>();
    coefficients.ForEachRun(args.inputs[0]->NumElements(), [&](int64_t begin, int64_t end, double scale, double bias) {
      for (int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(scale * static_cast<double>(x[i]) + bias);
    });
    return Status::Ok();
  });
}

Status BoundAffine(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(RunAffine(args));
  PLUMB_ASSIGN_OR_RETURN(const AffineCoefficients coefficients, AffineCoefficients::Of(args));
  const bool addition = args.layer.kind == OpKind::kBiasAdd;
  const double* x = args.inputs[0]->data<double>();
  const double* y = args.outputs[0]->data<double>();
  const double* tau_x = InputTau(bound, 0);
  double* tau = bound.tau[0]->data<double>();
  const double u = bound.arithmetic.u;
  coefficients.ForEachRun(args.inputs[0]->NumElements(), [&](int64_t begin, int64_t end, double scale, double bias) {
    const double terms =
        AffineCoefficients::At(coefficients.terms, begin / coefficients.shape.inner % coefficients.shape.count, 0);
    const double fixed = std::max(std::fabs(bias), terms);
    for (int64_t i = begin; i < end; ++i) {
      const double own = addition ? 8 * u * std::fabs(y[i]) : 24 * u * std::max(std::fabs(scale * x[i]), fixed);
      tau[i] = StoredTau(own, y[i], bound.arithmetic);
      if (tau_x != nullptr) tau[i] = Quadrature(tau[i], scale * tau_x[i]);
    }
  });
  return Status::Ok();
}

}  // namespace

ReferenceOp ReferenceBatchNormCxx() { return {RunAffine, BoundAffine}; }
ReferenceOp ReferenceScale() { return {RunAffine, BoundAffine}; }
ReferenceOp ReferenceBiasAdd() { return {RunAffine, BoundAffine}; }

}  // namespace plumb
