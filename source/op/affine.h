// SPDX-License-Identifier: Apache-2.0
// y = scale[c] * x + bias[c]: BatchNormCxx (both per channel, dim 1, or one for all; an absent bias is 0), Scale (over
// the dims [axis, axis + num_axes); TNN's kernels ignore axis and take dim 1) and BiasAdd (bias alone). A batch
// normalisation's mean, variance, gamma and beta are folded into scale and bias by whoever wrote the model.
#ifndef PLUMB_OP_AFFINE_H_
#define PLUMB_OP_AFFINE_H_

#include "op/core/op.h"

namespace plumb {

struct ScaleParam : ParamBase<ScaleParam> {
  int axis = 1;
  int num_axes = 1;  // -1: to the last dim
  bool bias_term = false;
  void Visit(ParamVisitor& v) override {
    v.Int("axis", axis, ParamVisitor::kRequired);
    v.Int("num_axes", num_axes, ParamVisitor::kRequired);
    v.Bool("bias_term", bias_term, ParamVisitor::kRequired);
  }
};

// Element i takes coefficient (i / inner) % count of scale and bias; either may also be a single value for all.
struct AffineShape {
  int64_t count = 1;
  int64_t inner = 1;
  const Tensor* scale = nullptr;  // null: 1
  const Tensor* bias = nullptr;   // null: 0
};

// A resource of BatchNormCxx that only the reference's bound reads and no file holds: per channel the larger of |scale
// mean| and |beta| of the batch normalisation that an importer folded.
constexpr const char* kAffineTerms = "terms";
// What a batch normalisation was folded from, for whoever asks what else it may have been computed as; no part of the
// layer: [5, channels] gamma, beta, mean, variance and epsilon.
constexpr const char* kBatchStatistics = "statistics";

// CorruptModel when the coefficients are missing or do not fit the input.
Result<AffineShape> ResolveAffine(const Layer& layer, const Shape& input);

}  // namespace plumb

#endif  // PLUMB_OP_AFFINE_H_
