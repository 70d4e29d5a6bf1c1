// SPDX-License-Identifier: Apache-2.0
// Proposals for layers that move elements or pick one of a window: one element further, operands in another order,
// maxima that start at zero, windows divided by another count.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/cause/known_ways_util.h"
#include "op/concat.h"
#include "op/pooling.h"

namespace plumb {
namespace {

// A slice or a gather that reads its data one element further or earlier.
void ReadsFurther(const ProposalContext& c, Proposals* proposals) {
  const Shape& in = c.input;
  const Shape& out = c.blobs.at(c.layer.outputs[0]).shape;
  for (int axis = 0; axis < in.rank(); ++axis) {
    const bool sliced = in.rank() != out.rank() || in[axis] != out[axis];
    if (!sliced || in[axis] < 2) continue;
    for (const int64_t by : {1, -1}) {
      Proposal proposal{fmt::format("from one element {} along axis {}", by > 0 ? "further" : "earlier", axis),
                        "otherwise", c.layer};
      const int64_t size = in[axis], inner = in.CountFrom(axis + 1);
      proposal.reads = [=](size_t slot, const Tensor& data) -> Result<Tensor> {
        if (slot != 0) return data;
        return ElementsFrom(data, data.shape(), [=](int64_t i) {
          const int64_t at = i / inner % size, from = (at + by + size) % size;
          return i + (from - at) * inner;
        });
      };
      proposals->push_back(std::move(proposal));
    }
  }
}

// Two inputs of one shape in each other's place; one of them twice.
void OtherParts(const ProposalContext& c, Proposals* proposals) {
  constexpr size_t kMaxInputs = 8;
  const auto& inputs = c.layer.inputs;
  if (inputs.size() > kMaxInputs) return;
  const auto same = [&](size_t i, size_t j) { return c.blobs.at(inputs[i]).shape == c.blobs.at(inputs[j]).shape; };
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t j = 0; j < inputs.size(); ++j) {
      if (i == j || !same(i, j) || inputs[i] == inputs[j]) continue;
      if (i < j) {
        Layer swapped = c.layer;
        std::swap(swapped.inputs[i], swapped.inputs[j]);
        proposals->push_back({fmt::format("with '{}' and '{}' exchanged", inputs[i], inputs[j]), "otherwise", swapped});
      }
      if (c.value(i) == nullptr && c.value(j) == nullptr) {  // both are made inside
        Layer twice = c.layer;
        twice.inputs[j] = inputs[i];
        proposals->push_back({fmt::format("with '{}' in the place of '{}'", inputs[i], inputs[j]), "otherwise", twice});
      }
      if (c.value(i) == nullptr || c.value(j) == nullptr) continue;
      const Tensor other = *c.value(i);
      Proposal twice{fmt::format("with '{}' in the place of '{}'", inputs[i], inputs[j]), "otherwise", c.layer};
      twice.reads = [j, other](size_t slot, const Tensor& input) -> Result<Tensor> {
        return slot == j ? other : input;
      };
      proposals->push_back(std::move(twice));
    }
  }
}

void AtLeast(double least, const std::string& words, const ProposalContext& c, Proposals* proposals) {
  Proposal proposal{words, "the smallest number", c.layer};
  proposal.writes = [least](Tensor* values, Tensor*) {
    ForEachReal(values, [least](double v) { return std::max(v, least); });
  };
  proposals->push_back(std::move(proposal));
}

void ZeroStart(const ProposalContext& c, Proposals* proposals) {
  AtLeast(0, "as a maximum that starts at 0", c, proposals);
  AtLeast(static_cast<double>(std::numeric_limits<float>::min()), "as a maximum that starts at FLT_MIN (1.2e-38)", c,
          proposals);
}

// The rows of an axis that a window reads, beyond the input, too.
struct WindowRows {
  int64_t begin, end, in;
  bool padded() const { return begin < 0 || end > in; }
  int64_t valid() const { return std::max<int64_t>(0, std::min(end, in) - std::max<int64_t>(begin, 0)); }
};

WindowRows RowsOf(const WindowAxis& a, int64_t o) {
  const int64_t begin = o * a.stride - a.pad_begin;
  return {begin, begin + a.kernel, a.in};
}

// Padding that takes part as zeros.
void ZeroPads(const ProposalContext& c, Proposals* proposals) {
  const auto shape = ResolvePooling(c.layer, c.input);
  if (!shape.ok() || shape->average || shape->adaptive) return;
  const WindowAxis h = shape->window.h, w = shape->window.w;
  Proposal proposal{"as a maximum whose padding is 0", "to leave the padding out", c.layer};
  proposal.writes = [h, w](Tensor* values, Tensor*) {
    int64_t i = 0;
    ForEachReal(values, [&](double v) {
      const int64_t at = i++ % (h.out * w.out);
      const bool padded = RowsOf(h, at / w.out).padded() || RowsOf(w, at % w.out).padded();
      return padded ? std::max(v, 0.0) : v;
    });
  };
  proposals->push_back(std::move(proposal));
}

// Every window divided by the kernel's area, also those that ceil_mode lets hang over the padding.
void WholeArea(const ProposalContext& c, Proposals* proposals) {
  const auto shape = ResolvePooling(c.layer, c.input);
  if (!shape.ok() || !shape->average || shape->adaptive) return;
  const WindowAxis h = shape->window.h, w = shape->window.w;
  const bool counts = shape->count_include_pad;
  const auto factor = [h, w, counts](int64_t at) {
    const WindowRows rows = RowsOf(h, at / w.out), columns = RowsOf(w, at % w.out);
    const int64_t high = std::min(rows.end, h.in + h.pad_end) - rows.begin;
    const int64_t wide = std::min(columns.end, w.in + w.pad_end) - columns.begin;
    const int64_t divisor = counts ? high * wide : rows.valid() * columns.valid();
    return static_cast<double>(divisor) / static_cast<double>(h.kernel * w.kernel);
  };
  Proposal proposal{"as average pooling that divides by the kernel's area everywhere",
                    counts ? "by what lies within the padding" : "by what lies within the input",
                    c.layer,
                    {},
                    "divisor"};
  proposal.writes = [=](Tensor* values, Tensor* tau) {
    for (Tensor* tensor : {values, tau}) {
      int64_t i = 0;
      if (tensor != nullptr) ForEachReal(tensor, [&](double v) { return v * factor(i++ % (h.out * w.out)); });
    }
  };
  proposals->push_back(std::move(proposal));
}

void PoolStarts(const ProposalContext& c, Proposals* proposals) {
  const auto shape = ResolvePooling(c.layer, c.input);
  if (shape.ok() && !shape->average) ZeroStart(c, proposals);
}

constexpr ProposalRow kMovedProposalRows[] = {
    {OpKind::kStridedSlice, ReadsFurther}, {OpKind::kStridedSliceV2, ReadsFurther}, {OpKind::kGather, ReadsFurther},
    {OpKind::kConcat, OtherParts},         {OpKind::kPooling, PoolStarts},          {OpKind::kPooling, ZeroPads},
    {OpKind::kPooling, WholeArea},         {OpKind::kPlumbAveragePool, WholeArea},  {OpKind::kReduceMax, ZeroStart},
};

}  // namespace

void ProposeForMoved(const ProposalContext& context, Proposals* proposals) {
  for (const ProposalRow& row : kMovedProposalRows) {
    if (row.kind == context.layer.kind) row.propose(context, proposals);
  }
}

}  // namespace plumb
