// SPDX-License-Identifier: Apache-2.0
// com.microsoft's weights of 2, 4 and 8 bits in blocks: MatMulNBits, GatherBlockQuantized. They are constants: unpacked
// and dequantised while importing, (q - zero_point) * scale in f32, so that the product is one with a constant weight.
#include <fmt/core.h>

#include <algorithm>

#include "format/onnx/map/product_steps.h"
#include "op/reduce.h"

namespace plumb::onnx {

Status MapGather(NodeContext& c);

namespace {

// Entry i of a row of integers of `bits` bits in bytes, lowest bits first.
class PackedRows {
 public:
  PackedRows(const Tensor& bytes, int64_t bytes_in_row, int bits) : bytes_(bytes), row_(bytes_in_row), bits_(bits) {}
  int64_t At(int64_t row, int64_t i) const {
    const int64_t bit = i * bits_;
    const auto byte = static_cast<int64_t>(bytes_.ValueAt(row * row_ + bit / 8));
    return (byte >> (bit % 8)) & ((int64_t{1} << bits_) - 1);
  }

 private:
  const Tensor& bytes_;
  int64_t row_;
  int bits_;
};

Status CheckBits(int64_t bits) {
  if (bits == 2 || bits == 4 || bits == 8) return Status::Ok();
  return Status::NotSupported(fmt::format("weights of {} bits: 2, 4 and 8 are supported", bits));
}

struct NBits {
  int64_t n = 0, k = 0, block = 0, blocks = 0, bits = 4;
};

Result<NBits> SizesOf(NodeContext& c) {
  NBits s;
  s.n = c.Int("N", 0);
  s.k = c.Int("K", 0);
  s.bits = c.Int("bits", 4);
  s.block = c.Int("block_size", 0);
  PLUMB_RETURN_IF_ERROR(CheckBits(s.bits));
  if (s.n < 1 || s.k < 1 || s.block < 16 || (s.block & (s.block - 1)) != 0)
    return Status::CorruptModel(fmt::format("K is {}, N {}, block_size {}", s.k, s.n, s.block));
  s.blocks = (s.k + s.block - 1) / s.block;
  return s;
}

Status CheckCount(const Tensor& tensor, int64_t expected, const char* what) {
  if (tensor.NumElements() == expected) return Status::Ok();
  return Status::CorruptModel(fmt::format("{} are {}, expected {} values", what, tensor.shape().ToString(), expected));
}

// The zero point of each block [n, blocks]: packed like the weights, as floats, or half of the range.
Result<Tensor> ZeroPoints(NodeContext& c, const NBits& s) {
  PLUMB_ASSIGN_OR_RETURN(Tensor zeros, Tensor::Create(DType::kF32, Shape{s.n, s.blocks}));
  float* out = zeros.data<float>();
  if (!c.Has(3)) {
    std::fill_n(out, zeros.NumElements(), static_cast<float>(1 << (s.bits - 1)));
    return zeros;
  }
  PLUMB_ASSIGN_OR_RETURN(const Tensor given, c.Constant(3, "the zero points"));
  const bool packed = c.In(3).type == kTypeUint8;
  const int64_t row = packed ? (s.blocks * s.bits + 7) / 8 : s.blocks;
  PLUMB_RETURN_IF_ERROR(CheckCount(given, s.n * row, "the zero points"));
  const PackedRows rows(given, row, static_cast<int>(s.bits));
  for (int64_t i = 0; i < zeros.NumElements(); ++i) {
    out[i] = packed ? static_cast<float>(rows.At(i / s.blocks, i % s.blocks)) : static_cast<float>(given.ValueAt(i));
  }
  return zeros;
}

// The weight as the product reads it: [k, n].
Result<Tensor> Weight(NodeContext& c, const NBits& s) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor bytes, c.Constant(1, "the weights"));
  PLUMB_ASSIGN_OR_RETURN(const Tensor scales, c.Constant(2, "the scales"));
  const int64_t row = s.blocks * (s.block * s.bits / 8);
  PLUMB_RETURN_IF_ERROR(CheckCount(bytes, s.n * row, "the weights"));
  PLUMB_RETURN_IF_ERROR(CheckCount(scales, s.n * s.blocks, "the scales"));
  PLUMB_ASSIGN_OR_RETURN(const Tensor zeros, ZeroPoints(c, s));
  PLUMB_RETURN_IF_ERROR(c.builder().Reserve(DType::kF32, Shape{s.k, s.n}));
  PLUMB_ASSIGN_OR_RETURN(Tensor weight, Tensor::Create(DType::kF32, Shape{s.k, s.n}));
  const PackedRows rows(bytes, row, static_cast<int>(s.bits));
  for (int64_t n = 0; n < s.n; ++n) {
    for (int64_t k = 0; k < s.k; ++k) {
      const int64_t block = n * s.blocks + k / s.block;
      weight.data<float>()[k * s.n + n] =
          (static_cast<float>(rows.At(n, k)) - zeros.data<float>()[block]) * static_cast<float>(scales.ValueAt(block));
    }
  }
  return weight;
}

