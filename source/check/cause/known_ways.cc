// SPDX-License-Identifier: Apache-2.0
#include "check/cause/known_ways.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "base/text.h"
#include "check/cause/known_ways_util.h"
#include "op/activation.h"
#include "op/lrn.h"
#include "op/pad.h"
#include "op/pooling.h"
#include "op/resize.h"
#include "op/softmax.h"
#include "op/upsample.h"
#include "reference/core/variants.h"

namespace plumb {
namespace {

void Slope(const ProposalContext& c, Proposals* p) {
  SearchField<LeakyReluParam, &LeakyReluParam::slope>(c, "slope", 1e-4, 1, p);
}
void EluAlpha(const ProposalContext& c, Proposals* p) {
  SearchField<EluParam, &EluParam::alpha>(c, "alpha", 1e-2, 10, p);
}
// Its constants as they are written with fewer digits.
void SeluDigits(const ProposalContext& c, Proposals* proposals) {
  constexpr int kDigits[] = {3, 4, 5, 6, 7};
  const auto& own = ParamOf<SeluParam>(c.layer);
  const auto words = [](double alpha, double gamma, int digits) {
    return fmt::format("{} and {}", Number(alpha, digits), Number(gamma, digits));
  };
  for (const int of_alpha : kDigits) {
    for (const int of_gamma : kDigits) {
      const double alpha = std::strtod(Number(static_cast<double>(own.alpha), of_alpha).c_str(), nullptr);
      const double gamma = std::strtod(Number(static_cast<double>(own.gamma), of_gamma).c_str(), nullptr);
      const auto change = [&](SeluParam* p) {
        p->alpha = static_cast<float>(alpha), p->gamma = static_cast<float>(gamma);
      };
      proposals->push_back({fmt::format("with alpha {} and gamma {}", Number(alpha, 7), Number(gamma, 7)),
                            words(static_cast<double>(own.alpha), static_cast<double>(own.gamma), 7),
                            With<SeluParam>(c.layer, change),
                            {},
                            "digits"});
    }
  }
}
void LrnAlpha(const ProposalContext& c, Proposals* p) {
  SearchField<LrnParam, &LrnParam::alpha>(c, "alpha", 1e-6, 10, p);
}
void LrnBeta(const ProposalContext& c, Proposals* p) { SearchField<LrnParam, &LrnParam::beta>(c, "beta", 0.1, 3, p); }

// A PReLU of several slopes with the first one everywhere.
void FirstSlope(const ProposalContext& c, Proposals* proposals) {
  const Tensor* slope = c.layer.Resource("slope");
  if (slope == nullptr || slope->NumElements() < 2 || slope->dtype() != DType::kF32) return;
  auto other = slope->Clone();
  if (!other.ok()) return;
  std::fill_n(other->data<float>(), other->NumElements(), slope->data<float>()[0]);
  Layer layer = c.layer;
  layer.resources["slope"] = *other;
  proposals->push_back({"with the first slope for every channel", "one for each", std::move(layer)});
}

// A PReLU whose slopes are one channel off.
void ShiftedSlopes(const ProposalContext& c, Proposals* proposals) {
  const Tensor* slope = c.layer.Resource("slope");
  if (slope == nullptr || slope->NumElements() < 2 || slope->dtype() != DType::kF32) return;
  const int64_t count = slope->NumElements();
  for (const auto& [words, by] : {std::make_pair("before", int64_t{-1}), std::make_pair("behind", int64_t{1})}) {
    auto other = ElementsFrom(*slope, slope->shape(), [&, by = by](int64_t i) { return (i + by + count) % count; });
    if (!other.ok()) return;
    Layer layer = c.layer;
    layer.resources["slope"] = std::move(other).value();
    proposals->push_back({fmt::format("with the slope of the channel {}", words), "its own", std::move(layer)});
  }
}

// A PReLU of one slope, which LeakyRelu becomes on import; 0 is ReLU.
void SharedSlope(const ProposalContext& c, Proposals* proposals) {
  const Tensor* slope = c.layer.Resource("slope");
  if (slope == nullptr || slope->NumElements() != 1) return;
  const auto with = [&](double value) {
    Layer layer = c.layer;
    auto other = Tensor::Zeros(DType::kF32, slope->shape());
    if (other.ok()) other->data<float>()[0] = static_cast<float>(value);
    if (other.ok()) layer.resources["slope"] = *other;
    return layer;
  };
  proposals->push_back({"as ReLU", "slope " + Number(slope->ValueAt(0), 6), with(0), {}, "slope"});
  SearchNamed(c, "slope", slope->ValueAt(0), 1e-4, 1, with, proposals);
}

// ReLU with a slope below 0, or cut off at 6.
void OtherRelu(const ProposalContext& c, Proposals* proposals) {
  Layer leaky = c.layer;
  leaky.kind = OpKind::kLeakyRelu;
  const auto with = [&](double slope) -> Proposal {
    auto param = std::make_shared<LeakyReluParam>();
    param->slope = static_cast<float>(slope);
    leaky.param = param;
    return {"as LeakyRelu with slope " + Number(slope, 6), "ReLU", leaky};
  };
  SearchValue(c, "operator", 0, 1e-4, 1, with, proposals);  // 1 is the layer left out, which comes first
  Layer six = c.layer;
  six.kind = OpKind::kReLU6;
  proposals->push_back({"as ReLU6", "ReLU", std::move(six), {}, "operator"});
}

// Softmax of its input times a number: a scale of attention that is another, a temperature.
void Temperature(const ProposalContext& c, Proposals* proposals) {
  const auto with = [&](double times) -> Proposal {
    Proposal proposal{fmt::format("of its input times {}", NumberOrRoot(times)), "the input itself", c.layer};
    proposal.reads = [times](size_t, const Tensor& input) -> Result<Tensor> {
      PLUMB_ASSIGN_OR_RETURN(Tensor scaled, input.Clone());
      if (scaled.dtype() != DType::kF64) return Status::NotSupported("f64 alone");
      for (int64_t i = 0; i < scaled.NumElements(); ++i) scaled.data<double>()[i] *= times;
      return scaled;
    };
    return proposal;
  };
  SearchValue(c, "operator", 1, 1e-2, 1e2, with, proposals);  // the scale in front explains the same
}

void Sliding(const ProposalContext& c, Proposals* p) {
  Computed<SlidingLrn>(c, "as LRN whose sum slides along the channels, adding and subtracting", "each window's own sum",
                       p);
}
void Unshifted(const ProposalContext& c, Proposals* p) {
  Computed<UnshiftedSoftmax>(c, "as exp(x) / sum exp(x) without the shift by the maximum", "with it", p);
}
// Softmax whose exp(x - max) is another function of x - max.
void WithExp(const ProposalContext& c, const std::string& words, double error, const std::function<double(double)>& exp,
             Proposals* proposals) {
  const Tensor* x = c.value(0);
  const auto axis = NormalizeAxis(ParamOf<SoftmaxParam>(c.layer).axis, c.input.rank());
  if (x == nullptr || !axis.ok() || x->dtype() != DType::kF64) return;
  const int64_t size = c.input[*axis], inner = c.input.CountFrom(*axis + 1);
  Proposal proposal{words, "exp", c.layer, {}, "exp"};
  proposal.writes = [=, x = *x](Tensor* values, Tensor* tau) {
    const double* in = x.data<double>();
    double* out = values->data<double>();
    for (int64_t row = 0; row < x.NumElements() / std::max<int64_t>(1, size); ++row) {
      const int64_t first = row / inner * size * inner + row % inner;
      double largest = -INFINITY, sum = 0;
      for (int64_t i = 0; i < size; ++i) largest = std::max(largest, in[first + i * inner]);
      for (int64_t i = 0; i < size; ++i) sum += out[first + i * inner] = exp(in[first + i * inner] - largest);
      for (int64_t i = 0; i < size; ++i) {
        const int64_t at = first + i * inner;
        out[at] /= sum;
        if (tau != nullptr) tau->data<double>()[at] = std::hypot(tau->data<double>()[at], error * out[at]);
      }
    }
  };
  proposals->push_back(std::move(proposal));
}

void ApproximateExp(const ProposalContext& c, Proposals* proposals) {
  for (const FunctionVariant& function : FunctionVariants()) {
    if (function.approximate && function.family == std::string("exp"))
      WithExp(c, fmt::format("with exp as {}", function.name), 0x1p-15, function.y, proposals);
  }
  for (const double limit : {5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 15.0, 16.0, 20.0}) {
    WithExp(
        c, fmt::format("with an exp that is 0 below {}", Number(-limit, 3)), 0,
        [limit](double x) { return x < -limit ? 0 : std::exp(x); }, proposals);
  }
}

void LogOf(const ProposalContext& c, Proposals* p) {
  Computed<LogOfSoftmax>(c, "as log(softmax(x))", "x - max - log sum exp(x - max)", p);
  Computed<LogOfClippedSoftmax>(c, "as log(softmax(x)) cut off at -87.3", "x - max - log sum exp(x - max)", p);
}
void UnshiftedSum(const ProposalContext& c, Proposals* p) {
  Computed<UnshiftedLogSumExp>(c, "as log sum exp(x) without the shift by the maximum", "with it", p);
}
void ByLog(const ProposalContext& c, Proposals* p) {
  Computed<PowerByLog>(c, "as exp2(exponent log2 base), NaN for a negative base", "a power of it", p);
}
// ONNX Runtime's softmax of 8 bits multiplies by 1 / scale as a whole number: 254 for a scale of 1 / 254.99998.
void WholeInverse(const ProposalContext& c, Proposals* proposals) {
  Proposal proposal{"with 1 / scale cut off to a whole number", "as it is", c.layer};
  proposal.reads = [](size_t slot, const Tensor& input) -> Result<Tensor> {
    if (slot != 1) return input;
    PLUMB_ASSIGN_OR_RETURN(const Tensor wide, input.ConvertedTo(DType::kF64));
    PLUMB_ASSIGN_OR_RETURN(Tensor scales, wide.Clone());  // the step's own input stays
    ForEachReal(&scales, [](double scale) {
      const double whole = std::floor(1 / scale);
      return whole >= 2 && whole < 1e6 ? 1 / whole : scale;
    });
    return scales.ConvertedTo(input.dtype());
  };
  proposals->push_back(std::move(proposal));
}

void OtherRounding(const ProposalContext& c, Proposals* p) {
  const char* says = "half to even";
  const size_t first = p->size();
  WholeInverse(c, p);
  Computed<QuantizeHalfAway>(c, "with rounding half away from zero", says, p);
  Computed<QuantizeHalfUp>(c, "with rounding half up", says, p);
  Computed<QuantizeHalfDown>(c, "with rounding half down", says, p);
  Computed<QuantizeZeroFirst>(c, "with rounding behind the zero point, half to even", "before it", p);
  Computed<QuantizeDown>(c, "with rounding down", says, p);
  Computed<QuantizeTowardsZero>(c, "with rounding towards zero", says, p);
  for (size_t i = first; i < p->size(); ++i) {
    (*p)[i].family = "rounding";  // of values above 0 two are the same
    (*p)[i].other_error = false;
  }
}

void SaturatingPairs(const ProposalContext& c, Proposals* p) {
  Computed<SaturatingMatMulInteger>(c, kSaturatingPairs, "exact sums", p);
}

void OtherAxis(const ProposalContext& c, Proposals* proposals) {
  const auto own = NormalizeAxis(ParamOf<SoftmaxParam>(c.layer).axis, c.input.rank());
  for (int axis = 0; own.ok() && axis < c.input.rank(); ++axis) {
    if (axis == *own) continue;
    proposals->push_back({"along axis " + std::to_string(axis),
                          "axis " + std::to_string(*own),
                          With<SoftmaxParam>(c.layer, [&](SoftmaxParam* p) { p->axis = axis; }),
                          {},
                          ""});
  }
}

// Softmax with the logarithm, LogSoftmax without.
void OtherLog(const ProposalContext& c, Proposals* proposals) {
  const bool log = c.layer.kind == OpKind::kLogSoftmax;
  Layer altered = c.layer;
  altered.kind = log ? OpKind::kSoftmax : OpKind::kLogSoftmax;
  proposals->push_back({log ? "as Softmax" : "as LogSoftmax", log ? "LogSoftmax" : "Softmax", altered, {}, ""});
}

// Another operator of the same parameters.
template <OpKind... kOthers>
void OtherKind(const ProposalContext& c, Proposals* proposals) {
  for (const OpKind other : {kOthers...}) {
    if (other == c.layer.kind) continue;
    Layer altered = c.layer;
    altered.kind = other;
    proposals->push_back({std::string("as ") + GetOp(other).name, c.layer.type, std::move(altered), {}, "operator"});
  }
}

template <class P>
void OtherPadding(const ProposalContext& c, Proposals* proposals) {
  static const char* const kNames[] = {"a constant", "reflection", "the edge"};
  const int own = ParamOf<P>(c.layer).type;
  for (const int type : {kPadConst, kPadReflect, kPadEdge}) {
    if (type == own || own < 0 || own > 2) continue;
    proposals->push_back({std::string("with padding by ") + kNames[type],
                          kNames[own],
                          With<P>(c.layer, [&](P* p) { p->type = type; }),
                          {},
                          ""});
  }
}

std::string Rule(const ResizeParam& p) {
  return fmt::format("{}, {}{}", p.mode, p.coordinates, p.mode == "nearest" ? ", " + p.nearest_mode : "");
}

// The other values of what else a resize may be told.
void OtherResizeOptions(const Layer& layer, Proposals* proposals) {
  const ResizeParam& own = ParamOf<ResizeParam>(layer);
  const auto propose = [&](const std::string& computed, const std::string& says, auto change) {
    proposals->push_back({computed, says, With<ResizeParam>(layer, change)});
  };
  const auto with = [](const char* what, bool is) { return std::string(is ? "with " : "without ") + what; };
  if (own.mode == "nearest") return;
  propose(with("antialias", !own.antialias), own.antialias ? "with it" : "without it",
          [](ResizeParam* p) { p->antialias = !p->antialias; });
  if (own.mode != "cubic") return;
  propose(with("exclude_outside", !own.exclude_outside), own.exclude_outside ? "with it" : "without it",
          [](ResizeParam* p) { p->exclude_outside = !p->exclude_outside; });
  const float other = own.cubic_coeff_a == -0.5f ? -0.75f : -0.5f;
  propose("with the cubic coefficient " + Number(static_cast<double>(other), 3),
          Number(static_cast<double>(own.cubic_coeff_a), 3), [other](ResizeParam* p) { p->cubic_coeff_a = other; });
}

// Every other coordinate mode, rounding and mode of a resize that PlumbResize can say.
void OtherCoordinates(const Layer& layer, const std::string& says, Proposals* proposals) {
  const std::string own = Rule(ParamOf<ResizeParam>(layer));
  const auto propose = [&](const char* mode, const char* coordinates, const char* nearest) {
    Layer altered = With<ResizeParam>(
        layer, [&](ResizeParam* p) { p->mode = mode, p->coordinates = coordinates, p->nearest_mode = nearest; });
    const std::string rule = Rule(ParamOf<ResizeParam>(altered));
    if (rule != own) proposals->push_back({"as " + rule, says, std::move(altered), {}, "resize"});
  };
  const std::string own_mode = ParamOf<ResizeParam>(layer).mode;
  for (const char* coordinates :
       {"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric"}) {
    for (const char* nearest : {"floor", "round_prefer_floor", "round_prefer_ceil", "ceil"})
      propose("nearest", coordinates, nearest);
    propose("linear", coordinates, "floor");
    propose("cubic", coordinates, "floor");
  }
  if (own_mode == "linear") {
    proposals->push_back({"as linear with weights of 11 bits, as OpenCV has them for images of 8 bits", "exact weights",
                          layer, ElevenBitsResize(), "weights"});
    proposals->back().other_error = true;
    proposals->push_back({"as linear with weights of 8 bits, as a texture sampler has them", "exact weights", layer,
                          SampledResize(), "weights"});
    proposals->back().other_error = true;
  }
  OtherResizeOptions(layer, proposals);
}

void ResizeRules(const ProposalContext& c, Proposals* proposals) {
  OtherCoordinates(c.layer, Rule(ParamOf<ResizeParam>(c.layer)), proposals);
}

void UpsampleRules(const ProposalContext& c, Proposals* proposals) {
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
void CountPadding(const ProposalContext& c, Proposals* proposals) {
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
  const char *counted = "as average pooling that counts its padding",
             *left_out = "as average pooling that leaves its padding out";
  const bool counts = param->count_include_pad;
  proposals->push_back({counts ? counted : left_out, counts ? "to leave it out" : "to count it", layer, {}, "divisor"});
}

// Maximum and average exchanged.
void OtherPooling(const ProposalContext& c, Proposals* proposals) {
  const bool max = ParamOf<PoolingParam>(c.layer).pool_type == kPoolMax;
  proposals->push_back(
      {max ? "as average pooling" : "as max pooling",
       max ? "max pooling" : "average pooling",
       With<PoolingParam>(c.layer, [&](PoolingParam* p) { p->pool_type = max ? kPoolAverage : kPoolMax; }),
       {},
       ""});
}

constexpr auto OtherBinary =
    OtherKind<OpKind::kAdd, OpKind::kSub, OpKind::kMul, OpKind::kDiv, OpKind::kMaximum, OpKind::kMinimum>;
constexpr auto OtherReduction =
    OtherKind<OpKind::kReduceSum, OpKind::kReduceMean, OpKind::kReduceMax, OpKind::kReduceMin, OpKind::kReduceL1,
              OpKind::kReduceL2, OpKind::kReduceSumSquare>;

constexpr ProposalRow kProposalRows[] = {
    {OpKind::kPlumbResize, ResizeRules},
    {OpKind::kUpsample, UpsampleRules},
    {OpKind::kPooling, CountPadding},
    {OpKind::kPooling, OtherPooling},
    {OpKind::kPlumbAveragePool, CountPadding},
    {OpKind::kLRN, LrnAlpha},
    {OpKind::kLRN, LrnBeta},
    {OpKind::kLRN, Sliding},
    {OpKind::kSoftmax, OtherAxis},
    {OpKind::kSoftmax, OtherLog},
    {OpKind::kSoftmax, Unshifted},
    {OpKind::kSoftmax, Temperature},
    {OpKind::kSoftmax, ApproximateExp},
    {OpKind::kLogSoftmax, OtherAxis},
    {OpKind::kLogSoftmax, OtherLog},
    {OpKind::kLogSoftmax, LogOf},
    {OpKind::kReduceLogSumExp, UnshiftedSum},
    {OpKind::kPower, ByLog},
    {OpKind::kPlumbPow, ByLog},
    {OpKind::kReLU, OtherRelu},
    {OpKind::kLeakyRelu, Slope},
    {OpKind::kPReLU, SharedSlope},
    {OpKind::kPReLU, FirstSlope},
    {OpKind::kPReLU, ShiftedSlopes},
    {OpKind::kElu, EluAlpha},
    {OpKind::kElu, OtherKind<OpKind::kReLU>},
    {OpKind::kSelu, SeluDigits},
    {OpKind::kSelu, OtherKind<OpKind::kReLU>},
    {OpKind::kSoftplus, OtherKind<OpKind::kReLU>},
    {OpKind::kAdd, OtherBinary},
    {OpKind::kSub, OtherBinary},
    {OpKind::kSub, SwappedOperands},
    {OpKind::kMul, OtherBinary},
    {OpKind::kDiv, OtherBinary},
    {OpKind::kDiv, SwappedOperands},
    {OpKind::kMaximum, OtherBinary},
    {OpKind::kMinimum, OtherBinary},
    {OpKind::kReduceMax, OtherReduction},
    {OpKind::kReduceMin, OtherReduction},
    {OpKind::kReduceMean, OtherReduction},
    {OpKind::kReduceSum, OtherReduction},
    {OpKind::kReduceL1, OtherReduction},
    {OpKind::kReduceL2, OtherReduction},
    {OpKind::kReduceSumSquare, OtherReduction},
    {OpKind::kPad, OtherPadding<PadParam>},
    {OpKind::kPadV2, OtherPadding<PadV2Param>},
    {OpKind::kPlumbQuantizeLinear, OtherRounding},
    {OpKind::kPlumbMatMulInteger, SaturatingPairs},
};

}  // namespace

std::vector<Proposal> RotaryProposalsFor(const ProposalContext& context) {
  Proposals proposals;
  ProposeForRotary(context, &proposals);
  return proposals;
}

std::vector<Proposal> ProposalsFor(const ProposalContext& context) {
  Proposals proposals;
  ProposeForElements(context, &proposals);  // a layer that is left out comes before another one in its place
  for (const ProposalRow& row : kProposalRows) {
    if (row.kind == context.layer.kind) row.propose(context, &proposals);
  }
  ProposeForMasks(context, &proposals);
  ProposeForNorms(context, &proposals);
  ProposeForStatistics(context, &proposals);
  ProposeForLanes(context, &proposals);
  ProposeForProducts(context, &proposals);
  ProposeForWindows(context, &proposals);
  ProposeForIntegers(context, &proposals);
  ProposeForDequantised(context, &proposals);
  ProposeForNarrow(context, &proposals);
  ProposeForHeads(context, &proposals);
  ProposeForTimes(context, &proposals);
  ProposeForMoved(context, &proposals);
  ProposeForChoices(context, &proposals);
  ProposeForRecurrent(context, &proposals);
  ProposeForSteps(context, &proposals);
  ProposeForIntegerLstm(context, &proposals);
  ProposeForOrders(context, &proposals);
  ProposeForRotary(context, &proposals);
  ProposeForBases(context, &proposals);
  ProposeForSamples(context, &proposals);
  return proposals;
}

}  // namespace plumb
