// SPDX-License-Identifier: Apache-2.0
// Proposals for layers that choose: the smallest for the largest, another comparison, the other branch or piece.
#include <fmt/core.h>

#include <algorithm>

#include "check/cause/known_ways_util.h"
#include "op/arg_max.h"
#include "op/split_v.h"
#include "op/top_k.h"

namespace plumb {
namespace {

void OtherEnd(const ProposalContext& c, Proposals* proposals) {
  const bool largest = ParamOf<ArgMaxParam>(c.layer).mode == 1;
  proposals->push_back({largest ? "as ArgMin" : "as ArgMax", largest ? "ArgMax" : "ArgMin",
                        With<ArgMaxParam>(c.layer, [&](ArgMaxParam* p) { p->mode = largest ? 0 : 1; })});
}

template <class P>
void OtherTop(const ProposalContext& c, Proposals* proposals) {
  const bool largest = ParamOf<P>(c.layer).largest;
  proposals->push_back({largest ? "with the smallest" : "with the largest", largest ? "the largest" : "the smallest",
                        With<P>(c.layer, [&](P* p) { p->largest = !largest; })});
}

void OtherComparison(const ProposalContext& c, Proposals* proposals) {
  for (const OpKind other :
       {OpKind::kGreater, OpKind::kLess, OpKind::kPlumbGreaterOrEqual, OpKind::kPlumbLessOrEqual, OpKind::kEqual}) {
    if (other == c.layer.kind || c.layer.inputs.size() != 2) continue;
    Layer altered = c.layer;
    altered.kind = other;
    altered.param = GetOp(other).make_param();
    proposals->push_back({fmt::format("as {}", GetOp(other).name), c.layer.type, std::move(altered), {}, "comparison"});
  }
}

void OtherBranch(const ProposalContext& c, Proposals* proposals) {
  if (c.layer.inputs.size() != 3) return;
  Layer altered = c.layer;
  std::swap(altered.inputs[0], altered.inputs[1]);  // the condition comes last
  proposals->push_back({"with its two branches exchanged", "otherwise", std::move(altered)});
}

// Two pieces of one size in each other's place.
void OtherPieces(const ProposalContext& c, Proposals* proposals) {
  constexpr size_t kMaxPieces = 8;
  const size_t pieces = c.layer.outputs.size();
  const auto axis = NormalizeAxis(ParamOf<SplitVParam>(c.layer).axis, c.input.rank());
  if (!axis.ok() || pieces < 2 || pieces > kMaxPieces) return;
  std::vector<int64_t> begins;
  int64_t size = 0;
  for (const std::string& output : c.layer.outputs) {
    begins.push_back(size);
    size += c.blobs.at(output).shape[*axis];
  }
  const int64_t inner = c.input.CountFrom(*axis + 1);
  for (size_t i = 0; i < pieces; ++i) {
    for (size_t j = i + 1; j < pieces; ++j) {
      const int64_t length = c.blobs.at(c.layer.outputs[i]).shape[*axis];
      if (length != c.blobs.at(c.layer.outputs[j]).shape[*axis]) continue;
      Proposal proposal{fmt::format("with '{}' and '{}' exchanged", c.layer.outputs[i], c.layer.outputs[j]),
                        "otherwise", c.layer};
      proposal.reads = [=, a = begins[i], b = begins[j]](size_t, const Tensor& input) {
        return ElementsFrom(input, input.shape(), [&](int64_t k) {
          const int64_t at = k / inner % size;
          if (at >= a && at < a + length) return k + (b - a) * inner;
          return at >= b && at < b + length ? k + (a - b) * inner : k;
        });
      };
      proposals->push_back(std::move(proposal));
    }
  }
}

constexpr ProposalRow kChoiceProposalRows[] = {
    {OpKind::kArgMaxOrMin, OtherEnd},
    {OpKind::kTopK, OtherTop<TopKParam>},
    {OpKind::kPlumbTopK, OtherTop<PlumbTopKParam>},
    {OpKind::kGreater, OtherComparison},
    {OpKind::kLess, OtherComparison},
    {OpKind::kEqual, OtherComparison},
    {OpKind::kPlumbGreaterOrEqual, OtherComparison},
    {OpKind::kPlumbLessOrEqual, OtherComparison},
    {OpKind::kWhere, OtherBranch},
    {OpKind::kSplitV, OtherPieces},
};

}  // namespace

void ProposeForChoices(const ProposalContext& context, Proposals* proposals) {
  for (const ProposalRow& row : kChoiceProposalRows) {
    if (row.kind == context.layer.kind) row.propose(context, proposals);
  }
}

}  // namespace plumb
