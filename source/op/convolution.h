// SPDX-License-Identifier: Apache-2.0
// Convolution (2-D) and Convolution1D: y[n,o,p] = bias[o] + sum over c,k of w[o,c,k] * x[n, group's c, p*stride - pad +
// k*dilation], then the fused activation. Weights [out][in/group][kh][kw]. TNN's naive kernel uses dilation_h on both
// axes; here each axis has its own.
#ifndef PLUMB_OP_CONVOLUTION_H_
#define PLUMB_OP_CONVOLUTION_H_

#include "op/core/op.h"
#include "op/core/window.h"

namespace plumb {

enum Activation { kActivationNone = 0, kActivationReLU = 1, kActivationReLU6 = 2, kActivationSwish = 256 };

struct ConvolutionParam : ParamBase<ConvolutionParam> {
  int group = 1;
  int in_channels_per_group = 0;  // what the file says; the input's channels decide
  int out_channels = 0;
  int kernel_h = 0, kernel_w = 0;
  int stride_h = 1, stride_w = 1;
  int pad_h = 0, pad_w = 0;  // each on both sides
  bool bias = false;
  int pad_type = kPadExplicit;
  int dilation_h = 1, dilation_w = 1;
  int activation = kActivationNone;
  void Visit(ParamVisitor& v) override;
};

struct Convolution1DParam : ParamBase<Convolution1DParam> {
  int group = 1;
  int in_channels_per_group = 0;
  int out_channels = 0;
  int kernel = 0;
  int stride = 1;
  int pad_end = 0, pad_begin = 0;  // the file has the end first
  bool bias = false;
  int pad_type = kPadExplicit;
  int dilation = 1;
  int activation = kActivationNone;
  void Visit(ParamVisitor& v) override;
};

// What every kernel needs to know of a convolution layer, 1-D (h is one pixel) or 2-D, pads resolved.
struct ConvolutionShape {
  int64_t batch = 1;
  int64_t group = 1;
  int64_t in_channels = 1;   // of all groups
  int64_t out_channels = 1;  // of all groups
  Window2D window;
  bool bias = false;
  int activation = kActivationNone;
  int64_t kernel_size() const { return window.h.kernel * window.w.kernel; }
  int64_t in_per_group() const { return in_channels / group; }
  int64_t out_per_group() const { return out_channels / group; }
};

// For Convolution and Convolution1D layers.
Result<ConvolutionShape> ResolveConvolution(const Layer& layer, const Shape& input);

// InvalidArgument when channels do not divide into the groups or the activation is unknown.
Status CheckConvolutionChannels(const ConvolutionShape& shape);

}  // namespace plumb

#endif  // PLUMB_OP_CONVOLUTION_H_
