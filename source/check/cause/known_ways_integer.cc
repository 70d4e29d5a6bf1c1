// SPDX-License-Identifier: Apache-2.0
// Proposals for convolutions and products of integers, which are imported as what they consist of: zero points
// subtracted, pads, PlumbMatMulInteger, an i32 bias, scales, QuantizeLinear.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/text.h"
#include "check/cause/known_ways_util.h"
#include "op/matmul_integer.h"
#include "op/pad.h"
#include "reference/core/variants.h"

namespace plumb {
namespace {

// A tensor of whole numbers with f of each; any other (a bound) as it is.
template <class F>
Result<Tensor> WholeMapped(const Tensor& tensor, F f) {
  if (tensor.dtype() != DType::kI64 && tensor.dtype() != DType::kI32) return tensor;
  PLUMB_ASSIGN_OR_RETURN(Tensor mapped, tensor.Clone());
  for (int64_t i = 0; i < mapped.NumElements(); ++i) {
    if (mapped.dtype() == DType::kI64) mapped.data<int64_t>()[i] = f(mapped.data<int64_t>()[i]);
    if (mapped.dtype() == DType::kI32) mapped.data<int32_t>()[i] = static_cast<int32_t>(f(mapped.data<int32_t>()[i]));
  }
  return mapped;
}

template <class F>
Proposal WithWhole(const ProposalContext& c, std::string computed, std::string says, size_t slot, F f) {
  Proposal proposal{std::move(computed), std::move(says), c.layer};
  proposal.reads = [slot, f](size_t at, const Tensor& input) -> Result<Tensor> {
    if (at != slot) return input;
    return WholeMapped(input, f);
  };
  return proposal;
}

bool IsWhole(const ProposalContext& c, const std::string& blob) {
  const DType dtype = c.blobs.at(blob).dtype;
  return dtype == DType::kI64 || dtype == DType::kI32;
}

bool IsConstant(const ProposalContext& c, size_t slot) { return !c.blobs.at(c.layer.inputs[slot]).value.empty(); }

const Layer* IntegerProductOf(const LayerGroup& group) {
  const auto it = std::find_if(group.members.begin(), group.members.end(),
                               [](const Layer* member) { return member->kind == OpKind::kPlumbMatMulInteger; });
  return it == group.members.end() ? nullptr : *it;
}

// The bits of 8-bit numbers taken for signed or unsigned ones; which they are their values say.
void OtherSign(const ProposalContext& c, size_t slot, Proposals* proposals) {
  const Tensor* values = c.value(slot);
  if (values == nullptr || (values->dtype() != DType::kI64 && values->dtype() != DType::kI32)) return;
  int64_t low = 0, high = 0;
  for (int64_t i = 0; i < values->NumElements(); ++i) {
    const auto value = static_cast<int64_t>(values->ValueAt(i));
    low = std::min(low, value), high = std::max(high, value);
  }
  if (low < -128 || high > 255 || (low >= 0 && high < 128) || (low < 0 && high > 127)) return;
  const std::string what = IsConstant(c, slot) ? "the weights" : fmt::format("'{}'", c.layer.inputs[slot]);
  if (low < 0) {
    proposals->push_back(WithWhole(c, fmt::format("with {} taken for u8", what), "i8", slot,
                                   [](int64_t v) { return v < 0 ? v + 256 : v; }));
  } else {
    proposals->push_back(WithWhole(c, fmt::format("with {} taken for i8", what), "u8", slot,
                                   [](int64_t v) { return v > 127 ? v - 256 : v; }));
  }
}

// The zero point that is subtracted from the input of a convolution, or the input's type.
void IntegerShift(const ProposalContext& c, Proposals* proposals) {
  if (c.layer.inputs.size() != 2 || !IsWhole(c, c.layer.outputs[0]) || IntegerProductOf(c.group) == nullptr) return;
  if (IsConstant(c, 1))
    proposals->push_back(WithWhole(c, "without the zero point", "with it", 1, [](int64_t) { return 0; }));
  OtherSign(c, 0, proposals);
}

// Zeros around an input whose zero point was subtracted before: padded with the integer 0 in its place.
void PaddedByInteger(const ProposalContext& c, Proposals* proposals) {
  if (!IsWhole(c, c.layer.outputs[0]) || ParamOf<PadV2Param>(c.layer).type != kPadConst) return;
  for (const Layer* shift : c.group.members) {
    if (shift->kind != OpKind::kSub || shift->outputs[0] != c.layer.inputs[0] || shift->inputs.size() != 2) continue;
    const Tensor& zero = c.blobs.at(shift->inputs[1]).value;
    if (zero.empty() || zero.NumElements() != 1 || zero.ValueAt(0) == 0) continue;
    const auto value = static_cast<float>(-zero.ValueAt(0));
    proposals->push_back({"with padding by the integer 0", "by the zero point",
                          With<PadV2Param>(c.layer, [value](PadV2Param* p) { p->value = value; })});
  }
}

void ZeroPoints(const ProposalContext& c, Proposals* proposals) {
  const auto& p = ParamOf<MatMulIntegerParam>(c.layer);
  const size_t last = c.layer.inputs.size() - 1;
  const auto without = [&](const char* computed, bool first, bool second) {
    Proposal proposal{computed, "with it", c.layer};
    proposal.reads = [=](size_t slot, const Tensor& input) -> Result<Tensor> {
      if (slot < 2 || !((first && slot == 2) || (second && slot == last))) return input;
      return Tensor::Zeros(input.dtype(), input.shape());
    };
    proposals->push_back(std::move(proposal));
  };
  if (p.has_a_zero_point) without("without the zero point of the first operand", true, false);
  if (p.has_b_zero_point) without("without the zero point of the second operand", false, true);
  if (p.has_a_zero_point && p.has_b_zero_point) without("without the zero points", true, true);
}

// Sums of 16 bits.
void ShortSums(const ProposalContext& c, Proposals* proposals) {
  const auto propose = [&](const char* computed, int64_t (*f)(int64_t)) {
    Proposal proposal{computed, "exact sums", c.layer, {}, "sums"};
    proposal.writes = [f](Tensor* values, Tensor*) {
      auto narrow = WholeMapped(*values, f);
      if (narrow.ok()) *values = std::move(narrow).value();
    };
    proposals->push_back(std::move(proposal));
  };
  propose("with sums that wrap at 16 bits", [](int64_t v) -> int64_t { return static_cast<int16_t>(v & 0xffff); });
  propose("with sums that saturate at 16 bits",
          [](int64_t v) -> int64_t { return std::clamp<int64_t>(v, INT16_MIN, INT16_MAX); });
  Computed<SaturatingSumsMatMulInteger>(c, "with sums that saturate at 16 bits term by term", "exact sums", proposals);
  proposals->back().family = "sums";
  proposals->back().other_error = false;
}

void IntegerProduct(const ProposalContext& c, Proposals* proposals) {
  ZeroPoints(c, proposals);
  for (const size_t slot : {0, 1}) OtherSign(c, slot, proposals);
  ShortSums(c, proposals);
}

// A vector of constants along one axis: of a neighbour, or of the first everywhere.
void OtherEntries(const ProposalContext& c, size_t slot, const std::string& what, Proposals* proposals) {
  const Tensor own = c.blobs.at(c.layer.inputs[slot]).value;
  const int64_t count = own.NumElements();
  if (count < 2 || *std::max_element(own.shape().dims().begin(), own.shape().dims().end()) != count) return;
  const auto propose = [&](const char* which, auto from) {
    Proposal proposal{fmt::format("with the {} of the {}", what, which), "its own", c.layer};
    proposal.reads = [slot, from](size_t at, const Tensor& input) -> Result<Tensor> {
      if (at != slot) return input;
      return ElementsFrom(input, input.shape(), from);
    };
    proposals->push_back(std::move(proposal));
  };
  propose("first channel for all", [](int64_t) { return 0; });
  propose("channel before", [count](int64_t i) { return (i + count - 1) % count; });
  propose("channel behind", [count](int64_t i) { return (i + 1) % count; });
}

// The bias of integer sums: lost, of a neighbour, of another scale.
void IntegerBias(const ProposalContext& c, Proposals* proposals) {
  const bool sums = c.layer.inputs.size() == 2 && IsConstant(c, 1) && IsWhole(c, c.layer.outputs[0]);
  if (!sums || IntegerProductOf(c.group) == nullptr) return;
  proposals->push_back(WithWhole(c, "without the bias", "with it", 1, [](int64_t) { return 0; }));
  proposals->back().family = "factor";  // a small one is as good
  OtherEntries(c, 1, "bias", proposals);
  const auto with = [&](double factor) {
    return WithWhole(c, fmt::format("with its bias times {}", Number(factor, 6)), "once", 1, [factor](int64_t v) {
      return static_cast<int64_t>(std::nearbyint(factor * static_cast<double>(v)));
    });
  };
  SearchValue(c, "factor", 1, 1e-4, 1e4, with, proposals);
}

void IntegerScale(const ProposalContext& c, Proposals* proposals) {
  const bool scales = c.layer.inputs.size() == 2 && IsConstant(c, 1) && IntegerProductOf(c.group) != nullptr;
  if (scales) OtherEntries(c, 1, "scale", proposals);
}

void QuantisedEntries(const ProposalContext& c, Proposals* proposals) {
  OtherEntries(c, 1, "scale", proposals);
  if (c.layer.inputs.size() > 2) OtherEntries(c, 2, "zero point", proposals);
}

constexpr ProposalRow kIntegerProposalRows[] = {
    {OpKind::kSub, IntegerShift},
    {OpKind::kPadV2, PaddedByInteger},
    {OpKind::kPlumbMatMulInteger, IntegerProduct},
    {OpKind::kAdd, IntegerBias},
    {OpKind::kMul, IntegerScale},
    {OpKind::kPlumbQuantizeLinear, QuantisedEntries},
    {OpKind::kPlumbDequantizeLinear, QuantisedEntries},
};

}  // namespace

void ProposeForIntegers(const ProposalContext& context, Proposals* proposals) {
  for (const ProposalRow& row : kIntegerProposalRows) {
    if (row.kind == context.layer.kind) row.propose(context, proposals);
  }
}

}  // namespace plumb
