// SPDX-License-Identifier: Apache-2.0
// Pooling (2-D): max or average over a window; kernel 0 0 is the whole input (global); adaptive windows by output size.
// Average divides by the number of valid pixels (padding never counted, as TNN does); counting the padding is
// PlumbAveragePool's business.
#ifndef PLUMB_OP_POOLING_H_
#define PLUMB_OP_POOLING_H_

#include "op/core/op.h"
#include "op/core/window.h"

namespace plumb {

enum PoolType { kPoolMax = 0, kPoolAverage = 1 };

struct PoolingParam : ParamBase<PoolingParam> {
  int pool_type = kPoolMax;
  int kernel_h = 0, kernel_w = 0;  // 0: the whole input
  int stride_h = 1, stride_w = 1;
  int pad_h = 0, pad_w = 0;
  int kernel_index_h = -1, kernel_index_w = -1;  // >= 0: the kernel size is that dim of the input
  int pad_type = kPadExplicit;
  bool ceil_mode = false;
  bool is_adaptive = false;
  int out_h = 0, out_w = 0;  // adaptive only
  void Visit(ParamVisitor& v) override;
};

// What TNN's Pooling cannot say: pads per side, and padding that counts in the divisor (ONNX's count_include_pad).
struct PlumbAveragePoolParam : ParamBase<PlumbAveragePoolParam> {
  int kernel_h = 0, kernel_w = 0;
  int stride_h = 1, stride_w = 1;
  int pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
  void Visit(ParamVisitor& v) override;
};

// Pads and sizes resolved. Adaptive: window axes carry only in and out; element o covers
// [floor(o*in/out), ceil((o+1)*in/out)).
struct PoolingShape {
  int64_t batch = 1, channels = 1;
  bool average = false;
  bool adaptive = false;
  bool count_include_pad = false;  // divide by the whole window instead of the valid pixels
  Window2D window;
};

// For Pooling and PlumbAveragePool layers.
Result<PoolingShape> ResolvePooling(const Layer& layer, const Shape& input);

}  // namespace plumb

#endif  // PLUMB_OP_POOLING_H_
