// SPDX-License-Identifier: Apache-2.0
// MatMul and InnerProduct in plain order. matmul_texel.comp, for drivers on a CPU and rows of whole quads: blocks in
// registers, read through texel buffers. matmul_tiled.comp, for GPUs: tiles in shared memory. matmul.comp: one
// invocation per output, for everything else.
#include "op/matmul.h"

#include <fmt/core.h>

#include "device/vulkan/channel4_layout.h"
#include "device/vulkan/kernel_list.h"
#include "device/vulkan/loop_rounds.h"
#include "device/vulkan/products.h"
#include "device/vulkan/shape_choice.h"
#include "op/inner_product.h"

namespace plumb::vulkan {
namespace {

constexpr int64_t kTiledRows = 8;  // fewer leave most of a tile empty

LaunchSpec Product(bool tiled, int64_t matrices, int64_t m, int64_t n, int64_t k, const Epilogue& epilogue) {
  LaunchSpec launch;
  if (tiled) {
    launch.shader = "matmul_tiled";
    launch.push.Int(m).Int(n).Int(k).Float(epilogue.alpha).Float(epilogue.beta);
    launch.groups[0] = static_cast<uint32_t>((m + 63) / 64);
    launch.groups[1] = static_cast<uint32_t>((n + 31) / 32);
    launch.groups[2] = static_cast<uint32_t>(matrices);
    return launch;
  }
  launch.shader = "matmul";
  launch.push.Int(matrices * m * n).Int(m).Int(n).Int(k).Float(epilogue.alpha).Float(epilogue.beta);
  launch.Over(matrices * m * n);
  return launch;
}

template <bool tiled>
void AddLaunches(Builder* b, LaunchSpec launch, int64_t k) {
  if (!tiled) return AddParts(b, launch, k, 1);
  b->launches.push_back(std::move(launch));
}

Result<MatMulShape> ShapeOf(const KernelSpec& spec) {
  std::vector<Shape> shapes;
  for (const BlobInfo& input : spec.inputs) shapes.push_back(input.shape);
  PLUMB_ASSIGN_OR_RETURN(const MatMulOperands operands, OperandsOfMatMul(spec.layer(), shapes));
  return ResolveMatMul(operands.first, operands.second);
}

Status SupportsMatmul(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  return ShapeOf(spec).status();
}

// First and second operand's matrix of each output matrix.
std::vector<uint32_t> MatricesOf(const MatMulShape& shape) {
  std::vector<uint32_t> matrices;
  for (size_t i = 0; i < shape.first_matrix.size(); ++i) {
    matrices.push_back(static_cast<uint32_t>(shape.first_matrix[i]));
    matrices.push_back(static_cast<uint32_t>(shape.second_matrix[i]));
  }
  return matrices;
}

Status RequireQuads(int64_t k, int64_t n) {
  if (k > 0 && k % 4 == 0 && n % 4 == 0) return Status::Ok();
  return Status::NotSupported(fmt::format("needs rows of whole quads, got {} and {} values", k, n));
}

// The texel kernel over `matrices` products; the caller adds the arguments.
LaunchSpec TexelProduct(int64_t matrices, int64_t m, int64_t n, int64_t k, bool bias, const Epilogue& epilogue) {
  LaunchSpec launch;
  const int64_t rows = m == 1 ? 1 : 8, row_blocks = (m + rows - 1) / rows, column_blocks = (n + 7) / 8;
  launch.shader = rows == 1 ? "matmul_texel_1" : "matmul_texel_8";
  if (epilogue.kind == Epilogue::Kind::kSwish) launch.shader += "_swish";
  const int64_t count = matrices * row_blocks * column_blocks;
  launch.push.Int(count).Int(m).Int(n / 4).Int(k / 4).Int(row_blocks).Int(column_blocks).Int(bias ? 1 : 0);
  PushActivation4(epilogue, &launch.push);
  launch.Over(count);
  return launch;
}

Status SupportsTexel(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireShape(spec, KernelShape::kCpu));
  PLUMB_RETURN_IF_ERROR(SupportsMatmul(spec));
  PLUMB_ASSIGN_OR_RETURN(const MatMulShape shape, ShapeOf(spec));
  return RequireQuads(shape.k, shape.n);
}

// Output, both operands (the layer's weight in its place), the table of matrices, and that again for the absent bias.
Status AddMatMulArguments(Builder* b, const MatMulShape& shape, Argument::View view, LaunchSpec* launch) {
  const std::vector<uint32_t> matrices = MatricesOf(shape);
  PLUMB_ASSIGN_OR_RETURN(const Argument table, b->Constant(matrices.data(), matrices.size() * sizeof(uint32_t)));
  launch->arguments = {Argument::Output(0), Argument::Input(0, view),
                       Argument::Input(static_cast<int>(b->inputs.size()) - 1, view), table,
                       Argument::Own(table.own, view)};
  if (b->inputs.size() == 2) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const Tensor weight, F32Resource(b->layer(), "weight"));
  const int position = ParamOf<MatMulParam>(b->layer()).weight_position;
  PLUMB_ASSIGN_OR_RETURN(launch->arguments[static_cast<size_t>(1 + position)],
                         b->Constant(weight.raw(), weight.bytes(), view));
  return Status::Ok();
}

