// SPDX-License-Identifier: Apache-2.0
// PlumbQuantizeLinear: q = saturate(round_half_even(x / scale) + zero_point) to the range of `dtype` (i2, u2, i4, u4,
// i8, u8, i16, u16, i32); inputs x, scale[, zero_point]. The quotient is rounded to f32 first, as every framework has
// it, so that q is one defined number. PlumbDequantizeLinear: x = (q - zero_point) * scale; inputs q, scale[,
// zero_point]. Narrow integers are carried as i64 (design decision 6): q is i64, a zero point may have any integer
// dtype. scale and zero_point: one number; one per entry of `axis`; or, with a block_size, shaped like x except along
// `axis`, where each stands for that many elements.
#ifndef PLUMB_OP_QUANTIZE_LINEAR_H_
#define PLUMB_OP_QUANTIZE_LINEAR_H_

#include "op/core/op.h"

namespace plumb {

struct QuantizeLinearParam : ParamBase<QuantizeLinearParam> {
  int axis = 1;
  int block_size = 0;
  std::string dtype = "u8";
  void Visit(ParamVisitor& v) override {
    v.Int("axis", axis);
    v.Int("block_size", block_size);
    v.Text("dtype", dtype);
  }
};

struct DequantizeLinearParam : ParamBase<DequantizeLinearParam> {
  int axis = 1;
  int block_size = 0;
  void Visit(ParamVisitor& v) override {
    v.Int("axis", axis);
    v.Int("block_size", block_size);
  }
};

// Which scale belongs to an element: (element / inner) walks [outer][size]; scales are [outer or 1][scales].
struct QuantShape {
  int64_t low = 0, high = 0;  // of the dtype
  int64_t inner = 1, size = 1, scales = 1, block = 1;
  bool blocked = false;

  int64_t ScaleOf(int64_t element) const {
    if (scales == 1 && !blocked) return 0;
    const int64_t at = element / inner % size;
    if (!blocked) return at;
    return (element / inner / size * scales + at / block) * inner + element % inner;
  }
  // How many elements, counted from this one, certainly share its scale.
  int64_t RunFrom(int64_t element) const {
    if (scales == 1 && !blocked) return INT64_MAX;
    return blocked ? 1 : inner - element % inner;
  }
};

Result<QuantShape> ResolveQuant(const Layer& layer, const std::vector<BlobInfo>& inputs);

}  // namespace plumb

#endif  // PLUMB_OP_QUANTIZE_LINEAR_H_
