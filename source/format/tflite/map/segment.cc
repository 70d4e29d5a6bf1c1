// SPDX-License-Identifier: Apache-2.0
// Sums, products and extremes of segments, buckets, and what writes a few values into many.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "format/tflite/op_context.h"

namespace plumb::tflite {
namespace {

using Code = schema::BuiltinOperator;

// Integers of an input as i64 of these dims.
Result<std::string> IndicesOf(OpContext& c, size_t i, const std::vector<int64_t>& dims) {
  PLUMB_ASSIGN_OR_RETURN(const std::string value, c.Raw(i, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string shape, c.IntsConstant(dims));
  return c.Emit("Reshape", {c.Emit("Cast", {value}, {{"to", IntAttribute(onnx::kTypeInt64)}}), shape});
}

Result<std::string> Filled(OpContext& c, const std::vector<int64_t>& dims, double value) {
  PLUMB_ASSIGN_OR_RETURN(const std::string shape, c.IntsConstant(dims));
  if (c.IsReal(0)) {
    PLUMB_ASSIGN_OR_RETURN(const std::string number, c.Number(static_cast<float>(value)));
    return c.Emit("Expand", {number, shape});
  }
  PLUMB_ASSIGN_OR_RETURN(Tensor whole, Tensor::Zeros(DType::kI64, Shape{}));
  whole.data<int64_t>()[0] = static_cast<int64_t>(value);
  return c.Emit("Expand", {c.writer().Constant(whole, c.writer().TypeOf(c.InputIndex(0)), "fill"), shape});
}

// What an empty segment holds.
Result<double> StartOf(const OpContext& c) {
  switch (c.code()) {
    case Code::UNSORTED_SEGMENT_PROD: return 1.0;
    case Code::UNSORTED_SEGMENT_MAX:
    case Code::UNSORTED_SEGMENT_MIN: break;
    default: return 0.0;
  }
  const bool low = c.code() == Code::UNSORTED_SEGMENT_MAX;
  if (c.IsReal(0)) {
    const auto most = static_cast<double>(std::numeric_limits<float>::max());
    return low ? -most : most;
  }
  if (c.Input(0).type() != schema::TensorType::INT32)
    return Status::NotSupported("extremes of segments of integers other than int32");
  return static_cast<double>(low ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int32_t>::max());
}

const char* ReductionOf(Code code) {
  switch (code) {
    case Code::UNSORTED_SEGMENT_PROD: return "mul";
    case Code::UNSORTED_SEGMENT_MAX: return "max";
    case Code::UNSORTED_SEGMENT_MIN: return "min";
    default: return "add";
  }
}

}  // namespace

// Rows of the data by their segment's number. One below 0 has none: it goes to a row that is cut off.
Status MapSegments(OpContext& c) {
  const Shape data = c.InShape(0), ids = c.InShape(1), out = c.OutShape();
  if (ids.rank() > data.rank() || out.rank() != data.rank() - ids.rank() + 1)
    return Status::CorruptModel(
        fmt::format("it makes {} of {} by numbers {}", out.ToString(), data.ToString(), ids.ToString()));
  for (int axis = 0; axis < ids.rank(); ++axis) {
    if (ids[axis] != data[axis])
      return Status::CorruptModel(fmt::format("its data is {}, its numbers are {}", data.ToString(), ids.ToString()));
  }
  std::vector<int64_t> rows = {ids.NumElements()}, sink = out.dims();
  for (int axis = ids.rank(); axis < data.rank(); ++axis) rows.push_back(data[axis]);
  sink[0] += 1;
  PLUMB_ASSIGN_OR_RETURN(const double start, StartOf(c));
  PLUMB_ASSIGN_OR_RETURN(const std::string begin, Filled(c, sink, start));
  PLUMB_ASSIGN_OR_RETURN(const std::string places, IndicesOf(c, 1, {ids.NumElements(), 1}));
  PLUMB_ASSIGN_OR_RETURN(const std::string zero, c.writer().Ints({0}, true));
  PLUMB_ASSIGN_OR_RETURN(const std::string last, c.writer().Ints({out[0]}, true));
  const std::string kept = c.Emit("Where", {c.Emit("Less", {places, zero}), last, places});
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string shape, c.IntsConstant(rows));
  const std::string all = c.Emit("ScatterND", {begin, kept, c.Emit("Reshape", {x, shape})},
                                 {{"reduction", TextAttribute(ReductionOf(c.code()))}});
  PLUMB_ASSIGN_OR_RETURN(const std::string from, c.IntsConstant({0}));
  PLUMB_ASSIGN_OR_RETURN(const std::string to, c.IntsConstant({out[0]}));
  return c.Set(0, c.Emit("Slice", {all, from, to, from}), Order::kFile);
}

// How many boundaries are not above the value.
Status MapBucketize(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::BucketizeOptions>());
  std::vector<float> boundaries;
  if (options->boundaries() != nullptr) boundaries.assign(options->boundaries()->begin(), options->boundaries()->end());
  if (!std::is_sorted(boundaries.begin(), boundaries.end())) return Status::CorruptModel("its boundaries do not rise");
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Raw(0, Order::kFile));
  const std::string real = c.IsFloat(0) ? x : c.Emit("Cast", {x}, {{"to", IntAttribute(onnx::kTypeFloat)}});
  PLUMB_ASSIGN_OR_RETURN(const std::string limits, c.writer().Floats(boundaries));
  PLUMB_ASSIGN_OR_RETURN(const std::string axis, c.IntsConstant({-1}));
  const std::string passed = c.Emit("GreaterOrEqual", {c.Emit("Unsqueeze", {real, axis}), limits});
  const std::string ones = c.Emit("Cast", {passed}, {{"to", IntAttribute(onnx::kTypeInt64)}});
  const std::string count = c.Emit("ReduceSum", {ones, axis}, {{"keepdims", IntAttribute(0)}});
  const int type = c.writer().TypeOf(c.OutputIndex(0));
  return c.SetRaw(0, c.Emit("Cast", {count}, {{"to", IntAttribute(type)}}), Order::kFile);
}

