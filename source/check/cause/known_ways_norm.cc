// SPDX-License-Identifier: Apache-2.0
// Proposals for normalisations, in one layer or in single operators.
#include <fmt/core.h>

#include <cmath>
#include <memory>

#include "base/text.h"
#include "check/cause/known_ways_util.h"
#include "check/core/inspect.h"
#include "op/affine.h"
#include "op/norm.h"
#include "op/normalize.h"
#include "op/reduce.h"
#include "reference/core/variants.h"

namespace plumb {
namespace {

template <class P, float P::*kField>
void Epsilon(const ProposalContext& c, Proposals* proposals) {
  SearchField<P, kField>(c, "epsilon", 1e-12, 1, proposals);
}

void OtherMoments(const ProposalContext& c, Proposals* p) {
  Computed<UnbiasedNorm>(c, "as a norm whose variance is divided by n - 1", "n", p);
  Computed<OnePassNorm>(c, "as a norm whose variance is E[x^2] - mean^2 (one pass)", "the mean of (x - mean)^2", p);
  Computed<RmsNorm>(c, "as an RMS norm, without subtracting the mean", "with it", p);
  Computed<OutsideEpsilonNorm>(c, "with epsilon added outside of the root", "inside", p);
}

void OtherStatistics(const ProposalContext& c, Proposals* p) {
  const char* whose = c.layer.kind == OpKind::kLayerNorm ? "row" : "batch element";
  const struct {
    ReferenceOp op;
    const char* which;
  } others[] = {{FirstStatisticsNorm(), "first"}, {PreviousStatisticsNorm(), "previous"}};
  for (const auto& other : others)
    p->push_back({fmt::format("with the mean and variance of the {} {}", other.which, whose), "its own", c.layer,
                  other.op, "statistics"});
}

void OtherGroupCount(const ProposalContext& c, Proposals* proposals) {
  const int own = ParamOf<GroupNormParam>(c.layer).group, channels = static_cast<int>(c.input.DimOrOne(1));
  for (const int group : {1, 2, 4, 8, 16, 32, 64, channels}) {
    if (group == own || group > channels || channels % group != 0) continue;
    proposals->push_back({fmt::format("in groups of {} channels", channels / group),
                          fmt::format("{} each", own > 0 ? channels / own : channels),
                          With<GroupNormParam>(c.layer, [&](GroupNormParam* p) { p->group = group; }),
                          {},
                          "groups"});
  }
}

Result<Tensor> AllOf(const Tensor& like, double value) {
  PLUMB_ASSIGN_OR_RETURN(Tensor filled, Tensor::Create(like.dtype(), like.shape()));
  for (int64_t i = 0; i < filled.NumElements(); ++i) {
    if (like.dtype() == DType::kF64) filled.data<double>()[i] = value;
    if (like.dtype() == DType::kF32) filled.data<float>()[i] = static_cast<float>(value);
  }
  return filled;
}

// gamma and beta are resources or inputs 1 and 2.
void NoAffine(const ProposalContext& c, Proposals* proposals) {
  const struct {
    const char *resource, *computed;
    size_t slot;
    double neutral;
  } parts[] = {{"scale", "without gamma", 1, 1}, {"bias", "without beta", 2, 0}};
  for (const auto& part : parts) {
    Proposal proposal{part.computed, "with it", c.layer};
    const Tensor* own = c.layer.Resource(part.resource);
    if (own != nullptr) {
      auto neutral = AllOf(*own, part.neutral);
      if (!neutral.ok()) continue;
      proposal.layer.resources[part.resource] = *neutral;
    } else if (c.layer.inputs.size() > part.slot) {
      const size_t slot = part.slot;
      const double neutral = part.neutral;
      proposal.reads = [slot, neutral](size_t at, const Tensor& input) -> Result<Tensor> {
        if (at != slot) return input;
        return AllOf(input, neutral);
      };
    } else {
      continue;
    }
    proposals->push_back(std::move(proposal));
  }
}

// gamma for beta and beta for gamma, both constants.
void AffineExchanged(const ProposalContext& c, Proposals* proposals) {
  Proposal proposal{"with gamma and beta exchanged", "otherwise", c.layer};
  const Tensor *gamma = c.layer.Resource("scale"), *beta = c.layer.Resource("bias");
  if (gamma != nullptr && beta != nullptr) {
    if (gamma->shape() != beta->shape()) return;
    proposal.layer.resources["scale"] = *beta;
    proposal.layer.resources["bias"] = *gamma;
  } else if (gamma == nullptr && beta == nullptr && c.layer.inputs.size() > 2) {
    const Tensor one = c.blobs.at(c.layer.inputs[1]).value, two = c.blobs.at(c.layer.inputs[2]).value;
    if (one.empty() || two.empty() || one.shape() != two.shape()) return;
    proposal.reads = [one, two](size_t at, const Tensor& input) -> Result<Tensor> {
      if (at != 1 && at != 2) return input;
      return Widened(at == 1 ? two : one);
    };
  } else {
    return;
  }
  proposals->push_back(std::move(proposal));
}

// A mean whose sum is divided by n - 1: a variance in single operators.
void UnbiasedMean(const ProposalContext& c, Proposals* proposals) {
  const int64_t out = c.blobs.at(c.layer.outputs[0]).shape.NumElements(), in = c.input.NumElements();
  const auto n = out > 0 ? static_cast<double>(in / out) : 0;
  if (n < 2) return;
  Proposal proposal{"divided by n - 1", "n", c.layer};
  proposal.writes = [n](Tensor* values, Tensor* tau) {
    ForEachReal(values, [n](double v) { return v * n / (n - 1); });
    if (tau != nullptr) ForEachReal(tau, [n](double t) { return t * n / (n - 1); });
  };
  proposals->push_back(std::move(proposal));
}

// sqrt(v + epsilon) of single operators as sqrt(v) + epsilon.
void EpsilonOutside(const ProposalContext& c, Proposals* proposals) {
  for (size_t m = 0; m < c.member; ++m) {
    const Layer& add = *c.group.members[m];
    if (add.kind != OpKind::kAdd || add.outputs[0] != c.layer.inputs[0]) continue;
    const Tensor* constant = add.Resource("element");
    size_t kept = 0;
    for (size_t slot = 0; slot < add.inputs.size() && add.inputs.size() == 2; ++slot) {
      if (c.blobs.at(add.inputs[slot]).value.empty()) continue;
      constant = &c.blobs.at(add.inputs[slot]).value;
      kept = 1 - slot;
    }
    if (constant == nullptr || constant->NumElements() != 1) continue;
    const double epsilon = constant->ValueAt(0);
    Layer plain = add;
    plain.kind = OpKind::kIdentity;
    plain.param = GetOp(OpKind::kIdentity).make_param();
    plain.resources.clear();
    plain.inputs = {add.inputs[kept]};
    Proposal proposal{"with epsilon added outside of the root", "inside", c.layer};
    proposal.writes = [epsilon](Tensor* values, Tensor*) {
      ForEachReal(values, [epsilon](double v) { return v + epsilon; });
    };
    proposal.also = {{m, std::move(plain)}};
    proposals->push_back(std::move(proposal));
  }
}

// gamma (x - mean) / sqrt(variance + epsilon) + beta of one channel, as folded from its statistics.
struct BatchStatistics {
  double gamma, beta, mean, variance, epsilon;
};

Layer FoldedFrom(const ProposalContext& c, const std::function<void(BatchStatistics*)>& change) {
  const Tensor& s = *c.layer.Resource(kBatchStatistics);
  const int64_t channels = s.shape()[1];
  Layer layer = c.layer;
  auto scale = Tensor::Create(DType::kF32, Shape{channels}), bias = Tensor::Create(DType::kF32, Shape{channels});
  if (!scale.ok() || !bias.ok()) return layer;
  for (int64_t i = 0; i < channels; ++i) {
    BatchStatistics of{s.ValueAt(i), s.ValueAt(channels + i), s.ValueAt(2 * channels + i), s.ValueAt(3 * channels + i),
                       s.ValueAt(4 * channels + i)};
    change(&of);
    const double factor = of.gamma / std::sqrt(of.variance + of.epsilon);
    scale->data<float>()[i] = static_cast<float>(factor);
    bias->data<float>()[i] = static_cast<float>(of.beta - of.mean * factor);
  }
  layer.resources["scale"] = *scale, layer.resources["bias"] = *bias;
  return layer;
}

void OtherBatchStatistics(const ProposalContext& c, Proposals* proposals) {
  const Tensor* own = c.layer.Resource(kBatchStatistics);
  if (own == nullptr || own->shape().rank() != 2 || own->shape()[1] == 0) return;
  SearchNamed(
      c, "epsilon", own->ValueAt(4 * own->shape()[1]), 1e-12, 1,
      [&](double value) { return FoldedFrom(c, [value](BatchStatistics* s) { s->epsilon = value; }); }, proposals);
  const struct {
    const char* computed;
    void (*change)(BatchStatistics*);
  } others[] = {
      {"without gamma", [](BatchStatistics* s) { s->gamma = 1; }},
      {"without beta", [](BatchStatistics* s) { s->beta = 0; }},
      {"with mean and variance exchanged", [](BatchStatistics* s) { std::swap(s->mean, s->variance); }},
      {"with gamma and beta exchanged", [](BatchStatistics* s) { std::swap(s->gamma, s->beta); }},
      {"without the mean", [](BatchStatistics* s) { s->mean = 0; }},
      {"with the root of the variance in its place", [](BatchStatistics* s) { s->variance = std::sqrt(s->variance); }},
      {"with the square of the variance in its place", [](BatchStatistics* s) { s->variance *= s->variance; }},
      {"with variance + epsilon in place of its root",
       [](BatchStatistics* s) { s->variance = std::pow(s->variance + s->epsilon, 2) - s->epsilon; }},
      {"with epsilon added outside of the root", [](BatchStatistics* s) {
         const double root = std::sqrt(s->variance) + s->epsilon;
         s->variance = root * root - s->epsilon;
       }}};
  for (const auto& other : others) proposals->push_back({other.computed, "otherwise", FoldedFrom(c, other.change)});
}

constexpr ProposalRow kNormProposalRows[] = {
    {OpKind::kBatchNormCxx, OtherBatchStatistics},
    {OpKind::kInstBatchNormCxx, Epsilon<InstBatchNormParam, &InstBatchNormParam::eps>},
    {OpKind::kInstBatchNormCxx, OtherMoments},
    {OpKind::kInstBatchNormCxx, NoAffine},
    {OpKind::kInstBatchNormCxx, AffineExchanged},
    {OpKind::kInstBatchNormCxx, OtherStatistics},
    {OpKind::kGroupNorm, Epsilon<GroupNormParam, &GroupNormParam::eps>},
    {OpKind::kGroupNorm, OtherMoments},
    {OpKind::kGroupNorm, NoAffine},
    {OpKind::kGroupNorm, AffineExchanged},
    {OpKind::kGroupNorm, OtherStatistics},
    {OpKind::kGroupNorm, OtherGroupCount},
    {OpKind::kLayerNorm, Epsilon<LayerNormParam, &LayerNormParam::eps>},
    {OpKind::kLayerNorm, OtherMoments},
    {OpKind::kLayerNorm, NoAffine},
    {OpKind::kLayerNorm, AffineExchanged},
    {OpKind::kLayerNorm, OtherStatistics},
    {OpKind::kNormalize, Epsilon<NormalizeParam, &NormalizeParam::epsilon>},
    {OpKind::kReduceMean, UnbiasedMean},
    {OpKind::kSqrt, EpsilonOutside},
};

}  // namespace

void ProposeForNorms(const ProposalContext& context, Proposals* proposals) {
  for (const ProposalRow& row : kNormProposalRows) {
    if (row.kind == context.layer.kind) row.propose(context, proposals);
  }
}

}  // namespace plumb
