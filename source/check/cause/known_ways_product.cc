// SPDX-License-Identifier: Apache-2.0
// Proposals for sums of products: the order of their weights, their bias, pads and kernels.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "check/cause/known_ways_util.h"
#include "op/convolution.h"
#include "op/deconvolution.h"
#include "op/inner_product.h"
#include "reference/core/variants.h"

namespace plumb {
namespace {

using ProductContext = ProposalContext;

void WithWeight(const ProductContext& c, const char* computed, const char* says, Result<Tensor> weight,
                Proposals* proposals) {
  if (!weight.ok()) return;
  Layer layer = c.layer;
  layer.resources["weight"] = std::move(weight).value();
  proposals->push_back({computed, says, std::move(layer), {}, ""});
}

void NoBias(const ProductContext& c, Proposals* proposals) {
  const Tensor* bias = c.layer.Resource("bias");
  if (bias == nullptr) return;
  auto zeros = Tensor::Zeros(bias->dtype(), bias->shape());
  if (!zeros.ok()) return;
  Layer layer = c.layer;
  layer.resources["bias"] = *zeros;
  proposals->push_back({"without the bias", "with it", std::move(layer), {}, ""});
}

// The bias added twice, subtracted, of another channel, or in coarse steps.
void OtherBias(const ProductContext& c, Proposals* proposals) {
  const Tensor* bias = c.layer.Resource("bias");
  if (bias == nullptr || bias->dtype() != DType::kF32 || bias->NumElements() == 0) return;
  const int64_t count = bias->NumElements();
  const float* own = bias->data<float>();
  const auto propose = [&](const std::string& computed, const std::function<float(int64_t)>& of) {
    auto other = bias->Clone();
    if (!other.ok()) return;
    for (int64_t i = 0; i < count; ++i) other->data<float>()[i] = of(i);
    Layer layer = c.layer;
    layer.resources["bias"] = *other;
    proposals->push_back({computed, "otherwise", std::move(layer)});
  };
  propose("with twice the bias", [&](int64_t i) { return 2 * own[i]; });
  propose("with the bias subtracted", [&](int64_t i) { return -own[i]; });
  for (const float steps : {64.0f, 128.0f, 256.0f}) {
    propose(fmt::format("with the bias in steps of 1/{:.0f}", steps),
            [&](int64_t i) { return std::nearbyintf(own[i] * steps) / steps; });
  }
  if (count < 2) return;
  propose("with the bias of the channel before", [&](int64_t i) { return own[(i + count - 1) % count]; });
  propose("with the bias of the channel behind", [&](int64_t i) { return own[(i + 1) % count]; });
  propose("with the first channel's bias for every channel", [&](int64_t) { return own[0]; });
}

// The memory of a weight [out][in][inner] as one of another order would be read.
void OtherOrder(const ProductContext& c, Proposals* proposals) {
  const Tensor* weight = c.layer.Resource("weight");
  if (weight == nullptr || weight->NumElements() == 0 || weight->dtype() != DType::kF32) return;
  int64_t out = 1, in = 1, inner = 1;
  if (c.layer.kind == OpKind::kConvolution) {
    const auto shape = ResolveConvolution(c.layer, c.input);
    if (!shape.ok()) return;
    out = shape->out_channels, in = shape->in_per_group(), inner = shape->kernel_size();
  } else if (c.layer.kind == OpKind::kInnerProduct) {
    out = ParamOf<InnerProductParam>(c.layer).num_output, in = weight->NumElements() / std::max<int64_t>(1, out);
  } else if (weight->shape().rank() == 2) {
    out = weight->shape()[0], in = weight->shape()[1];
  }
  if (out * in * inner != weight->NumElements() || out < 2 || in < 2) return;
  const auto read = [&](const char* words, auto from) {
    WithWeight(c, words, "otherwise",
               ElementsFrom(*weight, weight->shape(),
                            [&](int64_t i) { return from(i / (in * inner), i / inner % in, i % inner); }),
               proposals);
  };
  read("with in and out channels of the weight exchanged",
       [&](int64_t o, int64_t i, int64_t k) { return (i * out + o) * inner + k; });
  if (inner == 1) return;
  read("with the weight in the order out, height, width, in",
       [&](int64_t o, int64_t i, int64_t k) { return (o * inner + k) * in + i; });
  read("with the weight in the order height, width, in, out",
       [&](int64_t o, int64_t i, int64_t k) { return (k * in + i) * out + o; });
}

// Groups that read other channels than their own: the input in another order of its channels.
void OtherGroups(const ProductContext& c, Proposals* proposals) {
  const auto shape = ResolveConvolution(c.layer, c.input);
  if (!shape.ok() || shape->group < 2 || c.input.rank() != 4) return;
  const int64_t channels = shape->in_channels, groups = shape->group, each = channels / groups;
  const int64_t pixels = c.input.CountFrom(2);
  const auto read = [&](const char* words, const std::function<int64_t(int64_t)>& from) {
    Proposal proposal{words, "otherwise", c.layer};
    proposal.reads = [=](size_t slot, const Tensor& input) -> Result<Tensor> {
      if (slot != 0) return input;
      return ElementsFrom(input, input.shape(), [&](int64_t i) {
        const int64_t channel = i / pixels % channels;
        return i + (from(channel) - channel) * pixels;
      });
    };
    proposals->push_back(std::move(proposal));
  };
  if (each > 1)
    read("with the channels dealt out to the groups in turn",
         [=](int64_t channel) { return channel % each * groups + channel / each; });
  read("with every group reading the first group's channels", [=](int64_t channel) { return channel % each; });
  read("with the groups in reverse",
       [=](int64_t channel) { return (groups - 1 - channel / each) * each + channel % each; });
}

// The weight of [outer][height][width] kernels with element (h, w) from where `from` says.
template <class F>
Result<Tensor> Rearranged(const Tensor& weight, int64_t height, int64_t width, F from) {
  PLUMB_ASSIGN_OR_RETURN(Tensor result, weight.Clone());
  if (weight.dtype() != DType::kF32) return Status::NotSupported("no f32 weight");
  const float* w = weight.data<float>();
  float* r = result.data<float>();
  const int64_t area = height * width;
  for (int64_t i = 0; i < weight.NumElements(); ++i) r[i] = w[i / area * area + from(i % area / width, i % width)];
  return result;
}

void OtherKernel(const ProductContext& c, Proposals* proposals) {
  const Tensor* weight = c.layer.Resource("weight");
  const auto shape = c.layer.kind == OpKind::kDeconvolution ? ResolveDeconvolution(c.layer, c.input)
                                                            : ResolveConvolution(c.layer, c.input);
  if (weight == nullptr || !shape.ok()) return;
  const int64_t kh = shape->window.h.kernel, kw = shape->window.w.kernel;
  if (kh == kw && kh > 1) {
    WithWeight(c, "with the kernel's height and width exchanged", "otherwise",
               Rearranged(*weight, kh, kw, [kw](int64_t h, int64_t w) { return w * kw + h; }), proposals);
  }
  if (kh * kw > 1) {
    WithWeight(c, "with the kernel turned by 180 degrees", "otherwise",
               Rearranged(*weight, kh, kw, [=](int64_t h, int64_t w) { return (kh - 1 - h) * kw + kw - 1 - w; }),
               proposals);
  }
  const int64_t channels = shape->in_per_group();
  if (c.layer.kind != OpKind::kDeconvolution && channels > 1) {
    WithWeight(
        c, "with the input channels in reverse (RGB for BGR)", "otherwise",
        Rearranged(*weight, channels, kh * kw, [=](int64_t h, int64_t w) { return (channels - 1 - h) * kh * kw + w; }),
        proposals);
  }
}

// Dilation forgotten.
void NoDilation(const ProductContext& c, Proposals* proposals) {
  const auto& p = ParamOf<ConvolutionParam>(c.layer);
  if (p.dilation_h == 1 && p.dilation_w == 1) return;
  Layer undilated = With<ConvolutionParam>(c.layer, [&](ConvolutionParam* q) {
    q->pad_h -= (q->dilation_h - 1) * (q->kernel_h - 1) / 2;
    q->pad_w -= (q->dilation_w - 1) * (q->kernel_w - 1) / 2;
    q->dilation_h = q->dilation_w = 1;
  });
  proposals->push_back({"without dilation", "with it", std::move(undilated), {}, ""});
}

void NoActivation(const ProductContext& c, Proposals* proposals) {
  if (ParamOf<ConvolutionParam>(c.layer).activation == kActivationNone) return;
  proposals->push_back({"without the activation",
                        "with it",
                        With<ConvolutionParam>(c.layer, [](ConvolutionParam* p) { p->activation = kActivationNone; }),
                        {},
                        ""});
}

constexpr ProposalRow kProductProposalRows[] = {
    {OpKind::kConvolution, NoBias},        {OpKind::kConvolution, NoActivation}, {OpKind::kConvolution, OtherKernel},
    {OpKind::kConvolution, NoDilation},    {OpKind::kConvolution1D, NoBias},     {OpKind::kDeconvolution, NoBias},
    {OpKind::kDeconvolution, OtherKernel}, {OpKind::kInnerProduct, NoBias},      {OpKind::kMatMul, SwappedOperands},
    {OpKind::kConvolution, OtherOrder},    {OpKind::kInnerProduct, OtherOrder},  {OpKind::kMatMul, OtherOrder},
    {OpKind::kConvolution, OtherGroups},   {OpKind::kConvolution, OtherBias},    {OpKind::kConvolution1D, OtherBias},
    {OpKind::kDeconvolution, OtherBias},   {OpKind::kInnerProduct, OtherBias},
};

}  // namespace

void ProposeForProducts(const ProposalContext& context, Proposals* proposals) {
  for (const ProposalRow& row : kProductProposalRows) {
    if (row.kind == context.layer.kind) row.propose(context, proposals);
  }
}

}  // namespace plumb