// The values at given places of a tensor that holds the default elsewhere.
Status MapSparseToDense(OpContext& c) {
  const Shape places = c.InShape(0), out = c.OutShape();
  const int64_t count = places.rank() == 0 ? 1 : places[0], depth = places.rank() == 2 ? places[1] : 1;
  if (places.rank() > 2 || depth != out.rank() || c.InShape(3).NumElements() != 1)
    return Status::CorruptModel(fmt::format("it puts values at {} into {}", places.ToString(), out.ToString()));
  PLUMB_ASSIGN_OR_RETURN(const std::string indices, IndicesOf(c, 0, {count, depth}));
  PLUMB_ASSIGN_OR_RETURN(const std::string values, c.Raw(2, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string otherwise, c.Raw(3, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string line, c.IntsConstant({count}));
  PLUMB_ASSIGN_OR_RETURN(const std::string shape, c.IntsConstant(out.dims()));
  PLUMB_ASSIGN_OR_RETURN(const std::string none, c.IntsConstant({}));
  const std::string scalar = c.Emit("Reshape", {otherwise, none});
  const std::string dense = c.Emit("Expand", {scalar, shape});
  return c.SetRaw(0, c.Emit("ScatterND", {dense, indices, c.Emit("Expand", {values, line})}), Order::kFile);
}

namespace {

// Whether element (i, j) of a matrix lies on its diagonal.
Result<std::string> Diagonal(OpContext& c, int64_t rows, int64_t columns) {
  constexpr int64_t kMost = 1 << 24;
  if (rows < 0 || columns < 0 || (columns > 0 && rows > kMost / columns))
    return Status::NotSupported(fmt::format("a diagonal of {} x {}", rows, columns));
  PLUMB_ASSIGN_OR_RETURN(Tensor mask, Tensor::Zeros(DType::kBool, {rows, columns}));
  for (int64_t i = 0; i < std::min(rows, columns); ++i) mask.data<bool>()[i * columns + i] = true;
  return c.writer().Constant(mask, onnx::kTypeBool, "diagonal");
}

// The vectors beside the matrix: along its columns where they are as long as a row, else along its rows.
Status WithDiagonal(OpContext& c, const std::string& others, size_t vectors, bool along_columns) {
  const Shape out = c.OutShape();
  if (out.rank() < 2) return Status::CorruptModel(fmt::format("it makes {}", out.ToString()));
  PLUMB_ASSIGN_OR_RETURN(const std::string mask, Diagonal(c, out[out.rank() - 2], out[out.rank() - 1]));
  PLUMB_ASSIGN_OR_RETURN(const std::string values, c.Moved(vectors, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string axis, c.IntsConstant({along_columns ? -2 : -1}));
  return c.SetMoved(0, c.Emit("Where", {mask, c.Emit("Unsqueeze", {values, axis}), others}), Order::kFile);
}

}  // namespace

// Each element of the axis with `by` - 1 values behind it, the last one without.
Status MapDilate(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> by, c.Ints(1, "the dilations"));
  const Shape in = c.InShape(0);
  if (static_cast<int>(by.size()) != in.rank() || c.InShape(2).NumElements() != 1)
    return Status::CorruptModel(fmt::format("it spreads {} by {} dilations", in.ToString(), by.size()));
  PLUMB_ASSIGN_OR_RETURN(std::string x, c.Moved(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string value, c.SameGrid(0, 0) ? c.Raw(2, Order::kFile) : c.Real(2, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string none, c.IntsConstant({}));
  const std::string between = c.Emit("Reshape", {value, none});
  std::vector<int64_t> dims = in.dims();
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (by[axis] < 1 || (dims[axis] > 0 && by[axis] > INT32_MAX / dims[axis]))
      return Status::CorruptModel(fmt::format("its dilation of axis {} is {}", axis, by[axis]));
    if (by[axis] == 1 || dims[axis] == 0) continue;
    std::vector<int64_t> apart = dims, pads(2 * dims.size() + 2, 0);
    apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 1);
    pads[apart.size() + axis + 1] = by[axis] - 1;
    dims[axis] = dims[axis] * by[axis];
    PLUMB_ASSIGN_OR_RETURN(const std::string wide, c.IntsConstant(apart));
    PLUMB_ASSIGN_OR_RETURN(const std::string added, c.IntsConstant(pads));
    PLUMB_ASSIGN_OR_RETURN(const std::string joined, c.IntsConstant(dims));
    x = c.Emit("Reshape", {c.Emit("Pad", {c.Emit("Reshape", {x, wide}), added, between}), joined});
    dims[axis] -= by[axis] - 1;
    PLUMB_ASSIGN_OR_RETURN(const std::string from, c.IntsConstant({0}));
    PLUMB_ASSIGN_OR_RETURN(const std::string to, c.IntsConstant({dims[axis]}));
    PLUMB_ASSIGN_OR_RETURN(const std::string along, c.IntsConstant({static_cast<int64_t>(axis)}));
    x = c.Emit("Slice", {x, from, to, along});
  }
  return c.SetMoved(0, x, Order::kFile);
}

Status MapMatrixDiag(OpContext& c) {
  const Shape in = c.InShape(0), out = c.OutShape();
  if (in.rank() < 1 || out.rank() != in.rank() + 1 || out[in.rank()] != in[in.rank() - 1] ||
      out[in.rank() - 1] != in[in.rank() - 1])
    return Status::CorruptModel(fmt::format("it makes {} of {}", out.ToString(), in.ToString()));
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Moved(0, Order::kFile));
  const std::string zero = c.Emit("Sub", {x, x});  // of x's own type
  PLUMB_ASSIGN_OR_RETURN(const std::string axis, c.IntsConstant({-2}));
  return WithDiagonal(c, c.Emit("Unsqueeze", {zero, axis}), 0, true);
}

Status MapMatrixSetDiag(OpContext& c) {
  const Shape in = c.InShape(0), vectors = c.InShape(1);
  const int rank = in.rank();
  if (rank < 2 || vectors.rank() != rank - 1 || vectors[rank - 2] != std::min(in[rank - 2], in[rank - 1]))
    return Status::CorruptModel(fmt::format("it puts {} into {}", vectors.ToString(), in.ToString()));
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Moved(0, Order::kFile));
  return WithDiagonal(c, x, 1, vectors[rank - 2] == in[rank - 1]);
}

}  // namespace plumb::tflite
