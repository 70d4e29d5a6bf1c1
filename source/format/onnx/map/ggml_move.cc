// SPDX-License-Identifier: Apache-2.0
// What moves values or converts them, and what of it writes into memory that others read (SET_ROWS, CPY into a cache).
#include <fmt/core.h>

#include <numeric>

#include "format/onnx/map/ggml_steps.h"
#include "op/gather.h"

namespace plumb::onnx {
// NOLINTBEGIN(readability-identifier-naming): the rows of ggml_list.def bear ggml's names
namespace {

// The same values in the shape that the manifest says.
Status GgmlAsShape(NodeContext& c, const Value& y) {
  PLUMB_ASSIGN_OR_RETURN(const Value shaped, c.Reshape(y, c.LongIntList("shape")));
  return SetGgml(c, shaped);
}

Result<Value> GgmlFlat(NodeContext& c, const Value& value) {
  return c.Reshape(value, {c.ShapeOf(value).NumElements()});
}

// Elements of the values behind each other.
Result<Value> GgmlTaken(NodeContext& c, const std::vector<Value>& from, const Tensor& which) {
  std::vector<Value> flat;
  for (const Value& value : from) {
    PLUMB_ASSIGN_OR_RETURN(const Value one, GgmlFlat(c, value));
    flat.push_back(one);
  }
  Value all = flat[0];
  if (flat.size() > 1) {
    PLUMB_ASSIGN_OR_RETURN(all, c.Join(flat, 0));
  }
  const int64_t size = c.ShapeOf(all)[0];
  for (int64_t i = 0; i < which.NumElements(); ++i) {
    const int64_t at = which.data<int64_t>()[i];
    if (at < 0 || at >= size) return Status::CorruptModel(fmt::format("it reads element {} of {}", at, size));
  }
  auto param = std::make_shared<GatherParam>();
  param->indices_in_resource = false;
  return c.Emit(OpKind::kGather, param, {all, c.Const(which)});
}

}  // namespace

Status MapGgmlDUP(NodeContext& c) { return GgmlAsShape(c, c.In(0)); }
Status MapGgmlCONT(NodeContext& c) { return GgmlAsShape(c, c.In(0)); }
Status MapGgmlCPY(NodeContext& c) { return GgmlAsShape(c, c.In(0)); }
Status MapGgmlRESHAPE(NodeContext& c) { return GgmlAsShape(c, c.In(0)); }

// Dim i of the input is dim op_params[i] of the output, counted from the innermost.
Status MapGgmlPERMUTE(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value x, FourDims(c, c.In(0)));
  std::vector<int> orders(4, -1);
  for (int i = 0; i < 4; ++i) {
    const int32_t to = GgmlInt(c, static_cast<size_t>(i));
    if (to < 0 || to > 3 || orders[static_cast<size_t>(3 - to)] >= 0)
      return Status::CorruptModel(fmt::format("op_params say dim {} for dim {}", to, i));
    orders[static_cast<size_t>(3 - to)] = 3 - i;
  }
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Transpose(x, orders));
  return SetGgml(c, y);
}

Status MapGgmlTRANSPOSE(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value x, FourDims(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Transpose(x, {0, 1, 3, 2}));
  return SetGgml(c, y);
}

Status MapGgmlREPEAT(NodeContext& c) {
  std::vector<int64_t> dims = c.LongIntList("shape");
  if (dims.size() > 4) return Status::CorruptModel("ggml has four dims");
  dims.insert(dims.begin(), 4 - dims.size(), 1);
  PLUMB_RETURN_IF_ERROR(Shape(dims).Validate());
  PLUMB_RETURN_IF_ERROR(c.builder().CheckSize(DType::kF32, Shape(dims)));
  PLUMB_ASSIGN_OR_RETURN(const Value x, FourDims(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(Value y, RepeatedLike(c, x, dims));
  if (c.ShapeOf(y).dims() != dims) {  // it only broadcasts so far
    PLUMB_ASSIGN_OR_RETURN(const Tensor zeros, Tensor::Zeros(DType::kF32, Shape(dims)));
    PLUMB_ASSIGN_OR_RETURN(y, c.Binary(OpKind::kAdd, y, c.Const(zeros)));
  }
  return SetGgml(c, y);
}

Status MapGgmlCONCAT(NodeContext& c) {
  const int32_t dim = GgmlInt(c, 0);
  if (dim < 0 || dim > 3) return Status::CorruptModel(fmt::format("op_params say dim {}", dim));
  PLUMB_ASSIGN_OR_RETURN(const Value a, FourDims(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value b, FourDims(c, c.In(1)));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Join({a, b}, 3 - dim));
  return SetGgml(c, y);
}

// Rows of input 0 stand in input 2 at the places that input 1 says.
Status MapGgmlSET_ROWS(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value rows, FourDims(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value memory, FourDims(c, c.In(2)));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> places, c.Ints(1, "the rows' places"));
  const Shape from = c.ShapeOf(rows), to = c.ShapeOf(memory);
  if (from[0] != 1 || from[1] != 1 || to[0] != 1 || to[1] != 1)
    return Status::NotSupported("rows of several matrices are not known");
  if (static_cast<int64_t>(places.size()) != from[2] || from[3] != to[3]) {
    return Status::CorruptModel(fmt::format("{} places for {} in {}", places.size(), from.ToString(), to.ToString()));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value rounded, RoundedTo(c, rows, c.Text("type", "f32")));
  PLUMB_ASSIGN_OR_RETURN(Tensor which, Tensor::Create(DType::kI64, Shape{to.NumElements()}));
  int64_t* at = which.data<int64_t>();
  std::iota(at, at + to.NumElements(), int64_t{0});
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0 || places[i] >= to[2])
      return Status::CorruptModel(fmt::format("place {} of {}", places[i], to[2]));
    std::iota(at + places[i] * to[3], at + (places[i] + 1) * to[3],
              to.NumElements() + static_cast<int64_t>(i) * from[3]);
  }
  PLUMB_ASSIGN_OR_RETURN(const Value y, GgmlTaken(c, {memory, rounded}, which));
  PLUMB_ASSIGN_OR_RETURN(const Value shaped, c.Reshape(y, c.LongIntList("shape")));
  c.Set(0, shaped);
  return Status::Ok();
}

Status MapGgmlVIEW(NodeContext& c) {
  std::vector<Value> from;
  for (size_t i = 1; i < c.NumInputs(); ++i) from.push_back(c.In(i));
  PLUMB_ASSIGN_OR_RETURN(const Tensor which, c.Constant(0, "the elements"));
  PLUMB_ASSIGN_OR_RETURN(const Value y, GgmlTaken(c, from, which));
  return GgmlAsShape(c, y);
}

// NOLINTEND(readability-identifier-naming)
}  // namespace plumb::onnx
