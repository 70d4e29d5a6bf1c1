// SPDX-License-Identifier: Apache-2.0
// FULLY_CONNECTED: y = x W^T + b with W [out,in]; what is read is flattened in the file's order. BATCH_MATMUL.
#include <fmt/core.h>

#include "format/tflite/map/window.h"
#include "format/tflite/op_context.h"

namespace plumb::tflite {
namespace {

// The last two dims exchanged.
std::string Exchanged(OpContext& c, const std::string& value, int rank) {
  std::vector<int64_t> perm;
  for (int i = 0; i < rank; ++i) perm.push_back(i < rank - 2 ? i : 2 * rank - 3 - i);
  return c.Emit("Transpose", {value}, {{"perm", IntsAttribute(perm)}});
}

}  // namespace

Status MapFullyConnected(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::FullyConnectedOptions>());
  if (options->weights_format() != 0)
    return Status::NotSupported("its weights are shuffled for one kernel (weights_format 1)");
  if (c.Rank(1) != 2)
    return Status::CorruptModel(fmt::format("its weights are {}, expected 2 dims", c.InShape(1).ToString()));
  PLUMB_ASSIGN_OR_RETURN(std::string x, c.Real(0, Order::kFile));
  std::vector<std::string> inputs = {x};
  const bool rows = options->keep_num_dims() && c.Rank(0) > 2;
  if (!rows && c.Rank(0) != 2) {
    PLUMB_ASSIGN_OR_RETURN(const std::string shape, c.IntsConstant({-1, c.InShape(1)[1]}));
    inputs[0] = c.Emit("Reshape", {x, shape});
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string w, c.RealTurned(1, rows ? std::vector<int>{1, 0} : std::vector<int>{0, 1}));
  inputs.push_back(w);
  std::string bias;
  if (c.Has(2)) {
    PLUMB_ASSIGN_OR_RETURN(bias, BiasOf(c, 2, 0, 1));
  }
  std::string y;
  if (rows) {
    y = c.Emit("MatMul", inputs);
    if (!bias.empty()) y = c.Emit("Add", {y, bias});
  } else {
    if (!bias.empty()) inputs.push_back(bias);
    y = c.Emit("Gemm", inputs, {{"transB", IntAttribute(1)}});
  }
  return c.Set(0, y, Order::kFile, options->fused_activation_function());
}

Status MapBatchMatMul(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::BatchMatMulOptions>());
  if (c.Rank(0) < 2 || c.Rank(1) < 2) return Status::CorruptModel("it reads a tensor of fewer than 2 dims");
  PLUMB_ASSIGN_OR_RETURN(std::string a, c.Real(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(std::string b, c.Real(1, Order::kFile));
  if (options->adj_x()) a = Exchanged(c, a, c.Rank(0));
  if (options->adj_y()) b = Exchanged(c, b, c.Rank(1));
  return c.Set(0, c.Emit("MatMul", {a, b}), Order::kFile);
}

}  // namespace plumb::tflite