// accuracy_level 4: every block of a row is rounded to 8 bits, between -127 and 127 times a scale of its own. ONNX
// Runtime's CPU kernels do so, those for weights of 2 bits in blocks of 32, 64 and 128 only (measured on 1.31.1).
bool RoundsItsInput(NodeContext& c, const NBits& s) {
  const bool has_kernel = s.bits > 2 || s.block == 32 || s.block == 64 || s.block == 128;
  return c.Int("accuracy_level", 0) == 4 && has_kernel;
}

Result<Value> RoundedBlocks(NodeContext& c, const Value& a, const NBits& s) {
  const Shape shape = c.ShapeOf(a);
  const int rank = shape.rank();
  const DType dtype = c.builder().Info(a).dtype;
  std::vector<int64_t> dims = shape.dims();
  Value padded = a;
  if (s.blocks * s.block != s.k) {
    dims.back() = s.blocks * s.block - s.k;
    PLUMB_ASSIGN_OR_RETURN(const Tensor zeros, Tensor::Zeros(dtype, Shape(dims)));
    PLUMB_ASSIGN_OR_RETURN(padded, c.Join({a, c.Const(zeros)}, rank - 1));
  }
  dims.back() = s.blocks;
  dims.push_back(s.block);
  PLUMB_ASSIGN_OR_RETURN(const Value blocks, c.Reshape(padded, dims));
  auto largest = std::make_shared<ReduceParam>();
  largest->keep_dims = true;
  largest->axes = {rank};
  PLUMB_ASSIGN_OR_RETURN(const Value size, c.Emit(OpKind::kAbs, nullptr, {blocks}));
  PLUMB_ASSIGN_OR_RETURN(const Value most, c.Emit(OpKind::kReduceMax, largest, {size}));
  PLUMB_ASSIGN_OR_RETURN(const Value some, c.Emit(OpKind::kMaximum, nullptr, {most, c.ConstFloat(1e-30f, dtype)}));
  PLUMB_ASSIGN_OR_RETURN(const Value scale, c.Binary(OpKind::kDiv, some, c.ConstFloat(127, dtype)));
  PLUMB_ASSIGN_OR_RETURN(const Value steps, c.Binary(OpKind::kDiv, blocks, scale));
  PLUMB_ASSIGN_OR_RETURN(const Value whole, c.Emit(OpKind::kPlumbRound, nullptr, {steps}));
  PLUMB_ASSIGN_OR_RETURN(const Value rounded, c.Binary(OpKind::kMul, whole, scale));
  dims.pop_back();
  dims.back() = s.blocks * s.block;
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Reshape(rounded, dims));
  return s.blocks * s.block == s.k ? Result<Value>(y) : c.Cut(y, rank - 1, 0, s.k);
}

}  // namespace

Status MapMicrosoftMatMulNBits(NodeContext& c) {
  if (c.Has(4)) return Status::NotSupported("g_idx (input 4), which ONNX Runtime has deprecated; export without it");
  PLUMB_ASSIGN_OR_RETURN(const NBits s, SizesOf(c));
  const Shape& shape = c.ShapeOf(0);
  if (shape.rank() < 1 || shape[shape.rank() - 1] != s.k)
    return Status::CorruptModel(fmt::format("the input is {} for K {}", shape.ToString(), s.k));
  Value a = c.In(0);
  if (RoundsItsInput(c, s)) {
    c.Warn("AL14", "has accuracy_level 4: its input is rounded to 8 bits per block, as ONNX Runtime does on CPUs");
    PLUMB_ASSIGN_OR_RETURN(a, RoundedBlocks(c, a, s));
  }
  PLUMB_ASSIGN_OR_RETURN(const Tensor weight, Weight(c, s));
  PLUMB_ASSIGN_OR_RETURN(Value y, Product(c, a, c.Const(weight)));
  if (c.Has(5)) {
    PLUMB_ASSIGN_OR_RETURN(y, c.Binary(OpKind::kAdd, y, c.In(5)));
  }
  c.Set(0, y);
  return Status::Ok();
}

