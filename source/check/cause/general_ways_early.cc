// SPDX-License-Identifier: Apache-2.0
// Proposals for an activation that comes before an addition or a norm in place of behind it: a residual that is added
// to what was activated, a bias behind the ReLU, a batch normalisation of what was activated.
#include <fmt/core.h>

#include "check/cause/general_ways.h"
#include "op/activation.h"
#include "op/convolution.h"

namespace plumb {
namespace {

bool IsActivation(const Layer& layer) {
  switch (layer.kind) {
#define PLUMB_UNARY(name, ...) case OpKind::k##name:
#include "op/unary.def"
#undef PLUMB_UNARY
    return layer.inputs.size() == 1;
    case OpKind::kPReLU: return true;
    default: return false;
  }
}

bool IsNorm(OpKind kind) {
  return kind == OpKind::kBatchNormCxx || kind == OpKind::kScale || kind == OpKind::kInstBatchNormCxx ||
         kind == OpKind::kGroupNorm || kind == OpKind::kLayerNorm;
}

Layer NoLayer(const Layer& layer) {
  Layer none = layer;
  none.kind = OpKind::kIdentity;
  none.param = GetOp(OpKind::kIdentity).make_param();
  none.resources.clear();
  return none;
}

// The value of an addend as the activation makes it.
Result<Tensor> Activated(const Layer& activation, const Tensor& x) {
  PLUMB_ASSIGN_OR_RETURN(Tensor y, Tensor::Create(x.dtype(), x.shape()));
  PLUMB_RETURN_IF_ERROR(GetReferenceOp(activation.kind).run({activation, {&x}, {&y}}));
  return y;
}

void BeforeAddition(const ProposalContext& c, size_t m, Proposals* proposals) {
  const Layer& add = *c.group.members[m];
  for (size_t slot = 0; slot < add.inputs.size(); ++slot) {
    if (c.blobs.at(add.inputs[slot]).shape != c.input) continue;
    Proposal proposal{fmt::format("with '{}' before '{}' is added", c.layer.name,
                                  add.inputs.size() == 2 ? add.inputs[1 - slot] : "the constant"),
                      "behind it",
                      NoLayer(c.layer),
                      {},
                      "order"};
    MemberChange change;
    change.member = static_cast<int>(m);
    const auto activation = std::make_shared<Layer>(c.layer);
    change.reads = [slot, activation](size_t at, const Tensor& input) -> Result<Tensor> {
      if (at != slot || input.dtype() != DType::kF64) return input;
      return Activated(*activation, input);
    };
    proposal.changes.push_back(std::move(change));
    proposals->push_back(std::move(proposal));
  }
}

// What was activated scaled and shifted, or normalised.
void BeforeNorm(const ProposalContext& c, size_t m, Proposals* proposals) {
  const Layer& norm = *c.group.members[m];
  if (c.blobs.at(norm.inputs[0]).shape != c.input) return;
  Proposal proposal{
      fmt::format("with '{}' before '{}'", c.layer.name, norm.name), "behind it", NoLayer(c.layer), {}, "order"};
  MemberChange change;
  change.member = static_cast<int>(m);
  const auto activation = std::make_shared<Layer>(c.layer);
  change.reads = [activation](size_t at, const Tensor& input) -> Result<Tensor> {
    if (at != 0 || input.dtype() != DType::kF64) return input;
    return Activated(*activation, input);
  };
  proposal.changes.push_back(std::move(change));
  proposals->push_back(std::move(proposal));
}

// The bias of a product added to what follows it.
void BeforeBias(const ProposalContext& c, const Layer& product, size_t m, Proposals* proposals) {
  const Tensor* bias = product.Resource("bias");
  const Shape& out = c.blobs.at(product.outputs[0]).shape;
  if (bias == nullptr || out.rank() < 2 || bias->NumElements() != out[1]) return;
  auto zeros = Tensor::Zeros(bias->dtype(), bias->shape());
  if (!zeros.ok()) return;
  Layer without = product;
  without.resources["bias"] = *zeros;
  Proposal proposal{fmt::format("with the bias of '{}' added behind '{}'", product.name, c.layer.name),
                    "before it",
                    c.layer,
                    {},
                    "order"};
  proposal.also = {{m, std::move(without)}};
  proposal.writes = [known = *bias, channels = out[1], inner = out.CountFrom(2)](Tensor* values, Tensor*) {
    int64_t i = 0;
    ForEachReal(values, [&](double v) { return v + known.ValueAt(i++ / inner % channels); });
  };
  proposals->push_back(std::move(proposal));
}

// The same of an activation that is the convolution's own.
void OwnActivation(const ProposalContext& c, Proposals* proposals) {
  const auto& param = ParamOf<ConvolutionParam>(c.layer);
  const Tensor* bias = c.layer.Resource("bias");
  const Shape& out = c.blobs.at(c.layer.outputs[0]).shape;
  if (bias == nullptr || param.activation == kActivationNone || bias->NumElements() != out.DimOrOne(1)) return;
  auto zeros = Tensor::Zeros(bias->dtype(), bias->shape());
  if (!zeros.ok()) return;
  Proposal proposal{"with the bias added behind its activation", "before it", c.layer, {}, "order"};
  proposal.layer.resources["bias"] = *zeros;
  proposal.writes = [known = *bias, channels = out[1], inner = out.CountFrom(2)](Tensor* values, Tensor*) {
    int64_t i = 0;
    ForEachReal(values, [&](double v) { return v + known.ValueAt(i++ / inner % channels); });
  };
  proposals->push_back(std::move(proposal));
}

}  // namespace

void ProposeEarlyActivations(const ProposalContext& context, Proposals* proposals) {
  if (context.layer.kind == OpKind::kConvolution) OwnActivation(context, proposals);
  if (!IsActivation(context.layer)) return;
  for (size_t m = 0; m < context.member; ++m) {
    const Layer& before = *context.group.members[m];
    if (before.outputs[0] != context.layer.inputs[0]) continue;
    if (before.kind == OpKind::kAdd || before.kind == OpKind::kBiasAdd) BeforeAddition(context, m, proposals);
    if (IsNorm(before.kind)) BeforeNorm(context, m, proposals);
    BeforeBias(context, before, m, proposals);
  }
}

}  // namespace plumb
