// SPDX-License-Identifier: Apache-2.0
// MUL_MAT, FLASH_ATTN_EXT. ggml multiplies rows by rows: y[n, m] = sum over k of x[n, k] w[m, k], and one matrix w
// serves several of x where there are fewer of it. Activations are rounded as w's type asks for.
#include <fmt/core.h>

#include "format/onnx/map/attention_steps.h"
#include "format/onnx/map/ggml_steps.h"
#include "op/matmul.h"

namespace plumb::onnx {
// NOLINTBEGIN(readability-identifier-naming): the rows of ggml_list.def bear ggml's names
namespace {

// x [a, b, n, k] times the rows of w [c, d, m, k], a a multiple of c and b of d.
Result<Value> GgmlTimesRows(NodeContext& c, const Value& x, const Value& w, bool sums_in_f16 = false) {
  const auto param = std::make_shared<MatMulParam>();
  param->sums_in_f16 = sums_in_f16;
  const Shape of_x = c.ShapeOf(x), of_w = c.ShapeOf(w);
  if (of_w[0] < 1 || of_w[1] < 1 || of_x[0] % of_w[0] != 0 || of_x[1] % of_w[1] != 0 || of_x[3] != of_w[3]) {
    return Status::CorruptModel(
        fmt::format("rows of {} cannot be multiplied with those of {}", of_x.ToString(), of_w.ToString()));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value turned, c.Transpose(w, {0, 1, 3, 2}));
  const auto serves = [&](int axis) { return of_w[axis] == 1 || of_w[axis] == of_x[axis]; };
  if (serves(0) && serves(1)) return c.Emit(OpKind::kMatMul, param, {x, turned});
  PLUMB_ASSIGN_OR_RETURN(const Value split,
                         c.Reshape(x, {of_w[0], of_x[0] / of_w[0], of_w[1], of_x[1] / of_w[1], of_x[2], of_x[3]}));
  PLUMB_ASSIGN_OR_RETURN(const Value spread, c.Reshape(turned, {of_w[0], 1, of_w[1], 1, of_w[3], of_w[2]}));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(OpKind::kMatMul, param, {split, spread}));
  return c.Reshape(y, {of_x[0], of_x[1], of_x[2], of_w[2]});
}

}  // namespace

Status MapGgmlMUL_MAT(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value w, FourDims(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value given, FourDims(c, c.In(1)));
  Value beyond;
  PLUMB_ASSIGN_OR_RETURN(const Value x, AsOperandFor(c, given, GgmlTypeOf(c, 0), c.Has(2) ? &beyond : nullptr));
  PLUMB_ASSIGN_OR_RETURN(Value y, GgmlTimesRows(c, x, w));
  if (c.Has(2)) {
    PLUMB_ASSIGN_OR_RETURN(const Value least, FourDims(c, c.In(2)));
    PLUMB_ASSIGN_OR_RETURN(const Value more, GgmlTimesRows(c, beyond, least));
    PLUMB_ASSIGN_OR_RETURN(y, c.Binary(OpKind::kAdd, y, more));
  }
  return SetGgml(c, y);
}

// [sequences, queries, heads, size] = softmax(scale q k' + mask) v, of [sequences, heads, queries or keys, size].
// ggml's CPU backend goes through the keys one by one: queries are rounded as the keys' type asks for, and over values
// of f16 the sum (before it is divided by that of the weights) is rounded to f16 behind each key. 64 queries or more
// over keys and values of one type are tiles: all of it in f32.
Status MapGgmlFLASH_ATTN_EXT(NodeContext& c) {
  constexpr int64_t kTile = 64;
  if (c.Has(4)) return Status::NotSupported("attention sinks are not known");
  Value qkv[3];
  for (size_t i = 0; i < 3; ++i) {
    PLUMB_ASSIGN_OR_RETURN(qkv[i], FourDims(c, c.In(i)));
  }
  const float cap = GgmlFloat(c, 2);
  const std::string of_keys = GgmlTypeOf(c, 1), of_values = GgmlTypeOf(c, 2);
  if (of_values != "f32" && (of_values != "f16" || !OnGgmlCpu(c))) {
    return Status::NotSupported(
        fmt::format("how ggml sums values of {} in buffer '{}' is not known", of_values, c.Text("buffer", "")));
  }
  const bool tiles = c.ShapeOf(qkv[0])[2] >= kTile && of_keys == of_values;
  Value q = qkv[0];
  if (!tiles) {
    PLUMB_ASSIGN_OR_RETURN(q, AsOperandFor(c, qkv[0], of_keys));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value product, GgmlTimesRows(c, q, qkv[1]));
  PLUMB_ASSIGN_OR_RETURN(const Value scaled, c.Binary(OpKind::kMul, product, c.ConstFloat(GgmlFloat(c, 0))));
  PLUMB_ASSIGN_OR_RETURN(const Value capped, CapScores(c, scaled, cap));
  PLUMB_ASSIGN_OR_RETURN(const Value weights, MaskedSoftmax(c, capped, c.Has(3) ? c.In(3) : Value(), GgmlFloat(c, 1)));
  PLUMB_ASSIGN_OR_RETURN(const Value columns, c.Transpose(qkv[2], {0, 1, 3, 2}));
  PLUMB_ASSIGN_OR_RETURN(const Value y, GgmlTimesRows(c, weights, columns, of_values == "f16" && !tiles));
  PLUMB_ASSIGN_OR_RETURN(const Value turned, c.Transpose(y, {0, 2, 1, 3}));
  return SetGgml(c, turned);
}

// NOLINTEND(readability-identifier-naming)
}  // namespace plumb::onnx
