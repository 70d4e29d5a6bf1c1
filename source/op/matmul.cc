// SPDX-License-Identifier: Apache-2.0
#include "op/matmul.h"

#include <fmt/core.h>

namespace plumb {
namespace {

constexpr int64_t kMaxMatrices = int64_t{1} << 24;  // each is looked up in a table

// Which matrix of an operand with these batch dims each matrix of the output reads.
std::vector<int64_t> MatricesOf(const Shape& batch, const Shape& output_batch) {
  std::vector<int64_t> matrices(static_cast<size_t>(output_batch.NumElements()));
  const int missing = output_batch.rank() - batch.rank();
  for (int64_t b = 0; b < static_cast<int64_t>(matrices.size()); ++b) {
    int64_t rest = b, index = 0, stride = 1;
    for (int axis = output_batch.rank() - 1; axis >= missing; --axis) {
      const int64_t at = rest % output_batch[axis];
      rest /= output_batch[axis];
      index += (batch[axis - missing] == 1 ? 0 : at) * stride;
      stride *= batch[axis - missing];
    }
    matrices[static_cast<size_t>(b)] = index;
  }
  return matrices;
}

std::vector<Shape> ShapesOf(const std::vector<BlobInfo>& inputs) {
  std::vector<Shape> shapes;
  for (const BlobInfo& input : inputs) shapes.push_back(input.shape);
  return shapes;
}

Result<MatMulShape> Resolve(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  PLUMB_ASSIGN_OR_RETURN(const MatMulOperands operands, OperandsOfMatMul(layer, ShapesOf(inputs)));
  return ResolveMatMul(operands.first, operands.second);
}

Status InferMatmul(ShapeContext& context) {
  PLUMB_ASSIGN_OR_RETURN(const MatMulShape shape, Resolve(context.layer, context.inputs));
  context.SetAll(context.inputs[0].dtype, shape.output);
  return Status::Ok();
}

void VisitResourcesMatmul(ResourceVisitor& v, const Layer&) { v.Raw("weight"); }

Status ResourcesMatmul(const Layer& layer, const std::vector<BlobInfo>& inputs, std::vector<ResourceSpec>* specs) {
  if (inputs.size() != 1) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const MatMulShape shape, Resolve(layer, inputs));
  specs->push_back({"weight", layer.Resource("weight")->shape(), ResourceSpec::kHe, shape.k});
  return Status::Ok();
}

double FlopsMatmul(const Layer& layer, const std::vector<BlobInfo>& inputs, const std::vector<BlobInfo>& outputs) {
  const auto shape = Resolve(layer, inputs);
  return shape.ok() ? 2.0 * static_cast<double>(outputs[0].shape.NumElements()) * static_cast<double>(shape->k) : 0;
}

}  // namespace

Result<MatMulOperands> OperandsOfMatMul(const Layer& layer, const std::vector<Shape>& inputs) {
  if (inputs.size() == 2) return MatMulOperands{inputs[0], inputs[1]};
  const int position = ParamOf<MatMulParam>(layer).weight_position;
  if (position != 0 && position != 1) {
    return Status::InvalidArgument("has one input, so weight_position must be 0 or 1, found " +
                                   std::to_string(position));
  }
  const Tensor* weight = layer.Resource("weight");
  if (weight == nullptr) {
    return Status::InvalidArgument("has a constant operand whose shape only the tnnmodel says; give the tnnmodel");
  }
  if (position == 0) return MatMulOperands{weight->shape(), inputs[0]};
  return MatMulOperands{inputs[0], weight->shape()};
}

Result<MatMulShape> ResolveMatMul(const Shape& first, const Shape& second) {
  if (first.rank() < 1 || second.rank() < 1) {
    return Status::InvalidArgument(
        fmt::format("operands need rank 1 or more, found {} and {}", first.ToString(), second.ToString()));
  }
  std::vector<int64_t> a = first.dims();
  std::vector<int64_t> b = second.dims();
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  MatMulShape shape;
  shape.m = a[a.size() - 2];
  shape.k = a.back();
  shape.n = b.back();
  if (b[b.size() - 2] != shape.k) {
    return Status::InvalidArgument(
        fmt::format("the inner dims of {} and {} differ", first.ToString(), second.ToString()));
  }
  const Shape batch_a(std::vector<int64_t>(a.begin(), a.end() - 2));
  const Shape batch_b(std::vector<int64_t>(b.begin(), b.end() - 2));
  PLUMB_ASSIGN_OR_RETURN(const Shape batch, BroadcastShapes(batch_a, batch_b));
  PLUMB_RETURN_IF_ERROR(batch.Validate());
  if (batch.NumElements() > kMaxMatrices) {
    return Status::NotSupported(fmt::format("a product of {} matrices {} and {}; up to {} are supported",
                                            batch.NumElements(), first.ToString(), second.ToString(), kMaxMatrices));
  }
  shape.first_matrix = MatricesOf(batch_a, batch);
  shape.second_matrix = MatricesOf(batch_b, batch);
  shape.output = batch;
  if (first.rank() > 1) shape.output.dims().push_back(shape.m);
  if (second.rank() > 1) shape.output.dims().push_back(shape.n);
  return shape;
}

OpDef DefineMatMul() {
  OpDef op;
  op.make_param = MakeParam<MatMulParam>;
  op.infer = InferMatmul;
  op.visit_resources = VisitResourcesMatmul;
  op.resource_specs = ResourcesMatmul;
  op.flops = FlopsMatmul;
  op.sums = Sums::kProducts;
  return op;
}

}  // namespace plumb
