// SPDX-License-Identifier: Apache-2.0
// CONV_2D, DEPTHWISE_CONV_2D, CONV_3D, TRANSPOSE_CONV. SAME puts the odd pixel at the end, as ONNX's SAME_UPPER does.
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "format/tflite/map/window.h"
#include "format/tflite/op_context.h"

namespace plumb::tflite {
namespace {

// Units of the sums of products: the input's scale times each of the weights'.
std::vector<float> ProductScales(const OpContext& c, size_t input, size_t weights) {
  const Grid x = GridOf(c.Input(input)), w = GridOf(c.Input(weights));
  std::vector<float> scales;
  for (const float scale : w.scale) scales.push_back(x.none() ? scale : scale * x.scale[0]);
  return scales;
}

Result<std::string> BiasValue(OpContext& c, size_t bias, size_t input, size_t weights) {
  const schema::TensorType type = c.Input(bias).type();
  const bool whole = type == schema::TensorType::INT32 || type == schema::TensorType::INT64;
  if (!whole) return c.Real(bias, Order::kFile);
  const Grid own = GridOf(c.Input(bias));
  const std::vector<float> scales = own.none() ? ProductScales(c, input, weights) : own.scale;
  if (scales.empty()) return c.Real(bias, Order::kFile);
  return c.writer().Dequantized(c.InputIndex(bias), scales);
}

template <class T>
onnx::AttributeMap Window(const T& options) {
  return {{"strides", IntsAttribute({options.stride_h(), options.stride_w()})},
          {"dilations", IntsAttribute({options.dilation_hfactor(), options.dilation_wfactor()})}};
}

Status CheckFilter(const OpContext& c, size_t i) {
  if (c.Rank(i) == 4) return Status::Ok();
  return Status::CorruptModel(fmt::format("its weights are {}, expected 4 dims", c.InShape(i).ToString()));
}

Status Convolve(OpContext& c, onnx::AttributeMap attributes, const std::vector<int>& turned, int64_t groups,
                schema::Activation activation) {
  attributes["group"] = IntAttribute(groups);
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, Order::kFirst));
  PLUMB_ASSIGN_OR_RETURN(const std::string w, c.RealTurned(1, turned));
  std::vector<std::string> inputs = {x, w};
  if (c.Has(2)) {
    PLUMB_ASSIGN_OR_RETURN(const std::string bias, BiasValue(c, 2, 0, 1));
    inputs.push_back(bias);
  }
  return c.Set(0, c.Emit("Conv", inputs, attributes), Order::kFirst, activation);
}

// SAME cuts half of what is too much at the beginning, VALID nothing; what then lies behind the given shape is cut, and
// what is missing there holds the bias alone.
void PadToShape(const Shape& image, const Shape& weights, const TransposedWindow& window,
                onnx::AttributeMap* attributes) {
  std::vector<int64_t> pads(4, 0), more(2, 0);
  for (int i = 0; i < 2; ++i) {
    const int64_t stride = i == 0 ? window.stride_h : window.stride_w, kernel = weights[i + 1];
    const int64_t out = window.out[static_cast<size_t>(i) + 1];
    const int64_t same = std::max<int64_t>(0, ((out + stride - 1) / stride - 1) * stride + kernel - out);
    const int64_t begin = window.padding == schema::Padding::SAME ? same / 2 : 0;
    const int64_t rest = (image[i + 1] - 1) * stride + kernel - begin - out;
    pads[static_cast<size_t>(i)] = begin;
    pads[static_cast<size_t>(i) + 2] = std::max<int64_t>(0, rest);
    more[static_cast<size_t>(i)] = std::max<int64_t>(0, -rest);
  }
  (*attributes)["pads"] = IntsAttribute(pads);
  (*attributes)["output_padding"] = IntsAttribute(more);
}

Status CheckImage(const OpContext& c, size_t i) {
  if (c.Rank(i) == 4) return Status::Ok();
  return Status::CorruptModel(fmt::format("its input is {}, expected 4 dims", c.InShape(i).ToString()));
}

}  // namespace

Result<std::string> BiasOf(OpContext& c, size_t bias, size_t input, size_t weights) {
  return BiasValue(c, bias, input, weights);
}

Result<onnx::AttributeIr> PaddingAttribute(schema::Padding padding) {
  if (padding == schema::Padding::SAME) return TextAttribute("SAME_UPPER");
  if (padding == schema::Padding::VALID) return TextAttribute("VALID");
  return Status::CorruptModel(fmt::format("its padding is {}, expected 0 or 1", static_cast<int>(padding)));
}

