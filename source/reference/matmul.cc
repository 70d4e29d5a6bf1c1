// SPDX-License-Identifier: Apache-2.0
// MatMul as sums of products: the rows of the first operand are the weights, the columns of the second the pixels
// (op/matmul.h has the broadcasting).
#include "op/matmul.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/threads.h"
#include "reference/sum/op.h"

namespace plumb {
namespace {

struct Operand {
  const Tensor* tensor;
  const double* tau;  // null: exact
};

// Rows of the first matrix that have about the same terms: before and behind them they are zero (keys that a mask
// hides), and adding zeros rounds nothing. The bound samples partial sums, so that many zeros would hide those that do
// round.
struct RowsOfTerms {
  int64_t first = 0, count = 0, begin = 0, end = 0;
  int64_t terms() const { return end - begin; }
};

// Zero, within what underflows (Softmax's bound of a hidden key).
bool IsNoTerm(const double* values, const double* tau, int64_t i) {
  constexpr double kUnderflow = 0x1p-100;
  return values[i] == 0 && (tau == nullptr || tau[i] <= kUnderflow);
}

RowsOfTerms TermsOfRow(const Operand& first, int64_t at, int64_t row, int64_t k) {
  const double* values = first.tensor->data<double>() + at;
  const double* tau = first.tau == nullptr ? nullptr : first.tau + at;
  RowsOfTerms terms{row, 1, 0, k};
  while (terms.terms() > 1 && IsNoTerm(values, tau, terms.end - 1)) --terms.end;
  while (terms.terms() > 1 && IsNoTerm(values, tau, terms.begin)) ++terms.begin;
  return terms;
}

std::vector<RowsOfTerms> GroupRows(const Operand& first, int64_t at_first, const Operand& second, int64_t at_second,
                                   const MatMulShape& shape) {
  constexpr double kAlike = 0.8;
  const double* columns = second.tensor->data<double>() + at_second;
  const bool finite = std::all_of(columns, columns + shape.k * shape.n, [](double v) { return std::isfinite(v); });
  if (!finite) return {{0, shape.m, 0, shape.k}};  // zero times what is not is NaN
  std::vector<RowsOfTerms> groups;
  int64_t least = 0;
  for (int64_t row = 0; row < shape.m; ++row) {
    const RowsOfTerms own = TermsOfRow(first, at_first + row * shape.k, row, shape.k);
    RowsOfTerms both = groups.empty() ? own : groups.back();
    both.begin = std::min(both.begin, own.begin);
    both.end = std::max(both.end, own.end);
    const bool alike = !groups.empty() &&
                       static_cast<double>(std::min(least, own.terms())) >= kAlike * static_cast<double>(both.terms());
    if (alike) {
      ++both.count;
      groups.back() = both;
    } else {
      groups.push_back(own);
    }
    least = alike ? std::min(least, own.terms()) : own.terms();
  }
  return groups;
}

// The terms of each row of k values.
std::vector<double> Shortened(const double* values, int64_t k, const RowsOfTerms& rows) {
  std::vector<double> kept;
  kept.reserve(static_cast<size_t>(rows.count * rows.terms()));
  for (int64_t row = 0; row < rows.count; ++row) {
    kept.insert(kept.end(), values + row * k + rows.begin, values + row * k + rows.end);
  }
  return kept;
}

// Of sums that are rounded to f16 behind each term (MatMulParam::sums_in_f16); u_out is that of what follows, in f32.
reference::SumBound SumBoundOf(const Layer& layer, const BoundArgs* bound) {
  reference::SumBound sums = reference::SumBoundOf(bound);
  if (ParamOf<MatMulParam>(layer).sums_in_f16) sums.u = std::max(sums.u, 0x1p-11);
  return sums;
}

// Small sums are rounded to whole steps of 2^-24: half a step behind each term, evenly distributed.
void WidenBySteps(const Layer& layer, int64_t terms, int64_t count, double* tau) {
  if (!ParamOf<MatMulParam>(layer).sums_in_f16) return;
  const double steps = 8 * 0x1p-25 / std::sqrt(3.0) * std::sqrt(static_cast<double>(terms));
  std::transform(tau, tau + count, tau, [&](double t) { return std::hypot(t, steps); });
}

Status ComputeMatmul(const ReferenceArgs& args, const BoundArgs* bound) {
  std::vector<Shape> shapes;
  for (const Tensor* input : args.inputs) shapes.push_back(input->shape());
  PLUMB_ASSIGN_OR_RETURN(const MatMulOperands operands, OperandsOfMatMul(args.layer, shapes));
  PLUMB_ASSIGN_OR_RETURN(const MatMulShape shape, ResolveMatMul(operands.first, operands.second));
  Operand given[2];
  for (size_t i = 0; i < args.inputs.size(); ++i)
    given[i] = {args.inputs[i], bound == nullptr ? nullptr : InputTau(*bound, i)};
  if (args.inputs.size() == 1) given[1] = {args.layer.Resource("weight"), nullptr};
  const bool swapped = args.inputs.size() == 1 && ParamOf<MatMulParam>(args.layer).weight_position == 0;
  const Operand& first = given[swapped ? 1 : 0];
  const Operand& second = given[swapped ? 0 : 1];
  for (const Operand& operand : given) {
    if (operand.tensor->dtype() == DType::kF32 || operand.tensor->dtype() == DType::kF64) continue;
    return Status::NotSupported(
        fmt::format("the reference has no MatMul for {} blobs", DTypeName(operand.tensor->dtype())));
  }
  reference::SumGeometry geometry;
  geometry.in_channels = shape.k;
  geometry.out_channels = shape.m;
  geometry.axis[2].in = geometry.axis[2].out = shape.n;
  const bool in_f64 = first.tensor->dtype() == DType::kF64 && second.tensor->dtype() == DType::kF64;
  const int64_t matrices = static_cast<int64_t>(shape.first_matrix.size());
  // Many small products share the threads; a single one is split inside.
  ParallelFor(matrices, matrices >= 2 * NumThreads() ? 1 : matrices, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at_first = shape.first_matrix[static_cast<size_t>(i)] * shape.m * shape.k;
      const int64_t at_second = shape.second_matrix[static_cast<size_t>(i)] * shape.k * shape.n;
      reference::SumOperands sum;
      sum.constant = false;
      sum.weight = reference::RealsOf(*first.tensor, at_first);
      sum.weight_tau = first.tau == nullptr ? nullptr : first.tau + at_first;
      reference::SumImage image;
      image.input = reference::RealsOf(*second.tensor, at_second);
      image.input_tau = second.tau == nullptr ? nullptr : second.tau + at_second;
      image.output = reference::RealsOf(args.outputs[0], i * shape.m * shape.n);
      if (bound != nullptr) image.tau = bound->tau[0]->data<double>() + i * shape.m * shape.n;
      if (bound != nullptr && bound->later != nullptr)
        image.later = bound->later->data<double>() + i * shape.m * shape.n;
      if (bound == nullptr || !in_f64) {
        reference::SumOfProducts(geometry, sum, {image}, SumBoundOf(args.layer, bound));
        continue;
      }
      for (const RowsOfTerms& rows : GroupRows(first, at_first, second, at_second, shape)) {
        reference::SumGeometry part = geometry;
        reference::SumOperands of_part = sum;
        reference::SumImage result = image;
        part.out_channels = rows.count;
        part.in_channels = rows.terms();
        const int64_t at = at_first + rows.first * shape.k, to = (i * shape.m + rows.first) * shape.n;
        const double *values = first.tensor->data<double>() + at,
                     *taus = first.tau == nullptr ? nullptr : first.tau + at;
        std::vector<double> kept, kept_taus;
        if (rows.terms() < shape.k) {
          kept = Shortened(values, shape.k, rows);
          if (taus != nullptr) kept_taus = Shortened(taus, shape.k, rows);
          values = kept.data();
          taus = taus == nullptr ? nullptr : kept_taus.data();
        }
        of_part.weight = reference::ConstReals(values);
        of_part.weight_tau = taus;
        const int64_t skipped = rows.begin * shape.n;
        result.input = reference::ConstReals(image.input.f64() + skipped);
        if (image.input_tau != nullptr) result.input_tau = image.input_tau + skipped;
        result.output = reference::RealsOf(args.outputs[0], to);
        result.tau = bound->tau[0]->data<double>() + to;
        if (bound->later != nullptr) result.later = bound->later->data<double>() + to;
        reference::SumOfProducts(part, of_part, {result}, SumBoundOf(args.layer, bound));
        WidenBySteps(args.layer, rows.terms(), rows.count * shape.n, result.tau);
      }
    }
  });
  return Status::Ok();
}

Status RunMatmul(const ReferenceArgs& args) { return ComputeMatmul(args, nullptr); }
Status BoundMatmul(const ReferenceArgs& args, const BoundArgs& bound) { return ComputeMatmul(args, &bound); }

}  // namespace

ReferenceOp ReferenceMatMul() { return {RunMatmul, BoundMatmul, reference::kMaxSumLevel}; }

}  // namespace plumb