Status BuildTexel(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const MatMulShape shape, ShapeOf(b->spec));
  const auto matrices = static_cast<int64_t>(shape.first_matrix.size());
  LaunchSpec launch = TexelProduct(matrices, shape.m, shape.n, shape.k, false, {});
  PLUMB_RETURN_IF_ERROR(AddMatMulArguments(b, shape, Argument::kTexelsF32x4, &launch));
  AddParts(b, launch, shape.k / 4, 1);
  return Status::Ok();
}

template <bool tiled>
Status BuildMatmul(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const MatMulShape shape, ShapeOf(b->spec));
  LaunchSpec launch = Product(tiled, static_cast<int64_t>(shape.first_matrix.size()), shape.m, shape.n, shape.k, {});
  launch.constants = {0, 0, 0};
  PLUMB_RETURN_IF_ERROR(AddMatMulArguments(b, shape, Argument::kStorage, &launch));
  AddLaunches<tiled>(b, std::move(launch), shape.k);
  return Status::Ok();
}

Status SupportsInnerProduct(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  return ReadGroup(spec.group.members, *spec.blobs).status();
}

Status LayoutsMatmul(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) {
  choice->inputs.assign(arriving.size(), PlainLayout());
  if (SameBytes(spec.inputs[0].shape, arriving[0])) choice->inputs[0] = nullptr;
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

template <bool tiled>
Status BuildInnerProduct(Builder* b) {
  const auto& param = ParamOf<InnerProductParam>(b->layer());
  const Shape& shape = b->inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param.axis, shape.rank()));
  PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(b->spec.group.members, *b->spec.blobs));
  PLUMB_ASSIGN_OR_RETURN(const Folded folded, InnerProductWeights(b->layer(), shape.CountFrom(axis), group.affine));
  LaunchSpec launch = Product(tiled, 1, shape.Count(0, axis), param.num_output, shape.CountFrom(axis), group.epilogue);
  launch.constants = {1, 1, ActivationCode(group.epilogue)};
  const uint32_t first[2] = {0, 0};
  PLUMB_ASSIGN_OR_RETURN(const Argument weight, b->Constant(folded.weight));
  PLUMB_ASSIGN_OR_RETURN(const Argument table, b->Constant(first, sizeof(first)));
  PLUMB_ASSIGN_OR_RETURN(const Argument bias, b->Constant(folded.bias));
  launch.arguments = {Argument::Output(0), Argument::Input(0), weight, table, bias};
  AddLaunches<tiled>(b, std::move(launch), shape.CountFrom(axis));
  return Status::Ok();
}

