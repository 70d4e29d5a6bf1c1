// SPDX-License-Identifier: Apache-2.0
#include "device/shared/folded_weights.h"

namespace plumb {
namespace {

Status FoldBias(const ChannelAffine& affine, int64_t channels, Tensor* bias) {
  PLUMB_ASSIGN_OR_RETURN(Tensor folded, Tensor::Zeros(DType::kF32, {channels}));
  for (int64_t c = 0; c < channels; ++c) {
    const double old = bias->empty() ? 0.0 : static_cast<double>(bias->data<float>()[c]);
    const size_t at = static_cast<size_t>(c);
    folded.data<float>()[c] = static_cast<float>(old * affine.scale[at] + affine.shift[at]);
  }
  *bias = folded;
  return Status::Ok();
}

void ScaleWeights(const ChannelAffine& affine, const ConvolutionShape& shape, const WeightStrides& s, float* weight) {
  for (int64_t c = 0; c < shape.out_channels; ++c) {
    const int64_t group = c / shape.out_per_group(), out = c % shape.out_per_group();
    const double scale = affine.scale[static_cast<size_t>(c)];
    for (int64_t in = 0; in < shape.in_per_group(); ++in) {
      float* kernel = weight + group * s.group + out * s.out + in * s.in;
      for (int64_t k = 0; k < shape.kernel_size(); ++k) kernel[k] = static_cast<float>(kernel[k] * scale);
    }
  }
}

}  // namespace

Result<Folded> Fold(const Layer& layer, const ConvolutionShape& shape, const WeightStrides& strides,
                    const ChannelAffine& affine) {
  Folded folded;
  PLUMB_ASSIGN_OR_RETURN(folded.weight, F32Resource(layer, "weight"));
  if (shape.bias) {
    PLUMB_ASSIGN_OR_RETURN(folded.bias, F32Resource(layer, "bias"));
  }
  if (affine.empty()) return folded;
  PLUMB_ASSIGN_OR_RETURN(folded.weight, folded.weight.Clone());
  ScaleWeights(affine, shape, strides, folded.weight.data<float>());
  PLUMB_RETURN_IF_ERROR(FoldBias(affine, shape.out_channels, &folded.bias));
  return folded;
}

}  // namespace plumb
