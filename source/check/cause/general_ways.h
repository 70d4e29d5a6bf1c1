// SPDX-License-Identifier: Apache-2.0
// General proposals: what any layer may be computed as in place of what the graph says, asked where no known way
// (known_ways.h) explains it: parameters at their defaults or exchanged (general_ways_fields.cc), sums of other terms
// (general_ways_terms.cc), operands that are changed or moved (general_ways_operands.cc), results that are moved,
// scaled or limited (general_ways_results.cc), other padding (general_ways_padding.cc), an activation before the
// addition (general_ways_early.cc). Nothing here decides whether one is true.
#ifndef PLUMB_CHECK_CAUSE_GENERAL_WAYS_H_
#define PLUMB_CHECK_CAUSE_GENERAL_WAYS_H_

#include <vector>

#include "check/cause/known_ways_util.h"

namespace plumb {

std::vector<Proposal> GeneralProposalsFor(const ProposalContext& context);

// Of one file each; for GeneralProposalsFor.
void ProposeOtherFields(const ProposalContext& context, Proposals* proposals);
void ProposeOtherTerms(const ProposalContext& context, Proposals* proposals);
void ProposeOtherOperands(const ProposalContext& context, Proposals* proposals);
void ProposeOtherResults(const ProposalContext& context, Proposals* proposals);
void ProposeOtherPadding(const ProposalContext& context, Proposals* proposals);
void ProposeEarlyActivations(const ProposalContext& context, Proposals* proposals);

// The elements of one axis in reverse, or from `by` further on, around its end.
Result<Tensor> ReversedAlong(const Tensor& tensor, int axis);
Result<Tensor> RolledAlong(const Tensor& tensor, int axis, int64_t by);

// A function of one variable that runtimes put in the place of others, whatever the graph says.
struct PlainFunction {
  const char* name;
  double (*y)(double x);
};
const std::vector<PlainFunction>& PlainFunctions();

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_GENERAL_WAYS_H_
