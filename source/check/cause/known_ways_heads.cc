// SPDX-License-Identifier: Apache-2.0
// Proposals for parts of operands that are the first part's: heads that read the keys or values of head 0, masks, keys
// and values of the first batch element; and for one operand of a product that is rounded alone.
#include <fmt/core.h>

#include "check/cause/known_ways_util.h"
#include "check/numbers/operand_formats.h"

namespace plumb {
namespace {

// Every part along the axis is the first one's.
Proposal WithFirstPart(const ProposalContext& c, std::string computed, size_t slot, int axis) {
  Proposal proposal{std::move(computed), "its own", c.layer};
  const Shape shape = c.blobs.at(c.layer.inputs[slot]).shape;
  const int64_t size = shape[axis], inner = shape.CountFrom(axis + 1);
  proposal.reads = [=](size_t at, const Tensor& input) -> Result<Tensor> {
    if (at != slot) return input;
    return ElementsFrom(input, input.shape(), [=](int64_t i) { return i - i / inner % size * inner; });
  };
  return proposal;
}

bool HasParts(const ProposalContext& c, size_t slot, int axis) {
  const BlobInfo& blob = c.blobs.at(c.layer.inputs[slot]);
  return blob.shape.rank() == 4 && blob.shape[axis] > 1;
}

void FirstHead(const ProposalContext& c, Proposals* proposals) {
  if (c.layer.inputs.size() != 2) return;
  for (const size_t slot : {0, 1}) {
    if (!c.blobs.at(c.layer.inputs[slot]).value.empty()) continue;
    const std::string& blob = c.layer.inputs[slot];
    if (HasParts(c, slot, 1))
      proposals->push_back(WithFirstPart(c, fmt::format("with head 0 of '{}' for every head", blob), slot, 1));
    if (HasParts(c, slot, 0))
      proposals->push_back(
          WithFirstPart(c, fmt::format("with batch element 0 of '{}' for every batch element", blob), slot, 0));
  }
}

void FirstMask(const ProposalContext& c, Proposals* proposals) {
  const Shape& out = c.blobs.at(c.layer.outputs[0]).shape;
  const Tensor* constant = c.layer.Resource("element");
  if (constant != nullptr && constant->shape().rank() == 4 && constant->shape()[0] > 1 && constant->shape() != out) {
    const int64_t part = constant->shape().CountFrom(1);
    auto first = ElementsFrom(*constant, constant->shape(), [part](int64_t i) { return i % part; });
    if (!first.ok()) return;
    Proposal proposal{"with batch element 0 of the constant for every batch element", "its own", c.layer};
    proposal.layer.resources["element"] = *first;
    proposals->push_back(std::move(proposal));
  }
  if (c.layer.inputs.size() != 2) return;
  for (const size_t slot : {0, 1}) {
    if (!HasParts(c, slot, 0) || c.blobs.at(c.layer.inputs[slot]).shape == out) continue;
    proposals->push_back(WithFirstPart(
        c, fmt::format("with batch element 0 of '{}' for every batch element", c.layer.inputs[slot]), slot, 0));
  }
}

void OneOperand(const ProposalContext& c, Proposals* proposals) {
  if (c.layer.inputs.size() != 2) return;
  for (const size_t slot : {0, 1}) {
    for (const char* words : {"f16", "bf16"}) {
      const OperandFormat* rounded = &OperandFormatOf(words);
      Proposal proposal{
          fmt::format("with its {} operand rounded to {}", slot == 0 ? "first" : "second", rounded->words),
          "f32",
          c.layer,
          {},
          "narrow"};
      proposal.reads = [slot, rounded](size_t at, const Tensor& input) -> Result<Tensor> {
        if (at != slot || !IsFloat(input.dtype())) return input;
        return RoundedOperand(*rounded, input);
      };
      proposals->push_back(std::move(proposal));
    }
  }
}

}  // namespace

void ProposeForHeads(const ProposalContext& context, Proposals* proposals) {
  if (context.layer.kind == OpKind::kAdd) FirstMask(context, proposals);
  if (context.layer.kind != OpKind::kMatMul) return;
  FirstHead(context, proposals);
  OneOperand(context, proposals);
}

}  // namespace plumb
