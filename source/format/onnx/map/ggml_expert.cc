// SPDX-License-Identifier: Apache-2.0
// What a mixture of experts is made of: ARGSORT and TOP_K choose the experts of each token, MUL_MAT_ID multiplies with
// the matrices of those chosen, ADD_ID adds their biases.
#include <fmt/core.h>

#include "format/onnx/map/ggml_steps.h"
#include "op/gather.h"
#include "op/matmul.h"
#include "op/tile.h"
#include "op/top_k.h"

namespace plumb::onnx {
// NOLINTBEGIN(readability-identifier-naming): the rows of ggml_list.def bear ggml's names
namespace {

// The places of each row's values in falling or rising order. Equal values stand in any order.
Status GgmlSorted(NodeContext& c, int64_t count, bool largest, bool sorted) {
  const Shape& shape = c.ShapeOf(0);
  auto param = std::make_shared<TopKParam>();
  param->axis = shape.rank() - 1;
  param->largest = largest;
  param->sorted = sorted;
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int> narrow, Narrow({count}));
  param->k = narrow[0];
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Value> y, c.EmitMany({OpKind::kTopK, param, {c.In(0)}, {}, 2}));
  return SetGgml(c, y[1]);
}

// Which expert serves which row: `pairs` in all, those of a token behind each other.
struct Routes {
  int64_t tokens = 0, chosen = 0, experts = 0;
  Value flat;  // i64 [pairs]

  int64_t pairs() const { return tokens * chosen; }
};

Result<Routes> TakeRoutes(NodeContext& c, size_t input, int64_t experts) {
  Routes routes;
  PLUMB_ASSIGN_OR_RETURN(const Value ids, FourDims(c, c.In(input)));
  const Shape shape = c.ShapeOf(ids);
  if (shape[0] != 1 || shape[1] != 1)
    return Status::CorruptModel("the experts' numbers are " + shape.ToString() + ", expected a matrix");
  routes.tokens = shape[2];
  routes.chosen = shape[3];
  routes.experts = experts;
  PLUMB_ASSIGN_OR_RETURN(const Value flat, c.Reshape(ids, {routes.pairs()}));
  PLUMB_ASSIGN_OR_RETURN(routes.flat, c.CastTo(flat, DType::kI64));
  return routes;
}

Result<Value> Picked(NodeContext& c, const Value& from, const Value& places) {
  auto param = std::make_shared<GatherParam>();
  param->indices_in_resource = false;
  return c.Emit(OpKind::kGather, param, {from, places});
}

// Each pair's row times its expert's matrix: the matrices are picked.
Result<Value> ByPickedMatrices(NodeContext& c, const Routes& routes, const Value& x, const Value& turned) {
  const Shape of_x = c.ShapeOf(x);
  auto param = std::make_shared<TileParam>();
  PLUMB_ASSIGN_OR_RETURN(param->repeats, Narrow({1, routes.chosen / of_x[1], 1}));
  PLUMB_ASSIGN_OR_RETURN(const Value each,
                         of_x[1] == routes.chosen ? Result<Value>(x) : c.Emit(OpKind::kTile, param, {x}));
  PLUMB_ASSIGN_OR_RETURN(const Value rows, c.Reshape(each, {routes.pairs(), 1, of_x[2]}));
  PLUMB_ASSIGN_OR_RETURN(const Value matrices, Picked(c, turned, routes.flat));
  return c.Emit(OpKind::kMatMul, nullptr, {rows, matrices});
}

// Each row times every expert's matrix, of which the sums of those chosen are picked: less memory where there are more
// pairs than experts.
Result<Value> ByAllMatrices(NodeContext& c, const Routes& routes, const Value& x, const Value& turned) {
  const Shape of_x = c.ShapeOf(x);
  const int64_t count = of_x[0] * of_x[1];
  PLUMB_ASSIGN_OR_RETURN(const Value rows, c.Reshape(x, {1, count, of_x[2]}));
  PLUMB_ASSIGN_OR_RETURN(const Value all, c.Emit(OpKind::kMatMul, nullptr, {rows, turned}));
  const int64_t width = c.ShapeOf(all)[2];
  PLUMB_ASSIGN_OR_RETURN(const Value sums, c.Reshape(all, {routes.experts * count, width}));
  std::vector<int64_t> row_of_pair;
  for (int64_t i = 0; i < routes.pairs(); ++i)
    row_of_pair.push_back(i / routes.chosen * of_x[1] + i % routes.chosen % of_x[1]);
  PLUMB_ASSIGN_OR_RETURN(const Value first, c.Binary(OpKind::kMul, routes.flat, c.ConstInts({count})));
  PLUMB_ASSIGN_OR_RETURN(const Value places, c.Binary(OpKind::kAdd, first, c.ConstInts(row_of_pair)));
  return Picked(c, sums, places);
}

