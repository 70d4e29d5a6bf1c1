// SPDX-License-Identifier: Apache-2.0
// Proposals for recurrent layers that stand step by step in the graph: each of their products rounds what it reads.
#include "check/cause/known_ways_util.h"
#include "check/numbers/operand_formats.h"

namespace plumb {
namespace {

bool HasOwnWeights(const Layer& layer) {
  const bool multiplies = layer.kind == OpKind::kMatMul || layer.kind == OpKind::kInnerProduct;
  return multiplies && layer.Resource("weight") != nullptr;
}

}  // namespace

void ProposeForSteps(const ProposalContext& c, Proposals* proposals) {
  std::vector<size_t> products;
  for (size_t m = 0; m < c.group.members.size(); ++m) {
    if (HasOwnWeights(*c.group.members[m])) products.push_back(m);
  }
  if (products.size() < 2 || products[0] != c.member) return;  // once per step
  for (const char* words :
       {"int8 as the network runs, per row", "int8 with a zero point as the network runs, per row"}) {
    const auto reads = [format = &OperandFormatOf(words)](size_t slot, const Tensor& input) -> Result<Tensor> {
      if (slot != 0 || !IsFloat(input.dtype())) return input;
      return RoundedOperand(*format, input);
    };
    Proposal proposal{std::string("with its input rounded to ") + words, "f32", c.layer, {}, "narrow", reads};
    proposal.narrow = std::string("its input rounded to ") + words;
    for (const size_t m : products) {
      if (m != c.member) proposal.changes.push_back({static_cast<int>(m), {}, reads, nullptr});
    }
    proposals->push_back(std::move(proposal));
  }
}

}  // namespace plumb
