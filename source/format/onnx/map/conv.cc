// SPDX-License-Identifier: Apache-2.0
// Conv. Pads that differ on the two sides become a Pad in front, but for SAME_UPPER, which TNN has. Weights that are a
// blob (of a style, say), and convolutions of more dims than two, are multiplied with the windows.
#include <fmt/core.h>

#include "format/onnx/map/convolve_by_product.h"
#include "format/onnx/map/window_attributes.h"
#include "format/onnx/node_context.h"
#include "op/convolution.h"

namespace plumb::onnx {
namespace {

struct Weights {
  Tensor filter;
  std::map<std::string, Tensor> resources;
};

Result<Weights> TakeWeights(NodeContext& c) {
  Weights w;
  PLUMB_ASSIGN_OR_RETURN(const Tensor filter, c.Constant(1, "the weights"));
  PLUMB_ASSIGN_OR_RETURN(w.filter, filter.ConvertedTo(DType::kF32));
  w.resources["weight"] = w.filter;
  if (c.Has(2)) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor bias, c.Constant(2, "the bias"));
    PLUMB_ASSIGN_OR_RETURN(w.resources["bias"], bias.ConvertedTo(DType::kF32));
  }
  return w;
}

std::shared_ptr<OpParam> Param1D(const WindowAttributes& w, int group, const Shape& filter, bool bias) {
  auto p = std::make_shared<Convolution1DParam>();
  p->group = group;
  p->in_channels_per_group = static_cast<int>(filter[1]);
  p->out_channels = static_cast<int>(filter[0]);
  p->kernel = w.kernel[0];
  p->stride = w.stride[0];
  p->dilation = w.dilation[0];
  p->pad_begin = w.begin[0];
  p->pad_end = w.end[0];
  p->pad_type = kPadExplicit;
  p->bias = bias;
  return p;
}

std::shared_ptr<OpParam> Param2D(const WindowAttributes& w, int group, const Shape& filter, bool bias) {
  auto p = std::make_shared<ConvolutionParam>();
  p->group = group;
  p->in_channels_per_group = static_cast<int>(filter[1]);
  p->out_channels = static_cast<int>(filter[0]);
  p->kernel_h = w.kernel[0];
  p->kernel_w = w.kernel[1];
  p->stride_h = w.stride[0];
  p->stride_w = w.stride[1];
  p->dilation_h = w.dilation[0];
  p->dilation_w = w.dilation[1];
  p->pad_h = w.begin[0];
  p->pad_w = w.begin[1];
  p->pad_type = w.symmetric() ? kPadExplicit : kPadSame;
  p->bias = bias;
  return p;
}

Status ByProduct(NodeContext& c) {
  const auto product = [&c](const Value& filters, const Value& windows) {
    return c.Emit(OpKind::kMatMul, nullptr, {filters, windows});
  };
  PLUMB_ASSIGN_OR_RETURN(Value y, ConvolveByProduct(c, c.In(0), c.In(1), product));
  if (c.Has(2)) {
    std::vector<int64_t> dims(static_cast<size_t>(c.Rank(0)) - 1, 1);
    dims[0] = c.ShapeOf(2).NumElements();
    PLUMB_ASSIGN_OR_RETURN(const Value bias, c.Reshape(c.In(2), dims));
    PLUMB_ASSIGN_OR_RETURN(y, c.Binary(OpKind::kAdd, y, bias));
  }
  c.Set(0, y);
  return Status::Ok();
}

}  // namespace

Status MapConv(NodeContext& c) {
  const Shape& x = c.ShapeOf(0);
  const bool known = c.Known(1) != nullptr && (!c.Has(2) || c.Known(2) != nullptr);
  if (!known || (x.rank() != 3 && x.rank() != 4)) return ByProduct(c);
  PLUMB_ASSIGN_OR_RETURN(const Weights weights, TakeWeights(c));
  const Shape& filter = weights.filter.shape();
  if (filter.rank() != x.rank())
    return Status::CorruptModel(fmt::format("the weights are {} for the input {}", filter.ToString(), x.ToString()));
  const std::vector<int64_t> spatial(x.dims().begin() + 2, x.dims().end());
  PLUMB_ASSIGN_OR_RETURN(WindowAttributes w, ReadWindow(c, spatial, {filter.dims().begin() + 2, filter.dims().end()}));
  const int64_t group = c.Int("group", 1);
  if (group < 1 || filter[0] % group != 0 || x[1] != filter[1] * group) {
    return Status::CorruptModel(
        fmt::format("the weights {} with {} groups do not fit the input {}", filter.ToString(), group, x.ToString()));
  }
  WarnOfSides(c, w);
  Value in = c.In(0);
  const bool same_upper = x.rank() == 4 && w.auto_pad == "SAME_UPPER";
  bool negative = false;
  for (size_t i = 0; i < w.begin.size(); ++i) negative = negative || w.begin[i] < 0 || w.end[i] < 0;
  if ((!w.symmetric() && !same_upper) || negative) {
    PLUMB_ASSIGN_OR_RETURN(in, PadSpatial(c, in, w, 0));
    w.begin.assign(w.begin.size(), 0);
    w.end.assign(w.end.size(), 0);
  }
  const bool bias = weights.resources.count("bias") > 0;
  if (x.rank() == 3)
    return c.EmitOutput(OpKind::kConvolution1D, Param1D(w, static_cast<int>(group), filter, bias), {in},
                        weights.resources);
  return c.EmitOutput(OpKind::kConvolution, Param2D(w, static_cast<int>(group), filter, bias), {in}, weights.resources);
}

}  // namespace plumb::onnx
