// SPDX-License-Identifier: Apache-2.0
// What the files of proposals share.
#ifndef PLUMB_CHECK_CAUSE_KNOWN_WAYS_UTIL_H_
#define PLUMB_CHECK_CAUSE_KNOWN_WAYS_UTIL_H_

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "check/cause/proposal.h"
#include "op/binary.h"
#include "op/core/op.h"

namespace plumb {

using Proposals = std::vector<Proposal>;

inline constexpr char kSaturatingPairs[] =
    "with pairs of 8-bit products that saturate at 16 bits (vpmaddubsw, x86 without VNNI)";

struct ProposalRow {
  OpKind kind;
  void (*propose)(const ProposalContext& context, Proposals* proposals);
};

// Those of convolutions, deconvolutions, InnerProduct and MatMul (known_ways_product.cc), of element-wise layers
// (known_ways_element.cc), of norms (known_ways_norm.cc), of slices and pools (known_ways_moved.cc).
void ProposeForProducts(const ProposalContext& context, Proposals* proposals);
void ProposeForElements(const ProposalContext& context, Proposals* proposals);
void ProposeForNorms(const ProposalContext& context, Proposals* proposals);
void ProposeForMoved(const ProposalContext& context, Proposals* proposals);
// Those of layers that choose (known_ways_choice.cc), of recurrent layers (known_ways_recurrent.cc).
void ProposeForChoices(const ProposalContext& context, Proposals* proposals);
void ProposeForRecurrent(const ProposalContext& context, Proposals* proposals);
// Those of recurrent layers that stand step by step in the graph (known_ways_steps.cc).
void ProposeForSteps(const ProposalContext& context, Proposals* proposals);
// Those of LSTMs of integers (known_ways_integer_lstm.cc).
void ProposeForIntegerLstm(const ProposalContext& context, Proposals* proposals);
// Those of windows that lie a pixel elsewhere (known_ways_windows.cc).
void ProposeForWindows(const ProposalContext& context, Proposals* proposals);
// Those of normalisations by the statistics of other elements (known_ways_statistics.cc).
void ProposeForStatistics(const ProposalContext& context, Proposals* proposals);
// Those of products of floats behind a DequantizeLinear (known_ways_dequantised.cc).
void ProposeForDequantised(const ProposalContext& context, Proposals* proposals);
// Those of means and norms over other lanes of a row (known_ways_lanes.cc).
void ProposeForLanes(const ProposalContext& context, Proposals* proposals);
// Those of rotary embeddings of another base (known_ways_base.cc).
void ProposeForBases(const ProposalContext& context, Proposals* proposals);
// Those of sums whose terms count another number of times (known_ways_times.cc).
void ProposeForTimes(const ProposalContext& context, Proposals* proposals);
// Those of convolutions and products of integers (known_ways_integer.cc).
void ProposeForIntegers(const ProposalContext& context, Proposals* proposals);
// Those of operands whose heads, or masks whose batch elements, are the first one's; of one operand that is rounded
// alone (known_ways_heads.cc).
void ProposeForHeads(const ProposalContext& context, Proposals* proposals);
// Those of a Softmax whose rows a mask hides, of a mask that one head lacks, of dropout (known_ways_mask.cc).
void ProposeForMasks(const ProposalContext& context, Proposals* proposals);
// Those of products whose weights, operands or bias have fewer bits (known_ways_narrow.cc).
void ProposeForNarrow(const ProposalContext& context, Proposals* proposals);
// Those of layers that only move elements, and of what products read (known_ways_order.cc); of rotary embeddings that
// end in the layer (known_ways_rotary.cc).
void ProposeForOrders(const ProposalContext& context, Proposals* proposals);
void ProposeForRotary(const ProposalContext& context, Proposals* proposals);
// Those of layers that sample an image (known_ways_sample.cc).
void ProposeForSamples(const ProposalContext& context, Proposals* proposals);

// A number of another value, found by search between low and high, both above 0; few digits are proposed first, then
// inverse roots of whole numbers. `with` makes the proposal of a value.
void SearchValue(const ProposalContext& context, const std::string& family, double own, double low, double high,
                 const std::function<Proposal(double)>& with, Proposals* proposals);
// The same of a field that is called `name`.
void SearchNamed(const ProposalContext& context, const std::string& name, double own, double low, double high,
                 const std::function<Layer(double)>& with, Proposals* proposals);

// known_ways_rotary.cc. The axis of a table of angles that counts places: the last but the entries' that has several,
// or -1.
int PlacesOf(const Shape& table);
// Its cosines or sines of the place `by` further; at the end v(p + 1) = 2 cos(angle) v(p) - v(p - 1).
Result<Tensor> NextPlaces(const Tensor& table, int64_t by);
// What was extrapolated is known to some 2^-18 alone: widens tau there, in results with so many places.
std::function<void(Tensor*, Tensor*)> WidenedAtEnd(int64_t places, int64_t inner, int64_t by);

// The layer with its parameters changed by f.
template <class P, class F>
Layer With(const Layer& layer, F f) {
  Layer altered = layer;
  auto param = std::make_shared<P>(ParamOf<P>(layer));
  f(param.get());
  altered.param = param;
  return altered;
}

template <class P, float P::*kField>
void SearchField(const ProposalContext& c, const char* name, double low, double high, Proposals* proposals) {
  const auto with = [&](double value) {
    return With<P>(c.layer, [&](P* p) { p->*kField = static_cast<float>(value); });
  };
  SearchNamed(c, name, static_cast<double>(ParamOf<P>(c.layer).*kField), low, high, with, proposals);
}

// The layer as it is, under another reference.
template <ReferenceOp (*kOp)()>
void Computed(const ProposalContext& c, const char* computed, const char* says, Proposals* proposals) {
  proposals->push_back({computed, says, c.layer, kOp()});
  proposals->back().other_error = true;
}

inline void SwappedOperands(const ProposalContext& c, Proposals* proposals) {
  Layer altered = c.layer;
  if (c.layer.inputs.size() == 2) {
    std::swap(altered.inputs[0], altered.inputs[1]);
  } else if (c.layer.inputs.size() == 1 && c.layer.Resource("element") != nullptr) {
    altered = With<BinaryParam>(c.layer, [](BinaryParam* p) { p->weight_input_index = 1 - p->weight_input_index; });
  } else {
    return;
  }
  proposals->push_back({"with its operands exchanged", "otherwise", std::move(altered)});
}

// Element i of the result is element from(i) of the tensor, of any dtype.
template <class F>
Result<Tensor> ElementsFrom(const Tensor& tensor, const Shape& shape, F from) {
  PLUMB_ASSIGN_OR_RETURN(Tensor moved, Tensor::Create(tensor.dtype(), shape));
  const size_t size = DTypeSize(tensor.dtype());
  const char* in = static_cast<const char*>(tensor.raw());
  char* out = static_cast<char*>(moved.raw());
  for (int64_t i = 0; i < moved.NumElements(); ++i)
    std::memcpy(out + static_cast<size_t>(i) * size, in + static_cast<size_t>(from(i)) * size, size);
  return moved;
}

// The layer as it is, but element i of its result (and of its bound) is element from(i) of it.
inline Proposal WithMoved(const ProposalContext& c, std::string computed, std::string says,
                          std::function<int64_t(int64_t)> from) {
  Proposal proposal{std::move(computed), std::move(says), c.layer};
  proposal.writes = [from](Tensor* values, Tensor* tau) {
    for (Tensor* tensor : {values, tau}) {
      if (tensor == nullptr) continue;
      auto moved = ElementsFrom(*tensor, tensor->shape(), from);
      if (moved.ok()) *tensor = std::move(moved).value();
    }
  };
  return proposal;
}

// The layer as it is, but its result (and the bound of it) computed from its first input by f: known_ways_search.cc.
Proposal OfItsInput(const ProposalContext& c, std::string computed, std::string says, std::string family,
                    std::function<void(const Tensor& input, Tensor* values, Tensor* tau)> f);

// "0.125 (1 / sqrt(64))" where a number is one of a whole number (known_ways_search.cc).
std::string NumberOrRoot(double value);

// Replaces every element of an f64 tensor by f of it, in order.
template <class F>
void ForEachReal(Tensor* tensor, F f) {
  if (tensor->dtype() != DType::kF64) return;
  double* values = tensor->data<double>();
  for (int64_t i = 0; i < tensor->NumElements(); ++i) values[i] = f(values[i]);
}

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_KNOWN_WAYS_UTIL_H_