namespace {

// Where the scale of each element of a table lies, and how narrow integers are packed along the last axis.
struct BlockedTable {
  Shape shape;
  int64_t bits = 8, block = 128, blocks = 0, inner = 1, size = 0, row = 0, scale_row = 0, zero_row = 0;
  bool packed = false;  // uint8 holds several narrow integers

  int64_t NumScales() const { return shape.NumElements() / std::max<int64_t>(size, 1) * blocks; }
  int64_t ScaleOf(int64_t i) const {
    return (i / inner / size * blocks + i / inner % size / block) * inner + i % inner;
  }
};

Result<BlockedTable> TableSizes(NodeContext& c, const Tensor& data) {
  BlockedTable t;
  t.packed = c.In(0).type == kTypeUint8;
  t.bits = t.packed ? c.Int("bits", 4) : 8;
  t.block = c.Int("block_size", 128);
  PLUMB_RETURN_IF_ERROR(CheckBits(t.bits));
  std::vector<int64_t> dims = data.shape().dims();
  if (dims.empty() || t.block < 16)
    return Status::CorruptModel(fmt::format("the table is {}, block_size {}", data.shape().ToString(), t.block));
  t.row = dims.back();
  dims.back() = t.row * 8 / t.bits;
  t.shape = Shape(dims);
  const int rank = t.shape.rank();
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(static_cast<int>(c.Int("quantize_axis", 1)), rank));
  PLUMB_ASSIGN_OR_RETURN(const int from, NormalizeAxis(static_cast<int>(c.Int("gather_axis", 0)), rank));
  if (from != 0) return Status::NotSupported(fmt::format("gather_axis is {}, only 0 is supported", from));
  t.inner = t.shape.CountFrom(axis + 1);
  t.size = t.shape[axis];
  t.blocks = (t.size + t.block - 1) / t.block;
  if (t.shape.NumElements() == 0) return Status::CorruptModel("the table is empty");
  t.scale_row = axis + 1 == rank ? t.blocks : dims.back();
  t.zero_row = t.packed ? (t.scale_row * t.bits + 7) / 8 : t.scale_row;
  return t;
}

}  // namespace

// The table is dequantised, rows of it are taken.
Status MapMicrosoftGatherBlockQuantized(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor data, c.Constant(0, "the table"));
  PLUMB_ASSIGN_OR_RETURN(const Tensor scales, c.Constant(2, "the scales"));
  PLUMB_ASSIGN_OR_RETURN(const BlockedTable t, TableSizes(c, data));
  PLUMB_RETURN_IF_ERROR(CheckCount(scales, t.NumScales(), "the scales"));
  Tensor zeros;
  if (c.Has(3)) {
    PLUMB_ASSIGN_OR_RETURN(zeros, c.Constant(3, "the zero points"));
    PLUMB_RETURN_IF_ERROR(CheckCount(zeros, t.NumScales() / t.scale_row * t.zero_row, "the zero points"));
  }
  PLUMB_RETURN_IF_ERROR(c.builder().Reserve(DType::kF32, t.shape));
  PLUMB_ASSIGN_OR_RETURN(Tensor table, Tensor::Create(DType::kF32, t.shape));
  const PackedRows rows(data, t.row, static_cast<int>(t.bits)), zero_rows(zeros, t.zero_row, static_cast<int>(t.bits));
  const int64_t columns = t.shape[t.shape.rank() - 1];
  for (int64_t i = 0; i < table.NumElements(); ++i) {
    const int64_t at = t.ScaleOf(i);
    auto q = static_cast<double>(t.packed ? rows.At(i / columns, i % columns) : 0);
    double zero = t.packed ? static_cast<double>(int64_t{1} << (t.bits - 1)) : 0;
    if (!t.packed) q = data.ValueAt(i);
    if (c.Has(3) && t.packed) zero = static_cast<double>(zero_rows.At(at / t.scale_row, at % t.scale_row));
    if (c.Has(3) && !t.packed) zero = zeros.ValueAt(at);
    table.data<float>()[i] = static_cast<float>(q - zero) * static_cast<float>(scales.ValueAt(at));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Through(MapGather, {c.Const(table), c.In(1)}));
  c.Set(0, y, c.In(2).type);
  return Status::Ok();
}

}  // namespace plumb::onnx
