// MatMul as sums of products: the rows of the first operand are the weights, the columns of the second the pixels
// (op/matmul.h has the broadcasting).
#include "op/matmul.h"

#include <fmt/core.h>

#include "base/threads.h"
#include "reference/sum/op.h"

namespace plumb {
namespace {

struct Operand {
  const Tensor* tensor;
  const double* tau;  // null: exact
};

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
      reference::SumOfProducts(geometry, sum, {image}, reference::SumBoundOf(bound));
    }
  });
  return Status::Ok();
}

Status RunMatmul(const ReferenceArgs& args) { return ComputeMatmul(args, nullptr); }
Status BoundMatmul(const ReferenceArgs& args, const BoundArgs& bound) { return ComputeMatmul(args, &bound); }

}  // namespace

ReferenceOp ReferenceMatMul() { return {RunMatmul, BoundMatmul, reference::kMaxSumLevel}; }

}  // namespace plumb
