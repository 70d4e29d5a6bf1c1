// SPDX-License-Identifier: Apache-2.0
// Normalisations: y = gamma * (x - mean) / sqrt(variance + eps) + beta, the variance divided by the count (not count -
// 1).
//   InstBatchNormCxx  over the spatial dims of each channel; gamma and beta are its resources "scale" and "bias"
//   GroupNorm         over each of `group` equal parts of the channels with their spatial dims; gamma and beta per
//   channel LayerNorm         over the last reduce_dims_size dims; gamma and beta per element of those dims
// GroupNorm's and LayerNorm's gamma and beta are input blobs 1 and 2; an absent one counts as ones or zeros.
#ifndef PLUMB_OP_NORM_H_
#define PLUMB_OP_NORM_H_

#include "op/core/op.h"

namespace plumb {

struct InstBatchNormParam : ParamBase<InstBatchNormParam> {
  int channels = 0;  // 0: the input's
  float eps = 1e-5f;
  void Visit(ParamVisitor& v) override {
    v.Int("channels", channels);
    v.Float("eps", eps);
  }
};

struct GroupNormParam : ParamBase<GroupNormParam> {
  int group = 0;
  float eps = 1e-5f;
  void Visit(ParamVisitor& v) override {
    v.Int("group", group);
    v.Float("eps", eps);
  }
};

struct LayerNormParam : ParamBase<LayerNormParam> {
  int reduce_dims_size = 0;
  float eps = 1e-5f;
  void Visit(ParamVisitor& v) override {
    v.Int("reduce_dims_size", reduce_dims_size);
    v.Float("eps", eps);
  }
};

// The rows that are normalised lie one after the other. Element i of row r takes gamma and beta number
// (r % groups) * per_row + i / inner.
struct NormShape {
  int64_t rows = 1, n = 1;
  int64_t groups = 1;   // rows of one image
  int64_t per_row = 1;  // gammas of one row
  int64_t inner = 1;    // elements that share a gamma
  double eps = 0;

  int64_t gammas() const { return groups * per_row; }
};

Result<NormShape> ResolveNorm(const Layer& layer, const Shape& input);

}  // namespace plumb

#endif  // PLUMB_OP_NORM_H_
