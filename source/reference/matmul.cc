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

// Rows of the first matrix that have about as many terms: behind them they are zero (keys that a mask hides), and
// adding zeros rounds nothing. The bound samples partial sums, so that a long tail would hide those that do round.
struct RowsOfTerms {
  int64_t first = 0, count = 0, terms = 0;
};

std::vector<RowsOfTerms> GroupRows(const Operand& first, int64_t at_first, const Operand& second, int64_t at_second,
                                   const MatMulShape& shape) {
  constexpr double kAlike = 0.8;
  const double* columns = second.tensor->data<double>() + at_second;
  const bool finite = std::all_of(columns, columns + shape.k * shape.n, [](double v) { return std::isfinite(v); });
  if (!finite) return {{0, shape.m, shape.k}};  // zero times what is not is NaN
  std::vector<RowsOfTerms> groups;
  int64_t least = 0;
  for (int64_t row = 0; row < shape.m; ++row) {
    const double* values = first.tensor->data<double>() + at_first + row * shape.k;
    const double* tau = first.tau == nullptr ? nullptr : first.tau + at_first + row * shape.k;
    int64_t terms = shape.k;
    while (terms > 1 && values[terms - 1] == 0 && (tau == nullptr || tau[terms - 1] == 0)) --terms;
    const int64_t most = groups.empty() ? terms : std::max(groups.back().terms, terms);
    const bool alike =
        !groups.empty() && static_cast<double>(std::min(least, terms)) >= kAlike * static_cast<double>(most);
    if (!alike) groups.push_back({row, 0, terms});
    least = alike ? std::min(least, terms) : terms;
    groups.back().terms = std::max(groups.back().terms, terms);
    ++groups.back().count;
  }
  return groups;
}

// The first `terms` of each row of k values.
std::vector<double> Shortened(const double* rows, int64_t m, int64_t k, int64_t terms) {
  std::vector<double> kept;
  kept.reserve(static_cast<size_t>(m * terms));
  for (int64_t row = 0; row < m; ++row) kept.insert(kept.end(), rows + row * k, rows + row * k + terms);
  return kept;
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
      if (bound == nullptr || !in_f64) {
        reference::SumOfProducts(geometry, sum, {image}, reference::SumBoundOf(bound));
        continue;
      }
      for (const RowsOfTerms& rows : GroupRows(first, at_first, second, at_second, shape)) {
        reference::SumGeometry part = geometry;
        reference::SumOperands of_part = sum;
        reference::SumImage result = image;
        part.out_channels = rows.count;
        part.in_channels = rows.terms;
        const int64_t at = at_first + rows.first * shape.k, to = (i * shape.m + rows.first) * shape.n;
        const double *values = first.tensor->data<double>() + at,
                     *taus = first.tau == nullptr ? nullptr : first.tau + at;
        std::vector<double> kept, kept_taus;
        if (rows.terms < shape.k) {
          kept = Shortened(values, rows.count, shape.k, rows.terms);
          if (taus != nullptr) kept_taus = Shortened(taus, rows.count, shape.k, rows.terms);
          values = kept.data();
          taus = taus == nullptr ? nullptr : kept_taus.data();
        }
        of_part.weight = reference::ConstReals(values);
        of_part.weight_tau = taus;
        result.output = reference::RealsOf(args.outputs[0], to);
        result.tau = bound->tau[0]->data<double>() + to;
        reference::SumOfProducts(part, of_part, {result}, reference::SumBoundOf(bound));
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
