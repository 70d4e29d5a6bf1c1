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

// How many terms count: behind them every row of the first matrix is zero (keys that a mask hides), and adding zeros
// rounds nothing. The bound samples partial sums, so that a long tail would hide those that do round.
int64_t TermsThatCount(const Operand& first, int64_t at_first, const Operand& second, int64_t at_second,
                       const MatMulShape& shape) {
  const double* rows = first.tensor->data<double>() + at_first;
  const double* tau = first.tau == nullptr ? nullptr : first.tau + at_first;
  int64_t count = 1;
  for (int64_t row = 0; row < shape.m; ++row) {
    int64_t own = shape.k;
    const auto is_zero = [&](int64_t i) { return rows[i] == 0 && (tau == nullptr || tau[i] == 0); };
    while (own > count && is_zero(row * shape.k + own - 1)) --own;
    count = std::max(count, own);
  }
  const double* columns = second.tensor->data<double>() + at_second;
  const bool finite = std::all_of(columns + count * shape.n, columns + shape.k * shape.n,
                                  [](double value) { return std::isfinite(value); });  // else zero times it is NaN
  return finite ? count : shape.k;
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
      reference::SumGeometry used = geometry;
      std::vector<double> rows, taus;
      if (bound != nullptr && in_f64) {
        used.in_channels = TermsThatCount(first, at_first, second, at_second, shape);
        if (used.in_channels < shape.k) {
          rows = Shortened(first.tensor->data<double>() + at_first, shape.m, shape.k, used.in_channels);
          sum.weight = reference::ConstReals(rows.data());
          if (sum.weight_tau != nullptr) taus = Shortened(sum.weight_tau, shape.m, shape.k, used.in_channels);
          if (sum.weight_tau != nullptr) sum.weight_tau = taus.data();
        }
      }
      reference::SumOfProducts(used, sum, {image}, reference::SumBoundOf(bound));
    }
  });
  return Status::Ok();
}

Status RunMatmul(const ReferenceArgs& args) { return ComputeMatmul(args, nullptr); }
Status BoundMatmul(const ReferenceArgs& args, const BoundArgs& bound) { return ComputeMatmul(args, &bound); }

}  // namespace

ReferenceOp ReferenceMatMul() { return {RunMatmul, BoundMatmul, reference::kMaxSumLevel}; }

}  // namespace plumb
