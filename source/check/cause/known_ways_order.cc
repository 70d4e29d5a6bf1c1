// SPDX-License-Identifier: Apache-2.0
// Proposals for layers that only move elements, and for what products read: axes in another order, heads and tokens
// exchanged, parts tiled for repeated, a cache that is shifted or whose newest slot is missing.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "check/cause/known_ways_util.h"
#include "check/core/axis_order.h"
#include "op/concat.h"
#include "op/permute.h"
#include "op/softmax.h"

namespace plumb {
namespace {

using Order = std::vector<int>;

// The order without axes of size 1, which move nothing.
Order Effective(const Shape& shape, const Order& order) {
  Order effective;
  for (const int axis : order) {
    if (shape[axis] != 1) effective.push_back(axis);
  }
  return effective;
}

// The orders of the axes that differ in memory; of more than four axes those that exchange two neighbours.
std::vector<Order> OrdersOf(const Shape& shape) {
  constexpr int kAll = 4, kMost = 6;
  Order order(static_cast<size_t>(shape.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::vector<Order> orders = {order};
  std::vector<Order> seen = {Effective(shape, order)};
  const auto add = [&](const Order& other) {
    Order effective = Effective(shape, other);
    if (std::find(seen.begin(), seen.end(), effective) != seen.end()) return;
    seen.push_back(std::move(effective));
    orders.push_back(other);
  };
  if (shape.rank() <= kAll) {
    while (std::next_permutation(order.begin(), order.end())) add(order);
  } else if (shape.rank() <= kMost) {
    for (size_t i = 0; i + 1 < order.size(); ++i) {
      Order other = order;
      std::swap(other[i], other[i + 1]);
      add(other);
    }
  }
  return orders;
}

std::string InWords(const Order& order) {
  std::string words;
  for (const int axis : order) words += fmt::format("{}{}", words.empty() ? "" : " ", axis);
  return words;
}

// Which layer of several.
std::string Where(const ProposalContext& c) {
  return c.group.members.size() > 1 ? fmt::format(" in '{}'", c.layer.name) : "";
}

// Result element i is element from(i) of the layer's input.
void FromInput(const ProposalContext& c, const std::string& computed, const std::string& says, const Order& own,
               const std::function<int64_t(int64_t)>& from, Proposals* proposals) {
  const AxisOrder place = AxisOrder::PlaceIn(c.input, own);  // where the layer writes an element of its input
  proposals->push_back(WithMoved(c, computed + Where(c), says, [place, from](int64_t i) { return place.At(from(i)); }));
  proposals->back().family = "order";
}

void OtherPermutation(const ProposalContext& c, Proposals* proposals) {
  Order own;
  for (const int axis : ParamOf<PermuteParam>(c.layer).orders) own.push_back(axis);
  for (int axis = 0; axis < c.input.rank(); ++axis) {
    if (std::find(own.begin(), own.end(), axis) == own.end()) own.push_back(axis);
  }
  Order plain(own.size());
  std::iota(plain.begin(), plain.end(), 0);
  for (const Order& order : OrdersOf(c.input)) {
    if (Effective(c.input, order) == Effective(c.input, own)) continue;
    const AxisOrder memory = AxisOrder::MemoryOf(c.input, order);
    FromInput(
        c,
        order == plain ? "without moving its axes: the memory as it was"
                       : "with the axes in the order " + InWords(order),
        "the order " + InWords(own), own, [memory](int64_t i) { return memory.At(i); }, proposals);
  }
}

// A reshape that goes by the elements of its input, or of its result, in another order: heads and channels of a head
// exchanged, tiled for repeated.
void ReshapedOtherwise(const ProposalContext& c, Proposals* proposals) {
  Order plain(static_cast<size_t>(c.input.rank()));
  std::iota(plain.begin(), plain.end(), 0);
  for (const Order& order : OrdersOf(c.input)) {
    if (order == plain) continue;
    const AxisOrder memory = AxisOrder::MemoryOf(c.input, order);
    FromInput(
        c, fmt::format("with the axes of its input in the order {}", InWords(order)), "as they are", plain,
        [memory](int64_t i) { return memory.At(i); }, proposals);
  }
  const Shape& out = c.blobs.at(c.layer.outputs[0]).shape;
  const std::vector<Order> orders = OrdersOf(out);
  for (size_t i = 1; i < orders.size(); ++i) {
    const AxisOrder place = AxisOrder::PlaceIn(out, orders[i]);
    FromInput(
        c, fmt::format("into the memory of its axes in the order {}", InWords(orders[i])), "as they are", plain,
        [place](int64_t k) { return place.At(k); }, proposals);
  }
}

// The proposals from `first` on once more, for every layer like this one: keys and values have the same fault.
void OfAllLike(const ProposalContext& c, size_t first, Proposals* proposals) {
  std::vector<int> others;
  const Shape& shape = c.blobs.at(c.layer.outputs[0]).shape;
  for (size_t m = 0; m < c.group.members.size(); ++m) {
    const Layer& other = *c.group.members[m];
    if (other.kind != c.layer.kind || c.blobs.at(other.outputs[0]).shape != shape || m == c.member) continue;
    if (m < c.member) return;  // once
    others.push_back(static_cast<int>(m));
  }
  const size_t end = others.empty() ? first : proposals->size();
  for (size_t i = first; i < end; ++i) {
    Proposal all = (*proposals)[i];
    all.computed += fmt::format(", in all {} places", others.size() + 1);
    for (const int m : others) all.changes.push_back({m, {}, {}, all.writes});
    proposals->push_back(std::move(all));
  }
}

// [g, 1] made [g, r] as r times 0 .. g - 1 in place of r times 0, r times 1 ...
void TiledForRepeated(const ProposalContext& c, Proposals* proposals) {
  const Shape& out = c.blobs.at(c.layer.outputs[0]).shape;
  if (c.input.rank() != out.rank()) return;
  const size_t first = proposals->size();
  for (int axis = 1; axis < out.rank(); ++axis) {
    const int64_t groups = out[axis - 1], times = out[axis], inner = out.CountFrom(axis + 1);
    if (c.input[axis] != 1 || times < 2 || groups < 2 || c.input[axis - 1] != groups) continue;
    proposals->push_back(WithMoved(c, fmt::format("with the {} parts of axis {} tiled", groups, axis - 1),
                                   "each repeated", [=](int64_t i) {
                                     const int64_t at = i / inner % (groups * times);
                                     return i + (at % groups * times - at) * inner;
                                   }));
  }
  OfAllLike(c, first, proposals);
}

// n parts r times over, as each of them r times.
void RepeatedForTiled(const ProposalContext& c, Proposals* proposals) {
  const Shape& out = c.blobs.at(c.layer.outputs[0]).shape;
  if (c.input.rank() != out.rank()) return;
  for (int axis = 0; axis < out.rank(); ++axis) {
    const int64_t size = out[axis], times = size / std::max<int64_t>(1, c.input[axis]), inner = out.CountFrom(axis + 1);
    if (times < 2 || c.input[axis] < 2) continue;
    proposals->push_back(
        WithMoved(c, fmt::format("with each part of axis {} repeated", axis), "all of them tiled", [=](int64_t i) {
          const int64_t at = i / inner % size;
          return i + (at / times - at) * inner;
        }));
  }
}

// An operand of a product in the memory of another order of its axes: V or K transposed, heads and tokens exchanged.
void TurnedOperand(const ProposalContext& c, Proposals* proposals) {
  for (size_t slot = 0; slot < c.layer.inputs.size(); ++slot) {
    const std::string& blob = c.layer.inputs[slot];
    const Shape shape = c.blobs.at(blob).shape;
    const int rank = shape.rank();
    for (int axis = std::max(0, rank - 3); axis + 1 < rank; ++axis) {
      if (shape[axis] < 2 || shape[axis + 1] < 2) continue;
      Order order(static_cast<size_t>(rank));
      std::iota(order.begin(), order.end(), 0);
      std::swap(order[static_cast<size_t>(axis)], order[static_cast<size_t>(axis) + 1]);
      const AxisOrder memory = AxisOrder::MemoryOf(shape, order);
      const AxisOrder place = AxisOrder::PlaceIn(shape, order);
      for (const bool written : {true, false}) {
        if (!written && shape[axis] == shape[axis + 1]) continue;
        Proposal proposal{
            written ? fmt::format("with '{}' transposed (axes {} and {} of its memory exchanged)", blob, axis, axis + 1)
                    : fmt::format("with '{}' read as if its axes {} and {} were exchanged", blob, axis, axis + 1),
            "otherwise",
            c.layer,
            {},
            "order"};
        proposal.reads = [=](size_t at, const Tensor& input) -> Result<Tensor> {
          if (at != slot) return input;
          return ElementsFrom(input, input.shape(), [&](int64_t i) { return written ? memory.At(i) : place.At(i); });
        };
        proposals->push_back(std::move(proposal));
      }
    }
  }
}

// Elements along an axis of the result one further or earlier; what comes in at the end is what went out at the other,
// or the last one again.
void ShiftedResult(const ProposalContext& c, int axis, Proposals* proposals) {
  const Shape& out = c.blobs.at(c.layer.outputs[0]).shape;
  const int64_t size = out[axis], inner = out.CountFrom(axis + 1);
  if (size < 2) return;
  for (const int64_t by : {1, -1}) {
    for (const bool wraps : {true, false}) {
      proposals->push_back(
          WithMoved(c, fmt::format("with its result shifted one {} along axis {}", by > 0 ? "earlier" : "later", axis),
                    "otherwise", [=](int64_t i) {
                      const int64_t at = i / inner % size;
                      const int64_t from = wraps ? (at + by + size) % size : std::clamp<int64_t>(at + by, 0, size - 1);
                      return i + (from - at) * inner;
                    }));
      proposals->back().family = "shifted";
    }
  }
}

// The last slot along an axis not written: 0, or what stands before it.
void NewestMissing(const ProposalContext& c, int axis, Proposals* proposals) {
  const Shape& out = c.blobs.at(c.layer.outputs[0]).shape;
  const int64_t size = out[axis], inner = out.CountFrom(axis + 1);
  if (size < 2 || !IsFloat(c.blobs.at(c.layer.outputs[0]).dtype)) return;
  Proposal zero{fmt::format("with the last slot of axis {} not written (0)", axis), "otherwise", c.layer};
  zero.writes = [=](Tensor* values, Tensor* tau) {
    for (Tensor* tensor : {values, tau}) {
      int64_t i = 0;
      if (tensor == nullptr) continue;
      ForEachReal(tensor, [&](double v) { return i++ / inner % size == size - 1 ? 0.0 : v; });
    }
  };
  proposals->push_back(std::move(zero));
  proposals->push_back(WithMoved(c, fmt::format("with the last slot of axis {} holding the one before it", axis),
                                 "otherwise", [=](int64_t i) { return i / inner % size == size - 1 ? i - inner : i; }));
}

// A cache and what is put behind it.
void OtherCache(const ProposalContext& c, Proposals* proposals) {
  const Shape& out = c.blobs.at(c.layer.outputs[0]).shape;
  const auto axis = NormalizeAxis(ParamOf<ConcatParam>(c.layer).axis, out.rank());
  if (!axis.ok() || c.layer.inputs.size() < 2) return;
  const size_t first = proposals->size();
  ShiftedResult(c, *axis, proposals);
  NewestMissing(c, *axis, proposals);
  OfAllLike(c, first, proposals);
}

void OtherRows(const ProposalContext& c, Proposals* proposals) {
  const Shape& out = c.blobs.at(c.layer.outputs[0]).shape;
  const size_t first = proposals->size();
  for (int axis = 0; axis < out.rank() - 1; ++axis) ShiftedResult(c, axis, proposals);
  OfAllLike(c, first, proposals);
}

// The newest key does not take part.
void LastLeftOut(const ProposalContext& c, Proposals* proposals) {
  const auto axis = NormalizeAxis(ParamOf<SoftmaxParam>(c.layer).axis, c.input.rank());
  if (!axis.ok() || c.input[*axis] < 3) return;
  const int64_t size = c.input[*axis], inner = c.input.CountFrom(*axis + 1);
  for (const bool last : {true, false}) {
    Proposal proposal{fmt::format("without the {} of axis {} (a key that is left out)", last ? "last" : "first", *axis),
                      "with it", c.layer};
    proposal.reads = [=](size_t, const Tensor& input) -> Result<Tensor> {
      PLUMB_ASSIGN_OR_RETURN(Tensor hidden, input.Clone());
      int64_t i = 0;
      const double least = -std::numeric_limits<double>::infinity();
      ForEachReal(&hidden, [&](double v) { return i++ / inner % size == (last ? size - 1 : 0) ? least : v; });
      return hidden;
    };
    proposals->push_back(std::move(proposal));
  }
}

constexpr ProposalRow kOrderProposalRows[] = {
    {OpKind::kPermute, OtherPermutation}, {OpKind::kReshape, ReshapedOtherwise}, {OpKind::kFlatten, ReshapedOtherwise},
    {OpKind::kExpand, TiledForRepeated},  {OpKind::kTile, RepeatedForTiled},     {OpKind::kMatMul, TurnedOperand},
    {OpKind::kConcat, OtherCache},        {OpKind::kGatherND, OtherRows},        {OpKind::kSoftmax, LastLeftOut},
};

}  // namespace

void ProposeForOrders(const ProposalContext& context, Proposals* proposals) {
  constexpr int64_t kMaxElements = 1 << 22;
  if (context.group.members.size() > 1 && !context.cheap) return;  // some fifty replays of the step
  if (context.blobs.at(context.layer.outputs[0]).shape.NumElements() > kMaxElements) return;
  for (const ProposalRow& row : kOrderProposalRows) {
    if (row.kind == context.layer.kind) row.propose(context, proposals);
  }
}

}  // namespace plumb