// x [tokens, rows of a token, k] times the rows of w [experts, m, k].
Result<Value> TimesChosen(NodeContext& c, const Routes& routes, const Value& x, const Value& w) {
  PLUMB_ASSIGN_OR_RETURN(const Value turned, c.Transpose(w, {0, 2, 1}));
  const bool picks = routes.pairs() <= routes.experts;
  PLUMB_ASSIGN_OR_RETURN(const Value y,
                         picks ? ByPickedMatrices(c, routes, x, turned) : ByAllMatrices(c, routes, x, turned));
  return c.Reshape(y, {1, routes.tokens, routes.chosen, c.ShapeOf(w)[1]});
}

Result<Value> WithoutFirstDim(NodeContext& c, const Value& value) {
  PLUMB_ASSIGN_OR_RETURN(const Value four, FourDims(c, value));
  const Shape shape = c.ShapeOf(four);
  if (shape[0] != 1) return Status::CorruptModel(shape.ToString() + " has a fourth dim");
  return c.Reshape(four, {shape[1], shape[2], shape[3]});
}

}  // namespace

Status MapGgmlARGSORT(NodeContext& c) {
  const int32_t order = GgmlInt(c, 0);
  if (order != 0 && order != 1) return Status::CorruptModel(fmt::format("op_params say order {}", order));
  return GgmlSorted(c, c.ShapeOf(0)[c.Rank(0) - 1], order == 1, true);
}

// In any order.
Status MapGgmlTOP_K(NodeContext& c) {
  const std::vector<int64_t> dims = c.LongIntList("shape");
  if (dims.empty()) return Status::CorruptModel("it has no dims");
  return GgmlSorted(c, dims.back(), true, false);
}

// w [experts, m, k], x [tokens, 1 or some, k], numbers of experts [tokens, chosen]; then the least values of w's
// blocks.
Status MapGgmlMUL_MAT_ID(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value w, WithoutFirstDim(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value given, WithoutFirstDim(c, c.In(1)));
  const Shape of_w = c.ShapeOf(w), of_x = c.ShapeOf(given);
  PLUMB_ASSIGN_OR_RETURN(const Routes routes, TakeRoutes(c, 2, of_w[0]));
  if (of_x[0] != routes.tokens || of_x[1] < 1 || routes.chosen % of_x[1] != 0 || of_x[2] != of_w[2]) {
    return Status::CorruptModel(
        fmt::format("rows of {} cannot be multiplied with those of {} for {} experts of {} tokens", of_x.ToString(),
                    of_w.ToString(), routes.chosen, routes.tokens));
  }
  Value beyond;
  PLUMB_ASSIGN_OR_RETURN(const Value x, AsOperandFor(c, given, GgmlTypeOf(c, 0), c.Has(3) ? &beyond : nullptr));
  PLUMB_ASSIGN_OR_RETURN(Value y, TimesChosen(c, routes, x, w));
  if (c.Has(3)) {
    PLUMB_ASSIGN_OR_RETURN(const Value least, WithoutFirstDim(c, c.In(3)));
    PLUMB_ASSIGN_OR_RETURN(const Value more, TimesChosen(c, routes, beyond, least));
    PLUMB_ASSIGN_OR_RETURN(y, c.Binary(OpKind::kAdd, y, more));
  }
  return SetGgml(c, y);
}

// x [tokens, chosen, n] plus the rows of [experts, n] that were chosen.
Status MapGgmlADD_ID(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value x, FourDims(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value biases, FourDims(c, c.In(1)));
  const Shape shape = c.ShapeOf(biases);
  PLUMB_ASSIGN_OR_RETURN(const Routes routes, TakeRoutes(c, 2, shape[2]));
  PLUMB_ASSIGN_OR_RETURN(const Value table, c.Reshape(biases, {shape[2], shape[3]}));
  PLUMB_ASSIGN_OR_RETURN(const Value rows, Picked(c, table, routes.flat));
  PLUMB_ASSIGN_OR_RETURN(const Value each, c.Reshape(rows, {1, routes.tokens, routes.chosen, shape[3]}));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(OpKind::kAdd, x, each));
  return SetGgml(c, y);
}

// NOLINTEND(readability-identifier-naming)
}  // namespace plumb::onnx