// Weights [out,h,w,in of a group].
Status MapConv2D(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::Conv2DOptions>());
  PLUMB_RETURN_IF_ERROR(CheckImage(c, 0));
  PLUMB_RETURN_IF_ERROR(CheckFilter(c, 1));
  const int64_t channels = c.InShape(0)[3], per_group = c.InShape(1)[3];
  if (per_group < 1 || channels % per_group != 0)
    return Status::CorruptModel(fmt::format("its weights read {} channels, its input has {}", per_group, channels));
  onnx::AttributeMap attributes = Window(*options);
  PLUMB_ASSIGN_OR_RETURN(attributes["auto_pad"], PaddingAttribute(options->padding()));
  return Convolve(c, attributes, FirstAxes(4), channels / per_group, options->fused_activation_function());
}

// Weights [1,h,w,out].
Status MapDepthwiseConv2D(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::DepthwiseConv2DOptions>());
  PLUMB_RETURN_IF_ERROR(CheckImage(c, 0));
  PLUMB_RETURN_IF_ERROR(CheckFilter(c, 1));
  onnx::AttributeMap attributes = Window(*options);
  PLUMB_ASSIGN_OR_RETURN(attributes["auto_pad"], PaddingAttribute(options->padding()));
  return Convolve(c, attributes, {3, 0, 1, 2}, c.InShape(0)[3], options->fused_activation_function());
}

// Images [n,d,h,w,c], weights [d,h,w,in of a group,out].
Status MapConv3D(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::Conv3DOptions>());
  if (c.Rank(0) != 5 || c.Rank(1) != 5)
    return Status::CorruptModel(
        fmt::format("its input is {}, its weights are {}", c.InShape(0).ToString(), c.InShape(1).ToString()));
  const int64_t channels = c.InShape(0)[4], per_group = c.InShape(1)[3];
  if (per_group < 1 || channels % per_group != 0)
    return Status::CorruptModel(fmt::format("its weights read {} channels, its input has {}", per_group, channels));
  onnx::AttributeMap attributes = {
      {"strides", IntsAttribute({options->stride_d(), options->stride_h(), options->stride_w()})},
      {"dilations",
       IntsAttribute({options->dilation_dfactor(), options->dilation_hfactor(), options->dilation_wfactor()})}};
  PLUMB_ASSIGN_OR_RETURN(attributes["auto_pad"], PaddingAttribute(options->padding()));
  return Convolve(c, attributes, {4, 3, 0, 1, 2}, channels / per_group, options->fused_activation_function());
}

// The output's shape stands in input 0, the weights are [out,h,w,in].
Status TransposedConvolution(OpContext& c, size_t image, size_t bias, const TransposedWindow& window) {
  PLUMB_RETURN_IF_ERROR(CheckImage(c, image));
  PLUMB_RETURN_IF_ERROR(CheckFilter(c, 1));
  onnx::AttributeMap attributes = {{"strides", IntsAttribute({window.stride_h, window.stride_w})}};
  if (!window.out.empty()) {
    PadToShape(c.InShape(image), c.InShape(1), window, &attributes);
  } else {
    attributes["pads"] = IntsAttribute(window.pads);
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(image, Order::kFirst));
  PLUMB_ASSIGN_OR_RETURN(const std::string w, c.RealTurned(1, {3, 0, 1, 2}));
  std::vector<std::string> inputs = {x, w};
  if (c.Has(bias)) {
    PLUMB_ASSIGN_OR_RETURN(const std::string value, BiasValue(c, bias, image, 1));
    inputs.push_back(value);
  }
  return c.Set(0, c.Emit("ConvTranspose", inputs, attributes), Order::kFirst, window.activation);
}

Status MapTransposeConv(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::TransposeConvOptions>());
  TransposedWindow window{
      options->stride_h(), options->stride_w(), options->padding(), options->fused_activation_function(), {}, {}};
  PLUMB_RETURN_IF_ERROR(CheckImage(c, 2));
  if (c.IsConstant(0)) {
    PLUMB_ASSIGN_OR_RETURN(window.out, c.Ints(0, "the output's shape"));
  } else {
    window.out = c.OutShape().dims();
  }
  if (window.out.size() != 4)
    return Status::CorruptModel(fmt::format("the output's shape has {} dims, expected 4", window.out.size()));
  constexpr int kLargestStride = 1 << 20;
  if (window.stride_h < 1 || window.stride_w < 1 || std::max(window.stride_h, window.stride_w) > kLargestStride)
    return Status::CorruptModel(fmt::format("its strides are {} and {}", window.stride_h, window.stride_w));
  for (const int64_t dim : window.out) {
    if (dim < 0 || dim > INT32_MAX) return Status::CorruptModel(fmt::format("the output's shape has the dim {}", dim));
  }
  return TransposedConvolution(c, 2, 3, window);
}

}  // namespace plumb::tflite
