// SPDX-License-Identifier: Apache-2.0
// Deconvolution (transposed convolution): y[n,o,i*stride - pad + k*dilation] += w[c,o,k] * x[n,c,i], then the bias and
// the fused activation. Parameters as Convolution; weights [group][in/group][out/group][kh][kw]. pad_type: -1 explicit
// pads, out = (in - 1)*stride + extent - both pads; 0 SAME, out = in*stride, the odd pixel at the end; 1 VALID, no
// pads; 2 FULL, pads of extent - 1; 3 as SAME with the two sides exchanged. SAME with a stride above the extent leaves
// outputs at the end that are the bias alone.
#ifndef PLUMB_OP_DECONVOLUTION_H_
#define PLUMB_OP_DECONVOLUTION_H_

#include "op/convolution.h"

namespace plumb {

enum DeconvolutionPadType { kPadFull = 2, kPadSameSwapped = 3 };

// The layer's parameters are a ConvolutionParam. In the result, window.h.in and .w.in are the input's size, .out the
// output's, and the pads are cut off the output.
Result<ConvolutionShape> ResolveDeconvolution(const Layer& layer, const Shape& input);

}  // namespace plumb

#endif  // PLUMB_OP_DECONVOLUTION_H_