Status SupportsInnerProductTexel(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireShape(spec, KernelShape::kCpu));
  PLUMB_RETURN_IF_ERROR(SupportsInnerProduct(spec));
  const auto& param = ParamOf<InnerProductParam>(spec.layer());
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param.axis, spec.inputs[0].shape.rank()));
  return RequireQuads(spec.inputs[0].shape.CountFrom(axis), param.num_output);
}

Status BuildInnerProductTexel(Builder* b) {
  const auto& param = ParamOf<InnerProductParam>(b->layer());
  const Shape& shape = b->inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param.axis, shape.rank()));
  PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(b->spec.group.members, *b->spec.blobs));
  const int64_t k = shape.CountFrom(axis), n = param.num_output;
  PLUMB_ASSIGN_OR_RETURN(const Folded folded, InnerProductWeights(b->layer(), k, group.affine));
  std::vector<float> transposed(static_cast<size_t>(k * n));
  for (int64_t o = 0; o < n; ++o) {
    for (int64_t i = 0; i < k; ++i) transposed[static_cast<size_t>(i * n + o)] = folded.weight.data<float>()[o * k + i];
  }
  LaunchSpec launch = TexelProduct(1, shape.Count(0, axis), n, k, true, group.epilogue);
  const uint32_t first[2] = {0, 0};
  const auto view = Argument::kTexelsF32x4;
  PLUMB_ASSIGN_OR_RETURN(const Argument weight,
                         b->Constant(transposed.data(), transposed.size() * sizeof(float), view));
  PLUMB_ASSIGN_OR_RETURN(const Argument table, b->Constant(first, sizeof(first)));
  PLUMB_ASSIGN_OR_RETURN(const Argument bias, b->Constant(folded.bias.raw(), folded.bias.bytes(), view));
  launch.arguments = {Argument::Output(0), Argument::Input(0, view), weight, table, bias};
  AddParts(b, launch, k / 4, 1);
  return Status::Ok();
}

// Of k products: steps of 16 of them, each with the loops that fill and use the tiles.
Status RequireTiles(const KernelSpec& spec, int64_t rows, int64_t k) {
  constexpr int64_t kRoundsOfAStep = 16 + 8 + 16 * (8 + 2) + 4;
  PLUMB_RETURN_IF_ERROR(RequireShape(spec, KernelShape::kGpu));
  PLUMB_RETURN_IF_ERROR(RequireLoopRounds(spec, (k + 15) / 16 * kRoundsOfAStep));
  if (rows >= kTiledRows) return Status::Ok();
  return Status::NotSupported("needs at least 8 rows, got " + std::to_string(rows));
}

Status SupportsTiled(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(SupportsMatmul(spec));
  PLUMB_ASSIGN_OR_RETURN(const MatMulShape shape, ShapeOf(spec));
  return RequireTiles(spec, shape.m, shape.k);
}

Status SupportsInnerProductTiled(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(SupportsInnerProduct(spec));
  const Shape& shape = spec.inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<InnerProductParam>(spec.layer()).axis, shape.rank()));
  return RequireTiles(spec, shape.Count(0, axis), shape.CountFrom(axis));
}

}  // namespace

const KernelFunctions kernel_matmul_tiled = {SupportsTiled, BuildMatmul<true>};
const KernelFunctions kernel_inner_product_tiled = {SupportsInnerProductTiled, BuildInnerProduct<true>, LayoutsMatmul};
const KernelFunctions kernel_matmul_texel = {SupportsTexel, BuildTexel};
const KernelFunctions kernel_inner_product_texel = {SupportsInnerProductTexel, BuildInnerProductTexel, LayoutsMatmul};
const KernelFunctions kernel_matmul = {SupportsMatmul, BuildMatmul<false>};
const KernelFunctions kernel_inner_product = {SupportsInnerProduct, BuildInnerProduct<false>, LayoutsMatmul};

}  // namespace plumb::vulkan
