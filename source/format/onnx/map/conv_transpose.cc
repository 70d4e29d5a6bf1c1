// SPDX-License-Identifier: Apache-2.0
// ConvTranspose -> Deconvolution. The full result is computed where the pads differ on the two sides or output_padding
// adds pixels (then a Pad adds the bias's pixels: the bias is added behind it); a PadV2 cuts with negative pads. 1-D is
// 2-D of height 1.
#include <fmt/core.h>

#include <algorithm>

#include "format/onnx/map/window_attributes.h"
#include "format/onnx/node_context.h"
#include "op/convolution.h"
#include "op/pad.h"

namespace plumb::onnx {
namespace {

// Pads and output_padding as cuts at both ends of the full result; a negative cut adds pixels.
Status FindCuts(const NodeContext& c, const std::vector<int64_t>& spatial, WindowAttributes* w) {
  std::vector<int64_t> extra = c.IntList("output_padding");
  const std::vector<int64_t> wanted = c.IntList("output_shape");
  const size_t rank = spatial.size();
  extra.resize(rank, 0);
  const bool same = w->auto_pad == "SAME_UPPER" || w->auto_pad == "SAME_LOWER";
  if (!wanted.empty() && wanted.size() != rank && wanted.size() != rank + 2)
    return Status::CorruptModel(fmt::format("output_shape has {} entries", wanted.size()));
  for (size_t i = 0; i < rank; ++i) {
    const int64_t full = (spatial[i] - 1) * w->stride[i] + int64_t{w->dilation[i]} * (w->kernel[i] - 1) + 1 + extra[i];
    if (wanted.empty() && !same) {
      w->end[i] -= static_cast<int>(extra[i]);
      continue;
    }
    const int64_t out = wanted.empty() ? spatial[i] * w->stride[i] : wanted[wanted.size() - rank + i];
    const int64_t total = full - out;
    // A result that is larger than everything the input reaches grows at the end.
    const int64_t begin = total < 0 ? 0 : w->auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    w->begin[i] = static_cast<int>(begin);
    w->end[i] = static_cast<int>(total - begin - extra[i]);
  }
  return Status::Ok();
}

std::shared_ptr<ConvolutionParam> Param(const WindowAttributes& w, int group, const Shape& filter) {
  auto p = std::make_shared<ConvolutionParam>();
  p->group = group;
  p->in_channels_per_group = static_cast<int>(filter[0] / group);
  p->out_channels = static_cast<int>(filter[1] * group);
  p->kernel_h = w.kernel[0];
  p->kernel_w = w.kernel[1];
  p->stride_h = w.stride[0];
  p->stride_w = w.stride[1];
  p->dilation_h = w.dilation[0];
  p->dilation_w = w.dilation[1];
  p->pad_type = kPadExplicit;
  return p;
}

}  // namespace

Status MapConvTranspose(NodeContext& c) {
  const Shape& x = c.ShapeOf(0);
  if (x.rank() != 3 && x.rank() != 4)
    return Status::NotSupported(fmt::format("an input of rank {}; rank 3 and 4 are supported", x.rank()));
  PLUMB_ASSIGN_OR_RETURN(const Tensor given, c.Constant(1, "the weights"));
  PLUMB_ASSIGN_OR_RETURN(Tensor filter, given.ConvertedTo(DType::kF32));
  if (filter.shape().rank() != x.rank())
    return Status::CorruptModel(
        fmt::format("the weights are {} for the input {}", filter.shape().ToString(), x.ToString()));
  const std::vector<int64_t> spatial(x.dims().begin() + 2, x.dims().end());
  PLUMB_ASSIGN_OR_RETURN(WindowAttributes w,
                         ReadWindow(c, spatial, {filter.shape().dims().begin() + 2, filter.shape().dims().end()}));
  PLUMB_RETURN_IF_ERROR(FindCuts(c, spatial, &w));
  const auto group = static_cast<int>(c.Int("group", 1));
  if (group < 1 || x[1] != filter.shape()[0] || x[1] % group != 0)
    return Status::CorruptModel(
        fmt::format("the weights {} do not fit the input {}", filter.shape().ToString(), x.ToString()));
  Value in = c.In(0);
  if (x.rank() == 3) {
    PLUMB_ASSIGN_OR_RETURN(in, AddHeight(c, in, &w));
    std::vector<int64_t> dims = filter.shape().dims();
    dims.insert(dims.begin() + 2, 1);
    PLUMB_ASSIGN_OR_RETURN(filter, filter.Reshaped(Shape(dims)));
  }
  auto param = Param(w, group, filter.shape());
  std::map<std::string, Tensor> resources = {{"weight", filter}};
  Tensor bias;
  if (c.Has(2)) {
    PLUMB_ASSIGN_OR_RETURN(bias, c.Constant(2, "the bias"));
    PLUMB_ASSIGN_OR_RETURN(bias, bias.ConvertedTo(DType::kF32));
  }
  const bool adds = std::any_of(w.end.begin(), w.end.end(), [](int end) { return end < 0; }) ||
                    std::any_of(w.begin.begin(), w.begin.end(), [](int begin) { return begin < 0; });
  if (w.symmetric() && !adds) {
    param->pad_h = w.begin[0];
    param->pad_w = w.begin[1];
  }
  param->bias = !bias.empty() && !adds;
  if (param->bias) resources["bias"] = bias;
  PLUMB_ASSIGN_OR_RETURN(Value y, c.Emit(OpKind::kDeconvolution, param, {in}, resources));
  if (!w.symmetric() || adds) {
    auto cut = std::make_shared<PadV2Param>();
    cut->begins = {0, 0, -w.begin[0], -w.begin[1]};
    cut->ends = {0, 0, -w.end[0], -w.end[1]};
    PLUMB_ASSIGN_OR_RETURN(y, c.Emit(OpKind::kPadV2, cut, {y}));
  }
  if (!bias.empty() && adds) {
    PLUMB_ASSIGN_OR_RETURN(y, c.Emit(OpKind::kBiasAdd, nullptr, {y}, {{"bias", bias}}));
  }
  if (x.rank() == 3) {
    PLUMB_ASSIGN_OR_RETURN(y, DropHeight(c, y));
  }
  c.Set(0, y);
  return Status::Ok();
}

}  // namespace plumb::onnx
