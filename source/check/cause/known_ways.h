// SPDX-License-Identifier: Apache-2.0
// Proposals: for one layer the ways in which runtimes, converters and exporters are known to compute it otherwise, as
// tables of operators and functions: known_ways.cc (functions and parameters), known_ways_element.cc (operands of
// element-wise layers, layers left out), known_ways_norm.cc, known_ways_statistics.cc (of other elements),
// known_ways_moved.cc (slices, pools), known_ways_order.cc (axes, repeated parts, caches), known_ways_rotary.cc,
// known_ways_sample.cc, known_ways_product.cc, known_ways_narrow.cc (fewer bits), known_ways_choice.cc (comparisons,
// the largest), known_ways_mask.cc, known_ways_times.cc (terms), known_ways_windows.cc, known_ways_recurrent.cc,
// known_ways_integer.cc, known_ways_heads.cc, known_ways_lanes.cc, known_ways_base.cc, known_ways_dequantised.cc,
// known_ways_integer_lstm.cc, known_ways_steps.cc.
// Nothing here decides whether one is true.
#ifndef PLUMB_CHECK_CAUSE_KNOWN_WAYS_H_
#define PLUMB_CHECK_CAUSE_KNOWN_WAYS_H_

#include <string>
#include <vector>

#include "check/cause/proposal.h"

namespace plumb {

std::vector<Proposal> ProposalsFor(const ProposalContext& context);
// Only those of a rotary embedding that ends in the layer.
std::vector<Proposal> RotaryProposalsFor(const ProposalContext& context);
// Only those of products in fewer bits that are called so (Proposal::narrow), not sampled before.
std::vector<Proposal> NarrowProposalsFor(const ProposalContext& context, const std::string& narrow);

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_KNOWN_WAYS_H_
