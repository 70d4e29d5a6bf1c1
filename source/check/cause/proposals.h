// Proposals: for one layer the ways in which runtimes, converters and exporters are known to compute it otherwise. One
// table of operators and functions (proposals.cc); nothing here decides whether one is true.
#ifndef PLUMB_CHECK_CAUSE_PROPOSALS_H_
#define PLUMB_CHECK_CAUSE_PROPOSALS_H_

#include <functional>
#include <string>
#include <vector>

#include "reference/core/reference_op.h"

namespace plumb {

struct Proposal {
  std::string computed, says;
  Layer layer;         // the altered one
  ReferenceOp op;      // in place of its reference; without `run`: the reference
  std::string family;  // of those of one family the first that explains the step is the cause; "": each may be
};

struct ProposalContext {
  const Layer& layer;
  const Shape& input;  // of its first input
  // How far the device is from the step with the layer altered, for searches; and with the layer as it is.
  std::function<double(const Layer& altered)> misfit;
  double own_misfit = 0;
  bool cheap = true;  // a step without sums of products, which may be replayed some fifty times
};

std::vector<Proposal> ProposalsFor(const ProposalContext& context);

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_PROPOSALS_H_
