// SPDX-License-Identifier: Apache-2.0
// Window: a sliding window over the spatial dims of a blob, as convolution, deconvolution and pooling use it.
// TNN's pad_type: -1 explicit pads, 0 SAME (out = ceil(in / stride), the odd pixel at the end), 1 VALID (no pads).
#ifndef PLUMB_OP_CORE_WINDOW_H_
#define PLUMB_OP_CORE_WINDOW_H_

#include <cstdint>

#include "plumb/status.h"

namespace plumb {

class ParamVisitor;

enum PadType { kPadExplicit = -1, kPadSame = 0, kPadValid = 1 };

// The field pad_type, explicit in code that does not say: a file that ends before it means SAME.
void VisitPadType(ParamVisitor& v, int& pad_type);

// One spatial axis. `extent` = dilation * (kernel - 1) + 1.
struct WindowAxis {
  int64_t in = 1;
  int64_t out = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;
  int64_t extent() const { return dilation * (kernel - 1) + 1; }
};

// Fills out and the pads from in, kernel, stride, dilation, the explicit pads and the pad type; `ceil_mode` rounds the
// output size up (a last window may then start beyond the input's end only inside the begin pad: ONNX's and PyTorch's
// rule is NOT applied, TNN keeps such windows). InvalidArgument when a size is not positive or the window exceeds the
// input.
Status ResolveWindow(int pad_type, bool ceil_mode, WindowAxis* axis);

// The height (first) and width axis of a 2-D window; 1-D uses width only with height = {}.
struct Window2D {
  WindowAxis h;
  WindowAxis w;
};

}  // namespace plumb

#endif  // PLUMB_OP_CORE_WINDOW_H_
