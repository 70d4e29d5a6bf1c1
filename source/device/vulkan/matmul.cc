// MatMul and InnerProduct in plain order, one invocation per output: matmul.comp.
#include "op/matmul.h"

#include "device/vulkan/kernel_list.h"
#include "device/vulkan/products.h"
#include "op/inner_product.h"

namespace plumb::vulkan {
namespace {

LaunchSpec Product(int64_t matrices, int64_t m, int64_t n, int64_t k, const Epilogue& epilogue) {
  LaunchSpec launch;
  launch.shader = "matmul";
  launch.push.Int(matrices * m * n).Int(m).Int(n).Int(k).Float(epilogue.alpha).Float(epilogue.beta);
  launch.Over(matrices * m * n);
  return launch;
}

Result<MatMulShape> ShapeOf(const KernelSpec& spec) {
  std::vector<Shape> shapes;
  for (const BlobInfo& input : spec.inputs) shapes.push_back(input.shape);
  PLUMB_ASSIGN_OR_RETURN(const MatMulOperands operands, OperandsOfMatMul(spec.layer(), shapes));
  return ResolveMatMul(operands.first, operands.second);
}

Status Supports(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  return ShapeOf(spec).status();
}

Status Build(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const MatMulShape shape, ShapeOf(b->spec));
  std::vector<uint32_t> matrices;
  for (size_t i = 0; i < shape.first_matrix.size(); ++i) {
    matrices.push_back(static_cast<uint32_t>(shape.first_matrix[i]));
    matrices.push_back(static_cast<uint32_t>(shape.second_matrix[i]));
  }
  LaunchSpec launch = Product(static_cast<int64_t>(shape.first_matrix.size()), shape.m, shape.n, shape.k, {});
  launch.constants = {0, 0, 0};
  PLUMB_ASSIGN_OR_RETURN(const Argument table, b->Constant(matrices.data(), matrices.size() * sizeof(uint32_t)));
  launch.arguments = {Argument::Output(0), Argument::Input(0), Argument::Input(static_cast<int>(b->inputs.size()) - 1), table,
                      table};
  if (b->inputs.size() == 1) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor weight, F32Resource(b->layer(), "weight"));
    const int position = ParamOf<MatMulParam>(b->layer()).weight_position;
    PLUMB_ASSIGN_OR_RETURN(launch.arguments[static_cast<size_t>(1 + position)], b->Constant(weight));
  }
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

Status SupportsInnerProduct(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  return ReadGroup(spec.group.members, *spec.blobs).status();
}

Status Layouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) {
  choice->inputs.assign(arriving.size(), PlainLayout());
  choice->outputs = {PlainLayout()};
  return Status::Ok();
}

// An inner product's weights are those of a convolution over one pixel.
Result<Folded> InnerProductWeights(const Layer& layer, int64_t inputs, const ChannelAffine& affine) {
  ConvolutionShape shape;
  shape.in_channels = inputs;
  shape.out_channels = ParamOf<InnerProductParam>(layer).num_output;
  shape.bias = layer.Resource("bias") != nullptr;
  return FoldedWeights(layer, shape, affine);
}

Status BuildInnerProduct(Builder* b) {
  const auto& param = ParamOf<InnerProductParam>(b->layer());
  const Shape& shape = b->inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param.axis, shape.rank()));
  PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(b->spec.group.members, *b->spec.blobs));
  PLUMB_ASSIGN_OR_RETURN(const Folded folded, InnerProductWeights(b->layer(), shape.CountFrom(axis), group.affine));
  LaunchSpec launch = Product(1, shape.Count(0, axis), param.num_output, shape.CountFrom(axis), group.epilogue);
  launch.constants = {1, 1, ActivationCode(group.epilogue)};
  const uint32_t first[2] = {0, 0};
  PLUMB_ASSIGN_OR_RETURN(const Argument weight, b->Constant(folded.weight));
  PLUMB_ASSIGN_OR_RETURN(const Argument table, b->Constant(first, sizeof(first)));
  PLUMB_ASSIGN_OR_RETURN(const Argument bias, b->Constant(folded.bias));
  launch.arguments = {Argument::Output(0), Argument::Input(0), weight, table, bias};
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_matmul = {Supports, Build};
const KernelFunctions kernel_inner_product = {SupportsInnerProduct, BuildInnerProduct, Layouts};

}  // namespace plumb::vulkan
