// SPDX-License-Identifier: Apache-2.0
// PlumbDet: Gaussian elimination with partial pivoting in float64.
// tau, not measured: elimination in fp32 gives the determinant of a matrix whose rows are off by some n u of their
// length, so 12 n u times the product of the rows' lengths (Hadamard's bound) + 4 eta. Not judged behind uncertain
// inputs.
#include <cmath>
#include <utility>

#include "reference/core/elementwise.h"

namespace plumb {
namespace {

double Determinant(std::vector<double> m, int64_t n) {
  double det = 1;
  const auto at = [&](int64_t r, int64_t c) -> double& { return m[static_cast<size_t>(r * n + c)]; };
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t r = k + 1; r < n; ++r) {
      if (std::fabs(at(r, k)) > std::fabs(at(pivot, k))) pivot = r;
    }
    if (at(pivot, k) == 0) return 0;
    for (int64_t c = 0; c < n && pivot != k; ++c) std::swap(at(k, c), at(pivot, c));
    det *= pivot == k ? at(k, k) : -at(k, k);
    for (int64_t r = k + 1; r < n; ++r) {
      const double factor = at(r, k) / at(k, k);
      for (int64_t c = k; c < n; ++c) at(r, c) -= factor * at(k, c);
    }
  }
  return det;
}

double RowLengths(const std::vector<double>& m, int64_t n) {
  double product = 1;
  for (int64_t r = 0; r < n; ++r) {
    double squares = 0;
    for (int64_t c = 0; c < n; ++c) squares += m[static_cast<size_t>(r * n + c)] * m[static_cast<size_t>(r * n + c)];
    product *= std::sqrt(squares);
  }
  return product;
}

Status ComputeDet(const ReferenceArgs& args, const BoundArgs* bound) {
  const Shape& in = args.inputs[0]->shape();
  const int64_t n = in[in.rank() - 1];
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    for (int64_t i = 0; i < args.outputs[0]->NumElements(); ++i) {
      const T* x = args.inputs[0]->data<T>() + i * n * n;
      const std::vector<double> m(x, x + n * n);
      const double y = Determinant(m, n);
      args.outputs[0]->data<T>()[i] = static_cast<T>(y);
      if (bound == nullptr) continue;
      const double own = 12 * static_cast<double>(n) * bound->arithmetic.u * RowLengths(m, n);
      bound->tau[0]->data<double>()[i] = StoredTau(own, y, bound->arithmetic);
    }
    return Status::Ok();
  });
}

Status RunDet(const ReferenceArgs& args) { return ComputeDet(args, nullptr); }
Status BoundDet(const ReferenceArgs& args, const BoundArgs& bound) { return ComputeDet(args, &bound); }

}  // namespace

ReferenceOp ReferencePlumbDet() {
  ReferenceOp op{RunDet, BoundDet};
  op.propagates = false;
  return op;
}

}  // namespace plumb
