// SPDX-License-Identifier: Apache-2.0
// What works along rows: norms, sums, softmax, rows of tables.
#include <fmt/core.h>

#include <cmath>

#include "format/onnx/map/ggml_steps.h"
#include "format/onnx/map/norm_steps.h"
#include "op/cum_sum.h"
#include "op/gather.h"
#include "op/norm.h"
#include "op/reduce.h"

namespace plumb::onnx {
// NOLINTBEGIN(readability-identifier-naming): the rows of ggml_list.def bear ggml's names

Status MapGather(NodeContext& c);

namespace {

Result<Value> GgmlReducedRows(NodeContext& c, OpKind kind, const Value& x) {
  auto param = std::make_shared<ReduceParam>();
  param->keep_dims = true;
  param->axes = {3};
  return c.Emit(kind, param, {x});
}

Status GgmlReduced(NodeContext& c, OpKind kind) {
  PLUMB_ASSIGN_OR_RETURN(const Value x, FourDims(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value y, GgmlReducedRows(c, kind, x));
  return SetGgml(c, y);
}

}  // namespace

Status MapGgmlNORM(NodeContext& c) {
  auto param = std::make_shared<LayerNormParam>();
  param->reduce_dims_size = 1;
  param->eps = GgmlFloat(c, 0);
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(OpKind::kLayerNorm, param, {c.In(0)}));
  return SetGgml(c, y);
}

Status MapGgmlRMS_NORM(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value x, FourDims(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value inverse, RootMeanSquareInverse(c, x, {3}, GgmlFloat(c, 0)));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(OpKind::kMul, x, inverse));
  return SetGgml(c, y);
}

// x / max(sqrt(sum of squares), epsilon)
Status MapGgmlL2_NORM(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value x, FourDims(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value length, GgmlReducedRows(c, OpKind::kReduceL2, x));
  PLUMB_ASSIGN_OR_RETURN(const Value divisor, c.Binary(OpKind::kMaximum, length, c.ConstFloat(GgmlFloat(c, 0))));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(OpKind::kDiv, x, divisor));
  return SetGgml(c, y);
}

Status MapGgmlSUM_ROWS(NodeContext& c) { return GgmlReduced(c, OpKind::kReduceSum); }
Status MapGgmlMEAN(NodeContext& c) { return GgmlReduced(c, OpKind::kReduceMean); }

Status MapGgmlSOFT_MAX(NodeContext& c) {
  if (c.Has(2)) return Status::NotSupported("attention sinks are not known");
  PLUMB_ASSIGN_OR_RETURN(const Value x, FourDims(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value scaled, c.Binary(OpKind::kMul, x, c.ConstFloat(GgmlFloat(c, 0))));
  PLUMB_ASSIGN_OR_RETURN(const Value y, MaskedSoftmax(c, scaled, c.Has(1) ? c.In(1) : Value(), GgmlFloat(c, 1)));
  return SetGgml(c, y);
}

// Row i may read the first n_past + i + 1 entries.
Status MapGgmlDIAG_MASK_INF(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value x, FourDims(c, c.In(0)));
  const int64_t rows = c.ShapeOf(x)[2], columns = c.ShapeOf(x)[3], past = GgmlInt(c, 0);
  PLUMB_RETURN_IF_ERROR(c.builder().CheckSize(DType::kF32, Shape{rows, columns}));
  PLUMB_ASSIGN_OR_RETURN(Tensor hidden, Tensor::Create(DType::kBool, Shape{rows, columns}));
  for (int64_t i = 0; i < rows * columns; ++i) hidden.data<bool>()[i] = i % columns > past + i / columns;
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Select(c.Const(hidden), c.ConstFloat(-INFINITY), x));
  return SetGgml(c, y);
}

Status MapGgmlCUMSUM(NodeContext& c) {
  auto param = std::make_shared<CumSumParam>();
  param->axis = -1;
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(OpKind::kPlumbCumSum, param, {c.In(0)}));
  return SetGgml(c, y);
}

// Of all values; ggml sums them row by row.
Status MapGgmlSUM(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value row, c.Reshape(c.In(0), {1, 1, 1, c.ShapeOf(0).NumElements()}));
  PLUMB_ASSIGN_OR_RETURN(const Value y, GgmlReducedRows(c, OpKind::kReduceSum, row));
  return SetGgml(c, y);
}

// Rows of each table [rows, n] of [a, b, rows, n] at the places [a, b, m].
Status MapGgmlGET_ROWS(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value table, FourDims(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value places, FourDims(c, c.In(1)));
  const Shape shape = c.ShapeOf(table), of_places = c.ShapeOf(places);
  const int64_t tables = shape[0] * shape[1];
  if (tables == 1) {
    PLUMB_ASSIGN_OR_RETURN(const Value rows, c.Reshape(table, {shape[2], shape[3]}));
    PLUMB_ASSIGN_OR_RETURN(const Value y, c.Through(MapGather, {rows, c.In(1)}));
    PLUMB_ASSIGN_OR_RETURN(const Value four, FourDims(c, y));
    return SetGgml(c, four);
  }
  if (of_places[0] != 1 || of_places[1] != shape[0] || of_places[2] != shape[1]) {
    return Status::CorruptModel(fmt::format("places {} in tables {}", of_places.ToString(), shape.ToString()));
  }
  auto param = std::make_shared<GatherNDParam>();
  param->batch_dims = 1;
  PLUMB_ASSIGN_OR_RETURN(const Value rows, c.Reshape(table, {tables, shape[2], shape[3]}));
  PLUMB_ASSIGN_OR_RETURN(const Value at, c.Reshape(places, {tables, of_places[3], 1}));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(OpKind::kGatherND, param, {rows, at}));
  PLUMB_ASSIGN_OR_RETURN(const Value four, c.Reshape(y, {shape[0], shape[1], of_places[3], shape[3]}));
  return SetGgml(c, four);
}

// NOLINTEND(readability-identifier-naming)
}  // namespace plumb::onnx
