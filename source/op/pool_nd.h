// SPDX-License-Identifier: Apache-2.0
// Pooling that TNN's 2-D Pooling cannot say, over any number of spatial dims, with dilation and any pads:
//   PlumbMaxPool: the largest element (NaN wins) and, as i64, where it is in the flattened input (storage_order 1: the
//     spatial dims of the index run column by column). f32, f64, i32, i64.
//   PlumbPoolND: mode "average" (count_include_pad: pads count in the divisor, as far as the padded input reaches) or
//   "lp",
//     (sum of |x|^p)^(1/p).
//   PlumbMaxUnpool: zeros with x at the places that a max pool's indices name; inputs x, indices and possibly the
//   output
//     shape (known before the network runs): what lies beyond the pool's own shape stays 0.
// pads: all begins, then all ends. ceil_mode rounds the number of windows up, but none starts behind the input.
#ifndef PLUMB_OP_POOL_ND_H_
#define PLUMB_OP_POOL_ND_H_

#include "op/core/op.h"

namespace plumb {

struct WindowParam {
  std::vector<int> kernel, strides, pads, dilations;  // empty: 1, 0 and 1 everywhere
  bool ceil_mode = false;
  void Visit(ParamVisitor& v) {
    v.Counted("kernel", kernel, ParamVisitor::kRequired);
    v.Counted("strides", strides);
    v.Counted("pads", pads);
    v.Counted("dilations", dilations);
    v.Bool("ceil_mode", ceil_mode);
  }
};

struct MaxPoolParam : ParamBase<MaxPoolParam> {
  WindowParam window;
  bool column_major = false;  // storage_order
  void Visit(ParamVisitor& v) override {
    window.Visit(v);
    v.Bool("column_major", column_major);
  }
};

struct PoolNDParam : ParamBase<PoolNDParam> {
  WindowParam window;
  std::string mode = "average";
  bool count_include_pad = false;
  int p = 2;
  void Visit(ParamVisitor& v) override {
    window.Visit(v);
    v.Text("mode", mode);
    v.Bool("count_include_pad", count_include_pad);
    v.Int("p", p);
  }
};

struct MaxUnpoolParam : ParamBase<MaxUnpoolParam> {
  WindowParam window;
  void Visit(ParamVisitor& v) override { window.Visit(v); }
};

struct PoolAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, pad_begin = 0, pad_end = 0, dilation = 1;
};

struct PoolShape {
  std::vector<PoolAxis> axes;
  Shape in, out;
};

Result<PoolShape> ResolvePool(const WindowParam& p, const Shape& in);

struct UnpoolShape {
  Shape inferred;  // what the indices count in
  Shape out;
};
Result<UnpoolShape> ResolveUnpool(const Layer& layer, const std::vector<BlobInfo>& inputs);

}  // namespace plumb

#endif  // PLUMB_OP_POOL_ND_H_
