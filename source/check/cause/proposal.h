// SPDX-License-Identifier: Apache-2.0
// A proposal: one layer computed in another way, which a replay may confirm; and what proposals are made from.
#ifndef PLUMB_CHECK_CAUSE_PROPOSAL_H_
#define PLUMB_CHECK_CAUSE_PROPOSAL_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "check/numbers/replay.h"
#include "reference/core/reference_op.h"

namespace plumb {

struct Proposal {
  std::string computed, says;
  Layer layer;              // the altered one
  ReferenceOp op = {};      // in place of its reference; without `run`: the reference
  std::string family = "";  // of those of one family the first that explains the step is the cause; "": each may be
  // As of MemberChange; empty: nothing else.
  std::function<Result<Tensor>(size_t slot, const Tensor& input)> reads = nullptr;
  std::function<void(Tensor* values, Tensor* tau)> writes = nullptr;
  std::vector<std::pair<size_t, Layer>> also = {};  // other members of the step that are altered with it
  // Computes the same function with another error: tried where its values are those of the graph, too.
  bool other_error = false;
  std::vector<MemberChange> changes = {};  // of other members
  std::string narrow = "";  // of products computed as the graph says but for fewer bits: "weights rounded to f16"
};

struct ReplayedStep;  // computed_otherwise.h

struct ProposalContext {
  const ReplayedStep& step;
  const Layer& layer;
  const LayerGroup& group;  // of the step
  size_t member;            // in it
  const BlobTable& blobs;
  const Shape& input;  // of its first input
  // The value of an input that the step reads or that is a constant (floats in f64); null: it is made inside.
  std::function<const Tensor*(size_t slot)> value;
  // How far the device is from the step with the layer altered, for searches; and with the layer as it is.
  std::function<double(const Proposal& altered)> misfit;
  double own_misfit = 0;
  double multiplications = 0;  // of the step's sums of products, about
  bool cheap = true;           // a step that may be replayed some fifty times
};

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_PROPOSAL_H_
