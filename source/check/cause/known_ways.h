// Proposals: for one layer the ways in which runtimes, converters and exporters are known to compute it otherwise, as
// tables of operators and functions: known_ways.cc (functions and parameters), known_ways_element.cc (operands of
// element-wise layers, layers left out), known_ways_norm.cc, known_ways_statistics.cc (of other elements),
// known_ways_moved.cc (slices, pools), known_ways_order.cc (axes, repeated parts, caches), known_ways_rotary.cc,
// known_ways_sample.cc, known_ways_product.cc, known_ways_narrow.cc (fewer bits), known_ways_choice.cc (comparisons,
// the largest), known_ways_mask.cc, known_ways_times.cc (terms), known_ways_recurrent.cc, known_ways_integer.cc,
// known_ways_heads.cc, known_ways_lanes.cc, known_ways_base.cc, known_ways_dequantised.cc.
// Nothing here decides whether one is true.
#ifndef PLUMB_CHECK_CAUSE_KNOWN_WAYS_H_
#define PLUMB_CHECK_CAUSE_KNOWN_WAYS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "check/judge/replay.h"
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

std::vector<Proposal> ProposalsFor(const ProposalContext& context);
// Only those of a rotary embedding that ends in the layer.
std::vector<Proposal> RotaryProposalsFor(const ProposalContext& context);
// Only those of products in fewer bits that are called so (Proposal::narrow), not sampled before.
std::vector<Proposal> NarrowProposalsFor(const ProposalContext& context, const std::string& narrow);

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_KNOWN_WAYS_H_
