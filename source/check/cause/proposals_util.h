// What the files of proposals share.
#ifndef PLUMB_CHECK_CAUSE_PROPOSALS_UTIL_H_
#define PLUMB_CHECK_CAUSE_PROPOSALS_UTIL_H_

#include <memory>
#include <vector>

#include "check/cause/proposals.h"
#include "op/core/op.h"

namespace plumb {

using Proposals = std::vector<Proposal>;

struct ProposalRow {
  OpKind kind;
  void (*propose)(const ProposalContext& context, Proposals* proposals);
};

// Those of convolutions, deconvolutions, InnerProduct and MatMul (proposals_product.cc).
void ProposeForProducts(const ProposalContext& context, Proposals* proposals);

// The layer with its parameters changed by f.
template <class P, class F>
Layer With(const Layer& layer, F f) {
  Layer altered = layer;
  auto param = std::make_shared<P>(ParamOf<P>(layer));
  f(param.get());
  altered.param = param;
  return altered;
}

// The layer as it is, under another reference.
template <ReferenceOp (*kOp)()>
void Computed(const ProposalContext& c, const char* computed, const char* says, Proposals* proposals) {
  proposals->push_back({computed, says, c.layer, kOp(), ""});
}

inline void SwappedOperands(const ProposalContext& c, Proposals* proposals) {
  if (c.layer.inputs.size() != 2) return;
  Layer altered = c.layer;
  std::swap(altered.inputs[0], altered.inputs[1]);
  proposals->push_back({"with its operands exchanged", "otherwise", std::move(altered), {}, ""});
}

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_PROPOSALS_UTIL_H_
