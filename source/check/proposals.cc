#include "check/proposals.h"

#include <cmath>
#include <cstdio>
#include <set>

#include "check/int8.h"
#include "check/storage.h"
#include "device/naive/variants.h"
#include "op/activation.h"
#include "op/convolution.h"
#include "op/deconvolution.h"
#include "op/lrn.h"
#include "op/norm.h"
#include "op/normalize.h"
#include "op/pooling.h"
#include "op/resize.h"
#include "op/softmax.h"
#include "op/upsample.h"

namespace plumb {
namespace {

using Context = ProposalContext;
using Proposals = std::vector<Proposal>;

std::string Number(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.*g", digits, value);
  return text;
}

// The layer with its parameters changed by f.
template <class P, class F>
Layer With(const Layer& layer, F f) {
  Layer altered = layer;
  auto param = std::make_shared<P>(ParamOf<P>(layer));
  f(param.get());
  altered.param = param;
  return altered;
}

// The value in [low, high] with the least misfit: half decades first, then golden sections of the best one.
double Search(double low, double high, const std::function<double(double)>& misfit) {
  double best = std::log10(low), least = INFINITY;
  for (double at = std::log10(low); at <= std::log10(high) + 0.01; at += 0.5) {
    const double found = misfit(std::pow(10, at));
    if (found < least) least = found, best = at;
  }
  constexpr double kGolden = 0.6180339887498949;
  double a = best - 0.5, b = best + 0.5;
  double c = b - kGolden * (b - a), d = a + kGolden * (b - a);
  double at_c = misfit(std::pow(10, c)), at_d = misfit(std::pow(10, d));
  for (int i = 0; i < 24; ++i) {
    if (at_c < at_d) {
      b = d, d = c, at_d = at_c, c = b - kGolden * (b - a);
      at_c = misfit(std::pow(10, c));
    } else {
      a = c, c = d, at_c = at_d, d = a + kGolden * (b - a);
      at_d = misfit(std::pow(10, d));
    }
  }
  return std::pow(10, (a + b) / 2);
}

// A parameter of another value, found by search; few digits are proposed first.
template <class P, float P::*kField>
void OtherValue(const Context& c, const char* name, double low, double high, Proposals* proposals) {
  constexpr double kBetter = 0.1;
  if (!c.cheap) return;
  const auto with = [&](double value) {
    return With<P>(c.layer, [&](P* p) { p->*kField = static_cast<float>(value); });
  };
  const auto misfit = [&](double value) { return c.misfit(with(value)); };
  const double own = static_cast<double>(ParamOf<P>(c.layer).*kField), found = Search(low, high, misfit);
  if (!(misfit(found) < kBetter * c.own_misfit)) return;
  std::set<double> seen = {own};
  for (const int digits : {1, 2, 3, 6}) {
    const double value = std::strtod(Number(found, digits).c_str(), nullptr);
    if (!seen.insert(value).second) continue;
    proposals->push_back({std::string(name) + " " + Number(value, 6), Number(own, 6), with(value), {}, name});
  }
}

template <class P, float P::*kField>
void Epsilon(const Context& c, Proposals* proposals) {
  OtherValue<P, kField>(c, "epsilon", 1e-12, 1, proposals);
}
void Slope(const Context& c, Proposals* p) {
  OtherValue<LeakyReluParam, &LeakyReluParam::slope>(c, "slope", 1e-4, 1, p);
}
void EluAlpha(const Context& c, Proposals* p) { OtherValue<EluParam, &EluParam::alpha>(c, "alpha", 1e-2, 10, p); }
void LrnAlpha(const Context& c, Proposals* p) { OtherValue<LrnParam, &LrnParam::alpha>(c, "alpha", 1e-6, 10, p); }
void LrnBeta(const Context& c, Proposals* p) { OtherValue<LrnParam, &LrnParam::beta>(c, "beta", 0.1, 3, p); }

// The layer as it is, under another reference.
template <NaiveOp (*kOp)()>
void Computed(const Context& c, const char* computed, const char* says, Proposals* proposals) {
  proposals->push_back({computed, says, c.layer, kOp(), ""});
}
void OnePass(const Context& c, Proposals* p) {
  Computed<OnePassNorm>(c, "a norm whose variance is E[x^2] - mean^2 (one pass)", "the mean of (x - mean)^2", p);
}
void Unbiased(const Context& c, Proposals* p) {
  Computed<UnbiasedNorm>(c, "a norm whose variance is divided by n - 1", "n", p);
}
void Sliding(const Context& c, Proposals* p) {
  Computed<SlidingLrn>(c, "LRN whose sum slides along the channels, adding and subtracting", "each window's own sum",
                       p);
}
void Unshifted(const Context& c, Proposals* p) {
  Computed<UnshiftedSoftmax>(c, "exp(x) / sum exp(x) without the shift by the maximum", "with it", p);
}
void LogOf(const Context& c, Proposals* p) {
  Computed<LogOfSoftmax>(c, "log(softmax(x))", "x - max - log sum exp(x - max)", p);
  Computed<LogOfClippedSoftmax>(c, "log(softmax(x)) cut off at -87.3", "x - max - log sum exp(x - max)", p);
}
void UnshiftedSum(const Context& c, Proposals* p) {
  Computed<UnshiftedLogSumExp>(c, "log sum exp(x) without the shift by the maximum", "with it", p);
}
void ByLog(const Context& c, Proposals* p) {
  Computed<PowerByLog>(c, "exp2(exponent log2 base), NaN for a negative base", "a power of it", p);
}
void OtherRounding(const Context& c, Proposals* p) {
  const char* says = "half to even";
  Computed<QuantizeHalfAway>(c, "rounding half away from zero", says, p);
  Computed<QuantizeHalfUp>(c, "rounding half up", says, p);
  Computed<QuantizeDown>(c, "rounding down", says, p);
  Computed<QuantizeTowardsZero>(c, "rounding towards zero", says, p);
}

void OtherAxis(const Context& c, Proposals* proposals) {
  const auto own = NormalizeAxis(ParamOf<SoftmaxParam>(c.layer).axis, c.input.rank());
  for (int axis = 0; own.ok() && axis < c.input.rank(); ++axis) {
    if (axis == *own) continue;
    proposals->push_back({"axis " + std::to_string(axis),
                          "axis " + std::to_string(*own),
                          With<SoftmaxParam>(c.layer, [&](SoftmaxParam* p) { p->axis = axis; }),
                          {},
                          ""});
  }
}

// Softmax with the logarithm, LogSoftmax without.
void OtherLog(const Context& c, Proposals* proposals) {
  const bool log = c.layer.kind == OpKind::kLogSoftmax;
  Layer altered = c.layer;
  altered.kind = log ? OpKind::kSoftmax : OpKind::kLogSoftmax;
  proposals->push_back({log ? "Softmax" : "LogSoftmax", log ? "LogSoftmax" : "Softmax", altered, {}, ""});
}

std::string Rule(const ResizeParam& p) {
  return p.mode + ", " + p.coordinates + (p.mode == "nearest" ? ", " + p.nearest_mode : "");
}

// Every other coordinate mode, rounding and mode of a resize that PlumbResize can say.
void OtherCoordinates(const Layer& layer, const std::string& says, Proposals* proposals) {
  const std::string own = Rule(ParamOf<ResizeParam>(layer));
  const auto propose = [&](const char* mode, const char* coordinates, const char* nearest) {
    Layer altered = With<ResizeParam>(
        layer, [&](ResizeParam* p) { p->mode = mode, p->coordinates = coordinates, p->nearest_mode = nearest; });
    const std::string rule = Rule(ParamOf<ResizeParam>(altered));
    if (rule != own) proposals->push_back({rule, says, std::move(altered), {}, ""});
  };
  const std::string own_mode = ParamOf<ResizeParam>(layer).mode;
  for (const char* coordinates :
       {"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric"}) {
    for (const char* nearest : {"floor", "round_prefer_floor", "round_prefer_ceil", "ceil"})
      propose("nearest", coordinates, nearest);
    propose("linear", coordinates, "floor");
    propose("cubic", coordinates, "floor");
  }
  if (own_mode == "linear")
    proposals->push_back(
        {"linear with weights of 8 bits, as a texture sampler has them", "exact weights", layer, SampledResize(), ""});
}

void ResizeRules(const Context& c, Proposals* proposals) {
  OtherCoordinates(c.layer, Rule(ParamOf<ResizeParam>(c.layer)), proposals);
}

void UpsampleRules(const Context& c, Proposals* proposals) {
  const auto& p = ParamOf<UpsampleParam>(c.layer);
  if (c.layer.inputs.size() != 1 || c.input.rank() != 4) return;
  const auto shape = ResolveUpsample(c.layer, {{DType::kF32, c.input, {}}});
  if (!shape.ok()) return;
  auto param = std::make_shared<ResizeParam>();
  param->mode = shape->mode == kUpsampleNearest ? "nearest" : shape->mode == kUpsampleLinear ? "linear" : "cubic";
  param->coordinates = shape->mode == kUpsampleNearest ? "asymmetric"
                       : p.align_corners != 0          ? "align_corners"
                                                       : "half_pixel";
  param->nearest_mode = "floor";
  for (int d = 0; d < 4; ++d) param->sizes.push_back(static_cast<int>(shape->out[d]));
  Layer layer = c.layer;
  layer.kind = OpKind::kPlumbResize;
  layer.param = param;
  OtherCoordinates(layer, Rule(*param), proposals);
}

// Average pooling with the padding counted, or not.
void CountPadding(const Context& c, Proposals* proposals) {
  const auto shape = ResolvePooling(c.layer, c.input);
  if (!shape.ok() || !shape->average || shape->adaptive) return;
  const WindowAxis &h = shape->window.h, &w = shape->window.w;
  auto param = std::make_shared<PlumbAveragePoolParam>();
  param->kernel_h = static_cast<int>(h.kernel), param->kernel_w = static_cast<int>(w.kernel);
  param->stride_h = static_cast<int>(h.stride), param->stride_w = static_cast<int>(w.stride);
  param->pad_top = static_cast<int>(h.pad_begin), param->pad_bottom = static_cast<int>(h.pad_end);
  param->pad_left = static_cast<int>(w.pad_begin), param->pad_right = static_cast<int>(w.pad_end);
  param->count_include_pad = !shape->count_include_pad;
  Layer layer = c.layer;
  layer.kind = OpKind::kPlumbAveragePool;
  layer.param = param;
  const char *counted = "average pooling that counts its padding",
             *left_out = "average pooling that leaves its padding out";
  const bool counts = param->count_include_pad;
  proposals->push_back({counts ? counted : left_out, counts ? "to leave it out" : "to count it", layer, {}, ""});
}

// Maximum and average exchanged.
void OtherPooling(const Context& c, Proposals* proposals) {
  const bool max = ParamOf<PoolingParam>(c.layer).pool_type == kPoolMax;
  proposals->push_back(
      {max ? "average pooling" : "max pooling",
       max ? "max pooling" : "average pooling",
       With<PoolingParam>(c.layer, [&](PoolingParam* p) { p->pool_type = max ? kPoolAverage : kPoolMax; }),
       {},
       ""});
}

void WithWeight(const Context& c, const char* computed, const char* says, Result<Tensor> weight, Proposals* proposals) {
  if (!weight.ok()) return;
  Layer layer = c.layer;
  layer.resources["weight"] = std::move(weight).value();
  proposals->push_back({computed, says, std::move(layer), {}, ""});
}

// Weights and operands of fewer bits.
void NarrowWeights(const Context& c, Proposals* proposals) {
  const Tensor* weight = c.layer.Resource("weight");
  if (weight != nullptr) {
    WithWeight(c, "weights rounded to f16", "f32", RoundedTo(DType::kF16, *weight), proposals);
    WithWeight(c, "weights rounded to bf16", "f32", RoundedTo(DType::kBF16, *weight), proposals);
    WithWeight(c, "weights rounded to int8 per output channel", "f32", WeightAsInt8(c.layer, *weight, true), proposals);
    WithWeight(c, "weights rounded to int8 per tensor", "f32", WeightAsInt8(c.layer, *weight, false), proposals);
  }
}
void NarrowOperands(const Context& c, Proposals* p) {
  Computed<Tf32Operands>(c, "products of operands rounded to tf32", "f32", p);
  Computed<F16Operands>(c, "products of operands rounded to f16", "f32", p);
  Computed<Bf16Operands>(c, "products of operands rounded to bf16", "f32", p);
}

void NoBias(const Context& c, Proposals* proposals) {
  const Tensor* bias = c.layer.Resource("bias");
  if (bias == nullptr) return;
  auto zeros = Tensor::Zeros(bias->dtype(), bias->shape());
  if (!zeros.ok()) return;
  Layer layer = c.layer;
  layer.resources["bias"] = *zeros;
  proposals->push_back({"without the bias", "with it", std::move(layer), {}, ""});
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

void OtherKernel(const Context& c, Proposals* proposals) {
  const Tensor* weight = c.layer.Resource("weight");
  const auto shape = c.layer.kind == OpKind::kDeconvolution ? ResolveDeconvolution(c.layer, c.input)
                                                            : ResolveConvolution(c.layer, c.input);
  if (weight == nullptr || !shape.ok()) return;
  const int64_t kh = shape->window.h.kernel, kw = shape->window.w.kernel;
  if (kh == kw && kh > 1) {
    WithWeight(c, "the kernel's height and width exchanged", "not so",
               Rearranged(*weight, kh, kw, [kw](int64_t h, int64_t w) { return w * kw + h; }), proposals);
  }
  if (kh * kw > 1) {
    WithWeight(c, "the kernel turned by 180 degrees", "not so",
               Rearranged(*weight, kh, kw, [=](int64_t h, int64_t w) { return (kh - 1 - h) * kw + kw - 1 - w; }),
               proposals);
  }
  const int64_t channels = shape->in_per_group();
  if (c.layer.kind != OpKind::kDeconvolution && channels > 1) {
    WithWeight(
        c, "the input channels in reverse (RGB for BGR)", "not so",
        Rearranged(*weight, channels, kh * kw, [=](int64_t h, int64_t w) { return (channels - 1 - h) * kh * kw + w; }),
        proposals);
  }
}

void NoActivation(const Context& c, Proposals* proposals) {
  if (ParamOf<ConvolutionParam>(c.layer).activation == kActivationNone) return;
  proposals->push_back({"without the activation",
                        "with it",
                        With<ConvolutionParam>(c.layer, [](ConvolutionParam* p) { p->activation = kActivationNone; }),
                        {},
                        ""});
}

struct Row {
  OpKind kind;
  void (*propose)(const Context& context, Proposals* proposals);
};

constexpr Row kRows[] = {
    {OpKind::kPlumbResize, ResizeRules},
    {OpKind::kUpsample, UpsampleRules},
    {OpKind::kPooling, CountPadding},
    {OpKind::kPooling, OtherPooling},
    {OpKind::kPlumbAveragePool, CountPadding},
    {OpKind::kInstBatchNormCxx, Epsilon<InstBatchNormParam, &InstBatchNormParam::eps>},
    {OpKind::kInstBatchNormCxx, Unbiased},
    {OpKind::kInstBatchNormCxx, OnePass},
    {OpKind::kGroupNorm, Epsilon<GroupNormParam, &GroupNormParam::eps>},
    {OpKind::kGroupNorm, Unbiased},
    {OpKind::kGroupNorm, OnePass},
    {OpKind::kLayerNorm, Epsilon<LayerNormParam, &LayerNormParam::eps>},
    {OpKind::kLayerNorm, Unbiased},
    {OpKind::kLayerNorm, OnePass},
    {OpKind::kNormalize, Epsilon<NormalizeParam, &NormalizeParam::epsilon>},
    {OpKind::kLRN, LrnAlpha},
    {OpKind::kLRN, LrnBeta},
    {OpKind::kLRN, Sliding},
    {OpKind::kSoftmax, OtherAxis},
    {OpKind::kSoftmax, OtherLog},
    {OpKind::kSoftmax, Unshifted},
    {OpKind::kLogSoftmax, OtherAxis},
    {OpKind::kLogSoftmax, OtherLog},
    {OpKind::kLogSoftmax, LogOf},
    {OpKind::kReduceLogSumExp, UnshiftedSum},
    {OpKind::kPower, ByLog},
    {OpKind::kPlumbPow, ByLog},
    {OpKind::kLeakyRelu, Slope},
    {OpKind::kElu, EluAlpha},
    {OpKind::kPlumbQuantizeLinear, OtherRounding},
    {OpKind::kConvolution, NoBias},
    {OpKind::kConvolution, NoActivation},
    {OpKind::kConvolution, OtherKernel},
    {OpKind::kConvolution, NarrowWeights},
    {OpKind::kConvolution, NarrowOperands},
    {OpKind::kConvolution1D, NoBias},
    {OpKind::kConvolution1D, NarrowWeights},
    {OpKind::kDeconvolution, NoBias},
    {OpKind::kDeconvolution, OtherKernel},
    {OpKind::kDeconvolution, NarrowWeights},
    {OpKind::kInnerProduct, NoBias},
    {OpKind::kInnerProduct, NarrowWeights},
    {OpKind::kInnerProduct, NarrowOperands},
    {OpKind::kMatMul, NarrowWeights},
    {OpKind::kMatMul, NarrowOperands},
};

}  // namespace

std::vector<Proposal> ProposalsFor(const ProposalContext& context) {
  Proposals proposals;
  for (const Row& row : kRows) {
    if (row.kind == context.layer.kind) row.propose(context, &proposals);
  }
  return proposals;
}

}  // namespace plumb
