// SPDX-License-Identifier: Apache-2.0
// SVDF. Its state is a variable of the file: one run is the network's first, so it begins as zeros.
#include <fmt/core.h>

#include "format/tflite/op_context.h"

namespace plumb::tflite {
namespace {

// SVDF of integers: what the filters make of the features is an integer of the state, and the newest weights are a
// matrix from filters to units.
Status MapIntegerSvdf(OpContext& c, int64_t filters, int64_t memory, int64_t rank) {
  constexpr size_t kTime = 2, kState = 4;
  GraphWriter& writer = c.writer();
  const int time = c.InputIndex(kTime);
  if (!c.Has(kState) || !writer.IsQuantized(c.InputIndex(kState)) || !writer.IsQuantized(time) || !c.IsConstant(kTime))
    return Status::NotSupported("its state or its weights of time have no grid");
  const Grid grid = GridOf(writer.TensorAt(time));
  if (grid.scale.size() != 1) return Status::NotSupported("its weights of time have several scales");
  PLUMB_ASSIGN_OR_RETURN(const Tensor weights, writer.ValueOf(time));
  PLUMB_ASSIGN_OR_RETURN(const Tensor given, weights.ConvertedTo(DType::kI64));
  const int64_t units = filters / rank;
  constexpr int64_t kMostWeights = 1 << 24;  // most of which are zeros
  if (filters > kMostWeights / units) return Status::NotSupported(fmt::format("it has {} filters", filters));
  PLUMB_ASSIGN_OR_RETURN(Tensor matrix, Tensor::Zeros(DType::kI64, Shape{filters, units}));
  for (int64_t f = 0; f < filters; ++f)
    matrix.data<int64_t>()[f * units + f / rank] = given.data<int64_t>()[(f + 1) * memory - 1];
  PLUMB_ASSIGN_OR_RETURN(const std::string scale, writer.Floats(grid.scale, true));
  const std::string newest = c.Emit("DequantizeLinear", {writer.Constant(matrix, writer.TypeOf(time)), scale});
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string feature, c.RealTurned(1, {1, 0}));
  PLUMB_ASSIGN_OR_RETURN(const std::string state, writer.OnGrid(c.InputIndex(kState), c.Emit("MatMul", {x, feature})));
  std::string y = c.Emit("MatMul", {state, newest});
  if (c.Has(3)) {
    const float step = GridOf(c.Input(kState)).scale[0] * grid.scale[0];
    PLUMB_ASSIGN_OR_RETURN(const std::string bias, writer.Dequantized(c.InputIndex(3), {step}));
    y = c.Emit("Add", {y, bias});
  }
  return c.Set(0, y, Order::kFile, schema::Activation::NONE);  // LiteRT's kernel has the type's limits alone
}

}  // namespace

// Filters of rank 1 over the features, then over the last so many steps: of the first step the others are zero, so the
// newest weight of each filter counts alone.
Status MapSvdf(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::SVDFOptions>());
  if (c.Rank(0) != 2 || c.Rank(1) != 2 || c.Rank(2) != 2)
    return Status::CorruptModel("its input and its weights must have 2 dims");
  const int64_t filters = c.InShape(1)[0], memory = c.InShape(2)[1], rank = options->rank();
  if (rank < 1 || filters % rank != 0 || memory < 1 || c.InShape(2)[0] != filters)
    return Status::CorruptModel(fmt::format("it has {} filters of rank {} over {} steps", filters, rank, memory));
  if (!c.IsFloat(0)) return MapIntegerSvdf(c, filters, memory, rank);
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string feature, c.RealTurned(1, {1, 0}));
  PLUMB_ASSIGN_OR_RETURN(const std::string time, c.Real(2, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string last, c.IntsConstant({memory - 1}));
  PLUMB_ASSIGN_OR_RETURN(const std::string flat, c.IntsConstant({filters}));
  const std::string newest = c.Emit("Reshape", {c.Emit("Gather", {time, last}, {{"axis", IntAttribute(1)}}), flat});
  PLUMB_ASSIGN_OR_RETURN(const std::string split, c.IntsConstant({-1, filters / rank, rank}));
  PLUMB_ASSIGN_OR_RETURN(const std::string axes, c.IntsConstant({2}));
  const std::string terms = c.Emit("Mul", {c.Emit("MatMul", {x, feature}), newest});
  std::string y = c.Emit("ReduceSum", {c.Emit("Reshape", {terms, split}), axes}, {{"keepdims", IntAttribute(0)}});
  if (c.Has(3)) {
    PLUMB_ASSIGN_OR_RETURN(const std::string bias, c.Real(3, Order::kFile));
    y = c.Emit("Add", {y, bias});
  }
  return c.Set(0, y, Order::kFile, options->fused_activation_function());
}

}  // namespace plumb::tflite
