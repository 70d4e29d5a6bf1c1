// SPDX-License-Identifier: Apache-2.0
// CONV_3D_TRANSPOSE: the sum, over the planes of a kernel, of transposed convolutions of planes, each moved to the
// depth that it belongs to. What SAME cuts at the beginning is half of what is too much.
#include <fmt/core.h>

#include <algorithm>

#include "format/tflite/map/window.h"
#include "format/tflite/op_context.h"

namespace plumb::tflite {
namespace {

constexpr int kVolume = 3;
constexpr int64_t kMostPlanes = 64;          // of a kernel
constexpr int64_t kLargestFactor = 1 << 16;  // of a stride or a dilation

// A volume's dims, from depth to width.
struct VolumeWindow {
  int64_t stride[kVolume], dilation[kVolume], kernel[kVolume], in[kVolume], out[kVolume];
  bool same;

  int64_t Reach(int i) const { return (kernel[i] - 1) * dilation[i] + 1; }
  int64_t Whole(int i) const { return (in[i] - 1) * stride[i] + Reach(i); }
  // So many of the whole result are cut at the beginning.
  int64_t Cut(int i) const { return same ? std::max<int64_t>(0, Whole(i) - out[i]) / 2 : 0; }
};

// One plane of weights [d,h,w,out,in], as [in,out,h,w].
Result<Tensor> KernelPlane(const Tensor& weights, int64_t plane) {
  const Shape& s = weights.shape();
  PLUMB_ASSIGN_OR_RETURN(Tensor turned, Tensor::Create(DType::kF32, {s[4], s[3], s[1], s[2]}));
  const int64_t places = s[1] * s[2];
  const float* given = weights.data<float>() + plane * places * s[3] * s[4];
  for (int64_t place = 0; place < places; ++place) {
    for (int64_t out = 0; out < s[3]; ++out) {
      for (int64_t in = 0; in < s[4]; ++in) turned.data<float>()[(in * s[3] + out) * places + place] = *given++;
    }
  }
  return turned;
}

Result<std::string> ReshapedVolume(OpContext& c, const std::string& x, const std::vector<int64_t>& dims) {
  PLUMB_ASSIGN_OR_RETURN(const std::string shape, c.IntsConstant(dims));
  return c.Emit("Reshape", {x, shape});
}

// Of one axis; cuts where they are negative.
Result<std::string> PaddedAxis(OpContext& c, const std::string& x, size_t rank, size_t axis, int64_t begin,
                               int64_t end) {
  std::vector<int64_t> pads(2 * rank, 0);
  pads[axis] = begin, pads[rank + axis] = end;
  PLUMB_ASSIGN_OR_RETURN(const std::string given, c.IntsConstant(pads));
  return c.Emit("Pad", {x, given});
}

Result<VolumeWindow> ReadVolume(OpContext& c, const schema::Conv3DOptions& options) {
  if (c.Rank(1) != 5 || c.Rank(2) != 5)
    return Status::CorruptModel(
        fmt::format("its input is {}, its weights are {}", c.InShape(2).ToString(), c.InShape(1).ToString()));
  std::vector<int64_t> out = c.OutShape().dims();
  if (c.IsConstant(0)) {
    PLUMB_ASSIGN_OR_RETURN(out, c.Ints(0, "the output's shape"));
  }
  if (out.size() != 5) return Status::CorruptModel(fmt::format("its output has {} dims, expected 5", out.size()));
  const Shape image = c.InShape(2), weights = c.InShape(1);
  VolumeWindow w{{options.stride_d(), options.stride_h(), options.stride_w()},
                 {options.dilation_dfactor(), options.dilation_hfactor(), options.dilation_wfactor()},
                 {weights[0], weights[1], weights[2]},
                 {image[1], image[2], image[3]},
                 {out[1], out[2], out[3]},
                 options.padding() == schema::Padding::SAME};
  if (weights[4] != image[4] || weights[3] != out[4] || out[0] != image[0] || weights.NumElements() == 0)
    return Status::CorruptModel(fmt::format("its weights {} do not lead from {} to {}", weights.ToString(),
                                            image.ToString(), Shape(out).ToString()));
  if (w.kernel[0] > kMostPlanes) return Status::NotSupported(fmt::format("its kernel has {} planes", w.kernel[0]));
  for (int i = 0; i < kVolume; ++i) {
    if (w.stride[i] < 1 || w.dilation[i] < 1 || std::max(w.stride[i], w.dilation[i]) > kLargestFactor)
      return Status::CorruptModel(fmt::format("it has the stride {} and the dilation {}", w.stride[i], w.dilation[i]));
    if (w.in[i] < 1 || w.out[i] < 1 || w.in[i] > INT32_MAX || w.out[i] > INT32_MAX)
      return Status::CorruptModel(fmt::format("it makes {} voxels of {}", w.out[i], w.in[i]));
  }
  return w;
}

// Height and width.
onnx::AttributeMap PlaneWindow(const VolumeWindow& w) {
  std::vector<int64_t> pads(4, 0), more(2, 0);
  for (int i = 1; i < kVolume; ++i) {
    const auto at = static_cast<size_t>(i - 1);
    const int64_t rest = w.Whole(i) - w.Cut(i) - w.out[i];
    pads[at] = w.Cut(i), pads[at + 2] = std::max<int64_t>(0, rest), more[at] = std::max<int64_t>(0, -rest);
  }
  return {{"strides", IntsAttribute({w.stride[1], w.stride[2]})},
          {"dilations", IntsAttribute({w.dilation[1], w.dilation[2]})},
          {"pads", IntsAttribute(pads)},
          {"output_padding", IntsAttribute(more)}};
}

// Planes [n * d,channels,h,w] at the depths [n,depth,channels,h,w] to which a plane of the kernel leads them.
Result<std::string> AtTheirDepths(OpContext& c, const VolumeWindow& w, const std::string& planes, int64_t n,
                                  int64_t channels, int64_t kernel_plane) {
  PLUMB_ASSIGN_OR_RETURN(std::string y, ReshapedVolume(c, planes, {n, w.in[0], 1, channels, w.out[1], w.out[2]}));
  PLUMB_ASSIGN_OR_RETURN(y, PaddedAxis(c, y, 6, 2, 0, w.stride[0] - 1));
  PLUMB_ASSIGN_OR_RETURN(y, ReshapedVolume(c, y, {n, w.in[0] * w.stride[0], channels, w.out[1], w.out[2]}));
  const int64_t begin = kernel_plane * w.dilation[0] - w.Cut(0);
  return PaddedAxis(c, y, 5, 1, begin, w.out[0] - begin - w.in[0] * w.stride[0]);
}

}  // namespace

// Inputs: the output's shape, weights, images [n,d,h,w,c], a bias.
Status MapConv3DTranspose(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::Conv3DOptions>());
  PLUMB_ASSIGN_OR_RETURN(const VolumeWindow w, ReadVolume(c, *options));
  const Shape image = c.InShape(2);
  if (c.writer().IsQuantized(c.InputIndex(1))) return Status::NotSupported("its weights are integers");
  PLUMB_ASSIGN_OR_RETURN(const Tensor given, c.writer().ValueOf(c.InputIndex(1)));
  PLUMB_ASSIGN_OR_RETURN(const Tensor weights, given.ConvertedTo(DType::kF32));
  PLUMB_ASSIGN_OR_RETURN(std::string x, c.Real(2, Order::kFirst));
  x = c.Emit("Transpose", {x}, {{"perm", IntsAttribute({0, 2, 1, 3, 4})}});
  PLUMB_ASSIGN_OR_RETURN(x, ReshapedVolume(c, x, {image[0] * w.in[0], image[4], w.in[1], w.in[2]}));
  std::string y;
  for (int64_t plane = 0; plane < w.kernel[0]; ++plane) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor kernel, KernelPlane(weights, plane));
    const std::string constant = c.writer().Constant(kernel, onnx::kTypeFloat, "plane");
    PLUMB_ASSIGN_OR_RETURN(const std::string part,
                           AtTheirDepths(c, w, c.Emit("ConvTranspose", {x, constant}, PlaneWindow(w)), image[0],
                                         weights.shape()[3], plane));
    y = y.empty() ? part : c.Emit("Add", {y, part});
  }
  y = c.Emit("Transpose", {y}, {{"perm", IntsAttribute({0, 2, 1, 3, 4})}});
  if (c.Has(3)) {
    PLUMB_ASSIGN_OR_RETURN(const std::string bias, c.Real(3, Order::kFile));
    PLUMB_ASSIGN_OR_RETURN(const std::string wide, ReshapedVolume(c, bias, {weights.shape()[3], 1, 1, 1}));
    y = c.Emit("Add", {y, wide});
  }
  return c.Set(0, y, Order::kFirst, options->fused_activation_function());
}

}  // namespace plumb::tflite
